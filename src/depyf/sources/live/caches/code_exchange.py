"""Makes debuggers find the dumped files: gives the live graph functions the file names and lines of the dump.

Input: the dump's step texts (file -> source) and the live objects of each compiled graph.  Output invariant: a
function's code is only ever exchanged for code with the *same bytecode, names and constants*; only file and line
numbers differ.  ``restore`` puts every original code object back.
"""

from __future__ import annotations

import sys
import types
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from depyf.decompiler.bytecode.codeunit import CodeUnit
from depyf.decompiler.bytecode.lower import lower
from depyf.decompiler.verify.identical import same_instructions
from depyf.errors import DepyfError
from depyf.run.compile_stages import BACKWARD, CAPTURED, FORWARD, RUNNABLE, WRAPPER
from depyf.run.files.layout import graph_file
from depyf.run.graphs.graph_source import (
    Printed,
    graph_children,
    importable,
    live_module_text,
    nested_texts_of,
    read_printed,
    similarity,
)
from depyf.run.records import GraphRecord
from depyf.sources.live.caches.live_graphs import LiveCode, source_of
from depyf.sources.live.caches.operator_bodies import CalledBodies


@dataclass(frozen=True, slots=True)
class GraphMatch:
    """A captured graph and the live GraphModule that runs it."""

    record: GraphRecord
    module: Any
    exact: bool
    """False: torch changed the graph after printing it."""
    printed: Printed
    """What torch printed of it, taken apart."""


_ALIKE = 0.1


def match_graphs(graphs: Iterable[GraphRecord], live: LiveCode) -> list[GraphMatch]:
    """Pair the captured graphs of one compile id with its live modules, each at most once, best pairs first."""
    records = [record for record in graphs if record.stage in RUNNABLE]
    printed = [read_printed(importable(record.text)) for record in records]
    sources = [source_of(type(module).__dict__["forward"].__code__) for module in live.modules]
    scores = [
        (similarity(source, graph), -row, -column)
        for row, graph in enumerate(printed)
        for column, source in enumerate(sources)
        if source
    ]
    found: list[GraphMatch] = []
    rows: set[int] = set()
    columns: set[int] = set()
    for score, minus_row, minus_column in sorted(scores, reverse=True):
        row, column = -minus_row, -minus_column
        if score < _ALIKE or row in rows or column in columns:
            continue
        rows.add(row)
        columns.add(column)
        found.append(GraphMatch(records[row], live.modules[column], score == 1.0, printed[row]))
    if any(
        match.record.stage in (FORWARD, BACKWARD) for match in found
    ):  # made from the captured graph, which does not run then
        found = [match for match in found if match.record.stage != CAPTURED]
    return found


def step_text(match: GraphMatch) -> str:
    """The class text of the live module, with the shapes and comments of the captured graph."""
    nested = nested_texts_of(importable(match.record.text))
    return "\n".join(live_module_text("GraphModule", match.module, match.printed, source_of, (), nested)) + "\n"


@dataclass
class Stepping:
    """The code objects exchanged so far; context of one ``depyf.debug()``."""

    notes: list[str] = field(default_factory=list)
    steppable: list[str] = field(default_factory=list)
    _undo: list[tuple[types.FunctionType, types.CodeType]] = field(default_factory=list)
    _codes: list[types.CodeType] = field(default_factory=list)
    _bodies: CalledBodies | None = None

    def graph(self, path: Path, text: str, module: Any) -> None:
        """Make ``module`` and the graph modules in it run as lines of ``path``, whose content is ``text``."""
        codes = graph_codes(path, text, module)
        for function, code in codes:
            self.exchange(function, code)
        if codes:
            self.steppable.append(path.name)
        else:
            self.notes.append(f"{path.name}: what runs differs from the file; it cannot be stepped through")

    def wrapper(self, path: Path, original: str, text: str) -> None:
        """Make the functions of the generated module ``original`` run as lines of ``path`` (the same text)."""
        hit = False
        for function in module_functions(original):
            self.exchange(function, with_filename(function.__code__, original, str(path)))
            hit = True
        if hit:
            self.steppable.append(path.name)
        else:
            self.notes.append(f"{path.name}: the generated module is not loaded here; it cannot be stepped through")

    def exchange(self, function: types.FunctionType, code: types.CodeType) -> None:
        """Give ``function`` the code until ``restore``."""
        if self._bodies is None:
            self._bodies = CalledBodies(self._codes)
            self._bodies.start()
        self._undo.append((function, function.__code__))
        self._codes.append(code)
        function.__code__ = code

    def restore(self) -> None:
        if self._bodies is not None:
            self._bodies.stop()
            self._bodies = None
        while self._undo:
            function, code = self._undo.pop()
            function.__code__ = code


