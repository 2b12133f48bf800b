"""Long bracketed lists on several lines, broken between their items."""

from __future__ import annotations

from collections.abc import Sequence

WIDTH = 116


def wrap(opening: str, items: Sequence[str], closing: str, indent: str = "", width: int = WIDTH) -> list[str]:
    """``opening + items + closing`` on one line where it fits, else the items on lines of their own, packed."""
    line = f"{indent}{opening}{', '.join(items)}{closing}"
    if len(line) <= width or not items:
        return [line]
    lines = [indent + opening]
    inner = indent + "    "
    current = ""
    for position, item in enumerate(items):
        text = item + ("," if position < len(items) - 1 else "")
        if current and len(current) + 1 + len(text) <= width:
            current += " " + text
        else:
            if current:
                lines.append(current)
            current = inner + text
    return [*lines, current, indent + closing]
