"""What the tables and constants of a code object tell: lines, columns, docstrings, the order of sets."""
