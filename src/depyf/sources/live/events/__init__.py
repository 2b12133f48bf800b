"""torch's reports, one reader for each kind."""
