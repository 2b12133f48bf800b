"""``depyf.debug()``: running the text of a dump in the place of what was compiled."""
