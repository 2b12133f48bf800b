"""The processes of a run: ranks and forked children."""
