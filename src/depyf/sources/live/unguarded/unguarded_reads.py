"""What the code of a function reads of the program's values in every call: globals, cells, attributes and items with
constant keys; comparisons of two objects by ``is``; and states of random numbers.

Input: the frame of a function that torch compiled, with live objects.  Output: ``ProgramRead`` records, with what the
functions, methods and modules of the program read that it calls (``called_frames.py``), as far as torch inlined them.
Only statements that every call runs are looked at.  Nothing of the program runs, and nothing is compiled.
"""

from __future__ import annotations

import ast
import linecache
import random
import sys
import types
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from depyf.run.guards.unguarded_value import IdentityRead, ProgramRead, Read, StateRead
from depyf.run.installed_files import of_library
from depyf.run.places.place import Place
from depyf.safety.unheard import parse
from depyf.sources.live.caches.entries import cache_entries
from depyf.sources.live.pure_access import SCALARS, UnreadableError, attribute, item
from depyf.sources.live.pure_tensors import is_tensor
from depyf.sources.live.recording.code_record import code_record
from depyf.sources.live.unguarded.called_frames import CalledFrame, called_frame, member, method_frame
from depyf.sources.reports.program_sources import ProgramSources

_MOST_CALLED = 200
"""How many functions are looked at."""
_GONE = object()


@dataclass(frozen=True, slots=True)
class _Value:
    value: Any
    owner: Any
    """What it is an attribute or an item of."""


@dataclass(frozen=True, slots=True)
class _Root:
    """What a variable of a function is: its name in the function that is compiled, and its value."""

    name: str
    value: _Value | None
    """None for a parameter whose value only a call has."""
    parameter: bool = False
    """A call gives it: it is no value that the program keeps."""


class SourceTrees:
    """The trees of functions, each read once.  No code object is held."""

    def __init__(self, sources: ProgramSources | None = None) -> None:
        self._known: dict[tuple[str, int, str, bytes], ast.FunctionDef | None] = {}
        self._sources = sources or ProgramSources()

    def of(self, code: types.CodeType) -> ast.FunctionDef | None:
        """The syntax tree of a function; None where its source cannot be read or holds more than one function."""
        key = code.co_filename, code.co_firstlineno, code.co_name, code.co_code
        if key not in self._known:
            self._known[key] = self._tree(code)
        return self._known[key]

    def _tree(self, code: types.CodeType) -> ast.FunctionDef | None:
        try:
            tree = parse(self._sources.with_source(code_record(code)).source)
        except (SyntaxError, ValueError, RecursionError):
            return None
        first = tree.body[0] if isinstance(tree, ast.Module) and len(tree.body) == 1 else None
        return first if isinstance(first, ast.FunctionDef) else None


def reads_of(first: CalledFrame, trees: SourceTrees) -> tuple[Read, ...]:
    """The values that the function and its callees read, each once, at the first line; () for a function of a
    library."""
    return () if of_library(first.code.co_filename) else tuple(_reads(first, trees))


def _reads(first: CalledFrame, trees: SourceTrees) -> Iterator[Read]:
    queue = [first]
    said: set[str] = set()
    met: set[tuple[int, str]] = set()
    while queue and len(met) < _MOST_CALLED:
        frame = queue.pop(0)
        key = (id(frame.code), frame.path)
        tree = None if key in met else trees.of(frame.code)
        met.add(key)
        if tree is None:
            continue
        roots = _roots(frame, tree, first)
        for node in _run_always(tree.body):
            if isinstance(node, ast.Call):
                queue += _called(node, roots)
                drawn = _drawn_from(node, roots)
                if drawn and f"{drawn}()" not in said:
                    said.add(f"{drawn}()")
                    yield StateRead(drawn, place_of(frame.code, node.lineno), frame.code.co_firstlineno)
                continue
            place = place_of(frame.code, node.lineno)
            if isinstance(node, ast.Compare):
                compared = _identity(node, roots, place, frame)
                if compared is not None and compared.name not in said:
                    said.add(compared.name)
                    yield compared
                continue
            name, value = _chain(node, roots)
            given = name in roots and roots[name].parameter
            if name in said or value is None or given or not _is_plain(value.value):
                continue
            said.add(name)
            yield ProgramRead(name, place, frame.code.co_firstlineno, _library(value.owner))


