"""The rules of the architecture that a machine can check."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src" / "depyf"
FILES = sorted(SOURCE.rglob("*.py"))
TORCH_ALLOWED = (
    "dynamo/",
    "debugger/",
    "explain/",
    "optimization.py",
    "gallery/harness.py",
    "gallery/modes.py",
    "gallery/skeleton.py",
)
# explain/ and optimization.py are the published surface; the harness is text for scripts, never imported
INTERPRETERS = ("verify/run/interpreters.py", "verify/run/recompile.py")  # which CPython runs is their subject
LINE_LIMIT = 500


def relative(path: Path) -> str:
    return path.relative_to(SOURCE).as_posix()


def imported(tree: ast.AST) -> Iterator[str]:
    """Every module that is imported, at whatever place in the file."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            yield node.module


def uses_host_version(tree: ast.AST) -> bool:
    return any(
        isinstance(node, ast.Attribute)
        and node.attr in ("version_info", "hexversion")
        and isinstance(node.value, ast.Name)
        and node.value.id == "sys"
        for node in ast.walk(tree)
    )


@pytest.mark.parametrize("path", FILES, ids=relative)
def test_file(path: Path) -> None:
    name = relative(path)
    text = path.read_text(encoding="utf-8")
    tree = ast.parse(text)
    tops = {module.split(".")[0] for module in imported(tree)}
    if not name.startswith("bytecode/"):
        if name not in INTERPRETERS:
            assert not uses_host_version(tree), "versions of CPython are known in bytecode/ only"
        assert not tops & {"dis", "opcode"}, "the running interpreter's opcodes are no business of the core"
    if not name.startswith(TORCH_ALLOWED):
        assert "torch" not in tops, "torch is imported in dynamo/ and debugger/ only"
    assert len(text.splitlines()) < LINE_LIMIT
    if text.strip() and path.name != "__init__.py":
        assert ast.get_docstring(tree), "a module says what it is for"


def test_import_is_light() -> None:
    """``import depyf`` brings in neither torch nor anything else that is not the standard library."""
    program = (
        "import sys; before = set(sys.modules); import depyf; "
        "print(*sorted({m.split('.')[0] for m in set(sys.modules) - before} - set(sys.stdlib_module_names)))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) <= {"depyf"}


def test_core_does_not_know_dynamo() -> None:
    """``dynamo/`` depends on the core, never the reverse."""
    for folder in ("bytecode", "flow", "lift", "tree", "structure", "idioms", "emit", "verify"):
        for path in sorted((SOURCE / folder).rglob("*.py")):
            for module in imported(ast.parse(path.read_text(encoding="utf-8"))):
                assert not module.startswith(("depyf.dynamo", "depyf.debugger", "depyf.report")), relative(path)


ON_COPIES = ("compare.py", "reference.py", "probes.py", "nonfinite.py", "bodies.py", "libdevice.py")
"""They run graphs for the user, on values of their own."""
TELLING = {"is_leaf", "grad_fn", "storage_offset", "untyped_storage", "data_ptr", "hint", "has_hint", "numel"}


@pytest.mark.parametrize("path", sorted((SOURCE / "dynamo").glob("*.py")), ids=relative)
def test_values_of_a_program_are_looked_at_in_one_place(path: Path) -> None:
    """What ``pure_access`` is for: the usual ways to read these specialise symbols, run code, or make autograd's nodes."""
    if path.name in (*ON_COPIES, "pure_tensors.py"):
        return
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Attribute):
            assert node.attr not in TELLING, f"{node.attr}, line {node.lineno}"
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "isinstance":
            assert not ast.unparse(node.args[1]).startswith("torch."), f"isinstance, line {node.lineno}"
