"""Where a statement is shown: inside a loop, after it, in an ``else``."""
