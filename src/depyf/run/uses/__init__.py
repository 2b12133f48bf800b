"""What a function of the program does with a value: read from its source, never run."""
