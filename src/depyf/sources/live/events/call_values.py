"""The values of the call that torch is about to recompile, read without running any of their code.

Input: the frame of torch's function that reports why no entry fitted.  Output: values as short text, and what the user
could call them.  Only plain numbers, strings, names of classes and lengths of builtin containers are told.
"""

from __future__ import annotations

import ast
import enum
import functools
import operator
import re
import sys
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import torch

from depyf.run.global_names import RESUME_PREFIX
from depyf.safety.escape import cut
from depyf.sources.live.pure_access import (
    UnreadableError,
    attribute,
    full_name,
    is_a,
    item,
    length,
    short_name,
)
from depyf.sources.live.pure_tensors import tells_sizes, tensor
from depyf.sources.live.resume import origin

_REPORTERS = ("get_and_maybe_log_recompilation_reasons", "get_and_maybe_log_recompilation_reason")
"""The function of torch that reports; without the s before torch 2.7."""
_DEPTH = 16
_LONGEST = 80
_SIMPLE = (int, float, bool, str, bytes, type(None))
_CONTAINERS = (list, tuple, dict, set, frozenset)
_DIVISIONS = (ast.FloorDiv, ast.Mod)
_ARITHMETIC: dict[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod,
}  # fmt: skip
_NOTHING = object()
_COMMUTATIVE = (ast.Eq, ast.NotEq, ast.Is, ast.IsNot)


@dataclass(frozen=True)
class CallValues:
    """The variables of one call; nothing known of them where it is empty."""

    variables: dict[str, Any] = field(default_factory=dict)
    globals: dict[str, Any] = field(default_factory=dict)
    inner: frozenset[str] = frozenset()
    """Variables that no caller passes: a resume function gets them from the part of the function before the break."""
    modules: frozenset[str] = frozenset()
    """Variables whose values are gone and were an ``nn.Module``."""

    def shown(self, source: str) -> str:
        """``L['n']``, ``n``, ``self.k``, ``G['MODE']``, ``len(names)`` as text; "" where it cannot be told."""
        try:
            value = self._value(ast.parse(source.strip(), mode="eval").body)
        except (UnreadableError, SyntaxError, ValueError, RecursionError):
            return ""
        if type(value) in _SIMPLE:
            return cut(repr(value), _LONGEST)
        if is_a(value, enum.Enum):
            return f"{short_name(type(value))}.{attribute(value, '_name_')}"
        return f"a {short_name(type(value))}"

    def type_name(self, source: str) -> str:
        """The class of a value, as guards name classes; "" where it cannot be told."""
        try:
            found = type(self._value(ast.parse(source.strip(), mode="eval").body))
        except (UnreadableError, SyntaxError, ValueError, RecursionError):
            return ""
        return full_name(found)

    def of_module(self, source: str) -> bool:
        """Whether ``source`` is an attribute of an ``nn.Module``; for ``self.x`` of unknown calls, most likely."""
        try:
            tree = ast.parse(source.strip(), mode="eval").body
            if not isinstance(tree, ast.Attribute):
                return False
            return is_a(self._value(tree.value), torch.nn.Module)
        except SyntaxError:
            return False
        except UnreadableError:
            return source.startswith(("self.", "L['self'].", *(f"{name}." for name in self.modules)))

    def of_optimizer(self, source: str) -> bool:
        """Whether ``source`` is part of what an optimizer keeps of each parameter."""
        owner = re.match(r"(?:len\()?(?:L\['(\w+)'\]|(\w+))\.state\b", source)
        return owner is not None and is_a(self.variables.get(owner[1] or owner[2]), torch.optim.Optimizer)

    def _value(self, node: ast.expr) -> Any:
        match node:
            case ast.Name("L") if self.variables and "L" not in self.variables:
                return self.variables
            case ast.Name("G") if self.globals and "G" not in self.variables:
                return self.globals
            case ast.Name(name) if name in self.variables:
                return self.variables[name]
            case ast.Subscript(value, index):
                return item(self._value(value), _constant(index))
            case ast.Attribute(value, name):
                return _attribute(self._value(value), name)
            case ast.Call(ast.Name("len"), [argument], []):
                value = self._value(argument)
                if type(value) in _CONTAINERS:
                    return length(value)
            case ast.Call(ast.Attribute(owner, "size"), [], []):
                value = self._value(owner)
                if is_a(value, torch.Tensor) and tells_sizes(type(value)):
                    return tensor(value).size
            case ast.BinOp(left, sign, right) if type(sign) in _ARITHMETIC:
                sides = self._value(left), self._value(right)
                if all(type(side) is int for side in sides) and (sides[1] or type(sign) not in _DIVISIONS):
                    return _ARITHMETIC[type(sign)](*sides)
            case ast.Constant(int(value)):
                return value
        raise UnreadableError


