"""``depyf gallery``: scripts that run on their own, agree with eager mode, and notice when something is wrong."""

from __future__ import annotations

import contextlib
import json
import re
import sys
import types
from pathlib import Path

import numpy as np
import pytest
import torch
from dumps import as_in_a_process_of_its_own, fresh_cache, run_python, traces_autocast_calls
from torch._inductor.compile_fx import compile_fx
from torch.utils.checkpoint import checkpoint

import with_torch
from depyf.actions.scripts.carried import comparing, running
from depyf.api import prepare_debug
from depyf.cli import main as command
from depyf.gallery import GalleryError, render_dump, write_gallery

pytestmark = pytest.mark.torch

TORCH_2_6 = torch.__version__.startswith("2.6.")


def run_script(text: str, *options: str) -> int:
    """The script's ``main`` in this process; its exit status."""
    module = types.ModuleType("gallery_script")
    code = compile(text, "<script>", "exec", dont_inherit=True)
    exec(code, module.__dict__)
    with as_in_a_process_of_its_own():
        return module.main(list(options))


def recorded(tmp_path, fn, *args, backend="aot_eager", backward=True, **options):
    """The scripts of what compiling and calling ``fn`` leaves."""
    with prepare_debug(tmp_path / "dump"):
        out = torch.compile(fn, backend=backend, **options)(*args)
        if backward:
            (out if isinstance(out, torch.Tensor) else out[0]).sum().backward()
    gallery = render_dump(tmp_path / "dump", root=Path(__file__).parent)
    assert not gallery.left_out, gallery.left_out
    return gallery.scripts


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.table = torch.nn.Embedding(11, 6)
        self.norm = torch.nn.BatchNorm1d(6)
        self.drop = torch.nn.Dropout(0.25)
        self.out = torch.nn.Linear(6, 5)

    def forward(self, ids, mask, labels):
        x = self.table(ids)
        x = torch.where(mask.unsqueeze(-1), self.drop(x), torch.zeros_like(x))
        x = self.norm(x.reshape(-1, 6))
        logits = self.out(x)
        return torch.nn.functional.cross_entropy(logits.reshape(-1, 5), labels.reshape(-1)), logits


def net_inputs():
    twelve = torch.arange(12).reshape(3, 4)
    return twelve % 9 + 2, torch.ones(3, 4, dtype=torch.bool), twelve % 5


def test_training_graph(tmp_path):
    (script,) = recorded(tmp_path, Net(), *net_inputs())
    assert script.stages == ("Captured", "Forward", "Backward")
    assert '"ids": make.integers(3, 4, low=2, high=11),' in script.text
    assert '"labels": make.integers(3, 4, high=5),' in script.text
    assert "make.booleans(3, 4)" in script.text
    assert "# File: test_gallery.py:" in script.text, "the user's lines stand in comments"
    assert run_script(script.text) == 0
    assert run_script(script.text, "--backend", "none", "--seed", "3") == 0


def test_a_wrong_backward_is_noticed(tmp_path, capsys):
    (script,) = recorded(tmp_path, lambda a, b: (a.sin() * b).sum(), torch.randn(3, requires_grad=True), torch.randn(3))
    assert run_script(script.text, "--backend", "none") == 0
    broken = script.text.replace("torch.ops.aten.cos.default", "torch.ops.aten.sin.default")
    assert broken != script.text
    assert run_script(broken, "--backend", "none") == 1
    assert "MISMATCH" in capsys.readouterr().out


@pytest.mark.parametrize(("factor", "error", "agrees"), [(1e6, 3e-2, True), (1e6, 0.9, False), (1.0, 3e-2, False)])
def test_differences_are_judged_by_what_rounding_does(factor, error, agrees, capsys):
    """Where rounding errors grow, two ways of computing the same differ more: no script is wrong for it."""

    def inputs():
        return [torch.linspace(1, 2, 50).requires_grad_()]

    def computed(shake):
        given = comparing.shaken(inputs()) if shake else inputs()
        return running.run(lambda x: ((x * factor).sin(), x > 1.5, x[x > 1.5]), given, contextlib.nullcontext)

    report = comparing.Report(1e-4, computed)
    plain = computed(False)["outputs"]
    report.all("output", ["0", "1", "2"], plain, [plain[0] + error, *plain[1:]])
    assert report.conclusion() == (0 if agrees else 1)
    assert ("a rounding error in the inputs" in capsys.readouterr().out) == agrees


