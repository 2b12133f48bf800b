"""Which files of a dump were edited, and what was done with them; nothing of torch."""