def graph_codes(path: Path, text: str, module: Any) -> list[tuple[types.FunctionType, types.CodeType]]:
    """The functions that run ``module``, each with its code as compiled from ``text``; [] where it would differ."""
    forwards = _forwards(compile(_without_imports(text), str(path), "exec", dont_inherit=True))
    top = next((key for key in forwards if len(key) == 1), None)
    return [] if top is None else _aligned(forwards, top, module)


def _aligned(
    forwards: dict[tuple[str, ...], types.CodeType], key: tuple[str, ...], module: Any
) -> list[tuple[types.FunctionType, types.CodeType]]:
    function = type(module).__dict__["forward"]
    wanted = forwards.get(key)
    if wanted is None or not same_bytecode(function.__code__, wanted):
        return []
    pairs = [(function, wanted)]
    for name, child in graph_children(module):
        pairs += _aligned(forwards, (*key, name), child)
    return pairs


def _without_imports(text: str) -> str:
    """``text`` with its top-level imports blanked, lines kept.

    CPython 3.11 and 3.12 compile ``torch.abs(x)`` differently where ``torch`` is imported in the same file, and the
    live function was compiled without the imports.
    """
    return "\n".join("" if line.startswith(("import ", "from ")) else line for line in text.split("\n"))


def _forwards(code: types.CodeType, path: tuple[str, ...] = ()) -> dict[tuple[str, ...], types.CodeType]:
    """``forward`` of each class in a module's code, by the chain of class names (the outermost is ``path[0]``)."""
    found: dict[tuple[str, ...], types.CodeType] = {}
    for const in code.co_consts:
        if not isinstance(const, types.CodeType):
            continue
        if const.co_name == "forward" and path:
            found[path] = const
        else:
            found |= _forwards(const, (*path, const.co_name))
    return found


_SHAPE = ("co_varnames", "co_argcount", "co_kwonlyargcount", "co_freevars", "co_cellvars")


def same_bytecode(first: types.CodeType, second: types.CodeType) -> bool:
    """Do two code objects do the same, instruction for instruction?

    Since 3.13 two loads on one line are one instruction, on two lines they are two: a graph that torch prints over
    several lines (2.9 and later) has other bytes than the one it runs, and the same instructions once these are split.
    """
    if any(getattr(first, name) != getattr(second, name) for name in _SHAPE):
        return False
    if (
        first.co_code == second.co_code
        and first.co_names == second.co_names
        and _constants(first) == _constants(second)
    ):
        return True
    try:
        nested = same_instructions(*(lower(CodeUnit.from_code(code)) for code in (first, second)))
    except DepyfError:
        return False
    return nested == []


def _constants(code: types.CodeType) -> list[tuple[str, str]]:
    return [(type(const).__name__, repr(const)) for const in code.co_consts]


def module_functions(path: str) -> list[types.FunctionType]:
    """The functions and methods of every loaded module that Inductor wrote to ``path``."""
    found: dict[int, types.FunctionType] = {}
    for module in loaded_modules(path):
        for value in list(vars(module).values()):
            if isinstance(value, types.FunctionType):
                found[id(value)] = value
            elif isinstance(value, type):
                found |= {id(f): f for f in vars(value).values() if isinstance(f, types.FunctionType)}
    return [function for function in found.values() if function.__code__.co_filename == path]


def steppable_wrappers(graphs: Iterable[GraphRecord]) -> frozenset[str]:
    """The files of the wrappers whose modules are loaded, of several that are one file the first."""
    first: dict[str, GraphRecord] = {}
    for graph in graphs:
        if graph.stage == WRAPPER and graph.path:
            first.setdefault(graph.path, graph)
    return frozenset(graph_file(graph) for path, graph in first.items() if module_functions(path))


def loaded_modules(path: str) -> list[Any]:
    """The modules that Inductor wrote to ``path`` and loaded."""
    codecache = sys.modules.get("torch._inductor.codecache")
    cached = list(getattr(getattr(codecache, "PyCodeCache", None), "modules", []))
    return [module for module in cached if getattr(module, "__file__", None) == path]


def with_filename(code: types.CodeType, old: str, new: str) -> types.CodeType:
    """``code`` and the code in it, moved from the file ``old`` to the file ``new``."""
    consts = tuple(with_filename(c, old, new) if isinstance(c, types.CodeType) else c for c in code.co_consts)
    return code.replace(co_filename=new if code.co_filename == old else code.co_filename, co_consts=consts)
