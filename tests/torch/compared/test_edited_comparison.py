"""Edited code against the original, in one table: each stage, each backend, with gradients, time and memory."""

from __future__ import annotations

import dataclasses
import sys

import pytest
import torch

import depyf
import with_torch
from depyf.actions.debugger.stepping.levels import no_caches

pytestmark = pytest.mark.torch


def layer(x, weight):
    h = torch.relu(x @ weight)
    return (h * 2).sin()


def given():
    torch.manual_seed(0)
    return torch.randn(6, 8), torch.randn(8, 4, requires_grad=True)


def dumped(folder, backend, fn, *args, **kwargs):
    """The compiled function; the dump of one call with its backward is in ``folder``."""
    compiled = torch.compile(fn, backend=backend)
    with depyf.prepare_debug(folder):
        result = compiled(*args, **kwargs)
        if isinstance(result, torch.Tensor) and result.requires_grad:
            result.sum().backward()
    return compiled


def edit(folder, pattern, old, new):
    """Exchange a text, the first time that it is in the one file that matches ``pattern`` and has it."""
    (path,) = [path for path in folder.glob(pattern) if old in path.read_text()]
    path.write_text(path.read_text().replace(old, new, 1))
    return path


SIN_TO_COS = ("aten.sin.default(mul)", "aten.cos.default(mul)")
COS_TO_SIN = SIN_TO_COS[::-1]
STAGES = [
    ("aot_eager", "*.Forward_graph.0.py", *SIN_TO_COS, "results", "sin"),
    ("aot_eager", "*.Backward_graph.0.py", *COS_TO_SIN, "gradients", "cos"),
    ("aot_eager", "*.Joint_graph.0.py", *SIN_TO_COS, "results", "sin"),
    ("inductor", "*.Forward_graph.0.py", *SIN_TO_COS, "results", "sin"),
    ("inductor", "*.Backward_graph.0.py", *COS_TO_SIN, "gradients", "cos"),
    ("inductor", "*.Joint_graph.0.py", *SIN_TO_COS, "results", "sin"),
    ("inductor", "*.BEFORE_POST_GRAD.0.py", *SIN_TO_COS, "results", "sin"),
    ("inductor", "*.AFTER_POST_GRAD.0.py", *SIN_TO_COS, "results", "sin"),
    ("inductor", "*.AFTER_POST_GRAD.1.py", *COS_TO_SIN, "gradients", "cos"),
    ("inductor", "*.kernel_0.py", ".sin()", ".cos()", "results", ""),
    ("inductor", "*.kernel_0.*.cpp", ".sin()", ".cos()", "results", ""),
    ("inductor", "*.kernel_1.*.cpp", ".cos()", ".sin()", "gradients", ""),
]


@pytest.mark.parametrize(("backend", "pattern", "old", "new", "differ", "node"), STAGES)
def test_each_stage(tmp_path, capsys, recwarn, backend, pattern, old, new, differ, node):
    """What the edit changes is DIFFERENT, what it does not change is the same; the first node is at its line."""
    with no_caches():
        dumped(tmp_path, backend, layer, *given())
        path = edit(tmp_path, pattern, old, new)
        found = depyf.compare(torch.compile(layer, backend=backend), *given(), edited=tmp_path)
    (graph,) = found.graphs
    assert not found and not graph.error and graph.has_gradients
    assert ((graph.results is None), (graph.gradients is None)) == (differ != "results", differ != "gradients")
    assert graph.before.seconds > 0 and graph.after.seconds > 0 and graph.before.peak > 0 and graph.after.peak > 0
    text = path.read_text()
    line = text[: text.index(new)].count("\n") + 1 if node else 0
    assert [said.partition(": ")[2].partition(": ")[0] for said in found.first] == (
        [f"{node}, {path}:{line}"] if node else []
    )
    assert "could not be compared" not in capsys.readouterr().err
    assert not [warning for warning in recwarn.list if "treespec" in str(warning.message)]


@dataclasses.dataclass
class Found:
    values: torch.Tensor
    name: str


class Counting(torch.nn.Module):
    """A module that counts its calls, and breaks the graph."""

    def __init__(self):
        super().__init__()
        self.inner = torch.nn.Linear(4, 4)
        self.register_buffer("calls", torch.zeros(()))

    def forward(self, x, *more, scale=1.0, **others):
        self.calls += 1
        h = self.inner(x) * scale + others["bias"]
        print(end="")
        return {"h": h.relu(), "found": Found(h + more[0], "name")}


