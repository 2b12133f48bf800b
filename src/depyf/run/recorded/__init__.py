"""The inputs of compiled graphs that a dump keeps (``prepare_debug(record=...)``): their file, and what it says of
them."""
