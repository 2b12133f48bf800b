"""The values of the call that torch is about to recompile, read without running any of their code.

Input: the frame of torch's function that reports why no entry fitted.  Output: values as short text, and what the user
could call them.  Only plain numbers, strings, names of classes and lengths of builtin containers are told.
"""

from __future__ import annotations

import ast
import contextlib
import enum
import inspect
import operator
import sys
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import torch

from depyf.decompiler.bytecode.host.written_names import qualified_name
from depyf.run.advice.source_names import named, root
from depyf.run.global_names import RESUME_PREFIX
from depyf.run.guards.difference import INNER, KEYWORDS, MODULE, OPTIMIZER, OPTION, POSITIONAL, RECEIVER, GuardSide
from depyf.run.guards.guard_kind import UnknownValueError, tree_of
from depyf.safety.escape import cut
from depyf.safety.unheard import parse
from depyf.sources.live.pure_access import (
    UnreadableError,
    attribute,
    class_name,
    class_namespace,
    classes_of,
    full_name,
    is_a,
    item,
    length,
    short_name,
)
from depyf.sources.live.pure_tensors import is_inference, is_view, tells_sizes, tensor
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


@dataclass(frozen=True)
class CallValues:
    """The variables of one call, as a ``Look`` for guards; nothing known of them where it is empty."""

    variables: dict[str, Any] = field(default_factory=dict)
    globals: dict[str, Any] = field(default_factory=dict)
    inner: frozenset[str] = frozenset()
    """Variables that no caller passes: a resume function gets them from the part of the function before the break."""
    modules: frozenset[str] = frozenset()
    """Variables whose values are gone and were an ``nn.Module``."""
    code: types.CodeType | None = None
    """What is called."""

    def value(self, node: ast.expr) -> Any:
        """The value of an expression; UnknownValueError where it cannot be told."""
        try:
            return self._value(node)
        except (UnreadableError, ValueError, RecursionError):
            raise UnknownValueError from None

    def side(self, value: Any) -> GuardSide:
        """A value in a few words."""
        kind = short_name(type(value))
        if type(value) in _SIMPLE:
            return GuardSide(cut(repr(value), _LONGEST), kind)
        if is_a(value, enum.Enum):
            return GuardSide(f"{kind}.{attribute(value, '_name_')}", kind)
        return GuardSide(f"a {kind}", kind)

    def class_name(self, value: Any) -> str:
        return full_name(type(value))

    def ask(self, name: str, *arguments: Any, **named: Any) -> Any:
        """The answer to the question ``name`` of a guard kind.  UnknownValueError where it is about the state of torch,
        which differs while torch compiles."""
        if name == "measured":
            (node,) = arguments
            counted = node if isinstance(node, ast.Call) else ast.Call(ast.Name("len", ast.Load()), [node], [])
            return self.side(self.value(counted))
        if name == "is_view":
            return is_view(*arguments)
        if name == "is_inference":
            return is_inference(*arguments)
        if name == "count":
            return length(*arguments)
        raise UnknownValueError

    def shown(self, source: str) -> str:
        """The value of a source (``L['n']``, ``self.k``, ``len(names)``) as text; "" where it cannot be read."""
        try:
            return self.side(self.value(parse(source.strip(), mode="eval").body)).text
        except (UnknownValueError, SyntaxError, ValueError, RecursionError):
            return ""

    def roles(self, source: str) -> tuple[str, ...]:
        """The roles of the value of ``source`` in the program, such as an option of an optimizer."""
        tree = tree_of(source)
        if tree is None:
            return ()
        found = [MODULE] if self._of_module(tree) else []
        found += self._of_optimizer(tree)
        variable = root(source)
        found += [INNER] if variable in self.inner else []
        if named(source) in (variable, f"{variable}[0]"):
            found += [RECEIVER] if self._is_receiver(named(source)) else []
        if named(source) == variable and self.code is not None:
            found += [role for name, role in _further_arguments(self.code) if name == variable]
        return tuple(found)

    def _of_module(self, tree: ast.expr) -> bool:
        """Whether it is an attribute of an ``nn.Module``."""
        if not isinstance(tree, ast.Attribute):
            return False
        try:
            return is_a(self._value(tree.value), torch.nn.Module)
        except (UnreadableError, ValueError, RecursionError):
            return root(ast.unparse(tree)) in self.modules

    def _of_optimizer(self, tree: ast.expr) -> list[str]:
        """Whether it is part of what an optimizer keeps of each parameter, or of its options."""
        for role, owner in optimizer_parts(tree):
            with contextlib.suppress(UnreadableError, ValueError, RecursionError):
                if is_a(self._value(owner), torch.optim.Optimizer):
                    return [role]
        return []

    def _is_receiver(self, name: str) -> bool:
        """Whether it is the object that a method was called on."""
        value = self.variables.get(name.removesuffix("[0]"))
        if name.endswith("[0]"):
            value = value[0] if type(value) is tuple and value else None
        return self.code is not None and is_receiver(self.code, name, classes_of(value))

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


def is_receiver(code: types.CodeType, variable: str, classes: tuple[type, ...]) -> bool:
    """Whether ``variable``, an object of ``classes``, is the ``self`` of the method ``code``.  For a decorator's inner
    function with ``*args`` that is ``args[0]``."""
    whole = origin(code) or code
    if not whole.co_argcount and whole.co_flags & inspect.CO_VARARGS:
        first = f"{whole.co_varnames[whole.co_kwonlyargcount]}[0]"
        functions = (value for cls in classes for value in class_namespace(cls).values())
        return variable == first and any(type(one) is types.FunctionType and one.__code__ is whole for one in functions)
    if not whole.co_argcount or whole.co_varnames[0] != variable:
        return False
    owner, _, name = qualified_name(whole).rpartition(".")
    return any(name in class_namespace(cls) and class_name(cls) == owner for cls in classes)


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


_OF_OPTIMIZER = {"state": OPTIMIZER, "param_groups": OPTION}


def optimizer_parts(tree: ast.expr | None) -> Iterator[tuple[str, ast.expr]]:
    """What the value of an expression is if an object on the way to it is an optimizer, and that object."""
    if isinstance(tree, ast.Call) and len(tree.args) == 1:  # len(...)
        tree = tree.args[0]
    while isinstance(tree, (ast.Attribute, ast.Subscript)):
        role = _OF_OPTIMIZER.get(tree.attr) if isinstance(tree, ast.Attribute) else None
        tree = tree.value
        if role is not None:
            yield role, tree


def _further_arguments(code: types.CodeType) -> Iterator[tuple[str, str]]:
    """The names of the arguments beyond the named ones, with their roles."""
    position = code.co_argcount + code.co_kwonlyargcount
    for flag, role in ((0x04, POSITIONAL), (0x08, KEYWORDS)):
        if code.co_flags & flag:
            yield code.co_varnames[position], role
            position += 1


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
                code=code if isinstance(code, types.CodeType) else None,
            )
    return CallValues()


def refused_call() -> tuple[types.CodeType, dict[str, Any]] | None:
    """The code and the variables of the call that is about to be compiled again; None outside of torch's report of
    it."""
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
    """The arguments of a resume function that the original function does not have."""
    user = origin(code)
    if user is None:
        return frozenset(code.co_varnames) if code.co_name.startswith(RESUME_PREFIX) else frozenset()
    arguments = user.co_argcount + user.co_kwonlyargcount
    arguments += sum(bool(user.co_flags & flag) for flag in (0x04, 0x08))
    return frozenset(code.co_varnames) - frozenset(user.co_varnames[:arguments])
