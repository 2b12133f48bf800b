"""Compares compiled calls with Python, graphs on two backends, two models, and the calls of a run."""
