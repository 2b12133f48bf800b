"""What each exception region is: ``except``, ``finally`` or ``with``."""
