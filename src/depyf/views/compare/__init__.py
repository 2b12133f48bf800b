"""Two dumps, or two runs, compared."""
