"""Folds: blocks that are parts of one expression become one block."""
