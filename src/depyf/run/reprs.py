"""Texts of ``repr`` that are the same in every run.

The items of a set stand in another order in each process where they are hashed by address (classes, functions) or by a
salted hash (strings).  Input: what ``repr`` gave.  Output: the same text with the items of each set display sorted.
"""

from __future__ import annotations

_CLOSING = {"(": ")", "[": "]", "{": "}", "<": ">"}


def sets_in_order(text: str) -> str:
    """``text`` with sorted sets; as it is where its brackets do not match."""
    if "{" not in text:
        return text
    try:
        shown, end = _group(text, 0, "")
    except (IndexError, ValueError):
        return text
    return shown if end == len(text) else text


def _group(text: str, at: int, closing: str) -> tuple[str, int]:
    """What stands up to ``closing`` ("" for the end of the text), from ``at`` on, and where it ends."""
    items = [""]
    pairs = False
    while at < len(text) if not closing else text[at] != closing:
        char = text[at]
        if char in "'\"":
            end = _string_end(text, at)
            items[-1] += text[at:end]
            at = end
        elif char in _CLOSING and (char != "<" or text[at + 1 : at + 2].isalpha() and ">" in text[at:]):
            inner, end = _group(text, at + 1, _CLOSING[char])
            items[-1] += char + inner + _CLOSING[char]
            at = end + 1
        elif closing == "}" and text.startswith(", ", at):
            items.append("")
            at += 2
        else:
            pairs = pairs or char == ":"
            items[-1] += char
            at += 1
    if closing == "}" and not pairs:
        items.sort()
    return ", ".join(items), at


def _string_end(text: str, at: int) -> int:
    """After the string that begins at ``at``."""
    quote, at = text[at], at + 1
    while text[at] != quote:
        at += 2 if text[at] == "\\" else 1
    return at + 1
