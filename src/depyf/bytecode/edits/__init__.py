"""Lowered code with instructions added or taken away, and where control goes in it."""
