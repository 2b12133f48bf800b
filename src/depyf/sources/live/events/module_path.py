"""The path of the module in whose ``forward`` something happens while torch traces: ``h.0.attn``.

Input: the frames of Dynamo, while it reports.  Output: the path as the compiled function reaches it, "" outside of
modules. Only torch's own objects are looked at: each of its translators keeps a stack of modules as plain strings.
"""

from __future__ import annotations

import re
import sys
import types
from collections.abc import Iterator
from typing import Any

from depyf.run.advice.source_names import by_attribute

_STACK = "nn_module_stack"
_DEPTH = 60
_ROOT = re.compile(r"^(?:(?P<scope>[LG])\['(?P<name>\w+)'\]|(?P<other>\w+))(?P<rest>.*)$", re.S)
_ITEM = re.compile(r"\._(?:modules|parameters|buffers)\['([^'\]]+)'\]|\['([^'\]]+)'\]|\[(\d+)\]")


def module_path(source: str) -> str:
    """``L['self']._modules['h']._modules['0']`` -> ``h.0``; ``G['model'].h`` -> ``model.h``: torch's name of a module
    as the program's path."""
    match = _ROOT.match(by_attribute(source))
    if match is None:
        return ""
    rest = _ITEM.sub(lambda item: "." + next(part for part in item.groups() if part is not None), match["rest"])
    name = match["name"] or match["other"] or ""
    return rest.lstrip(".") if name in ("self", "fn") else (name + rest).strip(".")


def traced_module() -> str:
    """The module whose ``forward`` Dynamo is tracing; "" for none.  Call it while torch reports."""
    error = sys.exc_info()[1]
    failed = list(_of_traceback(error.__traceback__)) if error is not None else []
    for frame in [*reversed(failed), *_callers()]:
        stack = getattr(frame.f_locals.get("self"), _STACK, None) if _traces(frame) else None
        if isinstance(stack, dict):
            last = next(reversed(stack.values()), None)
            name = last[0] if isinstance(last, tuple) and last else ""
            return module_path(name) if isinstance(name, str) else ""
    return ""


def node_module(node: Any) -> str:
    """The module whose ``forward`` computes a node of a graph, or, in a backward, whose forward it is for; "" without
    one."""
    stack = node.meta.get(_STACK) or node.meta.get(f"fwd_{_STACK}")
    last = next(reversed(stack.values()), None) if isinstance(stack, dict) else None
    source = last[0] if isinstance(last, tuple) and last else None
    return module_path(source) if isinstance(source, str) else ""


def _traces(frame: types.FrameType) -> bool:
    """Whether a frame is one of the translator's methods."""
    return frame.f_code.co_filename.replace("\\", "/").endswith("torch/_dynamo/symbolic_convert.py")


def _of_traceback(traceback: types.TracebackType | None) -> Iterator[types.FrameType]:
    while traceback is not None:
        yield traceback.tb_frame
        traceback = traceback.tb_next


def _callers() -> Iterator[types.FrameType]:
    frame: types.FrameType | None = sys._getframe(2)
    for _ in range(_DEPTH):
        if frame is None:
            return
        yield frame
        frame = frame.f_back
