"""``depyf open --load`` executes a file in a process by itself, after it has said so."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import torch

from depyf.cli import main
from depyf.cli.exit_status import ExitStatus
from depyf.run.made import Made
from depyf.run.store.loading import load

pytest.importorskip("torch._dynamo.aot_compile")
pytestmark = pytest.mark.torch

MODULE = """
import torch

def scaled(x, by=2):
    return x.sin() * by + 1
"""


@pytest.fixture(scope="module")
def aot(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("saved")
    (folder / "its_module.py").write_text(MODULE)
    sys.path.insert(0, str(folder))
    try:
        from its_module import scaled

        compiled = torch.compile(scaled, fullgraph=True, backend="aot_eager").aot_compile(((torch.ones(3),), {}))
        compiled.save_compiled_function(str(folder / "scaled.aot"))
    finally:
        sys.path.remove(str(folder))
    return folder / "scaled.aot"


def test_what_only_loading_tells_is_a_dump_below_the_texts(aot, tmp_path, capfd):
    out = tmp_path / "out"
    assert main(["open", str(aot), "-o", str(out), "--load"]) == ExitStatus.PROVEN
    told = capfd.readouterr()
    assert "--load executes scaled.aot, in a separate process, as you: it can do what you can do" in told.err
    assert f"what loading it made is in {out / 'loaded'}" in told.out
    (function,) = load(out / "loaded").functions
    assert function.entries[0].made is Made.AHEAD_LOADED
    (page,) = (out / "loaded").glob("full_code_for_scaled*.py")
    assert "check_tensor(" in page.read_text() and "size=[3]" in page.read_text()
    assert main(["open", str(aot), "-o", str(out)]) == ExitStatus.PROVEN  # the folder is taken again


def test_without_it_nothing_is_loaded_and_the_index_names_it(aot, tmp_path, capfd):
    out = tmp_path / "out"
    assert main(["open", str(aot), "-o", str(out)]) == ExitStatus.PROVEN
    assert not (out / "loaded").exists()
    assert "executes" not in capfd.readouterr().err
    assert "`depyf open --load` does that. It executes the file." in (out / "index.md").read_text()


def test_a_file_that_cannot_be_loaded_says_why(aot, tmp_path, capfd):
    damaged = tmp_path / "damaged.aot"
    data = aot.read_bytes()
    assert b"BundledAOTAutogradSerializableCallable" in data
    damaged.write_bytes(
        data.replace(b"BundledAOTAutogradSerializableCallable", b"BundledAOTAutogradSerializableCallablf")
    )
    assert main(["open", str(damaged), "-o", str(tmp_path / "out"), "--load"]) == ExitStatus.UNREADABLE
    told = capfd.readouterr().err
    assert "AttributeError" in told and "damaged.aot could not be loaded" in told


def test_a_folder_is_not_executed(aot, capsys):
    assert main(["open", str(aot.parent), "--load"]) == ExitStatus.USAGE
    assert "--load executes one file" in capsys.readouterr().err
