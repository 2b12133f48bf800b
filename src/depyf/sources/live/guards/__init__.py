"""Guards: read, renamed, evaluated."""
