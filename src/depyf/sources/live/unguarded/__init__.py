"""What compiled code read of the program's values, and no guard looks at."""
