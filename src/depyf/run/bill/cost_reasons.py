"""Why kernels were not fused, why an operator runs as eager's, why something is copied: in plain words.

Input: the reason of a ``LoweringCost``: a constant of torch's source, or one of this module.  Output: words.  A reason
that is not here is said as torch says it.
"""

from __future__ import annotations

CUSTOM = "custom operator"
NO_LOWERING = "no lowering"
CHOSEN = "chosen by its lowering"
"""The operator has a lowering, which calls eager's kernel for arguments like these."""

ASKED = "asked"
"""The program's own ``clone``, ``contiguous``, ``reshape``."""
WRITTEN_BACK = "written back"
"""The new value of an argument, a parameter or a buffer that the program changes in place."""
LAYOUT = "layout"
"""A library kernel wants its input in another layout."""
JOINED = "joined"
"""``cat`` and ``stack`` copy their inputs into one."""
MOVED = "moved"
"""From one device to another."""
COMPUTED = "other"
"""Another operator that moves elements only: a slice, a pad, an expand that is kept."""

READ_BY_LIBRARY = "read by a library kernel"
READ_LATER = "read by another kernel"
MADE_BY_LIBRARY = "made by a library kernel"


_LIBRARY = "one of the two is a kernel of a library, which Inductor calls as it is"
_SIZES = "their loops have different sizes"
FUSION_REASONS: dict[str, str] = {
    "no shared data": "they use the same memory in different orders",
    "no shared data due to indexing mismatch": "they use the same memory in different orders",
    "memory deps did not match": "the second reads other elements than the first has just written",
    "intermediate nodes between node1 & node2": "the second also needs what a kernel between them makes",
    "will create cycle": "a kernel outside needs the first and is needed by the second",
    "node1 must go before node2": "the second needs the first to be finished",
    "node1 is extern but not a triton kernel": _LIBRARY,
    "node2 is extern or nop": _LIBRARY,
    "node1 is extern but node2 is not SchedulerNode": _LIBRARY,
    "node1's triton kernel doesn't support epilogue fusion": "the Triton kernel of the program takes nothing after it",
    "grouped node must not be fused with other nodes": "one of them belongs to a group that stays alone",
    "exceeds max fusion": "one kernel would hold more operations than config.max_fusion_size allows",
    "Fusion will increase peak memory": "one kernel would need more memory at a time",
    "fusion_prevent_too_many_reads_and_writes": (
        "one kernel would use more buffers than config.max_fusion_unique_io_buffers allows"
    ),
    "score_fusion_memory_threshold": "they share too little memory for one kernel to be worth it",
    "Nodes are too far away. Fusing them may increase peak memory.": (
        "there is much between them: values would have to be kept longer"
    ),
    "device mismatch (%s vs %s)": "they run on different devices",
    "fusion for buffer explicit disabled": "Inductor keeps this buffer out of fusions",
    "numel/rnumel mismatch (reduce) (%s, %s), (%s, %s)": _SIZES,
    "numel/rnumel mismatch (non-reduce) (%s, %s), (%s, %s)": _SIZES,
    "numel/rnumel mismatch prologue mismatch (%s, %s), (%s, %s)": _SIZES,
    "nodes numel/rnumel incompatibility": _SIZES,
    "nodes numel incompatibility": _SIZES,
    "tiling mismatch (%s, %s, %s)": "the GPU's blocks would have to be shaped in two ways",
    "invalid tiling for reduction": "the GPU's blocks would have to be shaped in two ways",
    "Split scan cannot fuse with reductions": "a scan over blocks takes no reduction beside it",
    "register spilling of the first kernel": "measured: the first kernel has no registers left",
    "register spilling of the second kernel": "measured: the second kernel has no registers left",
    "register spilling of the fused kernel": "measured: one kernel would have too few registers",
    "prologue fusion turned off": "fusing into the front of a template is switched off",
    "template epilogue not satisfied": "the template takes nothing like this after it",
}  # fmt: skip
"""By torch's format string (``torch/_inductor/scheduler.py``, ``choices.py``, ``codegen/simd.py`` of 2.13)."""

FALLBACKS = {
    CUSTOM: "a custom operator: Inductor calls it as it is",
    NO_LOWERING: "Inductor has no code of its own for it, and calls eager's kernel",
    CHOSEN: "Inductor calls eager's kernel for arguments like these",
}
COPIES = {
    ASKED: "the program asks for a copy",
    WRITTEN_BACK: "the new value of what the program changes in place is written back",
    LAYOUT: "the library kernel that reads it wants another layout",
    JOINED: "inputs are copied into one tensor",
    MOVED: "from one device to another",
    COMPUTED: "elements are moved, and nothing is computed",
}


def is_of_library(reason: str) -> bool:
    """Whether two were not fused because one is a kernel of a library."""
    return FUSION_REASONS.get(reason) == _LIBRARY


def fusion_words(reason: str, detail: tuple[str, ...] = ()) -> str:
    """Why Inductor did not fuse two kernels, in plain words; torch's words for an unknown reason."""
    known = FUSION_REASONS.get(reason)
    if known is not None:
        return known
    try:
        return f"torch says: {reason % detail}" if detail else f"torch says: {reason}"
    except (TypeError, ValueError):
        return f"torch says: {reason}"
