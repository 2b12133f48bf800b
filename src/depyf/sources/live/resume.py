"""Finds the function that a resume function continues.

After a graph break Dynamo makes a function out of the rest of the frame.  Its calling convention changes from
release to release and is never looked at here: only torch's own table of resume functions is.
"""

from __future__ import annotations

import functools
import types
from typing import Any

from depyf.decompiler.bytecode import ops
from depyf.decompiler.bytecode.codeunit import CodeUnit, nested_codes
from depyf.decompiler.bytecode.lower import lower
from depyf.run.global_names import RESUME_FN, RESUME_PREFIX
from depyf.sources.live.ahead.precompiled import dispatch_of, remember_rest
from depyf.sources.live.caches.entries import LiveEntry
from depyf.sources.live.pure_access import attribute, cell_contents

_COUNTING = type(functools.lru_cache(len))
"""What a global may be while calls of it are counted."""


def origin(code: types.CodeType) -> types.CodeType | None:
    """The user's code object that the resume function ``code`` continues; None for other code."""
    try:
        from torch._dynamo.resume_execution import ContinueExecutionCache

        table = ContinueExecutionCache.generated_code_metadata
        seen: list[types.CodeType] = []
        current = code
        while current in table and not any(current is known for known in seen):
            seen.append(current)
            current = table[current].code
    except (ImportError, AttributeError, TypeError, KeyError):
        return None
    return current if current is not code else None


def is_rest(code: types.CodeType) -> bool:
    """Whether ``code`` is a resume function; for a loaded one only its name tells."""
    return origin(code) is not None or code.co_name.startswith(RESUME_PREFIX)


def resume_globals(names: tuple[str, ...]) -> tuple[str, ...]:
    """The names of resume functions among the globals of transformed code."""
    return tuple(name for name in names if RESUME_FN.match(name))


def resume_targets(entry: LiveEntry) -> list[tuple[str, types.CodeType]]:
    """The resume functions that an entry's code calls: the name it uses, and their code."""
    found: list[tuple[str, types.CodeType]] = []
    for name in resume_globals(entry.code.co_names):
        found += [(name, code) for code in _codes_of((entry.globals or {}).get(name))]
    return found + [(code.co_name, code) for code in nested_codes(entry.code) if origin(code) is not None]


def unchanged_arguments(code: types.CodeType) -> frozenset[str]:
    """The parameters that ``code`` never assigns: in its resume functions they still have the values of the call."""
    unit = CodeUnit.from_code(code)
    parameters = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    changed = {
        instr.arg for instr in lower(unit).instrs if instr.op in (ops.STORE_FAST, ops.DELETE_FAST, ops.RESTORE_FAST)
    }
    cells = {*code.co_cellvars}
    return frozenset(name for name in parameters if name not in changed and name not in cells)


def _codes_of(target: Any) -> list[types.CodeType]:
    """The resume function that a global holds: itself, or the code that a factory of closures holds."""
    if type(target) is _COUNTING:
        target = target.__wrapped__
    dispatch = dispatch_of(target)
    if dispatch is not None:
        return [remember_rest(target, dispatch)]
    code = attribute(target, "__code__")
    if type(code) is not types.CodeType:
        return []
    if is_rest(code):
        return [code]
    held = [*map(cell_contents, attribute(target, "__closure__") or ()), *(attribute(target, "__defaults__") or ())]
    return [value for value in held if type(value) is types.CodeType and is_rest(value)]
