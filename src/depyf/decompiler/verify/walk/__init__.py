"""The walk of both codes in lock step."""
