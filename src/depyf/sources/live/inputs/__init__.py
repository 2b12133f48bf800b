"""Keeps what the program gave to its compiled graphs (``prepare_debug(record=...)``)."""
