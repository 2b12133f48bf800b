"""A tool finds the modules of this repository that it imports, in its functions too."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tools import ROOT

OURS = {
    path.stem: path
    for folder in ("tests/torch", "tests/support", "tests")
    for path in (ROOT / folder).glob("*.py")
    if path.stem not in ("conftest", "__init__")
} | {
    ".".join(path.relative_to(ROOT).with_suffix("").parts): path
    for path in (ROOT / "tools").rglob("*.py")
    if path.stem not in ("__init__", "__main__")
}
TOOLS = [name for name, path in OURS.items() if "tools." in name and '"tests"' in path.read_text(encoding="utf-8")]
FINDS = """
import importlib, importlib.util, sys
importlib.import_module(sys.argv[1])
print([name for name in sys.argv[2:] if importlib.util.find_spec(name) is None])
"""


def names_in(path: Path) -> Iterator[str]:
    """The names that ``path`` imports; some of them are no modules."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield from (node.module, *(f"{node.module}.{alias.name}" for alias in node.names))


def imported(path: Path, known: set[str]) -> set[str]:
    """The modules of this repository that ``path`` imports, and those that they import."""
    for name in names_in(path):
        if name in OURS and name not in known:
            known.add(name)
            imported(OURS[name], known)
    return known


@pytest.mark.parametrize("tool", TOOLS)
def test_a_tool_finds_what_it_imports(tool: str) -> None:
    names = sorted(imported(OURS[tool], set()))
    command = [sys.executable, "-c", FINDS, tool, *names]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert (done.stdout.strip().splitlines()[-1:], done.returncode) == (["[]"], 0), done.stderr


def test_a_tool_is_imported_by_its_whole_name() -> None:
    tools = {name.rpartition(".")[2] for name in OURS if name.startswith("tools.")}
    tools |= {path.parent.name for path in (ROOT / "tools").rglob("*/__init__.py")}
    files = [*(ROOT / "tools").rglob("*.py"), *(ROOT / "tests").rglob("test_*.py")]
    assert [(path.name, name) for path in files for name in names_in(path) if name.partition(".")[0] in tools] == []