def test_an_input_that_is_left_as_it_was(capsys):
    """A graph should write to its input; Inductor's code (torch 2.13, two inputs that are swapped) does not."""

    def run(graph):
        return running.run(graph, [torch.ones(2), torch.zeros(2)], contextlib.nullcontext)

    report = comparing.Report(1e-4, lambda shaken: run(lambda a, b: (a.add_(1),)))
    report.same(["a", "b"], run(lambda a, b: (a.add_(1),)), run(lambda a, b: (a + 1,)))
    said = capsys.readouterr().out
    assert "MISMATCH  input a" in said and "max difference 1, largest value 2" in said
    assert "input b" not in said and "None" not in said


@pytest.mark.parametrize(("factor", "status"), [(3.9, 0), (3.9 + 1e-4, 1)])
def test_where_rounding_errors_decide(factor, status, capsys):
    """A chaotic sequence, computed in two ways: in double precision they agree, or they are not the same."""

    def sequence(step):
        def graph(x):
            for _ in range(36):
                x = step(x.float())
            return (x,)

        return graph

    def compare(options, tolerance):
        def inputs():
            return [torch.linspace(0.1, 0.9, 50, dtype=torch.float32)]

        def computed(shake):
            given = comparing.shaken(inputs()) if shake else inputs()
            return running.run(sequence(lambda x: 3.9 * x * (1 - x)), given, contextlib.nullcontext)

        report = comparing.Report(tolerance, computed)
        other = running.run_aot(sequence(lambda x: 3.9 * x - factor * x * x), inputs(), 1)
        report.all("output", ["0"], computed(False)["outputs"], other["results"])
        return report

    assert comparing.judged(compare, types.SimpleNamespace(backend="none"), 1e-4) == status
    said = capsys.readouterr().out
    assert "float32[50]" in said and "float64[50]" in said


def test_shaken_inputs():
    whole = torch.rand(8) + 1
    values = [whole, whole[2:6].expand(3, 4), torch.arange(3), torch.tensor([0.0, float("-inf")]), 2.5]
    before = [value.clone() if isinstance(value, torch.Tensor) else value for value in values]
    comparing.shaken(values[:1])
    assert ((whole / before[0] - 1).abs() - torch.finfo(torch.float32).eps).abs().max() < 1e-7
    comparing.shaken(values)
    assert values[1].data_ptr() == whole[2:].data_ptr()
    assert [torch.equal(a, b) for a, b in zip(before[2:4], values[2:4])] == [True, True]


def test_script_needs_torch_only(tmp_path):
    (script,) = recorded(tmp_path, Net().eval(), *net_inputs())
    path = tmp_path / script.file
    path.write_text(script.text)
    done = with_torch.run([sys.executable, "-I", path, "--backend", "none"], imports=with_torch.ALONE)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "results agree" in done.stdout
    assert "depyf" not in [
        line.split()[1].split(".")[0] for line in script.text.splitlines() if line.startswith("import ")
    ]


def views_and_writes(x, n, idx):
    y = x * 2
    y.mul_(n)
    z = y + x[idx]
    return z, y.view(-1)[1:], y.t()


def test_views_writes_and_symbols(tmp_path):
    x = torch.randn(5, 4, requires_grad=True)
    (script,) = recorded(tmp_path, views_and_writes, x, 7, torch.randint(0, 5, (5,)), dynamic=True)
    assert "_base" in script.text, "an output is a view of an intermediate result"
    assert run_script(script.text) == 0


def test_written_input_and_layout(tmp_path):
    def f(x, buffer):
        buffer.add_(x.mean())
        return x.sin() + buffer

    x = torch.randn(40)[3:27].as_strided((4, 3), (1, 5)).requires_grad_()
    (script,) = recorded(tmp_path, f, x, torch.zeros(3))
    assert "stride=(1, 5)" in script.text
    assert '"input buffer"' in script.text
    assert run_script(script.text) == 0


