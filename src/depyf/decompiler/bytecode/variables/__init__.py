"""Names of variables and code: which a source can have, which slot each belongs to, and others where two would be one."""
