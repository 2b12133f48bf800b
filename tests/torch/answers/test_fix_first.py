"""What to fix first: causes with their place, in the index, in the run and at the end of ``depyf run``."""

from __future__ import annotations

import subprocess
import sys

import pytest
import torch
from dumps import check_dump

import depyf
from depyf.run.causes.collect import causes_of
from depyf.run.store.loading import load
from depyf.views.pages.print_style import TERMINAL
from depyf.views.pages.sections.fix_first import fix_first

pytestmark = pytest.mark.torch


class Layer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(4, 4)
        self.calls = 0

    def forward(self, x):
        self.calls += 1
        y = self.linear(x)
        if y.abs().max().item() > 1e6:
            print("large")
        return x + y


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.ModuleList(Layer() for _ in range(2))

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


count = 0


def step(net, optimizer, x):
    global count
    count += 1
    loss = net(x).sum()
    loss.backward()
    optimizer.step()
    return loss


def constant(x):
    if x.shape[0] == 4:
        return x * 2
    return x + 1


def refuses(graph, inputs):
    raise ValueError("not this graph")


def whole(x):
    print(end="")
    return x + 1


class Encoded(torch.nn.Module):
    """Its forward calls the forward of a module of torch, which breaks the graph."""

    def __init__(self):
        super().__init__()
        layer = torch.nn.TransformerEncoderLayer(4, 1, 4, batch_first=True)
        self.encoder = torch.nn.TransformerEncoder(layer, 1, enable_nested_tensor=False)
        self.head = torch.nn.Linear(4, 4)

    def forward(self, x, mask):
        y = self.encoder(x, mask=mask)
        return self.head(y)


def inner_error(x):
    return x + torch.ones(x.shape[0] + 1)


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """The run and the index of a training loop, its counters constants of the compiled code."""
    folder = tmp_path_factory.mktemp("trained")
    torch._dynamo.reset()
    global count
    count = 0
    net = Net()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    compiled = torch.compile(step, backend="eager")
    with torch._dynamo.config.patch(recompile_limit=4), depyf.prepare_debug(folder):
        for _ in range(6):
            compiled(net, optimizer, torch.ones(2, 4))
    check_dump(folder)
    return load(folder), (folder / "index.md").read_text()


@pytest.fixture(scope="module")
def failed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("failed")
    torch._dynamo.reset()
    x = torch.ones(4, 3)
    torch._dynamo.mark_dynamic(x, 0)
    compiled = (
        torch.compile(constant, backend="eager"), torch.compile(lambda x: x.sin(), backend=refuses),
        torch.compile(whole, backend="eager", fullgraph=True), torch.compile(inner_error, backend="eager"),
    )  # fmt: skip
    with depyf.prepare_debug(folder):
        for function, argument in zip(compiled, (x, torch.ones(2), torch.ones(2), torch.ones(2))):
            with pytest.raises(Exception):  # noqa: B017  four errors of torch, with a class each
                function(argument)
    return load(folder), (folder / "index.md").read_text()


def the(run, line):
    found = [cause for cause in causes_of(run) if cause.place is not None and line in cause.place.text]
    assert len(found) == 1, [cause.place for cause in causes_of(run)]
    return found[0]


def test_the_index_opens_with_it(trained):
    assert trained[1].startswith("# What torch.compile did\n\n## Fix first\n\n1. ")
    assert len(trained[1].splitlines()) < 100


def counted(x):
    global count
    count += 1
    y = x.sin()
    if count > 100:
        y = y + 1
    return y


def test_a_counter_that_is_used_later(tmp_path):
    """torch 2.15 makes the guard on the line that asks for the value."""
    torch._dynamo.reset()
    with depyf.prepare_debug(tmp_path):
        for _ in range(4):
            torch.compile(counted, backend="eager")(torch.ones(2))
    cause = the(load(tmp_path), "count += 1")
    assert cause.text == "the global counter `count` is a constant of the compiled code"
    assert cause.costs.compilations == 3


def counts_only(run):
    """torch 2.15 takes a global that a function increases, and does not use, for no constant."""
    step = next(function for function in run.functions if function.code.name == "step")
    return not any(entry.recompiles for entry in step.entries)


def test_a_counter_is_one_cause(trained):
    if counts_only(trained[0]):
        pytest.skip("this torch makes no constant of a counter that nothing uses")
    cause = the(trained[0], "count += 1")
    assert cause.text == "the global counter `count` is a constant of the compiled code"
    assert cause.costs.compilations == 3 and cause.costs.python == 1 and cause.python == ("step",)
    first = trained[1].partition("## Fix first\n")[2].partition("\n## ")[0]
    assert first.count(f"{__file__.rpartition('/')[2]}:{cause.place.line} `count += 1`: ") == 1
    assert "3 recompilations of step (0/1 ... 0/3), then it ran as ordinary Python" in first


