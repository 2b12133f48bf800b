"""Scripts for bug reports: one compiled graph of a dump with its inputs, expected against actual."""
