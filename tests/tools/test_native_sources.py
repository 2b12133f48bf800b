"""What the compiled build compiles does the same as the sources, and its lines have the same numbers."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

import pytest

from tools.native import native_sources

SOURCE = Path(__file__).parents[2] / "src" / "depyf"
PACKAGES = ("ir", "cfg", "lift", "structure", "emit", "bytecode", "fallback", "idioms", "generated", "driver", "verify")
MODULES = [path for package in PACKAGES for path in sorted((SOURCE / "decompiler" / package).rglob("*.py"))]
WRITTEN_ANEW = re.compile(
    r"@(dataclass|node)\b|    @cached_property$|    def \w+\(self\) -> |from dataclasses import|    \w+: .* = |.*\btuple\["
    r"|_?[A-Z][A-Z0-9_, ]*(: .*)? = "
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


def test_constants_are_final() -> None:
    source = (
        'from __future__ import annotations\n\nA = "a"  # one\n_B: dict[str, int] = {\n}\n\nC, D = range(2)\n'
        'F, _G = 1 << 4, f("x")  # two\nT = TypeVar("T")\nTwice = 1\nE = 1\nif A:\n    E = 2\nH, K = pair\n'
    )
    assert native_sources.expanded(source).split("\n")[:9] == [
        "from __future__ import annotations; from typing import Final",
        "",
        'A: Final = "a"  # one',
        "_B: Final[dict[str, int]] = {",
        "}",
        "",
        "C: Final = 0; D: Final = 1",
        "F: Final = 1 << 4; _G: Final = f('x')",
        'T = TypeVar("T")',
    ]
    assert native_sources.expanded(source).endswith("Twice = 1\nE = 1\nif A:\n    E = 2\nH, K = pair\n")


def _traps(function: ast.FunctionDef) -> list[str]:
    """What mypyc compiles to something else, or not at all."""
    caught: dict[str | None, set[str]] = {}
    found = []
    for node in ast.walk(function):
        if isinstance(node, ast.ExceptHandler) and node.type is not None:
            caught.setdefault(node.name, set()).add(ast.unparse(node.type))
        if isinstance(node, ast.Compare) and isinstance(node.ops[0], (ast.In, ast.NotIn)):
            (searched, *_) = node.comparators
            if isinstance(searched, (ast.Tuple, ast.List)) and any(
                isinstance(one, ast.Starred) for one in searched.elts
            ):
                found.append(f"line {node.lineno}: in {ast.unparse(searched)}")
        if isinstance(node, ast.FunctionDef) and node is not function and node.decorator_list:
            if any(isinstance(inner, ast.Name) and inner.id == node.name for inner in ast.walk(node)):
                found.append(f"line {node.lineno}: {node.name} is decorated, and calls itself")
    found += [f"{name} is of several types" for name, types in caught.items() if name and len(types) > 1]
    return found


def test_traps_are_found() -> None:
    source = (
        "def f(x, a, b):\n    try:\n        return x in (*a, *b)\n"
        "    except KeyError as error:\n        return error\n    except ValueError as error:\n        return error\n"
        "    @g\n    def h():\n        return h()\n"
    )
    (function,) = ast.parse(source).body
    assert isinstance(function, ast.FunctionDef)
    assert _traps(function) == [
        "line 9: h is decorated, and calls itself",
        "line 3: in (*a, *b)",
        "error is of several types",
    ]


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.relative_to(SOURCE).as_posix())
def test_nothing_is_compiled_to_something_else(path: Path) -> None:
    """``x in (*a, *b)`` is not compiled, what a function calls an error has the type of the first, and a decorated function
    inside another one does not find itself."""
    functions = (
        node for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, ast.FunctionDef)
    )
    assert {function.name: traps for function in functions if (traps := _traps(function))} == {}


def test_long_sequences_are_no_tuples() -> None:
    """``grown`` returns what is no tuple: compiled code that was told so would fail on more than 64 operands."""
    written = native_sources.expanded((SOURCE / "decompiler" / "ir" / "grown.py").read_text(encoding="utf-8"))
    assert "def grown(before: Any, added: Iterable[_Item]) -> Any:" in written
    assert "-> Any:" in native_sources.expanded(
        "from __future__ import annotations\n\ndef f() -> tuple[Expr, ...]: ...\n"
    )
    assert "Items = Any\n" in native_sources.expanded(
        "from __future__ import annotations\n\nItems = tuple[tuple[Expr | None, Expr], ...]\n"
    )
    assert "Groups = dict[int, tuple[Expr, Any]]\n" in native_sources.expanded(
        "from __future__ import annotations\n\nGroups = dict[int, tuple[Expr, tuple[Expr, ...]]]\n"
    )


def test_no_room_is_an_error() -> None:
    with pytest.raises(native_sources.CannotExpand):
        native_sources.expanded("@dataclass\nclass A:\n    x: int\nprint(A)\n")
