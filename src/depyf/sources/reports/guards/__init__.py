"""Guards as torch prints them, read."""
