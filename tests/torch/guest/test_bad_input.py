"""Clear errors before anything runs; no error of depyf reaches the user's program afterwards."""

from __future__ import annotations

import os
import sys

import pytest
import torch
from dumps import check_dump, run_python

from depyf import contexts
from depyf.api import debug, prepare_debug
from depyf.errors import DepyfError
from depyf.run.files import writer

pytestmark = pytest.mark.torch


def test_unwritable_directory(tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("")
    with pytest.raises(DepyfError, match="cannot write to the dump directory"), prepare_debug(blocked / "dump"):
        pytest.fail("entered")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_readonly_directory(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(DepyfError, match="cannot write"), prepare_debug(tmp_path):
        pytest.fail("entered")


def test_not_a_path():
    with pytest.raises(DepyfError, match="cannot write to the dump directory"):
        prepare_debug(None).__enter__()  # type: ignore[arg-type]


def test_nested(tmp_path):
    with prepare_debug(tmp_path / "outer"):
        with pytest.raises(DepyfError, match="already active"):
            prepare_debug(tmp_path / "inner").__enter__()
        assert not (tmp_path / "inner").exists()
        with pytest.raises(DepyfError, match="inside"):
            debug().__enter__()
    with prepare_debug(tmp_path / "after"):
        pass


def test_debug_first():
    done = run_python("import depyf.api as d; d.debug().__enter__()", alone=True)
    assert done.returncode == 1
    assert "DepyfError: depyf.debug() needs a dump" in done.stderr


def test_debug_without_a_dump(tmp_path):
    """What is compiled already is dumped first; with a level there need not be anything."""
    program = tmp_path / "program.py"
    program.write_text(
        "import depyf, torch\n"
        "def f(x): return torch.log(x - 1) * 2\n"
        "g = torch.compile(f, backend='eager')\n"
        "try:\n"
        "    with depyf.debug(stop_on='nan'): g(torch.zeros(2))\n"
        "except depyf.NonFiniteError as error: print('stopped:', error)\n"
        "g(torch.ones(2))\n"
        "with depyf.debug(): g(torch.ones(2))\n"
    )
    done = run_python(f"import runpy; runpy.run_path({str(program)!r})")
    assert done.returncode == 0, done.stderr
    assert (
        "stopped: log has a NaN that none of its operands has" in done.stdout
        and "return torch.log(x - 1) * 2" in done.stdout
    )
    assert "SyntaxWarning" not in done.stderr
    first = run_python("import torch; f = torch.compile(lambda x: x + 1, backend='eager'); f(torch.ones(2))\n"
                       "import depyf\nwith depyf.debug(): print(f(torch.ones(2)))")  # fmt: skip
    assert first.returncode == 0, first.stderr
    assert "__compiled_fn_0_0.Captured_Graph.0.py" in first.stdout + first.stderr


def test_quitting_at_the_pause_restores(tmp_path, monkeypatch):
    compiled = torch.compile(lambda x: x * 2, backend="eager")
    with prepare_debug(tmp_path):
        compiled(torch.ones(2))

    (match,) = contexts._Current.last.live_graphs()
    forward = type(match.module).forward

    def quit_debugger():
        assert forward.__code__.co_filename.endswith("Captured_Graph.0.py")
        raise KeyboardInterrupt

    monkeypatch.setattr(sys, "breakpointhook", quit_debugger)
    with pytest.raises(KeyboardInterrupt), debug():
        pytest.fail("entered")
    assert forward.__code__.co_filename.startswith("<eval_with_key>")


def test_exit_without_enter(tmp_path):
    assert prepare_debug(tmp_path).__exit__(None, None, None) is False


def test_old_torch(tmp_path, monkeypatch):
    monkeypatch.setattr(torch, "__version__", "2.4.1")
    with pytest.raises(DepyfError, match=r"torch 2\.4\.1 is too old"):
        prepare_debug(tmp_path).__enter__()


def test_missing_torch(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(DepyfError, match=r"needs torch 2\.6 or newer"):
        prepare_debug(tmp_path / "dump").__enter__()
    assert not (tmp_path / "dump").exists()


def test_disk_fills(tmp_path, monkeypatch):
    """Nothing can be written after the first file: same result, one warning, what is there stays readable."""
    written = []
    write = writer._write_text

    def full(path, text):
        if written:
            raise OSError(28, "No space left on device")
        written.append(path)
        write(path, text)

    monkeypatch.setattr(writer, "_write_text", full)
    with pytest.warns(RuntimeWarning, match="incomplete") as caught, prepare_debug(tmp_path):
        out = torch.compile(lambda x: x * 2 + 1, backend="aot_eager")(torch.ones(2))
    assert torch.equal(out, torch.full((2,), 3.0))
    assert len([w for w in caught if w.category is RuntimeWarning]) == 1
    left = {path.name for path in tmp_path.iterdir()}
    assert left == {"index.md", writer.UNFINISHED}  # the next run removes both
    monkeypatch.undo()
    with prepare_debug(tmp_path):
        pass
    check_dump(tmp_path)


def test_warnings_as_errors_do_not_raise(tmp_path, monkeypatch, capsys):
    import warnings

    monkeypatch.setattr(writer, "_write_text", lambda path, text: (_ for _ in ()).throw(OSError(28, "full")))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with prepare_debug(tmp_path):
            torch.compile(lambda x: x * 2, backend="eager")(torch.ones(2))
    assert "depyf: the dump in" in capsys.readouterr().err


@pytest.mark.parametrize(
    "where",
    [
        "depyf.sources.live.recording.transform.TransformHook._transform",
        "depyf.sources.live.recording.capture.Capture.handle",
    ],
)
def test_bug_of_ours(where, tmp_path, monkeypatch):
    def bug(*args, **kwargs):
        raise ZeroDivisionError("a bug")

    monkeypatch.setattr(where, bug)
    with pytest.warns(RuntimeWarning, match="ZeroDivisionError"), prepare_debug(tmp_path):
        out = torch.compile(lambda x: x * 2, backend="eager")(torch.ones(2))
    assert torch.equal(out, torch.full((2,), 2.0))
    assert any("ZeroDivisionError" in note for note in check_dump(tmp_path)["notes"])


def test_bug_in_the_summary(tmp_path, monkeypatch):
    monkeypatch.setattr("depyf.sources.live.recording.session.freeze", lambda *given: 1 / 0)
    with pytest.warns(RuntimeWarning, match="ZeroDivisionError"), prepare_debug(tmp_path):
        torch.compile(lambda x: x * 2, backend="eager")(torch.ones(2))
    assert contexts._Current.active is None


def test_import_without_torch():
    done = run_python("import sys, depyf.api, depyf.utils, depyf.explain; sys.exit('torch' in sys.modules)", alone=True)
    assert done.returncode == 0, done.stderr
