"""The commands that make scripts and packages of dumps."""
