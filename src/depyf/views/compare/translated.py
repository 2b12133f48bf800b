"""A run in the terms of another one: its places, compile ids and names of functions as the other has them.

Input: a run and how its functions and lines are paired with those of the other.  Output: a ``Run`` whose pages differ
from the other's only where the runs differ.
"""

from __future__ import annotations

import dataclasses
from dataclasses import replace
from typing import Any

from depyf.run.graphs.program_comments import with_places
from depyf.run.places.place import Place
from depyf.run.records import CodeRecord, CompileKey, FunctionRecord, GraphRecord
from depyf.run.run import Run
from depyf.views.compare.pairing import Pairing
from depyf.views.compare.program_folder import PROGRAM


def translated(run: Run, pairs: Pairing, folders: tuple[str, str]) -> Run:
    """``run`` of the first dump with the names, lines and paths of the second.  ``folders``: the program's folders."""
    return _Translation(run, pairs, folders).run()


class _Translation:
    def __init__(self, run: Run, pairs: Pairing, folders: tuple[str, str]) -> None:
        self._run = run
        self._pairs = pairs
        self._folders = folders
        both = [(mine, other) for mine, other in pairs.pairs if mine is not None and other is not None]
        self._codes = {mine.record.code: other.record.code for mine, other in both}
        self._functions = {mine.id: other.id for mine, other in both}

    def run(self) -> Run:
        functions = sorted(map(self._function, self._run.functions), key=lambda f: CompileKey(*f.function).order)
        graphs = sorted(
            map(self._graph, self._run.graphs), key=lambda graph: (graph.key.order, graph.stage, graph.index)
        )
        return replace(self._run, functions=tuple(functions), graphs=tuple(graphs))

    def _function(self, function: FunctionRecord) -> FunctionRecord:
        found: FunctionRecord = self._again(function)
        parent = function.resume_of
        return replace(
            found,
            function=self._functions.get(function.function, function.function),
            resume_of=self._functions.get(parent, parent) if parent is not None else None,
        )

    def _graph(self, graph: GraphRecord) -> GraphRecord:
        found: GraphRecord = self._again(graph)
        return replace(found, text=with_places(graph.text, self._place))

    def _place(self, place: Place) -> Place:
        found = self._pairs.place(place, self._folders[0])
        return replace(found, filename=self._there(found.filename))

    def _there(self, path: str) -> str:
        """A path that is told from the program's folder, in that of the second side."""
        inside = path.removeprefix(PROGRAM)
        return path if inside == path else self._folders[1] + inside

    def _code(self, code: CodeRecord) -> CodeRecord:
        other = self._codes.get(code)
        place = self._place(Place(code.filename, code.line))
        known = replace(code, filename=place.filename, line=place.line)
        return known if other is None else replace(known, name=other.name, qualname=other.qualname)

    def _again(self, value: Any) -> Any:
        """``value`` with all places, compile ids and code in it translated."""
        if isinstance(value, Place):
            return self._place(value)
        if isinstance(value, CompileKey):
            return self._pairs.keys.get(value, value)
        if isinstance(value, CodeRecord):
            return self._code(value)
        if isinstance(value, tuple):
            return tuple(map(self._again, value))
        if not dataclasses.is_dataclass(value) or isinstance(value, type):
            return value
        changed = {}
        for field in dataclasses.fields(value):
            before = getattr(value, field.name)
            if (after := self._again(before)) is not before and after != before:
                changed[field.name] = after
        return replace(value, **changed) if changed else value
