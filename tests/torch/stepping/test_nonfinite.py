"""``depyf.debug(stop_on=...)`` on planted bugs: it names the first line of a graph, forward or backward, and the user's."""

from __future__ import annotations

import os
import re
import subprocess
import sys

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
    def __init__(self, broken, at, depth):
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
    fn, x = dumped(Transformer(broken, at=1, depth=3), tmp_path / "dump", backend)
    with pytest.raises(depyf.NonFiniteError) as caught, depyf.debug(stop_on=kind):
        fn(x).sum().backward()
    place = caught.value.where
    assert caught.value.module == "layers.1" and "\n  in module layers.1\n" in str(caught.value)
    assert caught.value.value.first == (0, 0, 0) or kind == "inf"
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
    answer = terminal.command("c", "depyf: log has a NaN that none of its operands has")
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


def test_what_is_said_of_the_values(tmp_path):
    """How many and where, and what the operands were like: those of a line with several outputs and of complex numbers, too."""

    def layer(x, y):
        return torch.stack([x, x / y]).sum(0)

    fn = torch.compile(layer, backend="eager")
    x, y = torch.arange(6.0).reshape(2, 3), torch.tensor([[2.0, 1.0, 0.5], [1.0, 0.0, 0.0]])
    x[1, 1] = 0.0
    with pytest.raises(depyf.NonFiniteError) as caught, depyf.debug(stop_on="nan"):
        fn(x, y)
    error = caught.value
    assert (error.value.nans, error.value.infs, error.value.first, error.value.shape) == (1, 1, (1, 1), (2, 3))
    assert (error.value.low, error.value.high) == (0.0, 4.0) and error.module == ""
    assert [(o.low, o.high, o.nans, o.infs, o.first) for o in error.operands] == [
        (0.0, 5.0, 0, 0, None),
        (0.0, 2.0, 0, 0, None),
    ]
    assert "  div: float32[2, 3] min 0 max 4, 1 NaN and 1 inf of 6, the first at [1, 1]" in str(error)
    assert re.search(r"\n  operand \w+: float32\[2, 3\] min 0 max 5, all finite\n  operand", str(error))


def test_the_next_one_raises_as_well():
    """A program that catches the error, and one that goes on after a stop, come to the next line."""

    def layer(x):
        return torch.log(x - 2) * 0.0, torch.sqrt(x - 3)

    fn = torch.compile(layer, backend="eager")
    with depyf.debug(stop_on="nan"):
        for x in (torch.ones(2), torch.ones(2), torch.full((2,), 2.5)):
            with pytest.raises(depyf.NonFiniteError) as caught:
                fn(x)
            assert ("sqrt" if x[0] > 2 else "log") in caught.value.where.node


NEXT = PROGRAM.replace("return torch.log(h - 2).sum()", "return torch.log(h - 2).sum() * 0.0 + torch.sqrt(h - 3).sum()")


def test_continue_leads_to_the_next_one(tmp_path):
    script, dump = tmp_path / "program.py", tmp_path / "dump"
    script.write_text(NEXT)
    terminal = Terminal([str(script), "eager", str(dump)])
    assert "depyf: log has a NaN that none of its operands has" in terminal.first
    terminal.command("p log.isnan().all()", "tensor(True)")
    terminal.command("c", "depyf: sqrt has a NaN that none of its operands has")
    terminal.command("p sqrt.isnan().all()", "tensor(True)")
    terminal.child.sendline("c")
    assert "LEFT" in terminal.end()


UNATTACHED = """
import sys
import torch
import {module}
import depyf
def layer(x):
    return torch.log(x - 2).sum()
fn = torch.compile(layer, backend="eager")
assert {hooked} == (sys.breakpointhook is not sys.__breakpointhook__)
with depyf.prepare_debug(sys.argv[1]):
    fn(torch.full((3,), 3.0))
with depyf.debug():
    fn(torch.full((3,), 3.0))
try:
    with depyf.debug(stop_on="nan"):
        fn(torch.ones(3))
except depyf.NonFiniteError as error:
    print("RAISED", error)
"""


@pytest.mark.parametrize("module", ["debugpy._vendored.force_pydevd", "sys"])
def test_nobody_is_there_to_stop(module, tmp_path):
    """A debugger's hook without its front end (a Jupyter kernel has one), and a standard input that is no terminal; a tool
    that traces the program, such as coverage, is no debugger."""
    script = tmp_path / "program.py"
    traced = "sys.settrace(type('Tool', (), {'__call__': lambda self, *event: None})())\n" if module == "sys" else ""
    text = UNATTACHED.format(module=module, hooked=module != "sys").replace(
        "with depyf.debug():", traced + "with depyf.debug():"
    )
    script.write_text(text)
    environment = {k: v for k, v in os.environ.items() if k not in ("DEPYF_NO_PAUSE", "PYTHONBREAKPOINT")}
    done = subprocess.run(
        [sys.executable, str(script), str(tmp_path / "dump")], stdin=subprocess.DEVNULL, capture_output=True, text=True,
        env=environment, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "RAISED log has a NaN that none of its operands has" in done.stdout
    assert done.stdout.count("nothing stops: run it in a terminal, or connect a debugger") == 1
    assert "set breakpoints now" not in done.stdout


def test_no_pause_at_the_start_of_the_block(capsys):
    """The first stop is the line that makes the value."""
    torch._dynamo.reset()
    function = torch.compile(lambda x: x + 1, backend="eager")
    with depyf.debug(stop_on="nan"):
        function(torch.ones(2))
    told = capsys.readouterr()
    assert "pause" not in told.out + told.err and "breakpoint" not in told.out + told.err


@pytest.mark.parametrize("values", [(1.0, -1.0), (1.0, 2.0)], ids=["found", "not found"])
def test_a_block_that_finds_nothing_says_so(values, capsys):
    """Other kernels than Inductor's ran, and what only those make is found by another question."""
    torch._dynamo.reset()
    compiled = torch.compile(lambda x: x.sqrt() + 1, backend="aot_eager")
    found = min(values) < 0
    try:
        with depyf.debug(stop_on="nan"):
            compiled(torch.tensor(values))
    except depyf.NonFiniteError:
        assert found
    said = capsys.readouterr().err
    assert ("no line of a graph created a NaN" in said and "depyf.compare(" in said) != found
