"""Names of variables and code: which a source can have, which slot has which, and others where two would be one."""
