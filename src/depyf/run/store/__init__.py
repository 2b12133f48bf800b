"""One run on disk: written as it happens, read back as typed records."""
