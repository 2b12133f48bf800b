"""Resume functions: the code that leads back into the middle of a function."""