def test_a_break_is_one_cause_in_whatever_frame(trained):
    cause = the(trained[0], ".item()")
    assert cause.place.filename == __file__ and cause.asked == "Tensor.item"
    assert {"step", "Net.forward", "Layer.forward"} == set(cause.functions)
    assert cause.python == ("Net.forward",) and cause.costs.breaks == 2
    assert cause.module == "net.layers.0"


def test_breaks_with_one_way_out_are_one_cause(trained):
    cause = the(trained[0], "loss.backward()")
    assert cause.place.filename == __file__ and cause.inside is None
    assert cause.more.startswith("also at test_fix_first.py:") and cause.more.endswith("`optimizer.step()`")
    assert trained[1].partition("## Fix first")[2].partition("\n## ")[0].count("`optimizer.step()`") == 1


def test_seconds_are_on_the_terminal_only(trained):
    run, index = trained
    causes = causes_of(run)
    told = "\n".join(fix_first(causes, 5, TERMINAL, {key: 2.0 for cause in causes for key in cause.caused}))
    assert " s of compiling" in told and " s of compiling" not in index
    assert all(run.seconds_of[key] > 0 for cause in causes for key in cause.caused)


def test_a_failed_compilation_is_shown_as_failed(failed):
    run, index = failed
    ways = {cause.function: cause for cause in causes_of(run)}
    assert {cause.kind.value for cause in ways.values()} == {"failed"}
    marked = ways["constant"]
    assert marked.text == "x.size(0) is marked dynamic (mark_dynamic), and this line needs it to be 4"
    assert marked.place.text == "if x.shape[0] == 4:"
    assert any("refuses raised ValueError: not this graph" in cause.text for cause in ways.values())
    assert ways["whole"].place.text == 'print(end="")' and "fullgraph=True" in ways["whole"].text
    assert ways["inner_error"].place.text.startswith("return x + torch.ones")
    section = index.partition("## Failed: torch raised an error\n")[2].partition("\n## ")[0]
    assert section.count("\n- ") == 4 and "compiled, no longer in torch's cache" not in index


stacked = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU())


class Scaler:
    def __init__(self):
        self.k = 1

    def __call__(self, t):
        self.k += 1
        return t * self.k


def test_a_wrapper_of_torch_is_called_by_what_it_wraps(tmp_path):
    torch._dynamo.reset()
    compiled, scaler = torch.compile(stacked, backend="eager"), torch.compile(Scaler(), backend="eager")
    with depyf.prepare_debug(tmp_path):
        compiled(torch.ones(2, 4))
        compiled(torch.ones(2, 2, 4))
        for _ in range(2):
            scaler(torch.ones(2))
    check_dump(tmp_path)
    causes = causes_of(load(tmp_path))
    rank = next(cause for cause in causes if "rank" in cause.text)
    assert (
        rank.function == "stacked (Sequential)"
        and rank.text == "the rank of `input` is a constant of the compiled code (2, 3)"
    )
    assert rank.place.filename == __file__ and rank.place.text == "compiled(torch.ones(2, 2, 4))"
    assert {cause.function for cause in causes} == {"stacked (Sequential)", "Scaler"}
    index = (tmp_path / "index.md").read_text()
    assert "`stacked (Sequential) / Scaler`" in index and "wrap_inline" not in index
    assert "args[0]" not in index.partition("## Dynamic shapes")[0]


@pytest.fixture(scope="module")
def trained_and_evaluated(tmp_path_factory):
    """A module whose graph breaks in torch, called with two sizes, with gradients and without them, in train() and eval()."""
    folder = tmp_path_factory.mktemp("encoded")
    torch._dynamo.reset()
    model = Encoded()
    model.compile(backend="eager")
    with depyf.prepare_debug(str(folder)):
        for size in (3, 5):
            model(torch.ones(2, size, 4), torch.nn.Transformer.generate_square_subsequent_mask(size))
        model.eval()
        with torch.no_grad():
            model(torch.ones(2, 5, 4), torch.nn.Transformer.generate_square_subsequent_mask(5))
    return folder, causes_of(load(folder))


def test_a_break_below_two_functions_of_one_name_is_at_the_inner_call(trained_and_evaluated):
    """torch's report folds ``forward`` that calls ``forward`` into one line: the program's was missing."""
    _, causes = trained_and_evaluated
    (broke,) = [cause for cause in causes if cause.costs.breaks]
    assert broke.inside.filename.endswith("torch/nn/modules/transformer.py")
    assert broke.place.text == "y = self.encoder(x, mask=mask)" and [use.id for use in broke.advice] == ["is-causal"]


def test_what_the_program_needs_is_one_line_and_nothing_to_fix(trained_and_evaluated):
    folder, causes = trained_and_evaluated
    needed = [cause for cause in causes if cause.needed]
    assert [cause.text for cause in needed] == ["some calls are made with gradients, others under torch.no_grad()"]
    assert len(needed[0].caused) >= 2, "of the function and of the rest of it"
    lines = fix_first(causes, 7, TERMINAL)
    at = lines.index("Needed, with nothing to change:")
    assert not [line for line in lines[:at] if "no_grad" in line] and len(lines[at + 1 :]) == len(needed)
    alone = fix_first(needed, 7, TERMINAL)
    assert alone[0] == "Nothing. These compilations are needed:"
    assert "Needed, with nothing to change:" in (folder / "index.md").read_text()


