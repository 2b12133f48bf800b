"""Printed graphs as Python that runs."""
