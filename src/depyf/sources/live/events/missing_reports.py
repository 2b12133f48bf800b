"""What the installed torch does not report, so that it is missing in every dump made with it.

Input: the imported torch.  Output: one line for each gap, for the manifest and the index.  Asked by looking for the
thing itself where that is possible; the table holds what only a run would show.
"""

from __future__ import annotations

import importlib.util
import re

_FIRST = (
    ((2, 8), "the graphs before and after the pre-grad passes, and before the post-grad passes"),
    ((2, 10), "the graphs before and after the joint passes"),
    ((2, 8), "the post-grad graphs of a cache hit"),
    (LOOPS_SINCE := (2, 13), "that it was a loop because of which a function ran as ordinary Python"),
    ((2, 10), "which line of the program uses a tensor first that a guard looks at"),
)
"""The torch that reports it first, and what it is."""


def tells_of_loops() -> bool:
    """Whether a function with a graph break in a loop is known from one that has nothing to compile."""
    return _version() >= LOOPS_SINCE


def gaps() -> tuple[str, ...]:
    """The gaps of this torch; () where it reports everything that depyf asks for."""
    from torch._C import _dynamo as machinery
    from torch._dynamo.utils import CompilationMetrics

    found = []
    if importlib.util.find_spec("torch._dynamo.graph_break_hints") is None:
        found.append("explanations, hints and numbers of graph breaks")
    entry = getattr(machinery.eval_frame, "_CacheEntry", None)
    if entry is not None and not hasattr(entry, "backend"):
        found.append(
            "the backend of a cache entry: "
            "depyf.why and depyf.explain take each for one of the backend they are asked about"
        )
    manager = getattr(machinery.guards, "GuardManager", None)
    if manager is not None and not hasattr(manager, "get_type_of_guarded_value"):
        found.append("the class of a guarded dict, and torch's global state when it compiled: only whether they hold")
    if "recompile_reason" not in getattr(CompilationMetrics, "__dataclass_fields__", {}):
        found.append("why depyf.explain's entries were compiled again: only a dump says it")
    return (*found, *(what for first, what in _FIRST if _version() < first))


def _version() -> tuple[int, ...]:
    import torch

    return tuple(int(part) for part in re.findall(r"\d+", str(torch.__version__))[:2])
