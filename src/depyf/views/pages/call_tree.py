"""The call tree: compiled functions under the calls that led to them, with their compile ids and what became of each.

Input: a ``Run``.  Output: nested list items of Markdown, or indented lines for a terminal.  Between two functions that
Dynamo saw stands the line of the program that made the call; what ran in between (torch, libraries, plain functions) is
left out.  The rest of a function after a graph break stands under the function.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from depyf.run.files.layout import CALL_TREE
from depyf.run.made import led_to
from depyf.run.places.place import Place
from depyf.run.records import CallerRecord, CodeRecord, EntryRecord, FunctionRecord
from depyf.run.run import Run
from depyf.views.pages.print_style import MARKDOWN, TERMINAL, PrintStyle

_Function = tuple[int, str]
_IN_INDEX = 16
"""Lines of a tree that the index shows whole."""
_LONGEST = 80


@dataclass
class CallNode:
    """A function in the call tree."""

    function: FunctionRecord
    after_break: bool = False
    """It stands under the function that it is the rest of."""
    calls: dict[Place, None] = field(default_factory=dict)
    entries: list[EntryRecord] = field(default_factory=list)
    below: dict[_Function, CallNode] = field(default_factory=dict)


def call_tree_section(run: Run) -> list[str]:
    """The tree for the index: whole where it is short, else its upper levels and a link to its page."""
    tree = _items(run)
    if len(tree) <= _IN_INDEX:
        return [line for _, line in tree]
    shown = next(
        (kept for level in (3, 2, 1) if len(kept := [line for depth, line in tree if depth < level]) < _IN_INDEX),
        [line for depth, line in tree if not depth][: _IN_INDEX - 1],
    )
    return [*shown, f"- {len(tree) - len(shown)} more below them: [{CALL_TREE}]({CALL_TREE})"]


def call_tree_page(run: Run) -> str:
    """The whole tree as a page; "" where the index shows it whole."""
    tree = [line for _, line in _items(run)]
    if len(tree) <= _IN_INDEX:
        return ""
    return "# Which call led to which compilation\n\n" + "\n".join(tree) + "\n"


def call_tree_lines(run: Run) -> list[str]:
    """The whole tree for a terminal, without the marks of a list."""
    return ["  " * depth + line for depth, line in _walk(_tree(run), TERMINAL)]


def _items(run: Run) -> list[tuple[int, str]]:
    return [(depth, "  " * depth + f"- {line}") for depth, line in _walk(_tree(run), MARKDOWN)]


def folded_states(states: Iterable[tuple[str, str]]) -> str:
    """(compile id, state) in order -> ``0/0 ... 0/7 broke, 0/8 ran as Python``."""
    runs: list[tuple[str, list[str]]] = []
    for label, state in states:
        if not runs or runs[-1][0] != state:
            runs.append((state, []))
        runs[-1][1].append(label)
    return ", ".join(f"{_ids(labels)} {state}" for state, labels in runs)


def _ids(labels: Sequence[str]) -> str:
    return ", ".join(labels) if len(labels) < 3 else f"{labels[0]} ... {labels[-1]}"


def _tree(run: Run) -> dict[_Function, CallNode]:
    functions = {function.function: function for function in run.functions}
    entries = [(function, entry) for function in run.functions for entry in function.entries]
    roots: dict[_Function, CallNode] = {}
    for function, entry in sorted(entries, key=lambda pair: pair[1].key.order):
        level, node = roots, None
        for step, call in call_path(function, entry.callers, functions):
            after_break = node is not None and step.resume_of is not None
            node = level.setdefault(step.function, CallNode(step, after_break))
            if call is not None and not after_break:
                node.calls[call] = None
            level = node.below
        if node is not None:
            node.entries.append(entry)
    return roots


def call_path(
    function: FunctionRecord, callers: tuple[CallerRecord, ...], functions: dict[_Function, FunctionRecord]
) -> list[tuple[FunctionRecord, Place | None]]:
    """The functions from the root to ``function``, each with the line that called it.  A resume function stands right
    below its function; a recursive function stands once."""
    path: list[tuple[FunctionRecord, Place | None]] = []
    call: Place | None = None
    for caller in (*callers, CallerRecord(Place("", 0), function.function)):
        step = functions.get(caller.function) if caller.function is not None else None
        if step is not None:
            if not path:
                path += _begun_by(step, functions)
            for number, (above, called) in enumerate(path):
                if above.function == step.function:
                    call = called
                    del path[number:]
                    break
                if above.function == step.resume_of:
                    del path[number + 1 :]
                    break
            path.append((step, call))
        call = caller.place if caller.place.line else None  # its line may be unknown
    return path


def _begun_by(
    rest: FunctionRecord, functions: dict[_Function, FunctionRecord]
) -> list[tuple[FunctionRecord, Place | None]]:
    """The functions that ``rest`` continues, of which no frame was seen, the outermost first."""
    found: list[tuple[FunctionRecord, Place | None]] = []
    above = rest
    while above.resume_of in functions and len(found) < len(functions):
        above = functions[above.resume_of]
        found.insert(0, (above, None))
    return found


def _walk(roots: dict[_Function, CallNode], style: PrintStyle) -> Iterator[tuple[int, str]]:
    """(depth, line) of every node, from above; without recursion, as deep as programs call."""
    todo: list[tuple[int, CallNode, CodeRecord | None]] = [(0, node, None) for node in reversed(roots.values())]
    while todo:
        depth, node, above = todo.pop()
        yield depth, _line(node, above, style)
        todo += [(depth + 1, below, node.function.code) for below in reversed(node.below.values())]


def _line(node: CallNode, above: CodeRecord | None, style: PrintStyle) -> str:
    record = node.function.code
    states = folded_states((entry.key.label, entry.word) for entry in node.entries) or "compiled for another call"
    if node.after_break:
        return f"after the break at line {record.line}: {states}"
    name = "a backward of compiled autograd" if _of_autograd(node.function) else style.name(record.shown)
    known = not record.filename or record.filename.startswith("<") or (above and above.filename == record.filename)
    where = "" if known else f" ({_short(record.filename, style)}:{record.line})"
    verb = led_to(entry.made for entry in node.entries)
    return f"{name}{where}{_called(verb, list(node.calls), above, style)}: {states}"


def _of_autograd(function: FunctionRecord) -> bool:
    return bool(function.entries) and all(entry.key.text.startswith("!") for entry in function.entries)


def _called(verb: str, calls: list[Place], above: CodeRecord | None, style: PrintStyle) -> str:
    """By which lines it was called, or compiled (``verb``).  A file and a function are named where they are others than
    those of the function ``above``."""
    if not calls:
        return ""
    first, files = calls[0], {place.filename for place in calls}
    if len(files) > 1:
        return f", {verb} at " + _some([f"{_short(place.filename, style)}:{place.line}" for place in calls])
    elsewhere = above is None or first.filename != above.filename
    between = above is not None and len({p.function for p in calls}) == 1 and _last(first.function) != above.name
    inside = f" in {style.name(first.function)}" if between else ""
    if len(calls) == 1:
        text = first.text if len(first.text) <= _LONGEST else first.text[: _LONGEST - 3] + "..."
        line = f"{_short(first.filename, style)}:{first.line}" if elsewhere else f"line {first.line}"
        return f", {verb} at {line}{inside}" + (f" {style.code(text)}" if text else "")
    lines = _some([str(number) for number in sorted({place.line for place in calls})])
    return f", {verb} at {f'{_short(first.filename, style)}, ' if elsewhere else ''}lines {lines}{inside}"


def _last(qualname: str) -> str:
    return qualname.rpartition(".")[2]


def _some(parts: list[str]) -> str:
    return ", ".join(parts) if len(parts) <= 6 else f"{', '.join(parts[:6])} and {len(parts) - 6} more"


def _short(filename: str, style: PrintStyle) -> str:
    return style.plain(filename.replace("\\", "/").rpartition("/")[2])
