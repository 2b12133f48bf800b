"""Control flow of lowered code: from an instruction to its successors, and to its handler."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from depyf.decompiler.bytecode import ops
from depyf.decompiler.bytecode.lower import Lowered


def next_ones(lowered: Lowered, index: int) -> list[int]:
    """The successors of an instruction, without its handler."""
    instr = lowered.instrs[index]
    found = [] if instr.op in ops.TERMINATORS else [index + 1]
    return [*found, instr.target] if instr.target >= 0 else found


def successors(lowered: Lowered, index: int) -> list[int]:
    """The successors of an instruction and its handler."""
    handler = lowered.instrs[index].handler
    found = next_ones(lowered, index)
    return [*found, lowered.handlers[handler].target] if handler >= 0 else found


def predecessors(lowered: Lowered) -> dict[int, list[int]]:
    """What leads to each instruction, an exception, too."""
    found: dict[int, list[int]] = {}
    for index in range(len(lowered.instrs)):
        for target in successors(lowered, index):
            found.setdefault(target, []).append(index)
    return found


def reached(start: Iterable[int], after: Callable[[int], Iterable[int]]) -> set[int]:
    """Everything reachable from ``start``, itself included; ``after`` gives the successors of one instruction."""
    found = set(start)
    work = list(found)
    while work:
        for target in after(work.pop()):
            if target not in found:
                found.add(target)
                work.append(target)
    return found