def test_higher_order_bodies(tmp_path):
    def f(x):
        y = torch.cond(x.sum() > 0, lambda a: a.sin(), lambda a: a.cos(), (x,))
        return torch.utils.checkpoint.checkpoint(lambda a: (a * 2).exp(), y, use_reentrant=False)

    (script,) = recorded(tmp_path, f, torch.randn(4, requires_grad=True))
    assert "class Captured_cond_true_0(torch.nn.Module):" in script.text
    assert run_script(script.text) == 0


class Signs(torch.optim.Optimizer):
    """Its parameters are attributes of the captured graph, which writes to them."""

    @torch.no_grad()
    def step(self):
        for p in self.param_groups[0]["params"]:
            p.data.mul_(0.5)
            self.state[p]["first"] = torch.clone(p)
            p.add_(p.grad.sign(), alpha=-self.defaults["lr"])


def test_a_graph_that_writes_to_the_programs_tensors(tmp_path, capsys):
    layer = torch.nn.Linear(3, 2)
    layer(torch.ones(1, 3)).sum().backward()
    optimizer = Signs(layer.parameters(), {"lr": 0.25})
    (script,) = recorded(tmp_path, lambda: optimizer.step(), backward=False)
    assert "_autograd._get_data_attr" not in script.text
    assert run_script(script.text) == 0
    compared = capsys.readouterr().out
    written = re.findall(r"ok +(?:constant|input) optimizer_+param_groups_0_+params_+\d", compared)  # torch 2.6: inputs
    assert len(set(written)) == 2
    wrong = script.text.replace("mul_(0.5)", "mul_(0.5 if torch.compiler.is_compiling() else 0.25)")
    assert wrong != script.text and run_script(wrong) == 1


class Sine(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.sin()

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * x.cos()


class Positive(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        y = x.clone()
        y[x < 0] = 0
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, g):
        (y,) = ctx.saved_tensors
        g = g.clone()
        g[y == 0] = 0
        return g


def operator_loop(x):
    from torch._higher_order_ops.while_loop import while_loop

    first = torch.zeros((), dtype=torch.int64)
    return while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * 1.5), (first, x))[1]


def operator_scan(x):
    from torch._higher_order_ops.scan import scan

    return scan(lambda carry, y: (carry + y, carry * y), x[0] * 0, x)[1]


def operator_map(x):
    from torch._higher_order_ops.map import map as map_over

    return map_over(lambda y: y.sin() + 1, x)


def operator_flex(x):
    from torch.nn.attention.flex_attention import flex_attention

    q = x.expand(1, 2, 16, 16)
    return flex_attention(q, q, q, score_mod=lambda score, b, h, i, j: score + (i - j) * 0.1)


def own_backward(x):
    return Sine.apply(x) * 2


def backward_in_place(x):
    return Positive.apply(x) * 2


def modes_inside(x):
    with torch.no_grad():
        y = x * 2
    with torch.autocast("cpu", torch.bfloat16):
        z = x @ x
    return z.float() + y


def random_numbers(x):
    return torch.nn.functional.dropout(x, 0.5) + torch.rand_like(x) + torch.randn(x.shape[0])


def random_distributions(x):
    y = torch.empty_like(x).uniform_(-0.7, 0.7) + torch.empty(16).normal_(2.0, 0.5) + torch.empty(16).exponential_(3.0)
    y = y + torch.randint(2, 9, (16,)) + torch.randint_like(x, 5) + torch.rand(16, 1) + torch.empty(16).log_normal_()
    return x * y + torch.bernoulli(torch.full((16,), 0.3)) + torch.normal(x.detach(), 1.0)


def random_choices(x):
    order = torch.randperm(16)
    return x[order] + torch.multinomial(torch.softmax(x.detach(), -1), 3).sum() + torch.poisson(torch.full((16,), 2.5))


def metadata_written(x):
    x.t_()
    return x + 1


def masks(x):
    keep = torch.ones(16, 16, dtype=torch.bool).tril()
    return x.masked_fill(~keep, float("-inf")).softmax(-1)


