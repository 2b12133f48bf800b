from __future__ import annotations


def annotated(a: int, b: list[str] = None) -> dict[str, int]:
    return a


class Record:
    x: int
    y: list[Record] = None
