"""Why the cache entry of a program does something else than Python."""