@pytest.mark.parametrize("backend", ["eager", "aot_eager", "inductor"])
def test_transformed_code(tmp_path, backend):
    """No graph differs, the function does: in its results and in its gradients; what modules hold is changed once."""
    torch.manual_seed(0)
    module = Counting()
    compiled = torch.compile(module, backend=backend)
    inputs = {"scale": 2.0, "bias": torch.ones(4)}
    dumped(tmp_path, backend, compiled, torch.ones(3, 4), torch.ones(3, 4), **inputs)
    (path,) = tmp_path.glob("__transformed_code_1_0_*.py")
    head, found, result = path.read_text().rpartition("    return ")
    path.write_text(f"{head}    made = {result.rstrip()}\n    made['h'] = made['h'] * 2\n    return made\n")
    before = module.calls.item()
    compared = depyf.compare(compiled, torch.ones(3, 4), torch.ones(3, 4), **inputs, edited=tmp_path)
    assert found and module.calls.item() == before + 1
    rows = {graph.part: graph for graph in compared.graphs}
    assert set(rows) == {"", "transformed code"} and rows[""].same
    assert rows["transformed code"].results is not None and not rows["transformed code"].error
    assert rows["transformed code"].before.seconds > 0 and rows["transformed code"].before.peak >= 0
    assert not compared and "transformed code" in str(compared)
    path.write_text(f"{head}    made = {result.rstrip()}\n    return made\n")
    compared = depyf.compare(compiled, torch.ones(3, 4), torch.ones(3, 4), **inputs, edited=tmp_path)
    assert compared and len(compared.graphs) >= 2, str(compared)


def test_transformed_code_that_raises_is_not_compared(tmp_path):
    """The table says so; the program gets the error of its own call."""
    compiled = dumped(tmp_path, "eager", layer, *given())
    edit(tmp_path, "__transformed_code_0_0_*.py", "    return ", "    raise LookupError('planted')\n    return ")
    with pytest.raises(LookupError):
        depyf.compare(compiled, *given(), edited=tmp_path)
    script = tmp_path / "program.py"
    script.write_text("import torch\nprint(torch.compile(lambda x: x + 1, backend='eager')(torch.ones(2)))\n")
    dump = tmp_path / "dump"
    with_torch.run([sys.executable, "-m", "depyf", "run", "--out", dump, script], check=True)
    edit(dump, "__transformed_code_0_0_*.py", "    return ", "    raise LookupError('planted')\n    return ")
    command = [sys.executable, "-m", "depyf", "run", "--edited", dump, "--compare", script]
    said = with_torch.run(command)
    assert said.returncode != 0 and "NOT COMPARED" in said.stderr and "LookupError" in said.stderr


RECORDED = [("eager", "*.Captured_Graph.0.py", "h * 2;"), ("inductor", "*.AFTER_POST_GRAD.0.py", "(relu, 2)")]


@pytest.mark.parametrize("recording_outside", [True, False])
@pytest.mark.parametrize(("backend", "pattern", "old"), RECORDED)
def test_recorded_graphs_say_that_they_are_edited(tmp_path, backend, pattern, old, recording_outside):
    """The pages of that compilation, and no others; the dump that is edited has no such word."""
    with no_caches():
        compiled = dumped(tmp_path / "dump", backend, layer, *given())
        path = edit(tmp_path / "dump", pattern, old, old.replace("2", "3"))
        other = torch.compile(lambda x: x + 1, backend=backend)
        blocks = [depyf.prepare_debug(tmp_path / "new"), depyf.edited(tmp_path / "dump")]
        outer, inner = blocks if recording_outside else blocks[::-1]
        with outer, inner:
            compiled(*given())
            other(torch.ones(2))
    pages = {page.name: page.read_text() for page in (tmp_path / "new").glob("__compiled_fn_*.Captured_Graph.0.py")}
    said = "what runs here is the text of" if "Captured" in pattern else "is used in this compilation"
    marked = [text for text in pages.values() if "EDITED: " in text]
    assert marked and all(str(path) in text and said in text for text in marked)
    assert any("l_x_ + 1" in text and "EDITED" not in text for text in pages.values())
    runs = f"what runs here is the text of {path}"
    assert len([page for page in (tmp_path / "new").glob(pattern) if runs in page.read_text()]) == 1
    assert not [page for page in (tmp_path / "dump").glob("__compiled_fn_*.py") if "EDITED" in page.read_text()]
