"""Generated opcode tables, one module per CPython version."""
