"""The names of files, which torch sends as numbers of strings that it had sent before: as this process knows them."""

from __future__ import annotations


def interned(number: int) -> str:
    """The string that torch sent as ``number``; "" where it sent none."""
    from torch._logging import structured

    table = getattr(structured, "INTERN_TABLE", {})
    return next((text for text, index in table.items() if index == number), "")
