"""Inserts and removes lowered instructions, and follows control through them."""
