"""The lines of a printed graph, module by module.

Input: the page of a graph and its ``LayerFacts``.  Output: ``LayerTree``, one ``Layer`` for each module in the order in
which the graph enters it.  Linear in the graph.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from depyf.run.graphs.graph_facts import LayerFacts
from depyf.run.graphs.printed_lines import printed_class, printed_line
from depyf.run.graphs.program_comments import place_in
from depyf.run.shapes.size_names import size_name

_CALLED = re.compile(r"[A-Za-z_][\w.]*(?=\()|[-+*/@%<>=!&|^~]+|\.\w+(?=\()")


@dataclass(frozen=True, slots=True)
class GraphLine:
    """One operation: its line on the page (from 1), and what is written there."""

    number: int
    text: str
    source: str = ""
    """The program's line, ``m.py:8  return x + y``."""
    calls: str = ""
    """What is called in it."""


@dataclass
class Layer:
    """A module that the graph enters: what is done in it, and the modules inside, in order."""

    path: str
    """As the program writes it: ``self.h.0.ln``; "" for the function itself."""
    cls: str
    parts: list[GraphLine | Layer] = field(default_factory=list)

    def layers(self) -> Iterator[Layer]:
        """All modules in it, outer ones first."""
        todo = [self]
        while todo:
            layer = todo.pop()
            yield layer
            todo += reversed([part for part in layer.parts if isinstance(part, Layer)])

    def numbers(self) -> list[int]:
        """The lines of the page, those of the modules inside included."""
        found, todo = [], [self]
        while todo:
            for part in todo.pop().parts:
                if isinstance(part, Layer):
                    todo.append(part)
                else:
                    found.append(part.number)
        return sorted(found)

    def signature(self) -> tuple[str, ...]:
        """The operations without their names: equal for two modules that compute the same."""
        found: list[str] = []
        for layer in self.layers():
            found.append(f"{layer.path.count('.') - self.path.count('.')} {layer.cls}")
            found += [part.calls for part in layer.parts if isinstance(part, GraphLine)]
        return tuple(found)


def ranges(numbers: list[int]) -> list[tuple[int, int]]:
    """``[3, 4, 5, 9]`` -> ``[(3, 5), (9, 9)]``; a line or two of comments between operations end no range."""
    found: list[tuple[int, int]] = []
    for number in numbers:
        if found and number - found[-1][1] <= 3:
            found[-1] = (found[-1][0], number)
        else:
            found.append((number, number))
    return found


def layer_tree(page: str, facts: LayerFacts) -> Layer | None:
    """The tree of a page; None where no operation on it belongs to a module."""
    known = dict(facts.layers)
    chains: list[tuple[int, ...]] = []
    for number, (_, _, parent) in enumerate(facts.modules):
        chains.append((*(chains[parent] if 0 <= parent < number else ()), number))
    root = Layer("", "")
    open_: list[tuple[int, Layer]] = []
    source, seen = "", False
    for number, path, line in _lines(page):
        comment = place_in(line) if line.lstrip().startswith("#") else None
        if comment is not None:
            source = f"{comment.filename.rpartition('/')[2]}:{comment.line}  {comment.text}".strip()
            continue
        printed = printed_line(line)
        if printed is None or printed.renames:  # a parameter of the graph under another name
            continue
        place = known.get(path + printed.name, -1)
        seen = seen or place >= 0
        chain = chains[place] if 0 <= place < len(chains) else ()
        while open_ and [one for one, _ in open_] != list(chain[: len(open_)]):
            open_.pop()
        for module in chain[len(open_) :]:
            layer = Layer(size_name(facts.modules[module][0]).text, facts.modules[module][1])
            (open_[-1][1] if open_ else root).parts.append(layer)
            open_.append((module, layer))
        text = _shown(line)
        calls = " ".join(_CALLED.findall(text.partition(" = ")[2]))
        (open_[-1][1] if open_ else root).parts.append(GraphLine(number, text, source, calls))
    return root if seen else None


def _shown(line: str) -> str:
    """The statement with its annotation, without what it deletes."""
    text = line.strip()
    return text[: text.index(";  ")] if ";  " in text and text.endswith(" = None") else text


def _lines(page: str) -> Iterator[tuple[int, str, str]]:
    """The lines inside the classes of a page, each with the path of nested graphs before its names."""
    nested: list[tuple[int, str]] = []
    for number, line in enumerate(page.splitlines(), 1):
        begun = printed_class(line)
        indent = len(line) - len(line.lstrip())
        while nested and line.strip() and indent <= nested[-1][0]:
            nested.pop()
        if begun is not None:
            nested.append(begun)
        elif nested:
            yield number, "".join(f"{name}." for _, name in nested[1:]), line
