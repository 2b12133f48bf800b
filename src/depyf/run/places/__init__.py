"""Lines of source: what a run calls them, and which line of the program a line of a dump is."""
