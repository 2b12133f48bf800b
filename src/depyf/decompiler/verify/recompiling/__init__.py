"""Compiling the text with the interpreter of its version."""
