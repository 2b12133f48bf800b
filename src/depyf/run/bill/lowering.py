"""What Inductor made of one graph: the memory that its kernels read and write, and what made that more.

Input: nothing.  Output invariant: texts and numbers.  Bytes are of one call, at the sizes that the graph was compiled
for; each buffer that a kernel reads or writes counts once for it.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass

from depyf.run.places.place import Place


class CostKind(enum.Enum):
    """The kinds of decision of Inductor that cost memory traffic."""

    NOT_FUSED = "not fused"
    """Two kernels use the same memory; Inductor considered to make one of them, and left it."""
    FALLBACK = "fallback"
    """An operator that runs as eager's kernel."""
    COPY = "copy"
    """A kernel that computes nothing."""
    REALISED = "realised buffer"
    """A value in between that is written to memory, and read again by another kernel."""
    PARTITION = "graph partition"
    """What a CUDA graph cannot hold."""


@dataclass(frozen=True, slots=True)
class LoweringCost:
    """One cause of memory traffic in the kernels of a graph."""

    kind: CostKind
    bytes: int
    """NOT_FUSED: what one kernel in the place of the two would not move; else what is read and written for it."""
    reason: str
    """Of a fusion as torch writes it, without its values; else one of ours (``cost_reasons``)."""
    detail: tuple[str, ...] = ()
    """The values in the reason."""
    operators: tuple[str, ...] = ()
    """The operators of the graph that it is part of: ``aten.clone``."""
    lines: tuple[Place, ...] = ()
    """The lines of the program that asked for these, each once, the last one first."""
    other_operators: tuple[str, ...] = ()
    """Of the second kernel; of a buffer: of the kernels that read it."""
    other_lines: tuple[Place, ...] = ()
    """The first one first."""


@dataclass(frozen=True, slots=True)
class LoweredGraph:
    """The kernels of one graph."""

    kernels: int
    """That Inductor wrote, as it schedules them: pages call them loops.  On a GPU each is a Triton kernel, on a CPU
    several may lie in one C++ kernel."""
    library: int
    """Calls of kernels that it did not write: of a library, or of eager."""
    bytes: int
    """What all of them read and write in a call."""
    considered: int = 0
    """Pairs of kernels in the end that Inductor refused to make one of."""
    costs: tuple[LoweringCost, ...] = ()
    """The largest of each kind first."""
    left_out: int = 0
    """How many smaller costs are not here."""
