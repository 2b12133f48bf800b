"""What keeps depyf a guest in the process: depth of recursion, warnings, escaped text, the guarded door."""