@pytest.mark.parametrize(
    ("fn", "backward"),
    [(operator_loop, False), (operator_scan, False), (operator_map, True), (operator_flex, False), (own_backward, True),
     (backward_in_place, True),
     (modes_inside, True), (random_numbers, True), (random_distributions, True), (random_choices, True), (metadata_written, False), (masks, True)],
)  # fmt: skip
def test_situations(fn, backward, tmp_path):
    if fn is modes_inside and not traces_autocast_calls():
        pytest.skip("this torch cannot compile a graph that enters autocast, with depyf or without")
    if fn is operator_map and TORCH_2_6:
        pytest.skip("this torch cannot compile a graph again that maps")
    x = torch.randn(16, 16, requires_grad=backward)
    (script,) = recorded(tmp_path, fn, x, backward=backward)
    assert "Forward" in script.stages
    assert run_script(script.text) == 0


def random_by_inductor(x):
    """What Inductor computes from uniform numbers of its own."""
    drop, y = torch.nn.functional, x.detach()
    made = [torch.empty_like(y, dtype=kind) for kind in (torch.float32, torch.float64, torch.bfloat16)]
    drawn = [z.exponential_(2.0) for z in made] + [z.clone().geometric_(0.3) for z in made]
    drawn += [z.clone().cauchy_() for z in made] + [z.clone().log_normal_() for z in made]
    drawn += [z.clone().uniform_(-1, 2) for z in made] + [torch.randn_like(z) for z in made]
    drawn += [torch.bernoulli(y.sigmoid()), torch.bernoulli(y, 0.3), y.clone().bernoulli_(y.sigmoid())]
    drawn += [torch.normal(y, 2.0), torch.randint_like(y, 5), torch.randint(2, 9, (16,)), torch.randperm(16)]
    dropped = [
        drop.dropout(x, 0.3),
        drop.dropout(x.bfloat16(), 0.4),
        drop.dropout1d(x, 0.3),
        drop.alpha_dropout(x, 0.3),
    ]
    return (*dropped, drop.rrelu(x, training=True), drop.gumbel_softmax(x, hard=True), *drawn)


@pytest.mark.skipif(
    TORCH_2_6, reason="its operators, taken for custom ones, return what they were given: torch refuses"
)
def test_random_numbers_of_inductor(tmp_path):
    def without_code(module, inputs):
        return compile_fx(module, inputs, inner_compile=lambda graph, *args, **options: graph)

    x = torch.randn(16, 16, requires_grad=True)
    (script,) = recorded(tmp_path, random_by_inductor, x, backend=without_code)
    assert script.stages == ("Captured", "Forward", "Backward")
    assert "inductor_random" in script.text
    path = tmp_path / script.file
    path.write_text(script.text)
    done = run_python(str(path), "--backend", "none", imports=with_torch.ALONE)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
