"""What to fix in a program, and whether it helps, measured in separate processes."""
