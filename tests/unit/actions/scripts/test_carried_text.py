"""What scripts and packages carry: only what is used, and with the imports that this needs."""

from __future__ import annotations

import ast
import builtins
from pathlib import Path

import pytest

import depyf.run.plain_guard_checks as plain
from depyf.actions.scripts.carried_text import (
    CARRIED,
    CHECKS,
    carried_for,
    checks_text,
    definitions,
    names_in,
    package_file,
)
from depyf.run.guards.known_kinds import FUNCTIONS

SOURCE = Path(plain.__file__).parents[1]


def test_only_what_is_called() -> None:
    text = checks_text({"iterator_count", "check_overlapping"})
    names = [node.name for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)]
    assert sorted(names) == ["_share", "_span", "check_overlapping", "iterator_count"]
    imported = [line for line in text.split("\n") if line.startswith(("import ", "from "))]
    assert imported == ["from __future__ import annotations", "import ast", "from typing import Any"]


def test_what_needs_no_torch_is_written_once() -> None:
    """depyf's own module of checks and that of packages have no such function of their own."""
    shared = {
        node.name for node in ast.parse(Path(plain.__file__).read_text()).body if isinstance(node, ast.FunctionDef)
    } | {function.__name__ for function in FUNCTIONS}
    for path in (CARRIED / "package_checks.py", SOURCE / "sources/live/guards/check_functions.py"):
        own = {node.name for node in ast.parse(path.read_text()).body if isinstance(node, ast.FunctionDef)}
        assert not own & shared, path
    assert shared <= set(definitions(*CHECKS)) and {"iterator_item", "iterator_range"} <= shared


def test_the_text_runs() -> None:
    scope: dict[str, object] = {"__name__": "checks"}
    exec(compile(checks_text({"iterator_item", "iterator_range", "iterator_length"}), "checks.py", "exec"), scope)
    assert scope["iterator_item"](iter((1, 2, 3)), 1) == 2  # type: ignore[operator]
    assert scope["iterator_range"](iter(range(1, 9, 2))) == (1, 9, 2)  # type: ignore[operator]


def test_what_a_function_calls_itself_is_no_use() -> None:
    """``missing`` is a function of the harness, and here a variable."""
    carried, imports = carried_for("def f(missing):\n    flat = missing\n    return cotangent(flat, 0)\n")
    assert [node.name for node in ast.parse(carried).body if isinstance(node, ast.FunctionDef)] == ["cotangent"]
    assert imports == ["import torch"]


@pytest.mark.parametrize("name", sorted(path.stem for path in CARRIED.glob("[!_]*.py")))
def test_complete_by_itself(name: str) -> None:
    """Nothing that a file reads is undefined, and nothing of depyf is imported."""
    text = package_file(name)
    assert "depyf" not in text.replace("depyf repro", "").replace("depyf.inputs", "")
    tree = ast.parse(text)
    known = {*dir(builtins), "__file__", "__doc__"}
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            known.add(node.name)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            known |= {(alias.asname or alias.name).partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            known.add(node.id)
        elif isinstance(node, ast.arg):
            known.add(node.arg)
        elif isinstance(node, ast.ExceptHandler) and node.name:
            known.add(node.name)
    assert names_in(text) <= known