def test_a_value_that_goes_over_a_break_has_the_words_of_the_program(trained_and_evaluated):
    folder, _ = trained_and_evaluated
    pages = [(folder / name).read_text() for name in ("index.md", "shapes.md")]
    assert not any("___stack" in page for page in pages) and "`self.encoder(x, mask=mask)`" in pages[1]


def other_than_three(x, table):
    return table[: x.shape[0]] + x if x.shape[0] != 3 else x - 1


def test_a_condition_is_no_value_that_was_needed(tmp_path):
    torch._dynamo.reset()
    function = torch.compile(other_than_three, backend="eager")
    with depyf.prepare_debug(str(tmp_path)):
        for size in (4, 5, 3):
            function(torch.ones(size), torch.ones(8))
    texts = {cause.text: cause for cause in causes_of(load(tmp_path))}
    told = "size 0 of `x` is 3 in some calls, and the code compiled before is for other values than 3"
    assert told in texts and texts[told].needed


def printing(x):
    print("a", end="")
    x = x + 1
    print("b", end="")
    x = x + 2
    print("c", end="")
    print("d", end="")
    x = x.cos()
    print("e", end="")
    return x


def test_many_breaks_with_one_way_out_are_one_cause(tmp_path, capsys):
    torch._dynamo.reset()
    with depyf.prepare_debug(str(tmp_path)):
        torch.compile(printing, backend="eager")(torch.ones(2))
    (cause,) = causes_of(load(tmp_path))
    first = printing.__code__.co_firstlineno + 1
    assert cause.place is not None and cause.place.line == first
    assert cause.more == f"also at 4 lines: test_fix_first.py:{first + 2}, {first + 4}-{first + 5}, {first + 7}"
    assert cause.costs.breaks == 5


def test_equal_sizes_in_words(tmp_path):
    torch._dynamo.reset()
    function = torch.compile(lambda x: x * 2, backend="eager", dynamic=True)
    with depyf.prepare_debug(str(tmp_path)):
        for shape in ((8, 8), (4, 8), (9, 9)):
            function(torch.ones(shape))
    (cause,) = causes_of(load(tmp_path))
    told = "sizes 0 and 1 of `x` were equal when it was compiled, so torch took them for one size (duck sizing)"
    assert cause.text.startswith(told)
    assert [use.id for use in cause.advice] == ["unequal-sizes"]


def test_explain_opens_with_it(capsys):
    torch._dynamo.reset()
    global count
    count = 0
    compiled = torch.compile(counted, backend="eager")
    for _ in range(6):
        compiled(torch.ones(2, 4))
    report = depyf.explain(compiled)
    text = str(report)
    first = text.partition("Fix first:\n")[2].partition("\n\n")[0]
    assert "the global counter `count` is a constant of the compiled code" in first and " s of compiling" in first
    assert "recompilations of counted (0/1 ... 0/5)" in first
    assert "  0/1 ... 0/4: compiled for the same reason, with other values" in text
    assert report.to_json()["causes"]


def test_what_torch_restarts_for_is_no_break():
    from depyf.sources.live.events.compilations import _is_break

    assert not _is_break("<class 'torch._dynamo.exc.TensorifyScalarRestartAnalysis'>")
    assert not _is_break("autograd.grad consumed grad_fns of returned tensors")
    assert _is_break("Unsupported Tensor.item() call with capture_scalar_outputs=False")


NOTEBOOK = """
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
shell.compile.get_code_name = lambda raw, code, number: f"/tmp/ipykernel_77/{sum(map(ord, code))}.py"  # as ipykernel does
for cell in (
    "import sys, torch, depyf\\nn = 0",
    "@torch.compile(backend='eager')\\ndef f(x):\\n    global n\\n    n += 1\\n    return x + n",
    "with depyf.prepare_debug(folder):\\n    for _ in range(4):\\n        f(torch.ones(2))",
    "print(depyf.explain(f))",
):
    shell.run_cell(cell.replace("folder", "sys.argv[1]"), store_history=True)
"""


def test_a_cell_of_a_notebook_by_its_number(tmp_path):
    pytest.importorskip("IPython")
    done = subprocess.run([sys.executable, "-c", NOTEBOOK, tmp_path], capture_output=True, text=True)
    index = (tmp_path / "index.md").read_text()
    assert "1. In [2], line 4 `n += 1`: the global counter `n`" in index and "ipykernel_77" not in index
    assert (
        "f (In [2], line 1): " in done.stdout
        and "1. In [2], line 4 `n += 1`" in done.stdout
        and "ipykernel_77" not in done.stdout
    )
