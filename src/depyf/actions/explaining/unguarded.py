"""What compiled code took from the program, and no guard looks at: it may change, and the entry runs all the same.

Input: a function, and the run of its live cache entries.  Output: ``Unguarded`` records.  What the function reads is in
its source: globals, cells, attributes and items with constant keys, in the statements that every call runs; also what
the functions, methods and modules of the program read that these statements call (``called_frames.py``), as far as
torch inlined them.  What a guard looks at is in the guards of the entry, and of the rests of the function after graph
breaks.  Of modules also the hooks, which no guard looks at while a setting says so.  Nothing of the program runs, and
nothing is compiled.
"""

from __future__ import annotations

import ast
import linecache
import sys
import types
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from depyf.actions.claims.guard_sources import known_path, read_guard, spelled_plainly
from depyf.actions.explaining.called_frames import CalledFrame, called_frame, member, method_frame
from depyf.run.causes.folding import counted
from depyf.run.guards.guard_kind import sources_in
from depyf.run.installed_files import of_library
from depyf.run.places.place import Place
from depyf.run.run import Run
from depyf.safety.unheard import parse
from depyf.sources.live.caches.entries import LiveEntry, cache_entries
from depyf.sources.live.guards.guard_tree import live_guards
from depyf.sources.live.pure_access import SCALARS, UnreadableError, attribute, in_classes, item, own_attributes
from depyf.sources.live.recording.code_record import code_record
from depyf.sources.live.resume import resume_targets
from depyf.sources.live.target import Target, free_variables
from depyf.sources.reports.program_sources import ProgramSources

_SETTING = "torch._dynamo.config.skip_nnmodule_hook_guards"
_HOOKS = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")
_MOST = 2000
_MOST_CALLED = 200
"""How many functions are looked at."""
_GONE = object()


@dataclass(frozen=True, slots=True)
class Unguarded:
    """A value that the entries do not look at."""

    name: str
    """As the program writes it: ``self.factor``, ``SCALE``."""
    place: Place
    """The line that reads it."""
    why: str
    """Why no guard looks at it."""
    entries: tuple[str, ...]
    """The compile ids of the entries."""

    def __str__(self) -> str:
        at = f"{self.place.filename.rpartition('/')[2]}:{self.place.line}"
        return f"{self.name} ({at}): {self.why}"

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "at": f"{self.place.filename}:{self.place.line}",
            "why": self.why,
            "compile_ids": list(self.entries),
        }


def unguarded(target: Target, compiled: Any, run: Run) -> tuple[Unguarded, ...]:
    """``compiled``: what the program calls, which knows the filter of guards; ``run`` has the guards of its entries."""
    entries = cache_entries(target.code)
    if not entries:
        return ()
    reads = list(_reads(target))
    known = {entry.key.text: entry.guards for function in run.functions for entry in function.entries}
    read: dict[str, list[str]] = {}
    looked_at: dict[str, set[str]] = {}
    for entry in entries:
        own = [guard.expression for guard in known.get(entry.compile_id, ())]
        looked_at[entry.compile_id] = _looked_at([*own, *_of_rests(entry)], read)
    found = []
    for name, place, value in reads:
        without = tuple(key for key, names in looked_at.items() if not _covered(name, names))
        if without:
            found.append(Unguarded(name, place, _why(value, compiled), without))
    return (*found, *_hooks(target, tuple(looked_at)))


def _of_rests(entry: LiveEntry) -> Iterator[str]:
    """The guards of what follows graph breaks: the rests of the function are compiled apart."""
    met: set[int] = set()
    queue = [code for _, code in resume_targets(entry)]
    while queue:
        code = queue.pop()
        if id(code) in met:
            continue
        met.add(id(code))
        for rest in cache_entries(code):
            yield from (guard.record.expression for guard in live_guards(rest))
            queue += [inner for _, inner in resume_targets(rest)]


def _place(code: types.CodeType, line: int) -> Place:
    text = linecache.getline(code.co_filename, line).strip()
    return Place(code.co_filename, line, code.co_name, text)


def _looked_at(guards: Sequence[str], read: dict[str, list[str]]) -> set[str]:
    """``read``: expression -> what it looks at; entries have most of them in common."""
    for expression in set(guards).difference(read):
        tree = read_guard(expression)
        sources = [] if tree is None else sources_in(tree)
        read[expression] = [spelled_plainly(known_path(source)) for source in sources]
    return {source for guard in guards for source in read[guard]}


def _covered(name: str, looked_at: set[str]) -> bool:
    return any(known == name or known.startswith((f"{name}.", f"{name}[")) for known in looked_at)


def _why(value: _Value, compiled: Any) -> str:
    owner = value.owner
    if type(owner) is types.ModuleType and of_library(getattr(owner, "__file__", "") or ""):
        return f"a constant of the library {owner.__name__.partition('.')[0]}"
    if _filter_of(compiled) is not None:
        return "guard_filter_fn left its guard out"
    return "torch made no guard for it"


def _filter_of(compiled: Any) -> Any:
    """``guard_filter_fn`` of what torch.compile returned."""
    context = attribute(compiled, "dynamo_ctx")
    if context is None and type(compiled) is types.FunctionType:
        context = free_variables(compiled).get("self")
    return attribute(attribute(attribute(context, "callback"), "hooks"), "guard_filter_fn")


@dataclass(frozen=True, slots=True)
class _Value:
    value: Any
    owner: Any
    """What it is an attribute or an item of."""


