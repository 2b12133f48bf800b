"""Files that torch saved, read without loading them."""
