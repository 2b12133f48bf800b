"""The checks of a package: of two files, only what is called, and with the imports that this needs."""

from __future__ import annotations

import ast
from pathlib import Path

import depyf.run.plain_guard_checks as plain
from depyf.actions.export.texts.carried_text import CARRIED, carried_checks, checks_text
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
    assert shared <= set(carried_checks()) and {"iterator_item", "iterator_range"} <= shared


def test_the_text_runs() -> None:
    scope: dict[str, object] = {"__name__": "checks"}
    exec(compile(checks_text({"iterator_item", "iterator_range", "iterator_length"}), "checks.py", "exec"), scope)
    assert scope["iterator_item"](iter((1, 2, 3)), 1) == 2  # type: ignore[operator]
    assert scope["iterator_range"](iter(range(1, 9, 2))) == (1, 9, 2)  # type: ignore[operator]
