"""One run under ``prepare_debug``, from the first event to the files."""
