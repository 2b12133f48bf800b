"""What to fix in a program, and whether it helps: measured in processes of our own.  ``depyf doctor`` asks here."""
