"""Where a run comes from."""
