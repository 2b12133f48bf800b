"""Commands that take bytecode or a live function: ``decompile``, ``disasm``, ``passes``."""
