"""One module for each kind of guard: a class, and ``KIND``, one object of it.  ``known_kinds.py`` finds them here."""
