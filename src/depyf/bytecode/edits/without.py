"""Removes instructions from lowered code."""

from __future__ import annotations

from collections.abc import Collection
from itertools import accumulate

from depyf.bytecode.lower import Lowered


def without(lowered: Lowered, gone: Collection[int]) -> Lowered:
    """``lowered`` without these instructions; what leads to one of them leads to what stood after it.

    Together those that stand in a row must leave the stack as they found it.
    """
    kept = [index for index in range(len(lowered.instrs)) if index not in gone]
    place = list(accumulate((index not in gone for index in range(len(lowered.instrs))), initial=0))
    instrs = (lowered.instrs[index] for index in kept)
    return lowered._replace(
        instrs=tuple(i if i.target < 0 else i._replace(target=place[i.target]) for i in instrs),
        handlers=tuple(handler._replace(target=place[handler.target]) for handler in lowered.handlers),
        depths=tuple(lowered.depths[index] for index in kept),
    )
