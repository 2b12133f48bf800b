"""``depyf decompile`` of files without a header, of trees with several files of a module, and what ``--version`` says."""

from __future__ import annotations

import io
import json
import marshal
import py_compile
import sys
import zipfile
from pathlib import Path

import pytest

from depyf.cli import main
from depyf.cli.exit_status import ExitStatus
from foreign import compile_with

HOST = f"{sys.version_info[0]}.{sys.version_info[1]}"
NOTE = f"# Read as bytecode of CPython {HOST}, found by trying: there is no header"
FUNCTION = "def f(a):\n    return [x for x in a]\n"


def bare(path: Path, text: str = FUNCTION) -> Path:
    path.write_bytes(marshal.dumps(compile(text, "m.py", "exec", dont_inherit=True)))
    return path


def test_first_line_says_how_it_was_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = bare(tmp_path / "m.pyc")
    assert main(["decompile", "-q", str(path)]) == ExitStatus.PROVEN
    first, _, rest = capsys.readouterr().out.partition("\n")
    assert first.startswith(NOTE)
    assert rest == FUNCTION
    assert main(["decompile", "--json", str(path)]) == ExitStatus.PROVEN
    (entry,) = json.loads(capsys.readouterr().out)["files"]
    assert "# " + entry["note"] == first
    assert entry["version"] == HOST


def test_one_function_of_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = bare(tmp_path / "m.pyc")
    assert main(["decompile", "-q", f"{path}:f"]) == ExitStatus.PROVEN
    assert capsys.readouterr().out.startswith(NOTE)
    assert main(["disasm", f"{path}:f"]) == 0
    assert capsys.readouterr().err.startswith("depyf: Read as bytecode of CPython")


def test_version_option(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = bare(tmp_path / "m.pyc")
    assert main(["decompile", "-q", "--version", HOST, str(path)]) == ExitStatus.PROVEN
    assert capsys.readouterr().out.startswith(f"# Read as bytecode of CPython {HOST}, as asked: there is no header.\n")
    with pytest.raises(SystemExit) as caught:
        main(["decompile", "--version", "3.7", str(path)])
    assert caught.value.code == ExitStatus.USAGE
    assert "CPython 3.8 to 3.15 can" in capsys.readouterr().err
    assert (
        main(["decompile", "--version", "3.8" if sys.version_info >= (3, 11) else "3.14", str(path)])
        == ExitStatus.UNREADABLE
    )


def test_tree_of_two_interpreters(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each file keeps its text, ``m.py`` is the unoptimised one of the newest version."""
    source, tree, out = tmp_path / "m.py", tmp_path / "tree", tmp_path / "out"
    cache = tree / "__pycache__"
    cache.mkdir(parents=True)
    source.write_text("assert a\nnewest = 1\n")
    (new,) = compile_with("3.12", [source])
    py_compile_optimised = source.with_name("opt.pyc")
    py_compile.compile(str(source), str(py_compile_optimised), optimize=1, doraise=True)
    source.write_text("older = 1\n")
    (old,) = compile_with("3.8", [source])
    (cache / "m.cpython-312.pyc").write_bytes(new)
    (cache / "m.cpython-312.opt-1.pyc").write_bytes(py_compile_optimised.read_bytes())
    (cache / "m.cpython-38.pyc").write_bytes(old)
    assert main(["decompile", "-q", "-j", "1", "-o", str(out), str(tree)]) == ExitStatus.PROVEN
    assert {path.name: path.read_text() for path in out.iterdir()} == {
        "m.py": "assert a\nnewest = 1\n",
        "m.cpython-312.opt-1.py": "newest = 1\n",
        "m.cpython-38.py": "older = 1\n",
    }


def test_a_part_of_a_file_has_what_is_around_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "parts.py"
    path.write_text("@g\ndef f(a, b=[1], *, c: int = 2):\n    return a\n\n\nclass C(B):\n    x = 1\n")
    assert main(["decompile", "-q", f"{path}:f"]) == ExitStatus.PROVEN
    assert capsys.readouterr().out == "@g\ndef f(a, b=[1], *, c: int = 2):\n    return a\n"
    assert main(["decompile", "-q", f"{path}:C"]) == ExitStatus.PROVEN
    assert capsys.readouterr().out == "class C(B):\n    x = 1\n"


@pytest.fixture
def wheel(tmp_path: Path) -> Path:
    source = tmp_path / "m.py"
    source.write_text("@g\ndef f(a, b=[1]):\n    return a\n")
    py_compile.compile(str(source), str(tmp_path / "m.pyc"))
    path = tmp_path / "a.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.write(tmp_path / "m.pyc", "pkg/m.pyc")
        archive.writestr("pkg/o:1.pyc", marshal.dumps(compile("x = 1\n", "o.py", "exec", dont_inherit=True)))
    return path


@pytest.mark.parametrize(
    ("member", "text"),
    [
        ("pkg/m.pyc", "@g\ndef f(a, b=[1]):\n    return a\n"),
        ("pkg/m.pyc:f", "@g\ndef f(a, b=[1]):\n    return a\n"),
        ("./pkg//m.pyc", "@g\ndef f(a, b=[1]):\n    return a\n"),
        ("pkg/o:1.pyc", "x = 1\n"),
    ],
)
def test_a_member_of_an_archive(wheel: Path, capsys: pytest.CaptureFixture[str], member: str, text: str) -> None:
    assert main(["decompile", "-q", f"{wheel}:{member}"]) == ExitStatus.PROVEN
    assert capsys.readouterr().out.endswith(text)
    assert main(["disasm", f"{wheel}:{member}"]) == 0


@pytest.mark.parametrize(
    ("member", "error"),
    [
        ("m.pyc", "has no 'm.pyc'; it has: pkg/m.pyc, pkg/o:1.pyc"),
        ("pkg/m.pyc:g", "pkg/m.pyc has no 'g'; it has: f"),
        ("../pkg/m.pyc", "has no '../pkg/m.pyc'"),
    ],
)
def test_no_such_member(wheel: Path, capsys: pytest.CaptureFixture[str], member: str, error: str) -> None:
    assert main(["decompile", "-q", f"{wheel}:{member}"]) == ExitStatus.UNREADABLE
    assert error in capsys.readouterr().err


@pytest.mark.parametrize("front", [b"", b"#!/usr/bin/env python3\n"])
def test_an_archive_on_standard_input(
    wheel: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path, front: bytes
) -> None:
    data = front + wheel.read_bytes()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
    assert main(["decompile", "-q", "-", "-o", str(tmp_path / "out")]) == ExitStatus.PROVEN
    assert (tmp_path / "out" / "pkg" / "m.py").read_text() == "@g\ndef f(a, b=[1]):\n    return a\n"
