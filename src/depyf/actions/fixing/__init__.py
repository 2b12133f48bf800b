"""``depyf doctor --fix``: ways out as edits of the program, each tried in a copy."""
