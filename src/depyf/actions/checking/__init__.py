"""``depyf check``: a run against a budget that CI keeps."""
