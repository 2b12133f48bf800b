"""Scripts with holes, which ``fill.py`` fills: read, never imported."""
