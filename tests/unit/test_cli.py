"""The command line: inputs, outputs, exit statuses, and clear errors for bad input."""

from __future__ import annotations

import io
import json
import py_compile
import subprocess
import sys
from pathlib import Path

import pytest

import foreign
import needs
from depyf.cli import main
from depyf.cli.outcome import Exit
from depyf.verify import worker

SOURCE = '''\
def double(x):
    """Twice."""
    return x * 2


class Thing:
    def method(self):
        return double(self.x)
'''


@pytest.fixture
def module(tmp_path: Path) -> Path:
    path = tmp_path / "thing.py"
    path.write_text(SOURCE)
    return path


@pytest.fixture
def pyc(module: Path) -> Path:
    return Path(py_compile.compile(str(module), str(module.with_suffix(".pyc")), doraise=True))


def test_pyc_to_stdout(pyc: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["decompile", str(pyc)]) == Exit.PROVEN
    out, err = capsys.readouterr()
    assert out == SOURCE
    assert "code objects" in err


def test_quiet(pyc: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["decompile", "-q", str(pyc)]) == Exit.PROVEN
    assert capsys.readouterr() == (SOURCE, "")


def test_stdin(pyc: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(pyc.read_bytes())))
    assert main(["decompile", "-q", "-"]) == Exit.PROVEN
    assert capsys.readouterr().out == SOURCE


def test_json(pyc: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["decompile", "--json", str(pyc)]) == Exit.PROVEN
    document = json.loads(capsys.readouterr().out)
    assert document["exit"] == 0
    assert document["summary"]["IDENTICAL"] == 4
    (entry,) = document["files"]
    assert entry["source"] == SOURCE
    assert entry["version"] == f"{sys.version_info[0]}.{sys.version_info[1]}"
    assert [v["qualname"] for v in entry["verdicts"]] == ["<module>", "double", "Thing", "Thing.method"]


def test_folder_keeps_layout(tmp_path: Path, module: Path) -> None:
    tree, out = tmp_path / "tree", tmp_path / "out"
    for name in ("pkg/__pycache__/a.cpython-311.pyc", "pkg/sub/b.pyc", "c.pyc"):
        target = tree / name
        target.parent.mkdir(parents=True, exist_ok=True)
        py_compile.compile(str(module), str(target), doraise=True)
    assert main(["decompile", "-j", "2", "-o", str(out), str(tree)]) == Exit.PROVEN
    written = sorted(path.relative_to(out).as_posix() for path in out.rglob("*.py"))
    assert written == ["c.py", "pkg/a.py", "pkg/sub/b.py"]
    assert (out / "c.py").read_text() == SOURCE


def test_live_object(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["decompile", "-q", "textwrap:dedent"]) == Exit.PROVEN
    assert "def dedent(text):" in capsys.readouterr().out


def test_one_function_of_a_file(module: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["decompile", "-q", f"{module}:Thing.method"]) == Exit.PROVEN
    assert "return double(self.x)" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("target", "complaint"),
    [
        ("no/such/file.pyc", "no such file"),
        ("no_such_module_at_all:x", "cannot import no_such_module_at_all"),
        ("json:no_such_name", "json has no 'no_such_name'"),
        ("math:sqrt", "has no bytecode"),
        ("json:__name__", "has no bytecode"),
    ],
)
def test_unreadable(target: str, complaint: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["decompile", target]) == Exit.UNREADABLE
    out, err = capsys.readouterr()
    assert out == ""
    assert complaint in err


@pytest.mark.parametrize("keep", [0, 3, 16, 40])
def test_truncated_pyc(pyc: Path, keep: int, capsys: pytest.CaptureFixture[str]) -> None:
    pyc.write_bytes(pyc.read_bytes()[:keep])
    assert main(["decompile", str(pyc)]) == Exit.UNREADABLE
    assert capsys.readouterr().err.startswith("depyf: ")


def test_not_a_pyc(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "image.pyc"
    path.write_bytes(b"\x89PNG" + bytes(100))
    assert main(["decompile", str(path)]) == Exit.UNREADABLE
    assert "image.pyc" in capsys.readouterr().err


def test_one_bad_file_does_not_sink_the_others(pyc: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["decompile", str(pyc), "missing.pyc"]) == Exit.UNREADABLE
    out, err = capsys.readouterr()
    assert SOURCE in out
    assert "missing.pyc" in err


def test_empty_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["decompile", str(tmp_path)]) == Exit.UNREADABLE
    assert "no .pyc file" in capsys.readouterr().err


def test_output_folder_that_cannot_be_made(pyc: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["decompile", str(pyc), "-o", f"{pyc}/out"]) == Exit.UNREADABLE
    assert "cannot create the output folder" in capsys.readouterr().err


def test_usage_error() -> None:
    with pytest.raises(SystemExit) as caught:
        main(["decompile"])
    assert caught.value.code == Exit.USAGE


def test_no_command_shows_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == Exit.USAGE
    assert "depyf decompile some/folder" in capsys.readouterr().err


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["--version"])
    assert caught.value.code == 0
    assert capsys.readouterr().out.startswith("depyf ")


def test_python_that_is_none(pyc: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["decompile", str(pyc), "--python", str(pyc)]) == Exit.USAGE
    assert "no CPython answers there" in capsys.readouterr().err


def test_file_is_named_once_and_no_table_of_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "short.pyc"
    path.write_bytes(b"abc")
    assert main(["decompile", str(path)]) == Exit.UNREADABLE
    err = capsys.readouterr().err
    assert err.count("short.pyc") == 1
    assert "code objects" not in err


def test_newer_magic(pyc: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pyc.write_bytes((3999).to_bytes(2, "little") + pyc.read_bytes()[2:])
    assert main(["decompile", str(pyc)]) == Exit.UNREADABLE
    assert "magic number 3999" in capsys.readouterr().err


def test_no_interpreter_of_that_version(
    module: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is shown as proven, and one line says why."""
    version = next((version for version in needs.available() if version != needs.HOST), None)
    if version is None:
        needs.missing("Python but the running one")
    pyc = module.with_suffix(".pyc")
    pyc.write_bytes(foreign.compile_with(version, [module])[0])
    monkeypatch.setattr(worker, "find_interpreter", lambda version: None)
    assert main(["decompile", "-j", "1", str(pyc)]) == Exit.UNPROVEN
    err = capsys.readouterr().err
    assert err.count("to recompile with") == 1
    assert "unverified:" in err


def test_missing_extra(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setitem(sys.modules, "rich", None)
    assert main(["decompile", "x"]) == Exit.USAGE
    assert "pip install 'depyf[cli]'" in capsys.readouterr().err


def test_disasm(module: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["disasm", f"{module}:double"]) == 0
    out = capsys.readouterr().out
    assert "return x * 2" in out
    assert "BINARY" in out


def test_dump(module: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["dump", f"{module}:double", "--list"]) == 0
    names = capsys.readouterr().out.split()
    assert names
    assert main(["dump", f"{module}:double"]) == 0
    everything = capsys.readouterr().out
    for name in names:
        assert main(["dump", f"{module}:double", "--after", name]) == 0
        assert capsys.readouterr().out.strip() in everything
    assert main(["dump", f"{module}:double", "--after", "nonsense"]) == Exit.UNREADABLE
    assert "there are:" in capsys.readouterr().err


def test_as_a_program(pyc: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "depyf", "decompile", pyc], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, SOURCE)
