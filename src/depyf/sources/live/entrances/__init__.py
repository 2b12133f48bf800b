"""What a program calls of torch to have something compiled or exported, heard while it does."""
