"""What the compiled build compiles does the same as the sources, and its lines have the same numbers."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

import pytest

import native_sources

SOURCE = Path(__file__).parents[2] / "src" / "depyf"
PACKAGES = ("ir", "cfg", "lift", "structure", "emit", "bytecode", "fallback", "idioms", "generated", "verify")
MODULES = [path for package in PACKAGES for path in sorted((SOURCE / package).rglob("*.py"))]
WRITTEN_ANEW = re.compile(
    r"@(dataclass|node)\b|    @cached_property$|    def \w+\(self\) -> |from dataclasses import|    \w+: .* = |.*\btuple\["
)
EXAMPLE = '''\
from dataclasses import dataclass, field, replace
from functools import cached_property


@dataclass(frozen=True, slots=True)
class Point:
    """A point."""

    x: int
    y: int = 2
    tags: list[str] = field(default_factory=list)

    def norm(self) -> int:
        return self.x + self.y


class Squares:
    """Squares."""

    def __init__(self) -> None:
        self.made = 0

    @cached_property
    def first(self) -> int:
        """The first."""
        self.made += 1
        return 1


def moved(point: Point) -> Point:
    return replace(point, x=5)
'''


def run(source: str) -> dict[str, Any]:
    names: dict[str, Any] = {"__name__": "example"}
    exec(compile(source, "example", "exec", dont_inherit=True), names)
    return names


def test_example_does_the_same() -> None:
    written = native_sources.expanded(EXAMPLE)
    assert "@dataclass" not in written and "@cached_property" not in written
    for names in (run(EXAMPLE), run(written)):
        point = names["Point"](1)
        assert (point.norm(), point.tags, point) == (3, [], names["Point"](1, 2, []))
        assert point.tags is not names["Point"](1).tags
        assert repr(names["moved"](point)) == "Point(x=5, y=2, tags=[])"
        squares = names["Squares"]()
        assert (squares.first, squares.first, squares.made) == (1, 1, 1)


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.relative_to(SOURCE).as_posix())
def test_lines_keep_their_numbers(path: Path) -> None:
    source = path.read_text(encoding="utf-8")
    written = native_sources.expanded(source)

    # a line stands where it stood, with more on it at most, or is one of those that are written anew
    lines = zip(source.split("\n"), written.split("\n"), strict=False)
    moved = [old for old, new in lines if old and not new.startswith(old) and not WRITTEN_ANEW.match(old)]
    assert moved == []
    ast.parse(written)


def test_long_sequences_are_no_tuples() -> None:
    """``grown`` returns what is no tuple: compiled code that was told so would fail on more than 64 operands."""
    written = native_sources.expanded((SOURCE / "ir" / "grown.py").read_text(encoding="utf-8"))
    assert "def grown(before: Any, added: Iterable[_Item]) -> Any:" in written
    assert "-> Any:" in native_sources.expanded(
        "from __future__ import annotations\n\ndef f() -> tuple[Expr, ...]: ...\n"
    )


def test_no_room_is_an_error() -> None:
    with pytest.raises(native_sources.CannotExpand):
        native_sources.expanded("@dataclass\nclass A:\n    x: int\nprint(A)\n")
