"""Which parts of a kernel compute nothing, and who asked for the copy.

Input: a node of Inductor's scheduler.  Output: a reason of ``cost_reasons``, or "" for a part that computes.  A copy is
told by its loop: one load, one store, and nothing between but a conversion of the index.
"""

from __future__ import annotations

from typing import Any

from depyf.run.bill.cost_reasons import ASKED, COMPUTED, JOINED, LAYOUT, MOVED, WRITTEN_BACK
from depyf.sources.live.inductor.scheduled_kernels import graph_nodes

_MOVES = frozenset({"load", "store", "get_index"})


def copy_reason(part: Any) -> str:
    """Why the scheduler's node ``part`` is a copy; "" where it computes something."""
    from torch._inductor import ir

    node = part.node
    if isinstance(node, ir.DeviceCopy):
        return MOVED
    if isinstance(node, ir.InplaceCopyFallback):
        return WRITTEN_BACK
    if not isinstance(node, ir.ComputedBuffer) or not _only_moves(getattr(part, "_body", None)):
        return ""
    if isinstance(node.layout, ir.MutationLayoutSHOULDREMOVE):
        return WRITTEN_BACK
    return _by_operator(part)


def _only_moves(body: Any) -> bool:
    """Whether a loop has one load, one store, and nothing else."""
    if body is None or body.subblocks:
        return False
    called = [str(node.target) for node in body.root_block.graph.nodes if node.op in ("call_method", "call_module")]
    return called.count("load") == called.count("store") == 1 and set(called) <= _MOVES


def _by_operator(part: Any) -> str:
    import torch
    from torch._inductor.scheduler import OutputNode

    aten = torch.ops.aten
    targets = [getattr(node.target, "overloadpacket", None) for node in graph_nodes([part])]
    if any(target in (aten.cat, aten.stack) for target in targets):
        return JOINED
    if any(target in (aten.clone, aten.contiguous) for target in targets):
        return ASKED
    own = {id(node) for node in graph_nodes([part])}
    readers = [
        user.node for output in part.get_outputs() for user in output.users if not isinstance(user.node, OutputNode)
    ]
    made_for = {id(node) for reader in readers if reader.is_extern() for node in graph_nodes([reader])}
    return LAYOUT if own & made_for else COMPUTED
