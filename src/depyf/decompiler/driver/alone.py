"""Wraps the code of a comprehension or generator expression, given alone, in a function that returns it.

    f.<locals>.<listcomp>     is     def listcomp(iterable):
                                         return [x + 1 for x in iterable if x]

Such code is called with an iterator, which none of its variables names.  So the smallest function around one is
compiled, the given code is put into it, and that function is decompiled and proven as any other.
"""

from __future__ import annotations

import types
from dataclasses import replace
from inspect import CO_ASYNC_GENERATOR, CO_COROUTINE
from typing import Any

from depyf.decompiler.bytecode import ops
from depyf.decompiler.bytecode.codeunit import CodeUnit, codes, nested_codes
from depyf.decompiler.bytecode.lower import lower
from depyf.decompiler.driver.pipeline import FUTURE_FLAGS, Decompiled, decompile_code
from depyf.decompiler.options import Options
from depyf.errors import DepyfError

_DISPLAYS = {"<listcomp>": "[{}]", "<setcomp>": "{{{}}}", "<dictcomp>": "{{0: {}}}", "<genexpr>": "({})"}
_ASYNC = CO_COROUTINE | CO_ASYNC_GENERATOR


def decompile_alone(code: types.CodeType, name: str | None, options: Options) -> Decompiled | None:
    """The text of a function around ``code``, proven; None where ``code`` is no comprehension or has no such text."""
    try:
        around = _around(code, name or code.co_name.strip("<>"))
        if around is None:
            return None
        found = decompile_code(around, options=options, name=name)
    except (DepyfError, SyntaxError, ValueError):
        return None
    if not found.proven or found.fallbacks:
        return None
    return replace(found, verdicts=found.verdicts[1:], code=None)


def _around(code: types.CodeType, name: str) -> types.CodeType | None:
    """A function, called ``name``, that returns the comprehension whose code is ``code``; None where that is none."""
    display = _DISPLAYS.get(code.co_name)
    if display is None or code.co_varnames[:1] != (".0",) or code.co_argcount != 1:
        return None
    used = {ident for inner in codes(code) for ident in (*inner.co_names, *inner.co_varnames, *inner.co_freevars)}
    iterable = "iterable"
    while iterable in used or iterable == name:
        iterable += "_"
    loops = (instr.op for instr in lower(CodeUnit.from_code(code)).instrs if instr.op in (ops.FOR_ITER, ops.GET_ANEXT))
    is_async = code.co_flags & _ASYNC
    value = f"({''.join(free + ', ' for free in code.co_freevars)})"
    loop = f"{'await ' * bool(is_async)}{value} {'async ' * (next(loops, None) == ops.GET_ANEXT)}for _ in {iterable}"
    lines = [
        f"def make({', '.join(code.co_freevars)}):",
        f"    {'async ' * bool(is_async)}def {name}({iterable}):",
        f"        return {display.format(loop)}",
    ]
    made = compile("\n".join(lines), code.co_filename, "exec", flags=code.co_flags & FUTURE_FLAGS, dont_inherit=True)
    function = _inner(_inner(made, "make"), name)
    inner = _inner(function, code.co_name)
    own = _renamed(code, f"{name}.<locals>.{code.co_name}")
    consts = tuple([own if const is inner else const for const in function.co_consts])
    return _named(function.replace(co_consts=_short(consts, name)), name)


def _short(consts: tuple[object, ...], name: str) -> tuple[object, ...]:
    """Constants with the qualified names of code that no ``make`` is around (up to 3.10 they are constants)."""
    front = f"make.<locals>.{name}."
    short = len("make.<locals>.")
    return tuple([const[short:] if isinstance(const, str) and const.startswith(front) else const for const in consts])


def _inner(code: types.CodeType, name: str) -> types.CodeType:
    for inner in nested_codes(code):
        if inner.co_name == name:
            return inner
    raise DepyfError(f"{code.co_name} defines no {name}")


def _named(code: types.CodeType, qualname: str) -> types.CodeType:
    changes: dict[str, Any] = {"co_qualname": qualname} if hasattr(code, "co_qualname") else {}
    return code.replace(**changes)


def _renamed(code: types.CodeType, qualname: str) -> types.CodeType:
    """``code`` under another qualified name, and what is nested in it under the names that go with it."""
    inside = {inner.co_name for inner in nested_codes(code)}

    def inner(const: object) -> object:
        if isinstance(const, types.CodeType):
            own = getattr(const, "co_qualname", f".<locals>.{const.co_name}")
            local = own.endswith(f".<locals>.{const.co_name}")
            return _renamed(const, f"{qualname}.<locals>.{const.co_name}") if local else const
        if isinstance(const, str) and not hasattr(code, "co_qualname"):  # up to 3.10 the names are constants
            tail = next((name for name in inside if const.endswith(f"{code.co_name}.<locals>.{name}")), None)
            return const if tail is None else f"{qualname}.<locals>.{tail}"
        return const

    return _named(code.replace(co_consts=tuple([inner(const) for const in code.co_consts])), qualname)
