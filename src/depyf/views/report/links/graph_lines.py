"""A printed graph, line by line: what each line defines, from what, and for which line of the program.

Input: the text of a graph's file.  Output: ``GraphLines``.  Invariant: linear in the text, and no text is too strange:
a line that is no operation of a graph is left out.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from depyf.run.graphs.printed_lines import printed_class, printed_line
from depyf.run.graphs.program_comments import RUNS, place_in

_INPUT = re.compile(r"(?<![\w.])(?P<name>[A-Za-z_]\w*): \"(?P<type>[^\"]*)\"")
_WORD = re.compile(r"(?<![\w.\"'])[A-Za-z_]\w*(?![\w(=\"'])")
_TARGET = re.compile(r"torch\.ops\.(?P<op>\w+\.\w+)")
_STRING = re.compile(r"'[^'\n]*'|\"[^\"\n]*\"")


@dataclass(frozen=True, slots=True)
class SourcePlace:
    """A line of the program, as a comment of torch names it."""

    file: str
    line: int
    function: str
    code: str = ""


@dataclass(frozen=True, slots=True)
class GraphNode:
    """One operation: its number of line (from 1), its name, what it reads, and the line of the program above it."""

    name: str
    line: int
    reads: tuple[str, ...]
    place: SourcePlace | None
    target: str = ""
    """``aten.addmm``; "" for what is no operator of torch."""
    type: str = ""
    """``f32[4, 8][8, 1]cpu``; "" where the text does not say."""
    constants: tuple[float, ...] = ()
    """The numbers that it is called with."""


@dataclass
class GraphLines:
    """``inputs``: name -> line; ``results``: line -> names; ``last``: the last line that belongs to the graph."""

    nodes: list[GraphNode] = field(default_factory=list)
    inputs: dict[str, int] = field(default_factory=dict)
    types: dict[str, str] = field(default_factory=dict)
    results: list[tuple[int, tuple[str, ...]]] = field(default_factory=list)
    comments: dict[int, SourcePlace] = field(default_factory=dict)
    last: int = 0


def graph_lines(text: str) -> GraphLines:
    """The operations, inputs and results in a graph's file.  Names in a nested graph are prefixed with the path of its
    class."""
    found = GraphLines()
    nested: list[tuple[int, str]] = []
    place: SourcePlace | None = None
    known: set[str] = set()
    returns = signature = False
    for number, line in enumerate(text.split("\n"), 1):
        if line.startswith(RUNS):
            break
        if line.strip():
            found.last = number
        begun = printed_class(line)
        indent = len(line) - len(line.lstrip())
        while nested and line.strip() and indent <= nested[-1][0]:
            nested.pop()
        if begun is not None:
            nested.append(begun)
            place, returns = None, False
            continue
        if not nested:
            continue
        path = "".join(f"{name}." for _, name in nested[1:])
        comment = place_in(line) if line.lstrip().startswith("#") else None
        if comment is not None:
            place = SourcePlace(comment.filename, comment.line, comment.function, comment.text)
            found.comments[number] = place
            continue
        stripped = line.strip()
        if stripped.startswith("def forward("):
            signature = not stripped.endswith("):")
            _inputs(found, line, number, path, known)
            continue
        if signature:
            signature = not stripped.startswith(")")
            _inputs(found, line, number, path, known)
            continue
        if returns or stripped.startswith("return"):
            returns = True
            names = tuple(path + name for name in _names(line) if path + name in known)
            if names:
                found.results.append((number, names))
            continue
        statement = printed_line(line)
        if statement is None:
            if "pytree" not in line:
                _inputs(found, line, number, path, known)  # a joint graph declares its inputs in its body
            continue
        value = _without_ends(statement.value)
        reads = tuple(dict.fromkeys(path + name for name in _names(value) if path + name in known))
        name = path + statement.name
        taken = value.startswith(("next(", "iter("))  # how a graph that takes a list of inputs begins
        if taken or (re.fullmatch(r"\w+", value) and reads and name.lower() == reads[0].lower()):
            found.inputs[name] = number  # an input under another name
            known.add(name)
            continue
        known.add(name)
        target = _TARGET.search(value)
        kind = statement.type
        found.nodes.append(
            GraphNode(name, number, reads, place, target["op"] if target else _called(value), kind, _numbers(value))
        )
        found.types[name] = kind
    return found


def _inputs(found: GraphLines, line: str, number: int, path: str, known: set[str]) -> None:
    for match in _INPUT.finditer(line):
        found.inputs[path + match["name"]] = number
        found.types[path + match["name"]] = match["type"]
        known.add(path + match["name"])
    if "def forward(" in line:
        inside = line[line.index("def forward(") + 12 :]
        for part in _STRING.sub("", inside).split(","):
            name = part.split(":")[0].strip(" )")
            if name.isidentifier() and name != "self" and path + name not in known:
                found.inputs[path + name] = number
                known.add(path + name)


def _names(text: str) -> list[str]:
    return _WORD.findall(_STRING.sub("", text.partition("  # ")[0]))


def _without_ends(value: str) -> str:
    """``torch.relu(x);  x = None`` -> ``torch.relu(x)``."""
    at = value.find(";  ")
    return value[:at] if at >= 0 and value.endswith("= None") else value


_NUMBER = re.compile(r"(?<![\w.\[])-?\d+\.?\d*(?:e[-+]?\d+)?(?![\w.\]])")


def _numbers(value: str) -> tuple[float, ...]:
    return tuple(float(word) for word in _NUMBER.findall(_STRING.sub("", value))[:8])


_CALL = re.compile(r"([A-Za-z_][\w.]*)\(")


def _called(value: str) -> str:
    match = _CALL.search(value)
    return match[1].rpartition(".")[2] if match else ""