def _attribute(value: Any, name: str) -> Any:
    found = attribute(value, name, _NOTHING)
    if found is _NOTHING:
        raise UnreadableError
    return found


def _constant(node: ast.expr) -> Any:
    try:
        return ast.literal_eval(node)
    except ValueError:
        raise UnreadableError from None


@functools.lru_cache(maxsize=4096)
def comparison(guard: str) -> tuple[str, str] | None:
    """What a comparison with constants looks at, and what it wants of it: ``2 <= len(x)`` -> (``len(x)``, ``>= 2``).

    An equality wants the value itself; None for what compares two things that may differ.
    """
    try:
        tree = ast.parse(guard.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError):
        return None
    if isinstance(tree, ast.UnaryOp) and isinstance(tree.op, ast.Not):  # torch's guard on an empty container
        return f"len({ast.unparse(tree.operand)})", "0"
    if not isinstance(tree, ast.Compare):
        return None
    if len(tree.ops) == 2 and _is_literal(tree.left) and _is_literal(tree.comparators[1]):
        source, high = tree.comparators
        return ast.unparse(source), ast.unparse(ast.Compare(tree.left, tree.ops, [ast.Name("_"), high]))
    if len(tree.ops) != 1:
        return None
    left, relation, right = tree.left, tree.ops[0], tree.comparators[0]
    if not _is_literal(right) and _is_literal(left):
        turned = _TURNED.get(type(relation))
        if turned is None:
            return None
        left, relation, right = right, turned(), left
    if not _is_literal(right) or _is_literal(left):
        return None
    wanted = ast.unparse(right)
    if not isinstance(relation, (ast.Eq, ast.Is)):
        wanted = ast.unparse(ast.Compare(ast.Name("_"), [relation], [right])).removeprefix("_ ")
    return ast.unparse(left), wanted


_TURNED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.Gt, ast.LtE: ast.GtE, ast.Gt: ast.Lt, ast.GtE: ast.LtE, **{kind: kind for kind in _COMMUTATIVE},
}  # fmt: skip


def _is_literal(node: ast.expr) -> bool:
    try:
        ast.literal_eval(node)
    except ValueError:
        return False
    return True


def call_values() -> CallValues:
    """The values of the call that is about to be compiled again; asked while torch reports the reasons, else empty."""
    for frame in _callers():
        if frame.f_code.co_name in _REPORTERS:
            called = frame.f_locals.get("frame")  # torch's stand-in for the frame, or the frame itself
            variables = getattr(called, "f_locals", None)
            names = getattr(called, "f_globals", None)
            code = getattr(called, "f_code", None)
            return CallValues(
                dict(variables) if isinstance(variables, dict) else {},
                names if isinstance(names, dict) else {},
                inner_variables(code) if isinstance(code, types.CodeType) else frozenset(),
            )
    return CallValues()


def refused_call() -> tuple[types.CodeType, dict[str, Any]] | None:
    """The code and the variables of the call that is about to be compiled again; None outside of torch's report of it."""
    for frame in _callers():
        called = frame.f_locals.get("frame") if frame.f_code.co_name in _REPORTERS else None
        code, variables = getattr(called, "f_code", None), getattr(called, "f_locals", None)
        if isinstance(code, types.CodeType) and isinstance(variables, dict):
            return code, dict(variables)
    return None


def _callers() -> Iterator[types.FrameType]:
    frame: types.FrameType | None = sys._getframe(2)
    for _ in range(_DEPTH):
        if frame is None:
            return
        yield frame
        frame = frame.f_back


def inner_variables(code: types.CodeType) -> frozenset[str]:
    """The arguments of a resume function that are no arguments of the user's function."""
    user = origin(code)
    if user is None:
        return frozenset(code.co_varnames) if code.co_name.startswith(RESUME_PREFIX) else frozenset()
    arguments = user.co_argcount + user.co_kwonlyargcount
    arguments += sum(bool(user.co_flags & flag) for flag in (0x04, 0x08))
    return frozenset(code.co_varnames) - frozenset(user.co_varnames[:arguments])
