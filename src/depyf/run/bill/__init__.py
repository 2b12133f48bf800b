"""What a compiled function costs, line by line."""
