"""Questions to compiled functions: ``why``, ``replay``, ``compare``, ``explain``."""
