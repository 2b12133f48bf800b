"""A tool finds the modules of this repository that it imports, in its functions too."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
OURS = {
    path.stem: path
    for folder in ("tools", "tests/torch", "tests/support", "tests")
    for path in (ROOT / folder).glob("*.py")
    if path.stem not in ("conftest", "__init__")
}
TOOLS = [path for path in sorted((ROOT / "tools").glob("*.py")) if '"tests"' in path.read_text(encoding="utf-8")]
FINDS = """
import importlib, importlib.util, sys
sys.path.insert(0, sys.argv[1])
importlib.import_module(sys.argv[2])
print([name for name in sys.argv[3:] if importlib.util.find_spec(name) is None])
"""


def imported(path: Path, known: set[str]) -> set[str]:
    """The modules of this repository that ``path`` imports, and those that they import."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names = [node.module]
        for name in names:
            if name in OURS and name not in known:
                known.add(name)
                imported(OURS[name], known)
    return known


@pytest.mark.parametrize("tool", TOOLS, ids=lambda path: path.stem)
def test_a_tool_finds_what_it_imports(tool: Path) -> None:
    names = sorted(imported(tool, set()))
    command = [sys.executable, "-c", FINDS, str(tool.parent), tool.stem, *names]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert (done.stdout.strip().splitlines()[-1:], done.returncode) == (["[]"], 0), done.stderr
