"""Grades what evaluating an expression of generated code does, under the program's contract.

Three grades: ``PURE`` may be evaluated at any time (its variables permitting), ``READ`` only reads what the guards have
just read: in the early part of the function its order does not count, later it is an event like any other (``EVENT``).
The proof (``verify.promised``) knows the same rules; what is graded too low here is refused there.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from depyf.decompiler.generated.contract import GeneratorContract
from depyf.decompiler.ir.expr import (
    Attr,
    BoolOf,
    CellOf,
    Comp,
    Cond,
    Const,
    DictOf,
    Display,
    Expr,
    Func,
    Invoke,
    Name,
    SliceOf,
    Star,
    Sub,
    Temp,
)
from depyf.decompiler.ir.walk_expr import LEAVES, children, evaluation_order, walk_all
from depyf.decompiler.lift.rules.container_rules import ITEMS, PAIRS

PURE, READ, EVENT = 0, 1, 2
Variable = tuple[str, object]
"""A temporary or a local variable: ("temp", key) or ("name", id)."""
_CONDITIONAL = (BoolOf, Cond, Func, Comp)
_SILENT = frozenset({Const, Temp, CellOf, SliceOf, Star})
_NOTHING = "\0"
_PLAIN_KEYS = (str, int, bool, bytes)


def variable(node: object) -> Variable | None:
    kind = type(node)  # no class of nodes has another one below it
    if kind is Temp:
        return ("temp", cast(Temp, node).key)
    if kind is Name:
        name = cast(Name, node)
        return ("name", name.id) if name.scope == "fast" else None
    return None


def conditional(node: Expr) -> bool:
    """Whether ``node`` may evaluate its parts not at all, or more than once."""
    return isinstance(node, _CONDITIONAL)


def in_order(node: Expr) -> list[Expr]:
    """The nodes of an expression in the order of their evaluation; parts that may not be evaluated are left out."""
    return evaluation_order((node,), _evaluated)


def _evaluated(node: Expr) -> list[Any]:
    return [] if type(node) in _CONDITIONAL else children(node)


class Effects:
    """Grades nodes, given the values of variables that are bound once."""

    def __init__(self, promises: GeneratorContract, values: Mapping[Variable, Expr]) -> None:
        self.promises = promises
        self._grades: dict[int, tuple[Expr, int]] = {}
        self.graphs: set[Variable] = set()
        self.functions: dict[Variable, str] = {}
        """Variables that hold an attribute of a fixed module."""
        for name, value in values.items():
            self.learn(name, value)

    def learn(self, name: Variable, value: Expr) -> None:
        """Note that ``name`` holds ``value``."""
        if self.is_graph(value):
            self.graphs.add(name)
            self._grades.clear()
        elif isinstance(value, Attr) and self.fixed_function(value):
            self.functions[name] = value.name
            self._grades.clear()

    def of(self, node: Expr) -> int:
        """The grade of a whole expression."""
        if type(node) in LEAVES:
            return self.own(node)
        known = self._grades.get(id(node))
        if known is None:
            worst = PURE
            for part in in_order(node):
                worst = max(worst, self.own(part))
                if worst == EVENT:
                    break
            known = self._grades[id(node)] = node, worst
        return known[1]

    def own(self, node: Expr) -> int:
        """The grade of a node itself, its operands apart."""
        if type(node) in _SILENT:
            return PURE
        if isinstance(node, Name):
            if node.scope == "fast" or self.stable(node, self.promises.stable):
                return PURE
            return READ if node.scope in ("cell", "global") else EVENT
        if isinstance(node, Attr):
            return PURE if self.stable(node.value, self.promises.fixed) else READ
        if isinstance(node, Sub):
            return PURE if self.fixed_item(node) else READ
        if isinstance(node, Display):
            if node.kind == "set":
                plain = all(isinstance(item, Const) and type(item.value) in _PLAIN_KEYS for item in node.elts)
                wide = self._wide(len(node.elts), ITEMS) and not any(isinstance(item, Star) for item in node.elts)
                return PURE if plain or wide else EVENT
            simple = node.kind in ("list", "tuple") and not any(isinstance(item, Star) for item in node.elts)
            return PURE if simple else EVENT
        if isinstance(node, DictOf):
            keys = [key.value for key, _ in node.items if isinstance(key, Const) and type(key.value) in _PLAIN_KEYS]
            plain = len(keys) == len(node.items) and len(set(keys)) == len(keys)
            wide = self._wide(len(node.items), PAIRS) and all(key is not None for key, _ in node.items)
            return PURE if plain or wide else EVENT
        if isinstance(node, Invoke):
            return self._call(node)
        return EVENT

    def _wide(self, count: int, at_once: int) -> bool:
        """Whether a dict or set of ``count`` parts is one whose keys were promised to be plain."""
        return self.promises.plain_keys and count > at_once

    def _call(self, node: Invoke) -> int:
        if self.is_maker(node):
            return PURE
        if isinstance(node.func, Const) and node.func.value is __import__ and len(node.args) == 1 and not node.keywords:
            return READ  # the guards have asked for the module
        name = self.fixed_function(node.func)
        if name in self.promises.readers and len(node.args) == 1 and not node.keywords:
            return READ
        if (
            name in self.promises.pure_calls
            or name in self.promises.profiler_exit
            or name in self.promises.profiler_enter
        ):
            return READ  # no other event can come in between, and the proof orders these among themselves
        return EVENT

    def stable(self, node: Expr, prefixes: tuple[str, ...]) -> bool:
        return isinstance(node, Name) and node.scope == "global" and node.id.startswith(prefixes or _NOTHING)

    def fixed_function(self, node: Expr) -> str:
        if isinstance(node, Attr):
            return node.name if self.stable(node.value, self.promises.fixed) else ""
        name = variable(node)
        return self.functions.get(name, "") if name is not None else ""

    def fixed_item(self, node: Sub) -> bool:
        """Whether an item is the same whenever it is read."""
        if not isinstance(node.key, Const):
            return False
        if self.stable(node.value, self.promises.tables):
            return type(node.key.value) is str
        if type(node.key.value) is not int:
            return False
        if isinstance(node.value, Display):  # [()][0]
            known = self.own(node.value) == PURE and node.value.kind in ("list", "tuple")
            return known and -len(node.value.elts) <= node.key.value < len(node.value.elts)
        return variable(node.value) in self.graphs or self.is_graph(node.value)

    def is_graph(self, node: Expr) -> bool:
        """Whether a node is a call of a compiled graph."""
        return isinstance(node, Invoke) and self.stable(node.func, self.promises.graphs)

    def is_mark(self, node: Expr) -> bool:
        """Whether a node is a call that ends a profiler's record."""
        return isinstance(node, Invoke) and self.fixed_function(node.func) in self.promises.profiler_exit

    def is_maker(self, node: Invoke) -> bool:
        """Whether a node is a call that makes a function from cells."""
        if not self.stable(node.func, self.promises.closure_factories) or len(node.args) != 1 or node.keywords:
            return False
        cells = node.args[0]
        return isinstance(cells, Display) and bool(cells.elts) and all(isinstance(c, CellOf) for c in cells.elts)


def width(node: object) -> int:
    """The approximate number of characters of an expression."""
    return sum(_own_width(part) + 2 for part in walk_all((node,))) - 2


def _own_width(node: object) -> int:
    if isinstance(node, Const):
        return len(repr(node.value)) if isinstance(node.value, (str, int, float, type(None))) else 12
    if isinstance(node, (Name, CellOf)):
        return len(node.id) if len(node.id) < 60 else 24  # the dump shortens what torch made unique
    if isinstance(node, Temp):
        return 7
    return len(node.name) + 1 if isinstance(node, Attr) else 2
