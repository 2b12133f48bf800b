"""All files of a dump, from the run alone."""
