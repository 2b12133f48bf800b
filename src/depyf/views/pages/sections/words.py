"""Places, links and counts as the sections of ``index.md`` write them.

Input: records.  Output: Markdown on one line, with everything of the program escaped.
"""

from __future__ import annotations

from depyf.run.global_names import resumed
from depyf.run.places import cell_places
from depyf.run.places.place import Place
from depyf.run.records import CodeRecord
from depyf.safety.escape import cut
from depyf.safety.source_lines import source_line
from depyf.views.pages.markdown import code, plain

LONGEST_LINE = 160
"""Of a line of the program so much is shown: the same line may be the place of very many symbols."""


def line_text(place: Place | None) -> str:
    """The text of a line of the program; where the record has none, as this process knows it."""
    return "" if place is None else place.text or source_line(place.filename, place.line)


def at(place: Place | None) -> str:
    """A place with its text, in Markdown: ``train.py:16 `self.calls += 1` ``."""
    if place is None:
        return "a line that torch did not name"
    text = cut(line_text(place), LONGEST_LINE)
    return f"{plain(place.filename)}:{place.line}" + (f" {code(text)}" if text else "")


def function_name(record: CodeRecord) -> str:
    """The program's name of a function; of what comes after a graph break, `` `Net.forward` after line 9``."""
    rest = resumed(record.shown)
    return code(record.shown) if rest is None else f"{code(rest[0])} after line {rest[1]}"


def where(record: CodeRecord) -> str:
    """A function and its first line, in Markdown.  For a decorator's inner function: the decorated function."""
    inner = record.decorated
    if inner is not None:
        return f"{code(inner.function)} ({plain(inner.filename)}:{inner.line})"
    return f"{function_name(record)} ({plain(record.filename)}:{record.line})"


def with_cells(text: str, cells: tuple[tuple[str, str], ...]) -> str:
    """``text`` in Markdown with ``In [3], line 8`` in place of a line of a notebook cell."""
    return cell_places.with_cells(text, cells, plain)


def link(text: str, target: str) -> str:
    """A link to a file of the dump."""
    return f"[{plain(text)}]({target})"
