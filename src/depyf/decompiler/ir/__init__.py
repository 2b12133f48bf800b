"""Expressions and statements: what lifting makes and ``emit`` prints."""
