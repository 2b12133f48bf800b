"""The fallback for bytecode that no compiler writes."""
