"""``depyf.debug(stop_on=...)`` on planted bugs: it names the first line of a graph, forward or backward, and the user's."""

from __future__ import annotations

import re

import pytest
import torch
from dumps import NOT_FOLLOWED, followed
from terminal import Terminal

import depyf

pytestmark = pytest.mark.torch


class Layer(torch.nn.Module):
    def __init__(self, width, broken):
        super().__init__()
        self.norm = torch.nn.LayerNorm(width)
        self.attention = torch.nn.MultiheadAttention(width, 2, batch_first=True)
        self.up, self.down = torch.nn.Linear(width, 4 * width), torch.nn.Linear(4 * width, width)
        self.broken = broken

    def forward(self, x):
        h = self.norm(x)
        x = x + self.attention(h, h, h, need_weights=False)[0]
        h = torch.nn.functional.gelu(self.up(self.norm(x)))
        if self.broken == "log":
            h = h + 0.0 * torch.log(h - 5)  # the planted bug
        if self.broken == "overflow":
            h = (h * 4e38).clamp(-1, 1)  # the planted overflow
        if self.broken == "backward":
            h = h + 0.0 * torch.sqrt(h - h)  # the planted infinite slope
        return x + self.down(h)


class Transformer(torch.nn.Module):
    def __init__(self, broken, at, depth=6):
        super().__init__()
        self.layers = torch.nn.ModuleList([Layer(16, broken if i == at else "") for i in range(depth)])

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


@pytest.fixture(autouse=True)
def nobody_there(monkeypatch):
    monkeypatch.setenv("DEPYF_NO_PAUSE", "1")


def dumped(model, directory, backend):
    import torch._functorch.config as functorch_config

    torch.manual_seed(0)
    fn = torch.compile(model, backend=backend)
    x = torch.randn(2, 5, 16)
    # a graph out of a warm cache has the file names of the run that filled it
    with functorch_config.patch(enable_autograd_cache=False), depyf.prepare_debug(directory):
        fn(x).sum().backward()
    return fn, x


@pytest.mark.parametrize(
    "broken, kind, planted, stage, backend",
    [
        ("log", "nan", "# the planted bug", "forward", "eager"),
        ("log", "nan", "# the planted bug", "forward", "inductor"),
        ("overflow", "inf", "# the planted overflow", "forward", "eager"),
        ("backward", "nan", "# the planted infinite slope", "backward", "aot_eager"),
    ],
)
def test_planted(broken, kind, planted, stage, backend, tmp_path):
    fn, x = dumped(Transformer(broken, at=4), tmp_path / "dump", backend)
    with pytest.raises(depyf.NonFiniteError) as caught, depyf.debug(stop_on=kind):
        fn(x).sum().backward()
    place = caught.value.where
    assert planted in place.user_code and place.user_file == __file__
    assert place.stage == f"{stage} graph of AOTAutograd"
    fn(x).sum().backward()  # outside the context nothing is watched


def test_nan_that_comes_in_is_not_created(tmp_path):
    fn, x = dumped(Transformer("", at=0, depth=2), tmp_path / "dump", "eager")
    x = torch.full_like(x, float("nan"))
    with depyf.debug(stop_on="nan"):
        fn(x).sum().backward()


def test_clean_model_does_not_stop_and_computes_the_same(tmp_path):
    model = Transformer("", at=0, depth=2)
    fn, x = dumped(model, tmp_path / "dump", "aot_eager")
    expected = fn(x)
    with depyf.debug(stop_on="nan", level="graph"):
        got = fn(x)
    torch.testing.assert_close(got, expected)


PROGRAM = """
import sys
import torch
import depyf
def layer(x, w):
    h = torch.tanh(x @ w)
    return torch.log(h - 2).sum()
fn = torch.compile(layer, backend=sys.argv[1])
x, w = torch.ones(2, 3), torch.eye(3, requires_grad=True)
with depyf.prepare_debug(sys.argv[2]):
    fn(x, w)
with depyf.debug(stop_on="nan"):
    fn(x, w)
print("LEFT")
"""


@pytest.mark.skipif(not followed(), reason=NOT_FOLLOWED)
@pytest.mark.parametrize("backend", ["eager", "inductor"])
def test_breakpoint_in_the_dispatcher_and_stop_at_the_nan(backend, tmp_path):
    """Under a pdb of the user's own: first the page, with the guards' values, then the line that makes the NaN."""
    script, dump = tmp_path / "program.py", tmp_path / "dump"
    script.write_text(PROGRAM)
    terminal = Terminal(["-m", "pdb", str(script), backend, str(dump)])
    terminal.command("b 12", "Breakpoint 1")
    terminal.command("c", "-> with depyf.debug(")
    page = "full_code_for_layer_0.py"
    terminal.command(
        f"b {dump / page}:{terminal.line(page, 'if guards_0_0(', dump)}, L['x'].sum() == 6", "Breakpoint 2"
    )
    terminal.command("c", f"{page}(")
    terminal.command("p L['w'].requires_grad", "True")
    terminal.command("n", "return __transformed_code_0_0_for_layer")
    answer = terminal.command("c", "depyf: log is the first value of a graph with a NaN")
    assert f"from {script}:7 in layer: return torch.log(h - 2).sum()" in answer
    assert re.search(r"> \S+\.Forward_graph\.0\.py\(\d+\)", answer)
    terminal.command("p log.isnan().all()", "tensor(True)")
    terminal.command("cl 1 2", "Deleted")
    terminal.command("c", "LEFT")
    terminal.command("q", "")


@pytest.mark.parametrize("level", ["aot", "graph"])
def test_infinities_that_are_meant(level):
    """A mask says infinity; the overflow after it is what to stop at."""

    def attention(x):
        mask = torch.full((3, 3), float("-inf")).triu(1)
        weights = torch.softmax((x @ x.T).masked_fill(mask != 0, -torch.inf) + mask, -1)
        return (weights.half() * 60000) * 2

    fn = torch.compile(attention, backend="inductor")
    with pytest.raises(depyf.NonFiniteError) as caught, depyf.debug(stop_on="inf", level=level):
        fn(torch.ones(3, 3))
    assert "(weights.half() * 60000) * 2" in str(caught.value) and "mul" in caught.value.where.node
    with depyf.debug(stop_on="nan", level=level):
        fn(torch.ones(3, 3))
