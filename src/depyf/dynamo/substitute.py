"""Decide whether the recompiled decompilation of a Dynamo code object may run in its place.

Input: the code Dynamo was given, the code it made, and a decompilation.  Output invariant: a code object is handed
out only if it is proven equivalent *and* torch's C++ side will accept it: same parameters, same free and cell
variables in the same order, at least as many locals, same kind of function.  Anything else is None with a reason.
"""

from __future__ import annotations

import types
from typing import Any

_KIND_FLAGS = (
    0x4 | 0x8 | 0x20 | 0x80 | 0x100 | 0x200
)  # *args, **kwargs, generator, coroutine, iterable coroutine, async


def refuse(code: types.CodeType, made: types.CodeType, candidate: types.CodeType) -> str:
    """Why ``candidate`` must not replace ``made`` as the compiled form of ``code``; "" where it may."""
    for name in ("co_argcount", "co_posonlyargcount", "co_kwonlyargcount", "co_freevars", "co_cellvars"):
        if getattr(candidate, name) != getattr(made, name):
            return f"{name} differs: {getattr(made, name)!r} became {getattr(candidate, name)!r}"
    if (candidate.co_flags ^ made.co_flags) & _KIND_FLAGS:
        return f"co_flags differ: {made.co_flags:#x} became {candidate.co_flags:#x}"
    count = parameter_count(code)
    if candidate.co_varnames[:count] != code.co_varnames[:count]:
        return f"parameters differ: {code.co_varnames[:count]} became {candidate.co_varnames[:count]}"
    if candidate.co_nlocals < code.co_nlocals:
        # torch copies the caller's locals into the frame of the substitute (eval_frame.c).
        return f"fewer locals than the original function: {candidate.co_nlocals} < {code.co_nlocals}"
    return ""


def parameter_count(code: types.CodeType) -> int:
    return code.co_argcount + code.co_kwonlyargcount + bool(code.co_flags & 0x4) + bool(code.co_flags & 0x8)


def like(made: types.CodeType, candidate: types.CodeType) -> types.CodeType:
    """``candidate`` under the name that ``made`` has in tracebacks and profiles."""
    changes: dict[str, Any] = {"co_name": made.co_name}
    if hasattr(made, "co_qualname"):
        changes["co_qualname"] = made.co_qualname
    return candidate.replace(**changes)


def torch_objection(made: types.CodeType) -> str:
    """Why this torch session must keep the bytecode object that it made; "" where it need not."""
    import torch._dynamo.config as config

    if getattr(config, "caching_precompile", False):
        return "torch._dynamo.config.caching_precompile is on: torch saves the bytecode itself"
    try:
        from torch._dynamo.bytecode_debugger import BREAKPOINT_MARKER
    except ImportError:
        return ""
    if any(const is BREAKPOINT_MARKER for const in made.co_consts):
        return "torch's own bytecode debugger has a breakpoint in it"
    return ""
