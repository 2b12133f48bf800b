"""Profiles of torch with the lines of a dump."""
