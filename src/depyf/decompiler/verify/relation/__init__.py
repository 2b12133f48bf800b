"""When values of the two codes are the same, and what is alive."""
