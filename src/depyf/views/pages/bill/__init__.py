"""What compiled code costs, as pages and lines."""
