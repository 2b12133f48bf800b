"""Pages of what is in a file that torch saved."""
