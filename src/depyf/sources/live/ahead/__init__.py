"""What is compiled ahead of time, and what is loaded: it has no compile id of its own, or none that is current."""