def place_of(code: types.CodeType, line: int) -> Place:
    """The place of line ``line`` of a function, counted from 1."""
    line += code.co_firstlineno - 1
    return Place(code.co_filename, line, code.co_name, linecache.getline(code.co_filename, line).strip())


def _library(owner: Any) -> str:
    if type(owner) is not types.ModuleType:
        return ""
    file, name = attribute(owner, "__file__"), owner.__name__
    within = of_library(file) if type(file) is str else name in sys.builtin_module_names  # which have no file
    return name.partition(".")[0] if within else ""


def _identity(node: ast.Compare, roots: Mapping[str, _Root], place: Place, frame: CalledFrame) -> IdentityRead | None:
    """None where it is decided by what is no object of its own: a constant, a class, a function, a tensor (torch
    guards which of those are one)."""
    one, other = (_chain(side, roots, whole=True) for side in (node.left, node.comparators[0]))
    if not one[0] or not other[0] or one[0] == other[0]:
        return None
    values = [side.value for _, side in (one, other) if side is not None]
    fixed = (*SCALARS, type, types.FunctionType, types.ModuleType, types.BuiltinFunctionType)
    if any(type(value) in fixed or isinstance(value, type) or is_tensor(value) for value in values):
        return None
    return IdentityRead(f"{one[0]} is {other[0]}", place, frame.code.co_firstlineno, one[0], other[0], bool(values))


def _drawn_from(node: ast.Call, roots: Mapping[str, _Root]) -> str:
    """The ``random.Random`` of the program whose state torch copies for a call while it compiles; "" for none."""
    name, holder = _chain(node.func.value, roots, whole=True) if isinstance(node.func, ast.Attribute) else ("", None)
    if holder is None or type(holder.value) is not random.Random or not isinstance(node.func, ast.Attribute):
        return ""
    return name if _copies_state(node.func.attr) else ""


def _copies_state(method: str) -> bool:
    """By ``RandomVariable`` of ``torch/_dynamo/variables/misc.py``.  Since 2.15 a number is drawn from the object
    itself in each call; what shuffles is still decided while compiling."""
    traced: Any = sys.modules.get("torch._dynamo.variables.misc")
    kind: Any = getattr(traced, "RandomVariable", None)
    if hasattr(traced, "RandomCallOnSource"):
        return method in ("shuffle", "sample") and hasattr(kind, method)
    return method in getattr(kind, "_supported_fn_names", ())


def _called(node: ast.Call, roots: Mapping[str, _Root]) -> list[CalledFrame]:
    """What a call runs, if torch has inlined it."""
    found = None
    if isinstance(node.func, ast.Attribute):
        owner, holder = _chain(node.func.value, roots, whole=True)
        found = method_frame(owner, holder.value, node.func.attr) if holder is not None else None
    if found is None:
        name, value = _chain(node.func, roots, whole=True)
        found = called_frame(name, value.value) if value is not None else None
    inlined = found is not None and not cache_entries(found.code)
    return [found] if found is not None and inlined else []


def _roots(frame: CalledFrame, tree: ast.FunctionDef, first: CalledFrame) -> dict[str, _Root]:
    """The variables whose values are known without a call: ``self``, cells, globals; of the function that is compiled
    also parameters.  Another function has cells and variables that are called alike, and are others."""
    code = frame.code
    own = frame.globals is first.globals
    module = "" if own else f"{dict.get(frame.globals, '__name__')}."
    stored = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load)}
    known = {
        name: _Root(f"{module}{name}", _Value(frame.globals[name], frame.globals))
        for name in code.co_names
        if name in frame.globals
    }
    for name in {*code.co_freevars, *code.co_varnames, *stored}:
        known.pop(name, None)
    given = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    for name in (*given, *code.co_freevars):
        if name in stored:
            continue
        if name in frame.variables:
            whole = frame.path if name in given else name
            known[name] = _Root(whole or name, _Value(frame.variables[name], None), name in given)
        elif frame is first and name in given:
            known[name] = _Root(name, None, True)
    return known


