"""``depyf diff`` where one side is a file that torch saved: same code, same guards, same graphs, same kernels?

Input: two paths, of which one or both are files; a folder is a dump, of which the compilation counts that is most like
the file.  Output: an ``ArtefactComparison``.  DepyfError where a side cannot be read.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from depyf.actions.opened.artefact_sides import (
    KERNELS,
    UNTOLD,
    ArtefactSide,
    nearest,
    side_of_file,
    sides_of_dump,
)
from depyf.decompiler.emit.comments import comment, split_remark
from depyf.errors import DepyfError
from depyf.run.causes.folding import counted
from depyf.run.compile_stages import ORDER
from depyf.run.graphs.graph_source import importable
from depyf.run.graphs.graph_text import GraphClass, read_graph
from depyf.run.guards.program_words import in_program
from depyf.safety.unheard import parse
from depyf.views.compare.line_diff import changed_lines, unified
from depyf.views.compare.meaning import meaning, without_caches
from depyf.views.pages.graph_page import REWRITTEN

_REWRITTEN = "not compared: one side has the graph as it runs, the other as torch reported it"
_MOST = 20
"""Guards that are shown of each side."""
_FEW = 3
"""Lines of a text that are shown of each side."""
_ONE_SIDE = ("only in 1", "only in 2")


@dataclass(frozen=True, slots=True)
class PartComparison:
    """The comparison of one part, such as the guards, of two artefacts."""

    name: str
    outcome: str
    """``the same``, ``alike`` (comments or layout differ), ``differs``, ``only in 1``, ``only in 2``; or why it is not
    compared."""
    lines: tuple[str, ...] = ()
    """What differs, in a few lines."""
    diff: tuple[str, ...] = ()

    @property
    def differs(self) -> bool:
        return self.outcome == "differs"


@dataclass(frozen=True, slots=True)
class ArtefactComparison:
    """The comparison of two saved functions or compilations, part by part."""

    titles: tuple[str, str]
    parts: tuple[PartComparison, ...]
    not_compared: tuple[str, ...]

    @property
    def equal(self) -> bool:
        """No part differs.  What only one side has is no difference: a file, or torch's caches, may not keep it."""
        return not any(part.differs for part in self.parts)

    def to_json(self, diffs: bool = False) -> dict[str, Any]:
        return {
            "equal": self.equal,
            "first": self.titles[0],
            "second": self.titles[1],
            "parts": [
                {
                    "part": part.name,
                    "outcome": part.outcome,
                    "lines": list(part.lines),
                    **({"diff": list(part.diff)} if diffs else {}),
                }
                for part in self.parts
            ],
            "not_compared": list(self.not_compared),
        }


def artefact_diff(first: Path, second: Path, strict: bool = False) -> ArtefactComparison:
    """Compare two saved files, or a file and the nearest compilation of a dump.  ``strict``: compare every character of
    graphs, code and kernels.  DepyfError where a path cannot be read, or neither is a file."""
    try:
        sides = {path: side_of_file(path) for path in (first, second) if not path.is_dir()}
    except OSError as error:
        raise DepyfError(f"{error.filename}: {error.strerror}") from error
    if not sides:
        raise DepyfError(f"neither {first} nor {second} is a file")
    known = next(iter(sides.values()))
    one, two = (sides[path] if path in sides else nearest(known, sides_of_dump(path)) for path in (first, second))
    parts = [_texts("function", [one.original], [two.original], strict)] if one.original and two.original else []
    parts.append(_texts("code", [one.code] if one.code else [], [two.code] if two.code else [], strict))
    parts.append(_guards(one, two))
    names = [name for name in (*ORDER, KERNELS) if name in one.stages or name in two.stages]
    parts += [_texts(name, one.stages.get(name, []), two.stages.get(name, []), strict) for name in names]
    found = tuple(part for part in parts if part.outcome)
    lacking = [f"{part.name}: {part.outcome}" for part in found if part.outcome in _ONE_SIDE]
    untold = [UNTOLD] if one.has_guards and two.has_guards else []
    return ArtefactComparison((one.title, two.title), found, (*lacking, *untold))


