"""The kernels of a graph that Inductor has scheduled, with the memory that each reads and writes.

Input: a ``GraphLowering`` whose code is written, while it is torch's current graph.  Output: ``ScheduledKernel``, in
the order in which they run.  Bytes are torch's own count (``BaseSchedulerNode.get_read_write_buffer_accesses``), of
each part of a kernel, so that an element that is gathered is not the whole table.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any


@dataclass
class ScheduledKernel:
    """A kernel: one node of the scheduler after fusion."""

    parts: list[Any]
    """The scheduler's nodes that it was fused from."""
    names: frozenset[str]
    """Their operations."""
    library: bool
    """Inductor calls it, and did not write it."""
    reads: dict[str, int] = field(default_factory=dict)
    """Buffer -> bytes."""
    writes: dict[str, int] = field(default_factory=dict)

    @property
    def bytes(self) -> int:
        return sum(self.reads.values()) + sum(self.writes.values())


def kernels_in(graph: Any) -> list[ScheduledKernel]:
    """The kernels of ``graph``, without nodes that do nothing."""
    return [kernel for node in graph.scheduler.nodes if (kernel := _kernel(node)) is not None]


def _kernel(node: Any) -> ScheduledKernel | None:
    from torch._inductor.scheduler import ExternKernelSchedulerNode, NopKernelSchedulerNode

    parts = list(node.get_nodes())
    if all(isinstance(part, NopKernelSchedulerNode) for part in parts):
        return None
    kernel = ScheduledKernel(
        parts, frozenset(node.get_operation_names()), any(isinstance(part, ExternKernelSchedulerNode) for part in parts)
    )
    written = {name for part in parts for name in part.get_buffer_names()}
    for part in parts:
        reads = part.get_read_write_buffer_accesses(include_reads=True, include_writes=False)
        order_only = _order_only(part)
        for name, size in reads.items():
            if name not in written and name not in order_only:
                kernel.reads[name] = max(size, kernel.reads.get(name, 0))
        writes = part.get_read_write_buffer_accesses(include_reads=False, include_writes=True)
        for name, size in writes.items():
            if leaves(part.scheduler, name, parts):
                kernel.writes[name] = max(size, kernel.writes.get(name, 0))
    return kernel if kernel.reads or kernel.writes else None


def _order_only(part: Any) -> set[str]:
    """What a part overwrites, and does not read: torch lists it with the reads so that earlier ones come first."""
    from torch._inductor.dependencies import MemoryDep

    if part.is_extern():
        return set()
    overwritten = {name for output in part.get_outputs() for name in output.get_mutations()}
    return overwritten - {str(dep.name) for dep in part.read_writes.reads if isinstance(dep, MemoryDep)}


def leaves(scheduler: Any, buffer: str, parts: list[Any]) -> bool:
    """Whether a node other than ``parts`` uses the buffer, so that it must be written to memory."""
    inside = {id(part) for part in parts}
    known = scheduler.name_to_buf.get(buffer)
    return known is None or any(id(user.node) not in inside for user in known.users if not user.is_weak)


def is_output(scheduler: Any, buffer: str) -> bool:
    """Whether the graph returns ``buffer``."""
    from torch._inductor.scheduler import OutputNode

    known = scheduler.name_to_buf.get(buffer)
    return known is None or any(isinstance(user.node, OutputNode) for user in known.users)


def graph_nodes(parts: Iterable[Any]) -> list[Any]:
    """The operations of the graph that ``parts`` compute, each once, in execution order.  For a library's kernel only
    the last of its origins counts, because Inductor also lists those of its inputs."""
    found = {}
    for part in parts:
        origins = sorted(node for node in getattr(part.node, "origins", None) or () if node.op == "call_function")
        for node in origins[-1:] if part.is_extern() else origins:
            found[id(node)] = node
    return sorted(found.values())  # torch.fx orders the nodes of a graph so
