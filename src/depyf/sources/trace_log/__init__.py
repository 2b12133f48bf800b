"""The logs that torch itself writes (``TORCH_TRACE=DIR``), read without torch."""
