"""What pages of a depyf that wrote no ``run.jsonl`` say of functions and graphs.

Input: the folder of such a dump, its functions and graphs as its manifest tells.  Output: the same with parameters,
sources and names of resume functions (of ``full_code_for_*.py`` and ``__original_code_*.txt``), and with the facts of
graphs (of the JSON file beside each).  What is missing or damaged is left as it was; ``damaged`` says what.  Nothing
else reads a page of a dump back.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from depyf.run.files.layout import FULL_CODE, LISTING, inputs_file, original_file
from depyf.run.files.reading import DumpError, read_file, read_json
from depyf.run.graphs.graph_facts import GraphFacts
from depyf.run.records import CodeRecord, FunctionRecord, GraphRecord
from depyf.run.store.codec import NotThat, made
from depyf.safety.escape import printable
from depyf.safety.unheard import parse

_RESUME = "__resume"
_NO_SOURCE = "(its source cannot be read)"


@dataclass(frozen=True, slots=True)
class DumpPages:
    """A dump folder and the files that its manifest lists."""

    folder: Path
    names: frozenset[str]
    damaged: list[str] = field(default_factory=list)
    """What could not be read, a sentence each."""

    def functions(self, functions: tuple[FunctionRecord, ...]) -> tuple[FunctionRecord, ...]:
        pages = [name for name in sorted(self.names) if name.startswith(FULL_CODE) and name.endswith(".py")]
        known = {number: found for name in pages for number, found in self._calls(name)}
        return tuple(self._whole(function, known.get(_number(function))) for function in functions)

    def _whole(self, function: FunctionRecord, call: DefinedCall | None) -> FunctionRecord:
        code = call.parameters(function.code) if call is not None else function.code
        source = (
            self._text(original_file(function.function, code)).partition("\n\n")[2].partition(f"\n\n{LISTING}\n")[0]
        )
        names = call.names if call is not None and function.resume_of is not None else ()
        return replace(function, code=replace(code, source="" if source == _NO_SOURCE else source), resume_names=names)

    def graph(self, graph: GraphRecord) -> GraphRecord:
        name = inputs_file(graph)
        if name not in self.names:
            return graph
        try:
            return replace(graph, facts=facts_in(read_json(self.folder, name), name))
        except (DumpError, NotThat) as error:
            self.damaged.append(printable(str(error)))
            return graph

    def _text(self, name: str) -> str:
        try:
            return read_file(self.folder, name) if name in self.names else ""
        except DumpError as error:
            self.damaged.append(str(error))
            return ""

    def _calls(self, name: str) -> list[tuple[str, DefinedCall]]:
        try:
            return list(_calls(self._text(name)))
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            self.damaged.append(f"{printable(str(self.folder / name))} is no Python: {printable(str(error))}")
            return []


def facts_in(page: Any, where: str) -> GraphFacts:
    """The facts in the JSON file beside a graph; NotThat where it is none."""
    if not isinstance(page, dict):
        raise NotThat(f"{where} is not an object")
    tables = {
        name: [*map(list, table.items())]
        for name in ("symbols", "functions")
        if isinstance(table := page.get(name), dict)
    }
    modes = page.get("modes") or None
    return made(GraphFacts, {**page, **tables, "modes": modes}, where)


def _number(function: FunctionRecord) -> str:
    """The number of a frame as the pages have it: ``0r1`` after one reset."""
    generation, text = function.function
    return f"{text}r{generation}" if generation else text


@dataclass(frozen=True, slots=True)
class DefinedCall:
    """What a page says of how a function is called: ``def f(x): L, G = frame_0.enter({'x': x})``."""

    node: ast.FunctionDef
    given: ast.Dict
    names: tuple[str, ...]
    """Under which other code calls it, where it is a resume function."""

    def parameters(self, code: CodeRecord) -> CodeRecord:
        names = {
            value.id: str(key.value)
            for key, value in zip(self.given.keys, self.given.values)
            if isinstance(key, ast.Constant) and isinstance(value, ast.Name)
        }

        def listed(arguments: list[ast.arg]) -> tuple[str, ...]:
            return tuple(names.get(argument.arg, argument.arg) for argument in arguments)

        args = self.node.args
        starred = (names.get(one.arg, one.arg) if one is not None else None for one in (args.vararg, args.kwarg))
        varargs, varkw = starred
        return replace(
            code, posonly=listed(args.posonlyargs), args=listed(args.args), kwonly=listed(args.kwonlyargs),
            varargs=varargs, varkw=varkw,
        )  # fmt: skip


def _calls(page: str) -> Iterator[tuple[str, DefinedCall]]:
    """Number of the frame -> how the function is called, for all functions of a page."""
    body = parse(page).body
    frames: dict[str, str] = {}
    others: dict[str, list[str]] = {}
    for node in body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            target, value = node.targets[0].id, node.value
            if isinstance(value, ast.Name):
                others.setdefault(value.id, []).append(target)
            last = value.args[-1] if isinstance(value, ast.Call) and value.args else None
            if isinstance(last, ast.Constant) and isinstance(last.value, str):
                frames[target] = last.value
    for node in body:
        given = _given(node)
        if isinstance(node, ast.FunctionDef) and given is not None and given[0] in frames:
            names = (node.name, *others.get(node.name, ())) if node.name.startswith(_RESUME) else ()
            yield frames[given[0]], DefinedCall(node, given[1], names)


def _given(node: ast.stmt) -> tuple[str, ast.Dict] | None:
    """The frame and the arguments of a function that begins with ``L, G = frame_0.enter({...})``."""
    first = node.body[0] if isinstance(node, ast.FunctionDef) else None
    call = first.value if isinstance(first, ast.Assign) else None
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute) or call.func.attr != "enter":
        return None
    given = call.args[0] if call.args else None
    frame = call.func.value
    return (frame.id, given) if isinstance(given, ast.Dict) and isinstance(frame, ast.Name) else None