@pytest.mark.parametrize(("start", "shared"), [(4, "(0, 10)"), (6, "(0, 12)")])
def test_inputs_that_share_memory(backend, start, shared, tmp_path):
    """What is written to one of them is seen in the other, and inductor's code relies on how they lie."""

    def f(x, y):
        x.add_(1)
        return x + y

    base = torch.tensor([-3.0, 3.0]).repeat(start // 2 + 3)
    with fresh_cache():  # torch's own key does not say what inputs share: it would give the other start's entry
        (script,) = recorded(tmp_path, f, base[:6], base[start:], backward=False, backend=backend)
    assert f'"y": make.normal(6, offset={start}, shared={shared}),' in script.text
    assert ("AOTAutograd's graphs are left out" in script.text) == (script.stages == ("Captured",))
    assert start == 6 or script.stages == ("Captured",)
    assert run_script(script.text, "--backend", backend) == 0


def test_inputs_that_share_memory_and_have_gradients(tmp_path):
    base = torch.randn(2, 6, requires_grad=True)
    (script,) = recorded(tmp_path, lambda x, y: x * y, base[0], base[1])
    assert "shared=(" not in script.text
    assert run_script(script.text) == 0


def test_operators_of_the_program(tmp_path, capsys):
    """A script cannot bring them along; it says which are missing, and takes a module that registers them."""
    home = tmp_path / "gallery_test_operators.py"
    home.write_text(
        "import torch\n"
        "library = torch.library.Library('depyf_gallery_test', 'DEF')\n"
        "library.define('twice(Tensor x) -> Tensor')\n"
        "library.impl('twice', lambda x: x * 2, 'CompositeExplicitAutograd')\n"
        "library.impl('twice', lambda x: torch.empty_like(x), 'Meta')\n"
    )
    program = """
        import sys, torch, depyf
        sys.path.insert(0, sys.argv[1])
        import gallery_test_operators
        with depyf.prepare_debug(sys.argv[1] + "/dump"):
            torch.compile(lambda x: torch.ops.depyf_gallery_test.twice(x) + 1, backend="aot_eager")(torch.ones(3))
    """
    done = run_python(program, str(tmp_path))
    assert done.returncode == 0, done.stderr
    (script,) = render_dump(tmp_path / "dump").scripts
    path = tmp_path / script.file
    path.write_text(script.text)
    for options, status in ((), 2), (("--import", "gallery_test_operators"), 0):
        done = run_python(str(path), *options, env={"PYTHONPATH": str(tmp_path)}, imports=with_torch.ALONE)
        assert done.returncode == status, done.stdout + done.stderr
    assert "torch.ops.depyf_gallery_test.twice" in script.text


def settled(x, ids):
    torch._assert_async(x.min() >= 0, "no negative numbers")
    torch._assert_async((ids < 7).all())
    return x.sqrt() + ids


def unsettled(x, ids):
    torch._assert_async((x.sum(-1) == 1).all(), "rows add up to one")
    return x * 2 + ids


def test_ranges_of_what_the_program_passes(tmp_path):
    """Recorded where they are quickly read: also of integers that are computed by another frame, and never of fake tensors."""

    def f(ids, table, x, wide, n):
        ids = ids * 2
        torch._dynamo.graph_break()
        return torch.nn.functional.embedding(ids, table) * x.log() // n + wide.sum()

    ids = torch.tensor([[1, 2], [3, 4]], dtype=torch.int32)
    inputs = ids, torch.ones(9, 2), torch.tensor([0.25, 8.0]), torch.ones(300, 300), torch.tensor([2, 5])
    first, second = recorded(tmp_path, f, *inputs, backward=False)
    assert "make.integers(2, 2, low=1, high=5, dtype=torch.int32)," in first.text
    for line in ("make.integers(2, 2, low=2, high=9, dtype=torch.int32)", "make.uniform(9, 2, low=0.5, high=1.5)",
                 "make.uniform(2, low=0.25, high=8)", "make.normal(300, 300)", "make.integers(2, low=2, high=6)"):  # fmt: skip
        assert line in second.text
    assert [run_script(script.text) for script in (first, second)] == [0, 0]
    with torch._subclasses.FakeTensorMode():
        fake = torch.ones(3, dtype=torch.int64)
    torch._dynamo.reset()
    (tmp_path / "fake").mkdir()
    (script,) = recorded(tmp_path / "fake", lambda x: x + 1, fake, backward=False, backend="eager")
    assert '"x": make.integers(3, high=2),' in script.text


def test_marks_among_labels(tmp_path):
    """A single negative number among labels is no label; several numbers below zero are numbers."""

    def f(logits, labels, shifts):
        return torch.nn.functional.cross_entropy(logits, labels) * shifts

    inputs = torch.randn(4, 7), torch.tensor([-100, 2, -100, 6]), torch.tensor([-2, -1, 3])
    (script,) = recorded(tmp_path, f, *inputs, backward=False)
    assert "make.integers(4, low=2, high=7)" in script.text and "make.integers(3, low=-2, high=4)" in script.text
    assert run_script(script.text) == 0


def positions(ids, table):
    counted = ids.ne(1).long()
    return torch.nn.functional.embedding(counted.cumsum(1) * counted + 1, table)


@pytest.mark.parametrize(("padded", "said"), [(True, "now the smallest integers"), (False, "")])
def test_integers_that_do_not_fit_each_other(padded, said, tmp_path, capsys):
    """Each of them is in its range, and their sum is out of the table: others are drawn."""
    ids = torch.ones(2, 40, dtype=torch.int64)
    ids[:, :5] = torch.arange(5) + (1 if padded else 2)
    table = torch.randn(9 if padded else 64, 4, requires_grad=True)
    (script,) = recorded(tmp_path, positions, ids, table)
    assert run_script(script.text) == 0
    shown = capsys.readouterr().out
    assert said in shown if said else "now the" not in shown


def test_what_no_integers_mend(tmp_path, capsys):
    (script,) = recorded(tmp_path, lambda i, t: t[i], torch.tensor([2]), torch.randn(4, 3), backward=False)
    broken = script.text.replace("make.normal(4, 3)", "make.normal(2, 3)")
    assert broken != script.text
    with pytest.raises(IndexError):
        run_script(broken)
    assert "now the largest integers" in capsys.readouterr().out


@pytest.mark.parametrize(("fn", "said"), [(settled, ""), (unsettled, "made up and do not hold what the program asserts: rows add")])  # fmt: skip
def test_assertions_of_the_program(fn, said, tmp_path, capsys):
    """Values that hold them, where the graph tells; else they are no fault of compiled code."""
    inputs = torch.eye(3).requires_grad_(), torch.arange(3)
    (script,) = recorded(tmp_path, fn, *inputs)
    assert "_assert_async" in script.text
    assert run_script(script.text) == 0
    shown = capsys.readouterr().out
    assert said in shown if said else "asserts" not in shown
    assert ("torch.compile(" in shown) == (not said)


def test_operators_without_a_derivative(tmp_path, capsys):
    """The forward only, if the gradients were not asked for; the script says so."""
    library = torch.library.Library("depyf_gallery_flat", "DEF")  # keeps the operators alive
    library.define("plain(Tensor x) -> Tensor")
    library.impl("plain", lambda x: x * 2, "CompositeExplicitAutograd")
    library.impl("plain", lambda x: torch.empty_like(x), "Meta")

    @torch.library.custom_op("depyf_gallery_flat::made", mutates_args=())
    def made(x: torch.Tensor) -> torch.Tensor:
        return x * 2

    made.register_fake(torch.empty_like)
    cases = [
        (lambda x: torch.ops.depyf_gallery_flat.plain(x) + x.sin(), "aot_eager"),
        (lambda x: torch.ops.depyf_gallery_flat.made(x) + x.sin(), "eager"),
        (lambda x: torch.special.gammainc(x.abs() + 1, x), "eager"),
    ]
    for number, (fn, backend) in enumerate(cases):
        folder = tmp_path / str(number)
        folder.mkdir()
        torch._dynamo.reset()
        (script,) = recorded(folder, fn, torch.randn(3, requires_grad=True), backend=backend, backward=False)
        assert run_script(script.text) == 0, capsys.readouterr().out
        shown = capsys.readouterr().out
        assert ": the forward only" in shown and "gradient of" not in shown, shown


def test_gradients_arrive_as_the_backward_graph_wants_them(tmp_path):
    """With dynamic sizes that is contiguous, whatever the output is; the backward graph takes views of it."""

    def layer(x, w, scale):
        lying = x.transpose(1, 2)
        z = lying + torch.nn.functional.linear(lying, w) * scale
        return z.transpose(1, 2), z

    sizes = ((2, 16, 8), (16, 16), (16,))
    inputs = [torch.randn(size, requires_grad=True) for size in sizes]
    (script,) = recorded(tmp_path, layer, *inputs, dynamic=True)
    assert run_script(script.text) == 0


@pytest.mark.parametrize("again", [False, True])
def test_numbers_that_torch_passes_as_tensors(again, tmp_path):
    """AOTAutograd's graphs may have specialised on the number, so the script's must be the program's."""

    def scaled(x, factor, shift):
        return x * factor + shift, torch.tensor(factor) + x if again else x

    (script,) = recorded(tmp_path, scaled, torch.randn(3, requires_grad=True), 2.5, 7, dynamic=True)
    # torch 2.15 starts again and takes the number for a constant where it must stay a tensor, torch 2.6 at once
    wanted = "mul.Tensor(primals_2, 2.5)" if TORCH_2_6 else "torch.tensor(2.5, dtype=torch.float64)"
    assert again or wanted in script.text
    assert run_script(script.text) == 0


def test_random_numbers_that_are_drawn_again(tmp_path):
    """The forward graph saves the state of the generator for the backward graph, which draws with it; both run alone."""
    linear = torch.nn.Linear(4, 4)

    def f(x):
        return checkpoint(lambda y: torch.nn.functional.dropout(linear(y), 0.3), x, use_reentrant=False) + x

    (script,) = recorded(tmp_path, f, torch.randn(2, 4, requires_grad=True))
    assert "else Backward()" in script.text
    assert run_script(script.text) == 0
    for stage in ("Forward_graph", "Backward_graph"):
        done = run_python(str(tmp_path / "dump" / f"__compiled_fn_0_0.{stage}.0.py"), imports=with_torch.ALONE)
        assert done.returncode == 0, done.stderr


def test_sparse_gradients(tmp_path):
    table = torch.nn.Embedding(10, 4, sparse=True)
    (script,) = recorded(tmp_path, lambda ids: table(ids) * 2, torch.tensor([1, 3, 3]))
    assert "else Backward()" in script.text
    assert run_script(script.text) == 0


def test_modes(tmp_path):
    def f(x, w):
        with torch.autocast("cpu", torch.bfloat16):
            return torch.compile(lambda a, b: a @ b, backend="aot_eager")(x, w)

    with prepare_debug(tmp_path), torch.no_grad():
        f(torch.randn(3, 4), torch.randn(4, 2))
    (script,) = render_dump(tmp_path).scripts
    assert "torch.no_grad()" in script.text
    assert 'torch.autocast("cpu", torch.bfloat16)' in script.text
    assert run_script(script.text) == 0


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_views_of_parameters_without_gradients(backend, tmp_path):
    """Made under no_grad, a view of a parameter says that it requires a gradient; nothing can be differentiated there."""

    def f(x, w):
        return w.reshape(2, -1), x @ w, w.t()

    with torch.no_grad():
        (script,) = recorded(tmp_path, f, torch.randn(3, 4), torch.randn(4, 2, requires_grad=True), backward=False, backend=backend)  # fmt: skip
    assert "grad=True" in script.text and "torch.no_grad()" in script.text
    assert run_script(script.text) == 0


@pytest.mark.parametrize("count", [0, 5])
def test_values_stored_at_a_mask(count, tmp_path):
    """As many elements of a made-up mask are true as the values that another frame computed for them."""

    def f(x, mask, values):
        x = x * 2
        x[mask] = values
        return x

    mask = torch.zeros(12, dtype=torch.bool)
    mask[:count] = True
    (script,) = recorded(tmp_path, f, torch.randn(12), mask, torch.randn(count), backward=False)
    assert f"make.booleans(12, true={count})" in script.text
    assert run_script(script.text) == 0


def scaled(x):
    return x * float(-np.log(x.shape[0] * 2.5))


def averaged(x):
    y = x.numpy()
    return torch.from_numpy(
        np.sqrt(np.mean(y)) + y.sum(axis=0) * y.T.reshape(4, 3).astype("float32")[1] + np.add(y, 1)[0][:3]
    )


@pytest.mark.parametrize(("fn", "size"), [(scaled, (3, 4)), (averaged, (4, 3))])
def test_functions_of_numpy(fn, size, tmp_path):
    """Dynamo calls its own versions of them, which the script makes again."""
    (script,) = recorded(tmp_path, fn, torch.ones(*size), backward=False)
    assert "= torch._dynamo.utils.numpy_" in script.text and "importlib" not in script.text
    assert run_script(script.text) == 0
    page = tmp_path / "dump" / "__compiled_fn_0_0.Captured_Graph.0.py"
    done = run_python(page.read_text(), imports=with_torch.ALONE)
    assert done.returncode == 0 and "tensor(" in done.stdout, done.stderr
    manifest = json.loads((tmp_path / "dump" / "manifest.json").read_text())
    (steps,) = [
        item["steppable"] for item in manifest["files"] if item["file"] == "__compiled_fn_0_0.Forward_graph.0.py"
    ]
    assert steps


def test_domains(tmp_path):
    def f(x, p, v):
        return (
            torch.log(x).sum() + torch.nn.functional.binary_cross_entropy(p, torch.ones_like(p)) + (v + 1).sqrt().sum()
        )

    inputs = (
        torch.rand(3, requires_grad=True),
        torch.rand(3),
        torch.rand(3),
    )  # positive, probabilities, and more than -1
    (script,) = recorded(tmp_path, f, *inputs)
    assert script.text.count("make.uniform") == 3
    assert run_script(script.text, "--backend", "none") == 0


def test_constants(tmp_path):
    def f(x):
        return x * torch.tensor([1.0, 2.0, 4.0])

    (script,) = recorded(tmp_path, f, torch.randn(3, requires_grad=True))
    assert run_script(script.text) == 0


def test_deterministic_and_rewritten(tmp_path):
    for name in ("one", "two"):
        torch._dynamo.reset()
        torch.manual_seed(0)
        with prepare_debug(tmp_path / name):
            torch.compile(Net(), backend="aot_eager")(*net_inputs())[0].backward()
        write_gallery(tmp_path / name, tmp_path / f"out_{name}")
    one, two = ({p.name: p.read_text() for p in (tmp_path / f"out_{n}").iterdir()} for n in ("one", "two"))
    assert one == two
    assert set(one) == {"index.md", "graph_0_0_forward.py"}
    torch._dynamo.reset()
    with prepare_debug(tmp_path / "three"):
        torch.compile(lambda x: x + 1, backend="eager")(torch.ones(3))
    (tmp_path / "out_one" / "mine.py").write_text("x = 1\n")
    write_gallery(tmp_path / "three", tmp_path / "out_one")
    assert {p.name for p in (tmp_path / "out_one").iterdir()} == {"index.md", "graph_0_0_lambda.py", "mine.py"}


def test_graphs_that_cannot_be_scripts_are_listed(tmp_path, capsys):
    from torch.testing._internal.two_tensor import TwoTensor

    with prepare_debug(tmp_path / "dump"):
        torch.compile(lambda x: x + x, backend="aot_eager")(TwoTensor(torch.ones(3), torch.zeros(3)))
        torch.compile(lambda x: x * 2, backend="eager")(torch.ones(3))
    assert command(["gallery", str(tmp_path / "dump"), "-o", str(tmp_path / "out")]) == 1
    assert "TwoTensor, not a plain tensor" in capsys.readouterr().err
    text = (tmp_path / "out" / "index.md").read_text()
    assert "Left out:" in text and "graph_1_0_lambda.py" in text


def test_nested_tensors_are_listed(tmp_path):
    """The length that varies has no number: what is known of the graph is kept, and it has no script."""
    nested = torch.nested.nested_tensor([torch.ones(2, 4), torch.ones(5, 4)], layout=torch.jagged)
    with prepare_debug(tmp_path / "dump"):
        torch.compile(torch.nn.Linear(4, 3), backend="aot_eager")(nested)
    manifest = json.loads((tmp_path / "dump" / "manifest.json").read_text())
    assert manifest["notes"] == [] and [item for item in manifest["files"] if item["kind"] == "graph_inputs"]
    assert len(render_dump(tmp_path / "dump").left_out) == 1


def test_bad_input(tmp_path, capsys):
    empty = tmp_path / "empty"
    empty.mkdir()
    unfinished = tmp_path / "unfinished"
    done = run_python(
        f"""
        import os, torch, depyf
        depyf.prepare_debug({str(unfinished)!r}).__enter__()
        torch.compile(lambda x: x + 1, backend="eager")(torch.ones(3))
        os._exit(0)
        """
    )
    assert done.returncode == 0, done.stderr
    nothing = tmp_path / "nothing"
    with prepare_debug(nothing):
        pass
    damaged = tmp_path / "damaged"
    damaged.mkdir()
    (damaged / "manifest.json").write_text("{")
    cases = {
        tmp_path / "missing": "does not exist",
        empty: "is no dump of depyf",
        unfinished: "has not finished",
        nothing: "compiled nothing",
        damaged: "is not JSON",
    }
    for folder, message in cases.items():
        with pytest.raises(GalleryError, match=message):
            render_dump(folder)
        if folder is not unfinished:
            assert command(["gallery", str(folder), "-o", str(tmp_path / "out")]) == 4
            assert message in capsys.readouterr().err
    assert not (tmp_path / "out").exists(), "nothing is half-written"
    assert command(["gallery", str(unfinished), "-o", str(tmp_path / "out")]) == 0, "it makes the pages first"
