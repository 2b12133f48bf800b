"""Compares calls of a run with Python while it runs: ``depyf run --check``."""
