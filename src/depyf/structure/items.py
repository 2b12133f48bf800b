"""What one container's graph is made of: items, their edges to labels, and where its loops are entered."""

from __future__ import annotations

from dataclasses import dataclass

from depyf.ir.expr import Marker
from depyf.lift.lifted_block import Lifted


@dataclass(slots=True)
class Item:
    """A node of one container's graph: a block, a whole ``try``, or a dispatch; ``succs`` are labels."""

    succs: list[int]
    lines: tuple[int, int] | None = None
    first_line: int | None = None
    start: int = 0
    last: int = 0
    compound: bool = False
    loop: bool = False


@dataclass(slots=True)
class LoopItems:
    body: set[int]
    header: int


def predecessors(items: dict[int, Item]) -> dict[int, set[int]]:
    preds: dict[int, set[int]] = {}
    for key, item in items.items():
        for label in item.succs:
            preds.setdefault(label, set()).add(key)
    return preds


def loop_heads(scc: list[int], preds: dict[int, set[int]], entry: int) -> list[int]:
    """Where a loop is entered from outside."""
    inside = set(scc)
    return sorted(key for key in scc if key == entry or not preds.get(key, set()) <= inside)


def first_line(block: Lifted) -> int | None:
    """Line of the first statement: what comes before may be the end of the statement that led here."""
    if block.stmts and block.stmts[0].line is not None:
        return block.stmts[0].line
    return block.line


def is_for(blocks: dict[int, Lifted], key: int) -> bool:
    """Whether ``key`` is the head of a ``for`` loop."""
    block = blocks.get(key)
    return block is not None and isinstance(block.cond, Marker) and block.cond.kind == "for"
