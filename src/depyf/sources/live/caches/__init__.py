"""torch's cache entries, and the code that it has seen."""