def _run_always(body: list[ast.stmt]) -> Iterator[ast.expr]:
    """The expressions that every call evaluates, up to the first statement that may end it."""
    for statement in body:
        if isinstance(statement, (ast.With, ast.AsyncWith)):
            for one in statement.items:
                yield from _evaluated(one.context_expr)
            yield from _run_always(statement.body)
        elif isinstance(statement, ast.For):
            yield from _evaluated(statement.iter)
        elif isinstance(statement, (ast.If, ast.While)):
            yield from _evaluated(statement.test)
        elif isinstance(statement, ast.Try):
            yield from _run_always(statement.body[:1])
        elif not isinstance(statement, (ast.FunctionDef, ast.ClassDef, ast.AsyncFunctionDef, ast.Global, ast.Nonlocal)):
            for child in ast.iter_child_nodes(statement):
                if isinstance(child, ast.expr):
                    yield from _evaluated(child)
        ends = (ast.Return, ast.Raise, ast.If, ast.While, ast.For, ast.Try, ast.Assert)
        if isinstance(statement, ends) and any(isinstance(n, (ast.Return, ast.Raise)) for n in ast.walk(statement)):
            return


def _evaluated(node: ast.AST) -> Iterator[ast.expr]:
    """Names, attributes and items in ``node`` that are evaluated whenever it is, the longest of a chain alone; calls
    of such; and what compares two such by ``is``."""
    if isinstance(node, (ast.Name, ast.Attribute, ast.Subscript)) and isinstance(node.ctx, ast.Load):
        if _spelled(node):
            yield node
            return
    if isinstance(node, (ast.Lambda, ast.GeneratorExp)):
        return
    if isinstance(node, ast.Call) and _spelled(node.func):
        yield node
    if isinstance(node, ast.Compare) and _is_identity(node):
        yield node
    if isinstance(node, ast.BoolOp):
        yield from _evaluated(node.values[0])
    elif isinstance(node, ast.IfExp):
        yield from _evaluated(node.test)
    elif isinstance(node, (ast.ListComp, ast.SetComp, ast.DictComp)):
        yield from _evaluated(node.generators[0].iter)
    else:
        for child in ast.iter_child_nodes(node):
            yield from _evaluated(child)


def _is_identity(node: ast.Compare) -> bool:
    return (
        len(node.ops) == 1
        and isinstance(node.ops[0], (ast.Is, ast.IsNot))
        and bool(_spelled(node.left) and _spelled(node.comparators[0]))
    )


def _spelled(node: ast.expr) -> str:
    """``self.opts['k']``; "" where it is no chain of attributes and constant items."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        inner = _spelled(node.value)
        return f"{inner}.{node.attr}" if inner else ""
    if (
        isinstance(node, ast.Subscript)
        and isinstance(node.slice, ast.Constant)
        and type(node.slice.value) in (str, int)
    ):
        inner = _spelled(node.value)
        return f"{inner}[{node.slice.value!r}]" if inner else ""
    return ""


def _chain(node: ast.expr, roots: Mapping[str, _Root], whole: bool = False) -> tuple[str, _Value | None]:
    """Its name, and its value; "" for a part of a variable of the function.  Unless it is wanted as a ``whole``, the
    value of the longest part that is plain: ``self.size`` of ``self.size.numel``."""
    if isinstance(node, ast.Name):
        root = roots.get(node.id)
        return ("", None) if root is None else (root.name, root.value)
    if not isinstance(node, (ast.Attribute, ast.Subscript)):
        return "", None
    inner_name, inner = _chain(node.value, roots, whole)
    if not inner_name or (inner is not None and not whole and _is_plain(inner.value, containers=False)):
        return inner_name, inner
    if isinstance(node, ast.Subscript) and not isinstance(node.slice, ast.Constant):
        return "", None
    key = node.attr if isinstance(node, ast.Attribute) else node.slice.value  # type: ignore[attr-defined]
    name = f"{inner_name}.{key}" if isinstance(node, ast.Attribute) else f"{inner_name}[{key!r}]"
    if inner is None:
        return name, None
    if isinstance(node, ast.Attribute):
        value = member(inner.value, node.attr, _GONE)
    else:
        try:
            value = item(inner.value, key)
        except UnreadableError:  # it is not there now
            value = _GONE
    return name, None if value is _GONE else _Value(value, inner.value)


def _is_plain(value: Any, containers: bool = True) -> bool:
    """A value that a program changes by assigning another one."""
    return type(value) in SCALARS or (containers and type(value) in (list, tuple, dict, set, frozenset))
