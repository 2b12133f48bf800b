"""``depyf repro``: scripts for bug reports, run as someone else would run them."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import torch

import depyf
import with_torch
from depyf.cli import main

pytestmark = pytest.mark.torch


def record(folder: Path, call, **settings):
    torch._dynamo.reset()
    with depyf.prepare_debug(folder, record=True), torch._inductor.config.patch(settings):
        return call()


def script(folder: Path, compile_id: str = "0/0", *options: str) -> Path:
    path = folder.parent / "bug.py"
    assert main(["repro", str(folder), compile_id, "-o", str(path), *options]) == 0
    return path


def run(path: Path) -> tuple[int, str]:
    """In a new process, in another folder, where nothing but torch is there to import."""
    done = with_torch.run([sys.executable, "-I", path], cwd=path.parent, imports=with_torch.ALONE)
    assert not done.stderr or "Traceback" not in done.stderr, done.stderr
    return done.returncode, done.stdout


def test_wrong_results_are_wrong_again(tmp_path):
    """torch can be told to get relu wrong."""
    compiled = torch.compile(lambda x: torch.relu(x.sin()) * 2, backend="inductor")
    record(
        tmp_path / "dump",
        lambda: compiled(torch.linspace(-3, 3, 50)),
        **{"cpp.inject_relu_bug_TESTING_ONLY": "accuracy"},
    )
    status, text = run(script(tmp_path / "dump"))
    assert status == 1 and "MISMATCH  output 0" in text and "1 of 1 results differ" in text


def test_a_compilation_that_failed_fails_again(tmp_path):
    compiled = torch.compile(lambda x: torch.relu(x.sin()) * 2, backend="inductor")
    with pytest.raises(Exception, match="compile error"):
        record(
            tmp_path / "dump", lambda: compiled(torch.ones(3)), **{"cpp.inject_relu_bug_TESTING_ONLY": "compile_error"}
        )
    path = script(tmp_path / "dump")
    assert "What happened: " in path.read_text()
    status, text = run(path)
    assert status == 1 and "only compiled code raises" in text and "error" in text


def test_a_call_that_failed_fails_again(tmp_path):
    """The inputs are those of the call that raised, not those of the first."""
    compiled = torch.compile(lambda x, i: (x[i] * 2).sum(), backend="aot_eager")

    def call():
        compiled(torch.ones(5), torch.tensor([1, 2]))
        with pytest.raises(IndexError):
            compiled(torch.ones(5), torch.tensor([1, 9]))

    record(tmp_path / "dump", call)
    path = script(tmp_path / "dump")
    assert "torch.tensor([1, 9])" in path.read_text() and "What happened: IndexError" in path.read_text()
    status, text = run(path)
    assert status == 2 and text.count("IndexError: index 9") == 2


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(40, 40)
        self.norm = torch.nn.BatchNorm1d(40)

    def forward(self, x, scale):
        return torch.nn.functional.dropout(self.norm(self.linear(x)).relu()) * scale


@pytest.mark.parametrize("backend", ["eager", "aot_eager", "inductor"])
def test_training_with_dropout_and_large_parameters(tmp_path, backend):
    torch.manual_seed(0)
    compiled = torch.compile(Model(), backend=backend)

    def call():
        compiled(torch.randn(4, 40, requires_grad=True).cos(), 2.0).sum().backward()
        compiled(torch.randn(6, 40), 3.0)

    record(tmp_path / "dump", call)
    path = script(tmp_path / "dump")
    assert path.with_suffix(".safetensors").exists()
    status, text = run(path)
    assert "gradient of " in text and f"backend {backend}" in text
    assert status == 0, text
    status, text = run(script(tmp_path / "dump", "0/1"))  # dynamic shapes
    assert status == 0, text


def test_views_of_one_memory_in_a_mode(tmp_path):
    memory = torch.arange(12.0)

    def add(a, b):
        a.mul_(2)
        return a.sum() + b.sum()

    with torch.no_grad():
        record(
            tmp_path / "dump", lambda: torch.compile(add, backend="aot_eager")(memory[:6], memory[3:].view(3, 3).t())
        )
    path = script(tmp_path / "dump")
    assert "memory_0 = " in path.read_text() and "return torch.no_grad()" in path.read_text()
    assert run(path)[0] == 0


def test_without_recorded_inputs_they_are_made_up(tmp_path):
    with depyf.prepare_debug(tmp_path / "dump"):
        torch.compile(lambda x, i: x[i] + 1, backend="aot_eager")(torch.randn(5, 3), torch.tensor([4, 4]))
    path = script(tmp_path / "dump")
    assert "made-up inputs" in path.read_text() and run(path)[0] == 0


def test_what_was_left_out_is_made_up(tmp_path):
    with depyf.prepare_debug(tmp_path / "dump", record=100):
        torch.compile(lambda x, y: x.sum() + y, backend="eager")(torch.randn(100), torch.ones(3))
    path = script(tmp_path / "dump")
    assert "made up: 400 B; the limit is 100 B" in path.read_text() and run(path)[0] == 0


def test_the_same_command_gives_the_same_bytes(tmp_path):
    record(tmp_path / "dump", lambda: torch.compile(Model(), backend="eager")(torch.randn(4, 40), 1.0))
    path = script(tmp_path / "dump")
    before = path.read_bytes(), path.with_suffix(".safetensors").read_bytes()
    script(tmp_path / "dump")
    assert (path.read_bytes(), path.with_suffix(".safetensors").read_bytes()) == before


def own_backend(graph, inputs):
    return graph


def test_a_backend_of_the_program_is_named(tmp_path):
    record(tmp_path / "dump", lambda: torch.compile(torch.sin, backend=own_backend)(torch.ones(2)))
    text = script(tmp_path / "dump").read_text()
    assert f'backend = "eager"  # it was {__name__}.own_backend: import it, and put it here' in text


@pytest.mark.parametrize("wrong", ["7/7", "", "../../x", "0/0/0/0"])
def test_a_compilation_that_is_not_there(tmp_path, capsys, wrong):
    record(tmp_path / "dump", lambda: torch.compile(torch.sin, backend="eager")(torch.ones(2)))
    assert main(["repro", str(tmp_path / "dump"), wrong, "-o", str(tmp_path / "bug.py")]) == 4
    assert "there are 0/0" in capsys.readouterr().err and not (tmp_path / "bug.py").exists()


def test_names_of_files_are_taken_for_compile_ids(tmp_path):
    record(tmp_path / "dump", lambda: torch.compile(torch.sin, backend="eager")(torch.ones(2)))
    assert script(tmp_path / "dump", "0_0").exists()


def test_what_cannot_be_written_is_said(tmp_path, capsys):
    record(tmp_path / "dump", lambda: torch.compile(torch.sin, backend="eager")(torch.ones(2)))
    assert main(["repro", str(tmp_path / "dump"), "0/0", "-o", str(tmp_path / "no" / "bug.py")]) == 4
    assert "cannot write" in capsys.readouterr().err
    assert main(["repro", str(tmp_path / "dump"), "0/0", "-o", str(tmp_path / "bug.txt")]) == 4
    assert main(["repro", str(tmp_path / "dump"), "0/0", "--graph", "3", "-o", str(tmp_path / "bug.py")]) == 4
    assert main(["repro", str(tmp_path / "nothing"), "0/0"]) == 4
