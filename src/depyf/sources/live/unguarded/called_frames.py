"""The functions of the program that a call runs: a function, a method, the ``forward`` of a module.

Input: what is called, a live object with its name.  Output: a ``CalledFrame``, or None for what torch does not inline
as the program wrote it: functions of libraries, those that are disabled or allowed in graphs, generators, classes and
callable objects.  Nothing of the program runs.
"""

from __future__ import annotations

import sys
import types
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from depyf.run.installed_files import of_library
from depyf.sources.live.pure_access import attribute, own_attributes
from depyf.sources.live.target import Target, free_variables
from depyf.sources.live.unguarded.class_members import in_class, is_module, runs_forward

_NOT_PLAIN = 0x2A0
"""Flags of the code of a generator, a coroutine, an asynchronous generator."""


@dataclass(frozen=True, slots=True, eq=False)
class CalledFrame:
    """A function call whose code is searched for reads without a guard."""

    code: types.CodeType
    globals: dict[str, Any]
    path: str = ""
    """Its first argument, as the function that is compiled would write it; "" for that function itself."""
    variables: Mapping[str, Any] = field(default_factory=dict)
    """What is known of its parameters, and of what it closes over."""


def compiled_frame(target: Target) -> CalledFrame:
    """The frame of the function that torch compiled."""
    function = target.function
    given = dict(zip(function.__code__.co_varnames[: function.__code__.co_argcount], target.leading))
    return CalledFrame(function.__code__, function.__globals__, "", given | free_variables(function))


def called_frame(path: str, called: Any) -> CalledFrame | None:
    """The frame of a call of ``called``, which the program calls ``path``; None where it is not traced into."""
    if type(called) is types.FunctionType:
        return _frame(called) if _is_inlined(called) else None
    if not is_module(called) or not runs_forward(called):
        return None
    return method_frame(path, called, "forward")


def method_frame(path: str, holder: Any, name: str) -> CalledFrame | None:
    """The frame of a call of ``path.name``, a method or a function of a module; None where it is not traced into."""
    if type(holder) is types.ModuleType:
        function = vars(holder).get(name)
        return called_frame(name, function) if type(function) is types.FunctionType else None
    own = own_attributes(holder) or {}
    if isinstance(holder, type) or name in own or name in own.get("_modules", ()):
        return None
    function = in_class(type(holder), name)
    if type(function) is types.FunctionType and _is_inlined(function):
        return _frame(function, path, holder)
    return None


def member(holder: Any, name: str, default: Any) -> Any:
    """The attribute ``name`` of ``holder``, or its submodule of that name; ``default`` for none."""
    inner = (own_attributes(holder) or {}).get("_modules") if is_module(holder) else None
    if type(inner) is dict and name in inner:
        return inner[name]
    return attribute(holder, name, default)


def _frame(function: types.FunctionType, path: str = "", first: Any = None) -> CalledFrame:
    code = function.__code__
    known = {code.co_varnames[0]: first} if path and code.co_argcount else {}
    return CalledFrame(code, function.__globals__, path, known)


def _is_inlined(function: types.FunctionType) -> bool:
    code = function.__code__
    if of_library(code.co_filename) or code.co_flags & _NOT_PLAIN:
        return False
    if attribute(function, "_torchdynamo_disable") or attribute(function, "_torchdynamo_orig_callable") is not None:
        return False
    rules = sys.modules.get("torch._dynamo.trace_rules")
    allowed = attribute(rules, "_allowed_callable_ids")
    return not (allowed is not None and id(function) in _numbers(allowed))


def _numbers(allowed: Any) -> Any:
    """torch keeps the addresses of functions that ``allow_in_graph`` was given."""
    found = attribute(allowed, "function_ids")
    return found if isinstance(found, (set, frozenset, dict)) else ()