def _reads(target: Target) -> Iterator[tuple[str, Place, _Value]]:
    """The values that are no objects of their own, each once, at the first line that reads it."""
    first = CalledFrame(target.function, "", target.leading[0] if target.leading else None)
    queue = [first]
    said: set[str] = set()
    met: set[tuple[int, str]] = set()
    while queue and len(met) < _MOST_CALLED:
        frame = queue.pop(0)
        key = (id(frame.function.__code__), frame.path)
        tree = None if key in met else _tree(frame.function)
        met.add(key)
        if tree is None:
            continue
        code, roots = frame.function.__code__, _roots(frame, tree, first)
        for node in _run_always(tree.body):
            if isinstance(node, ast.Call):
                queue += _called(node, roots)
                continue
            name, value = _chain(node, roots)
            if name in said or value is None or not _is_plain(value.value):
                continue
            said.add(name)
            yield name, _place(code, node.lineno + code.co_firstlineno - 1), value


def _called(node: ast.Call, roots: Mapping[str, _Root]) -> list[CalledFrame]:
    """What a call runs, if torch has inlined it."""
    found = None
    if isinstance(node.func, ast.Attribute):
        owner, holder = _chain(node.func.value, roots, whole=True)
        found = method_frame(owner, holder.value, node.func.attr) if holder is not None else None
    if found is None:
        name, value = _chain(node.func, roots, whole=True)
        found = called_frame(name, value.value) if value is not None else None
    inlined = found is not None and not cache_entries(found.function.__code__)
    return [found] if found is not None and inlined else []


def _tree(function: types.FunctionType) -> ast.FunctionDef | None:
    try:
        tree = parse(ProgramSources().with_source(code_record(function.__code__)).source)
    except (SyntaxError, ValueError, RecursionError):
        return None
    first = tree.body[0] if isinstance(tree, ast.Module) and len(tree.body) == 1 else None
    return first if isinstance(first, ast.FunctionDef) else None


@dataclass(frozen=True, slots=True)
class _Root:
    """What a variable of a function is: its name in the function that is compiled, and its value."""

    name: str
    value: _Value


def _roots(frame: CalledFrame, tree: ast.FunctionDef, first: CalledFrame) -> dict[str, _Root]:
    """The variables whose values are known without a call: ``self``, cells, globals.  Another function than the
    compiled one has cells and variables that are called alike, and are others."""
    function = frame.function
    own = function.__globals__ is first.function.__globals__
    module = "" if own else f"{dict.get(function.__globals__, '__name__')}."
    stored = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load)}
    known = {
        name: _Root(f"{module}{name}", _Value(value, function.__globals__))
        for name, value in function.__globals__.items()
        if type(name) is str
    }
    for name, value in free_variables(function).items():
        known.pop(name, None)
        if frame is first:
            known[name] = _Root(name, _Value(value, None))
    for name in {*function.__code__.co_varnames, *stored}:
        known.pop(name, None)
    if frame.first is not None and function.__code__.co_argcount:
        variable = function.__code__.co_varnames[0]
        if variable not in stored:
            known[variable] = _Root(frame.path or variable, _Value(frame.first, None))
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
    """Names, attributes and items in ``node`` that are evaluated whenever it is, the longest of a chain alone."""
    if isinstance(node, (ast.Name, ast.Attribute, ast.Subscript)) and isinstance(node.ctx, ast.Load):
        if _spelled(node):
            yield node
            return
    if isinstance(node, (ast.Lambda, ast.GeneratorExp)):
        return
    if isinstance(node, ast.Call) and _spelled(node.func):
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
    """Its name, and its value; unless it is wanted as a ``whole``, the value of the longest part that is plain:
    ``self.size`` of ``self.size.numel``."""
    if isinstance(node, ast.Name):
        root = roots.get(node.id)
        return (node.id, None) if root is None else (root.name, root.value)
    if not isinstance(node, (ast.Attribute, ast.Subscript)):
        return "", None
    inner_name, inner = _chain(node.value, roots, whole)
    if inner is None or (not whole and _is_plain(inner.value, containers=False)):
        return inner_name, inner
    if isinstance(node, ast.Attribute):
        name, value = f"{inner_name}.{node.attr}", member(inner.value, node.attr, _GONE)
    else:
        if not isinstance(node.slice, ast.Constant):
            return inner_name, None
        name = f"{inner_name}[{node.slice.value!r}]"
        try:
            value = item(inner.value, node.slice.value)
        except UnreadableError:  # it is not there now
            value = _GONE
    return name, None if value is _GONE else _Value(value, inner.value)


def _is_plain(value: Any, containers: bool = True) -> bool:
    """A value that a program changes by assigning another one."""
    return type(value) in SCALARS or (containers and type(value) in (list, tuple, dict, set, frozenset))


def _hooks(target: Target, entries: tuple[str, ...]) -> Iterator[Unguarded]:
    """Those of the modules within reach of ``self``, in one record."""
    config: Any = sys.modules.get("torch._dynamo.config")
    if not target.leading or not getattr(config, "skip_nnmodule_hook_guards", False):
        return
    modules = list(_modules("self", target.leading[0]))
    if modules:
        more = f" and {counted(len(modules) - 1, 'more module')}" if len(modules) > 1 else ""
        name = f"the hooks of {modules[0][0]}{more}"
        yield Unguarded(name, _place(target.code, target.code.co_firstlineno), f"{_SETTING} is True", entries)


def _modules(path: str, value: Any) -> Iterator[tuple[str, Any]]:
    queue = [(path, value)]
    met: set[int] = set()
    while queue and len(met) < _MOST:
        path, value = queue.pop(0)
        own = own_attributes(value)
        if id(value) in met or not in_classes(type(value), "Module") or own is None:
            continue
        met.add(id(value))
        if any(name in own for name in _HOOKS):
            yield path, value
        inner = own.get("_modules")
        if type(inner) is dict:
            queue += [(f"{path}.{name}", module) for name, module in dict.items(inner) if type(name) is str]
