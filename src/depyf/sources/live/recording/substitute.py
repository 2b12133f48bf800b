"""Decides whether the recompiled decompilation of a Dynamo code object may run in its place.

Input: the code Dynamo was given, the code it made, and a decompilation.  Output invariant: a code object is handed
out only if it is proven equivalent *and* torch's C++ side will accept it: same parameters, same free and cell
variables in the same order, at least as many locals, same kind of function.  Anything else is None with a reason.
"""

from __future__ import annotations

import builtins
import types
from typing import Any

from depyf.decompiler.bytecode.codeunit import nested_codes
from depyf.sources.live.pure_access import short_name

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


def refuse_constants(made: types.CodeType, candidate: types.CodeType) -> str:
    """Why the constants of ``candidate`` are not those of ``made``; "" where they are.

    Every constant that is no literal must be the very object that Dynamo put there, or a builtin: where no statement
    of Python is exact enough, the text calls one (``iter``), bound so that no global of the user can be in its place.
    """
    known = {id(item) for const in made.co_consts for item in _parts(const)}
    for const in candidate.co_consts:
        for item in _parts(const):
            if type(item) in (*_LITERALS, types.CodeType) or id(item) in known:
                continue
            if not any(item is builtin for builtin in _BUILTINS):
                return f"a constant of type {short_name(type(item))} is not the object that Dynamo put there"
    return ""


_BUILTINS = [value for value in vars(builtins).values() if type(value) in (type, types.BuiltinFunctionType)]
"""Compared by identity: what a class calls itself is for its metaclass to say."""
_LITERALS = (type(None), bool, int, float, complex, str, bytes, type(Ellipsis))


def _parts(const: Any) -> list[Any]:
    """``const`` and, where the compiler may have folded it, what is in it."""
    if type(const) in (tuple, frozenset):
        return [item for part in const for item in _parts(part)]
    if type(const) is slice:  # a constant since 3.14
        return [item for part in (const.start, const.stop, const.step) for item in _parts(part)]
    return [const]


def with_original_codes(made: types.CodeType, candidate: types.CodeType) -> types.CodeType:
    """``candidate`` with the nested code objects that Dynamo uses, in place of their proven recompilations.

    torch knows a function by its code object (compiled entries, skip marks, resume functions), and users look for their
    functions in their own files.  A recompilation is proven for an original of its name; of several, only one with
    exactly the same contents is certain (``made`` need not use all).
    """
    originals = nested_codes(made)
    taken: set[int] = set()
    consts = list(candidate.co_consts)
    for place, const in enumerate(consts):
        if type(const) is not types.CodeType or any(const is original for original in originals):
            continue
        named = [original for original in originals if original.co_name == const.co_name]
        if len(named) > 1:
            same = _without_place(const)
            named = [original for original in named if _without_place(original) == same]
            named.sort(key=lambda original: id(original) in taken)
        if named and named[0].co_freevars == const.co_freevars and _kind(named[0]) == _kind(const):
            consts[place] = named[0]
            taken.add(id(named[0]))
    return candidate.replace(co_consts=tuple(consts))


_NESTED = 0x10
"""Compiled inside another function: what CPython's compiler notes and nothing reads; torch's resume functions lack
it."""


def _kind(code: types.CodeType) -> int:
    return code.co_flags & ~_NESTED


def same_code(one: types.CodeType, other: types.CodeType) -> bool:
    """Whether two code objects are the same, wherever they stand."""
    return _without_place(one) == _without_place(other)


def _without_place(code: types.CodeType) -> types.CodeType:
    """``code`` as it is wherever it stands: without file, lines and the names of what is around it."""
    consts = tuple(_without_place(const) if type(const) is types.CodeType else const for const in code.co_consts)
    changes: dict[str, Any] = {
        "co_filename": "", "co_firstlineno": 1, "co_linetable": b"", "co_consts": consts, "co_flags": _kind(code),
    }  # fmt: skip
    if hasattr(code, "co_qualname"):
        changes["co_qualname"] = code.co_name
    return code.replace(**changes)


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
