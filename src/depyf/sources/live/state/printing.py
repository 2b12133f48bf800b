"""Whether a value can write to standard output when it is called or used.

Input: a value of the program.  Output: a fact that errs on the side of yes. Code may write if it names ``stdout`` or
Python's ``print``, or runs text.  Calls that cannot print need no object of ours in ``sys.stdout``. Nothing of the
program runs.
"""

from __future__ import annotations

import builtins
import functools
import sys
import types
from collections.abc import Iterator
from typing import Any

from depyf.decompiler.bytecode.codeunit import nested_codes
from depyf.sources.live.pure_access import attribute, cell_contents, class_module, class_namespace, in_classes

_STREAMS = frozenset(("stdout", "__stdout__"))
"""Attributes of ``sys``, and names that programs import from it."""
_RUNS_TEXT = frozenset(("exec", "eval", "breakpoint", "help"))
_WRITES: tuple[Any, ...] = (print, exec, eval, breakpoint)


def writes_output(value: Any) -> bool:
    """Whether a call of a function of the program may print, or ``value`` is what it prints with."""
    if type(value) is types.FunctionType:
        return _may_print(value.__code__, value.__globals__)
    return value is sys.stdout or any(value is one for one in _WRITES)


def _may_print(code: types.CodeType, space: dict[str, Any]) -> bool:
    names = code.co_names
    if not _STREAMS.isdisjoint(names) or any(_is_pythons(name, space) for name in names):
        return True
    if "ops" in names and any(_has_operators(name) for name in names):
        return True
    return any(_may_print(inner, space) for inner in nested_codes(code))


def _is_pythons(name: str, space: dict[str, Any]) -> bool:
    """Whether a global of this name is Python's function that can print.  One of the program is a value itself."""
    if name != "print" and name not in _RUNS_TEXT:
        return False
    found = dict.get(space, name, _ABSENT)
    return found is _ABSENT or found is vars(builtins).get(name)


def _has_operators(name: str) -> bool:
    """Whether ``torch.ops`` has operators of the program's under this name: where their functions are, torch does not
    tell."""
    spaces = attribute(sys.modules.get("torch.ops"), "__dict__") or {}
    found = dict.get(spaces, name)
    return found is not None and name not in _OF_TORCH and in_classes(type(found), "_OpNamespace")


def operator_functions(operator: Any) -> Iterator[Any]:
    """The program's functions that a custom operator (``CustomOpDef``) calls."""
    for name in ("_init_fn", "_setup_context_fn", "_backward_fn"):
        if (found := attribute(operator, name)) is not None:
            yield found
    for kernel in dict.values(attribute(operator, "_backend_fns") or {}):
        for cell in attribute(kernel, "__closure__") or ():
            if type(found := cell_contents(cell)) is types.FunctionType:
                yield found


def library_writes_output(space: dict[str, Any]) -> bool:
    """Whether anything that a module of a library defines can print; ``space``: its globals.  torch and numpy print
    for those only who ask them to."""
    name = dict.get(space, "__name__")
    if type(name) is not str or name.partition(".")[0] in _SILENT:
        return False
    for value in list(dict.values(space)):
        own = class_namespace(value).values() if isinstance(value, type) else (value,)
        for one in own:
            if type(one) is types.FunctionType and one.__module__ == name and writes_output(one):
                return True
    return False


def compiler_writes_output(backend: Any) -> bool:
    """Whether what a backend compiles may print, as far as the module tells that defines the backend."""
    given = attribute(backend, "compiler_fn")  # torch keeps one that the program gave in an object of its own
    function = backend if given is None else given
    while type(function) in (types.MethodType, functools.partial):
        function = function.__func__ if type(function) is types.MethodType else function.func
    if writes_output(function):
        return True
    if type(function) is types.FunctionType:
        return library_writes_output(function.__globals__)
    defined = sys.modules.get(class_module(type(function)))
    return defined is not None and library_writes_output(vars(defined))


_ABSENT = object()
_OF_TORCH = frozenset(
    ("aten", "prim", "prims", "profiler", "inductor", "quantized", "export", "rngprims", "debugprims", "mkldnn", "mkl",
     "onednn", "higher_order", "c10d", "_c10d_functional")
)  # fmt: skip
_SILENT = frozenset(("torch", "numpy", "triton", "sympy", "depyf", "typing", "builtins"))
