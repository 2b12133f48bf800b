"""The text of each file of a dump."""
