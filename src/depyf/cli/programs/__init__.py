"""The commands that run a program: ``run`` and ``doctor``."""
