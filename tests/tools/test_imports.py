"""A tool finds the modules of this repository that it imports, in its functions too."""

from __future__ import annotations

import ast
import subprocess
import sys
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


def imported(path: Path, known: set[str]) -> set[str]:
    """The modules of this repository that ``path`` imports, and those that they import."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        for name in names:
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
