"""One rule per operation: what it does to the symbolic stack."""
