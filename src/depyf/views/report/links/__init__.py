"""Which lines of the stages of one compilation belong together, computed from the texts of a dump."""
