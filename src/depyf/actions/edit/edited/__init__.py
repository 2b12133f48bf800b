"""``depyf.edited``: what torch compiles, with the edited files of a dump in the place of what it made."""
