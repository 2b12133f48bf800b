"""What a command found in a program, in the formats of other tools."""