def _guards(one: ArtefactSide, two: ArtefactSide) -> PartComparison:
    if not one.has_guards or not two.has_guards:
        return PartComparison("guards", "")
    lines = []
    for number, (this, that) in enumerate(((one, two), (two, one)), 1):
        own = [text for text in this.guards if text not in that.guards]
        lines += [f"only {number}: {in_program(text)}" for text in own[:_MOST]]
        lines += [f"only {number}: {len(own) - _MOST} more"] if len(own) > _MOST else []
    for source in sorted(one.tensors.keys() & two.tensors.keys()):
        if not one.tensors[source].agrees(two.tensors[source]):
            lines.append(f"{in_program(source)}: {one.tensors[source]} in 1, {two.tensors[source]} in 2")
    for owner in sorted(one.keys.keys() & two.keys.keys()):
        ours, theirs = one.keys[owner], two.keys[owner]
        lines += [
            f"key {place} of {in_program(owner)}: {ours[place]!r} in 1, {theirs[place]!r} in 2"
            for place in sorted(ours.keys() & theirs.keys())
            if ours[place] != theirs[place]
        ]
    return PartComparison("guards", "differs" if lines else "the same", tuple(lines))


def _texts(name: str, one: list[str], two: list[str], strict: bool) -> PartComparison:
    if not one and not two:
        return PartComparison(name, "")
    if not one or not two:
        return PartComparison(name, _ONE_SIDE[0] if one else _ONE_SIDE[1])
    if sorted(one) == sorted(two):
        return PartComparison(name, "the same")
    plain = [[_plain(text) for text in side] for side in (one, two)]
    if sorted(plain[0]) == sorted(plain[1]) and not strict:
        return PartComparison(name, "alike")
    if not strict and any(comment(REWRITTEN) in text for text in (*one, *two)):
        return PartComparison(name, _REWRITTEN)
    before, after = ("\n".join(side) for side in ((one, two) if strict else plain))
    diff = unified(before, after, (f"1/{name}", f"2/{name}"))
    return PartComparison(name, "differs", tuple(_excerpt([sign + text for sign, text in changed_lines(diff)])), diff)


def _excerpt(changed: list[str]) -> Iterator[str]:
    """The first lines of each side, and how many more there are."""
    shown = 0
    for sign in ("-", "+"):
        own = [line for line in changed if line.startswith(sign)][:_FEW]
        shown += len(own)
        yield from own
    if shown < len(changed):
        yield f"and {counted(len(changed) - shown, 'more line')}: -u shows all"


def _plain(text: str) -> str:
    """The text without comments, places and hashes in names; for a graph its inputs and operations, however they are
    printed."""
    graph = read_graph(importable(text), "") if "class " in text else None
    if graph is not None:
        text = "\n".join(_operations(graph))
    text = "\n".join(split_remark(line)[0] for line in without_caches(text).split("\n"))
    return text if graph is not None else meaning("x.py", text)


def _operations(graph: GraphClass) -> Iterator[str]:
    for one in graph.everything():
        yield from (f"{parameter.original}: {_as_typed(parameter.type)}" for parameter in one.parameters)
        yield ast.unparse(_Types().visit(parse(ast.unparse(ast.Module(one.tree().body, [])))))  # a copy: it is kept


class _Types(ast.NodeTransformer):
    """Types in one form."""

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        if isinstance(node.annotation, ast.Constant):
            node.annotation = ast.Constant(_as_typed(str(node.annotation.value)))
        return node


def _as_typed(kind: str) -> str:
    """torch prints the type of a symbol with its spaces or without: ``Sym(2 * s27)`` and ``Sym(2*s27)``."""
    return kind.replace(" ", "") if kind.startswith("Sym(") else kind


def comparison_lines(found: ArtefactComparison, diffs: bool = False) -> list[str]:
    """The lines that ``depyf diff`` prints."""
    width = max(len(part.name) for part in found.parts) if found.parts else 0
    lines = [*(f"{number}: {title}" for number, title in enumerate(found.titles, 1)), ""]
    for part in found.parts:
        lines.append(f"{part.name:{width}}  {part.outcome}")
        lines += [f"    {line}" for line in part.lines]
    lines += ["", *(f"not compared: {text}" for text in found.not_compared)] if found.not_compared else []
    if diffs:
        lines += [line for part in found.parts if part.diff for line in ("", *part.diff)]
    return lines
