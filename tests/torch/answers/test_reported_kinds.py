"""Kinds of programs that users of torch.compile reported: what is said first, and what is not said."""

from __future__ import annotations

import logging
import random

import pytest
import torch
from torch import nn

from depyf.api import prepare_debug
from depyf.run.causes.cause import CauseKind
from depyf.run.causes.collect import causes_of
from depyf.run.causes.prediction import Bound
from depyf.run.store.loading import load

pytestmark = pytest.mark.torch


LOG = logging.getLogger("reported")


def causes(run, folder):
    torch._dynamo.reset()
    with prepare_debug(folder):
        try:
            run()
        except Exception as error:  # what torch raises into the program is a cause
            assert "torch" in type(error).__module__, error
    return causes_of(load(folder))


def ids(cause):
    return [[use.id for use in way.uses] for way in cause.ways]


class Cache(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("k", torch.zeros(1, 32, 4))
        self.size = 0

    def forward(self, x):
        self.k[:, self.size : self.size + x.shape[1]] = x
        self.size += x.shape[1]
        return self.k.sum(1)


def test_a_counter_that_is_called_as_a_method_of_tensors(tmp_path):
    """meta-pytorch/torchtune#1663: the first call has another length than those after it."""

    def run():
        cache = torch.compile(nn.Sequential(Cache()), backend="eager")
        for length in (3, *[1] * 8):
            cache(torch.ones(1, length, 4))

    cause = causes(run, tmp_path)[0]
    assert "self.0.size" in cause.text and "4" in cause.text
    assert "self.size" in cause.place.text
    assert ids(cause)[0] == ["unspecialised-int"]


def pasted(box, mask):
    w = int(box[2] - box[0]) + 1
    h = int(box[3] - box[1]) + 1
    return mask.new_ones(h, w)


def test_a_value_that_is_computed_before_the_break_is_the_breaks(tmp_path):
    """pytorch/torchdynamo#1940."""

    def run():
        paste = torch.compile(pasted, backend="eager")
        for n in range(3, 9):
            paste(torch.tensor([0, 0, n, n + 2]), torch.ones(1))

    found = causes(run, tmp_path)
    assert {cause.kind for cause in found} == {CauseKind.BREAKS}, [cause.text for cause in found]
    assert all(ids(cause)[0] == ["capture-scalars"] for cause in found)


@pytest.mark.parametrize("matrix", (False, True))
def test_a_size_that_is_that_of_a_parameter(tmp_path, matrix):
    """microsoft/dion#23: torch makes a constant of the size of the gradient, for that of the parameter is one."""

    def update(p, g):
        p.sub_(p @ g @ g if matrix else g * 0.1)

    def run():
        step = torch.compile(update, backend="eager")
        with torch.no_grad():
            for n in range(2, 7):
                step(nn.Parameter(torch.ones(4, n)), torch.ones(n, n) if matrix else torch.ones(4, n))

    (sizes,) = causes(run, tmp_path / "before")
    assert ids(sizes)[0] == ["dynamic-parameters"], ids(sizes)
    with torch._dynamo.config.patch(force_parameter_static_shapes=False):
        causes(run, tmp_path / "after")
    assert sizes.ways[0].prediction.holds(load(tmp_path / "after").compilations)


def test_a_size_that_the_program_needs_beside_a_parameter(tmp_path):
    def update(p, g):
        for _ in range(g.shape[0]):
            p.sub_(g * 0.1)

    def run():
        step = torch.compile(update, backend="eager")
        with torch.no_grad():
            for n in range(2, 7):
                step(nn.Parameter(torch.ones(n)), torch.ones(n))

    (sizes,) = causes(run, tmp_path)
    assert all(set(one) != {"dynamic-parameters"} for one in ids(sizes)), ids(sizes)


@pytest.mark.parametrize(("starts", "left"), [((32, 0, 64), 2), ((0, 32, 64), 1), ((32, 64, 70), 1), ((32, 1, 0), 2)])
def test_a_tensor_that_begins_at_0_in_some_calls(tmp_path, starts, left):
    """Where the first call's begins further on, torch has a symbol for that, which is never 0 or 1."""
    data = torch.arange(100.0)

    def run(**options):
        compiled = torch.compile(lambda x: x * 2, backend="eager", **options)
        for start, size in zip(starts, (30, 4, 6)):
            compiled(data[start : start + size])

    (sizes,) = causes(run, tmp_path / "before")
    causes(lambda: run(dynamic=True), tmp_path / "after")
    assert load(tmp_path / "after").compilations == left
    assert [way.prediction.after for way in sizes.ways if way.uses[0].id == "compile-dynamic"] == [left] * (left == 1)
    assert sizes.needed == (left == 2)


def test_the_limit_under_fullgraph(tmp_path):
    """HomebrewML/HeavyBall#16: dynamic=False and parameters of many shapes."""

    def update(p, g):
        p.sub_(g * 0.1)

    def run():
        step = torch.compile(update, backend="eager", fullgraph=True, dynamic=False)
        with torch.no_grad():
            for n in range(2, 12):
                step(nn.Parameter(torch.ones(n)), torch.ones(n))

    failed, sizes = causes(run, tmp_path)
    assert failed.kind is CauseKind.FAILED and "fullgraph" in failed.text and ids(failed) == [["raise-limit"]]
    assert {"no-static", "dynamic-parameters"} == set(ids(sizes)[0]), ids(sizes)
    assert sizes.ways[0].predicted == "", "the run ended there"


def test_a_constant_that_is_read_out_of_a_tensor(tmp_path):
    """pytorch/pytorch#158642."""

    def forward(x):
        return x.clone().requires_grad_(torch.rand(1).item() > 0.5) * 2

    (cause,) = causes(lambda: torch.compile(forward, backend="eager", fullgraph=True)(torch.ones(2)), tmp_path)
    assert "Symbol" not in cause.text and "SymNode" not in cause.text and ids(cause) == [["not-traced"]]


def test_a_mark_is_of_the_tensor_of_the_first_call(tmp_path):
    """pytorch/pytorch#110803: the entry without gradients is made for another tensor."""

    def run():
        layer = torch.compile(nn.Sequential(nn.Linear(4, 4)), backend="eager")
        layer(torch.ones(8, 4))
        with torch.no_grad():
            for size in (8, 5):
                layer(torch.ones(size, 4))

    sizes, gradients = causes(run, tmp_path)
    assert ids(sizes) == [["compile-dynamic"]] and sizes.ways[0].prediction.after == 2
    assert gradients.needed


def test_a_size_that_a_line_fixes_is_not_marked_unbacked(tmp_path):
    """xdit-project/xDiT#781: a batch of timesteps of one, or of as many as the other batch."""

    def run():
        scaled = torch.compile(lambda x, t: x * t[:, None], backend="eager")
        for batch, steps in ((4, 1), (4, 4), (6, 1), (6, 6)):
            scaled(torch.ones(batch, 2), torch.ones(steps))

    ways = [way for cause in causes(run, tmp_path) for way in cause.ways]
    assert ways and not [
        use for way in ways for use in way.uses if use.id == "mark-unbacked" and use.value("tensor") == "t"
    ]
    marks = [way.prediction for way in ways if way.uses[0].id == "mark-dynamic"]
    assert marks and all(one.bound is Bound.OR_FEWER and one.holds(2) for one in marks), "2 were measured"


def test_a_random_number_that_decides(tmp_path):
    """pytorch/pytorch#95425."""

    def dropped(x):
        return x * 2 if random.random() < 0.5 else x

    (cause,) = causes(lambda: torch.compile(dropped, backend="eager")(torch.ones(2)), tmp_path)
    assert [use.values for way in cause.ways for use in way.uses] == [(("function", "random.random"),)]


def test_a_question_to_a_logger(tmp_path):
    def asked(x):
        return x * 2 if LOG.isEnabledFor(logging.DEBUG) else x

    (cause,) = causes(lambda: torch.compile(asked, backend="eager")(torch.ones(2)), tmp_path)
    assert "ignore-logging" not in [one for way in ids(cause) for one in way]


class Block(nn.Module):
    def __init__(self, index):
        super().__init__()
        self.layer_idx = index

    def forward(self, x, cache):
        return x + cache[0] if self.layer_idx in cache else x * 2


def test_a_number_that_picks_a_key_is_needed_whoever_owns_it(tmp_path):
    """pytorch/pytorch#143670: the module is an argument of what is compiled."""

    def run():
        call = torch.compile(lambda block, x, cache: block(x, cache), backend="eager")
        for index in range(6):
            call(Block(index), torch.ones(2), {0: torch.ones(2)})

    (cause,) = causes(run, tmp_path)
    assert "layer_idx" in cause.text
    assert not any("unspecialised-int" in way for way in ids(cause)), ids(cause)


def test_more_may_be_left_where_no_entry_shows_what_a_size_is_asked(tmp_path):
    """openai/whisper, decoding with a cache: one token at a time after the first call, and dynamic=True makes a symbol
    of their number, which the attention refuses."""

    def attend(x, cache):
        return nn.functional.scaled_dot_product_attention(x, cache, cache, is_causal=x.shape[1] > 1)

    def run():
        step = torch.compile(attend, backend="eager")
        for tokens, kept in ((3, 3), (1, 3), (1, 4)):
            step(torch.ones(1, tokens, 4), torch.ones(1, kept, 4))

    found = [way for cause in causes(run, tmp_path) for way in cause.ways]
    symbols = [way for way in found if "compile-dynamic" in {use.id for use in way.uses}]
    assert symbols and {way.prediction.bound for way in symbols} == {Bound.OR_MORE}, found


def test_what_a_function_that_ran_as_python_calls_is_compiled_alone_because_of_it(tmp_path):
    """lucidrains/vit-pytorch, NaViT: the helpers are functions of their own only since a loop breaks the graph."""

    def scaled(x, how):
        return x * 2 if how == "twice" else x * 3 if how == "thrice" else x * 5

    def model(x):
        for how in ("twice", "thrice", "more"):
            x = scaled(x, how) + x[x > 100].sum()
        return x

    def other(x, n):
        return x * n if n != 3 else x

    def run():
        step, apart = (torch.compile(f, backend="eager") for f in (model, other))
        step(torch.ones(4))
        for n in (2, 3):
            apart(torch.ones(4), n)

    broken, *rest = causes(run, tmp_path)
    assert "boolean" in broken.text or "depends on the values" in broken.text
    assert "compiles test_what" in broken.more and "scaled alone only because of it" in broken.more, broken.more
    assert "other" not in broken.more
    assert any("how" in cause.text for cause in rest)


def test_numbers_that_decide_in_a_loop_of_python(tmp_path):
    """A beam search: which list a candidate goes to is no matter of tensors."""

    def search(scores):
        done, left = [], []
        for score, token in zip(*(part.tolist() for part in scores.topk(2)), strict=True):
            (done if token == 0 else left).append(score)
        return done, left

    (cause,) = causes(lambda: torch.compile(search, backend="eager")(torch.tensor([3.0, 1.0, 2.0])), tmp_path)
    assert ids(cause)[0] == ["loop-outside"] and ["branchless"] not in ids(cause)


def test_a_size_of_one_beside_another_need_is_needed(tmp_path):
    """Prompts of any length, then one token after the other: no padding of the tokens serves both."""

    def step(tokens, past=None):
        return tokens * 2 if past is None else torch.cat([past, tokens])

    def run():
        compiled = torch.compile(step, backend="eager")
        for prompt in (3, 5):
            past = compiled(torch.ones(prompt))
            for _ in range(2):
                past = compiled(torch.ones(1), past)

    found = causes(run, tmp_path)
    offered = {use.id for cause in found for way in cause.ways for use in way.uses}
    assert "mark-dynamic" in offered or "compile-dynamic" in offered
    assert not offered & {"mark-unbacked", "pad-size"}


def test_a_loop_that_goes_on_by_a_tensor(tmp_path):
    """An integrator: which way a ``while`` goes is no choice between two values."""

    def solve(t, end):
        while t < end:
            t = t + 0.5
        return t

    (cause,) = causes(lambda: torch.compile(solve, backend="eager")(torch.zeros(()), torch.ones(())), tmp_path)
    assert ids(cause)[0] == ["loop-outside"] and ["branchless"] not in ids(cause)


@pytest.mark.parametrize("asks", ["torch.isnan(x).any()", "x.sum().item() > 3"])
def test_a_warning_about_the_values(asks, tmp_path):
    """No operator chooses between two values there: nothing is computed."""
    names = {"torch": torch, "log": logging.getLogger("model")}
    path = tmp_path / "model.py"
    path.write_text(
        f"def forward(x):\n    y = x * 2\n    if {asks}:\n        log.warning('strange')\n    return y + 1\n"
    )
    exec(compile(path.read_text(), str(path), "exec"), names)
    (cause,) = causes(lambda: torch.compile(names["forward"], backend="eager")(torch.ones(3)), tmp_path / "dump")
    assert ids(cause)[0] == ["check-outside"] and ["branchless"] not in ids(cause)


RATE = 0.5


def test_dynamic_makes_a_symbol_of_a_float_wherever_it_is_kept(tmp_path):
    """transformers, a schedule that puts floats into an optimizer: 3 compilations, 2 with dynamic=True."""

    class Scaled(nn.Module):
        def forward(self, x):
            return x * self.rate

    def of_global(x):
        return x * RATE

    scaled = Scaled()
    x, optimizer = torch.ones(3), torch.optim.SGD([torch.ones(3, requires_grad=True)], 0.1)

    def programs(**options):
        module, function, step = (
            torch.compile(one, backend="eager", **options) for one in (scaled, of_global, optimizer.step)
        )
        for number in (0.1, 0.2, 0.3):
            scaled.rate = globals()["RATE"] = optimizer.param_groups[0]["lr"] = number
            optimizer.param_groups[0]["params"][0].grad = torch.ones(3)
            module(x), function(x), step()

    def recompiled(folder, **options):
        return [one for one in causes(lambda: programs(**options), folder) if one.kind is CauseKind.RECOMPILES]

    found = recompiled(tmp_path / "before")
    assert len(found) == 3, found
    predicted = set()
    for cause in found:
        dynamic = next(way for way in cause.ways if [use.id for use in way.uses] == ["compile-dynamic"])
        predicted.add((dynamic.prediction.before, dynamic.prediction.after))
    assert not recompiled(tmp_path / "after", dynamic=True)
    assert predicted == {tuple(load(tmp_path / name).compilations for name in ("before", "after"))}


def test_fewer_may_be_left_where_only_strides_differ(tmp_path):
    """Decoding with a cache that the compiled function returns: which strides it has is up to the entry that made
    it."""

    def grow(x, kept):
        made = (x * 2).transpose(0, 1)
        return made if kept is None else torch.cat([kept, made], 1)

    def run():
        step = torch.compile(grow, backend="eager")
        with torch.no_grad():
            for size, turned in ((3, False), (5, True)):
                kept = step(torch.ones(size, 4), None)
                kept = kept.t().contiguous().t() if turned else kept.contiguous()
                for _ in range(2):
                    kept = step(torch.ones(2, 4), kept).contiguous()

    found = [way for cause in causes(run, tmp_path) for way in cause.ways if way.prediction is not None]
    assert any(way.prediction.bound is Bound.OR_FEWER for way in found), found


def test_a_number_that_is_a_symbol_is_not_needed(tmp_path):
    """Sampling of a diffusion model: the step indexes a buffer of the model, and fills a tensor; 3 entries, not 50."""
    table = torch.linspace(0, 1, 50)

    def programs(**options):
        def denoise(x, step):
            x = x * table[step] + torch.full((3,), step)
            return x + 1 if step > 0 else x

        compiled = torch.compile(denoise, backend="eager", **options)
        for step in reversed(range(50)):
            compiled(torch.ones(3), step)

    found = causes(programs, tmp_path / "before")
    assert "needed-value" not in {use.id for cause in found for way in cause.ways for use in way.uses}, found
    dynamic = next(way for way in found[0].ways if [use.id for use in way.uses] == ["compile-dynamic"])
    causes(lambda: programs(dynamic=True), tmp_path / "after")
    assert dynamic.prediction.holds(load(tmp_path / "after").compilations) and dynamic.prediction.after == 2


def test_a_size_that_is_a_constant_again_is_marked_nowhere(tmp_path):
    """A network for images of several sizes: the size is a constant once gradients are asked for, a symbol in
    evaluation; a mark is an error then."""

    def resized(x):
        size = x.shape[1]
        if torch.is_grad_enabled():
            for _ in range(size):
                x = x + 1
        return x + size

    def run():
        compiled = torch.compile(resized, backend="eager")
        for size in (5, 7, 9):
            compiled(torch.ones(2, size, requires_grad=True))
        with torch.no_grad():
            compiled(torch.ones(2, 11))

    found = [cause for cause in causes(run, tmp_path) if cause.kind is CauseKind.RECOMPILES]
    assert {use.id for cause in found for way in cause.ways for use in way.uses} == {"needed-value"}, found


def test_where_only_numbers_are_compared_a_way_for_certain_is_better(tmp_path):
    """An agent that acts at random now and then: with dynamic=True its comparison of two numbers is compiled, too."""

    class Agent:
        def __init__(self):
            self.steps, self.rate = 0.0, 0.5

        def act(self, x):
            x = x * self.steps
            torch._dynamo.graph_break()
            return 0 if self.rate < 0.7 else 1

    def run():
        agent = Agent()
        act = torch.compile(agent.act, backend="eager")
        for step in (2.0, 3.0, 4.0):
            agent.steps = step
            act(torch.ones(3))

    ways = [way for cause in causes(run, tmp_path) if cause.kind is CauseKind.RECOMPILES for way in cause.ways]
    assert [[use.id for use in way.uses] for way in ways] == [["tensor-in-object"]], ways


def test_an_rnn_of_packed_sequences_is_not_looked_into(tmp_path):
    """A translator that packs its sentences: with allow_rnn the graph breaks inside of the RNN."""
    rnn = nn.GRU(4, 4, batch_first=True)

    def packed(x, lengths):
        sequences = nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first=True)
        return rnn(sequences)[1] + 1

    def plain(x):
        return rnn(x)[1] + 1

    def advised(name, run):
        return [use.id for cause in causes(run, tmp_path / name) for use in cause.advice if "rnn" in use.id]

    x = torch.ones(2, 3, 4)
    assert advised("plain", lambda: torch.compile(plain, backend="eager")(x)) == ["rnn-apart", "allow-rnn"]
    compiled = torch.compile(packed, backend="eager")
    assert advised("packed", lambda: compiled(x, torch.tensor([3, 2]))) == ["rnn-apart"]


class Counting(nn.Module):
    def __init__(self):
        super().__init__()
        self.seen = 0

    def forward(self, x):
        self.seen += 1
        return x * 2


def test_a_call_that_torch_refuses_is_said_like_those_before(tmp_path):
    """torch compiles its own wrapper of an nn.Sequential; at the limit it compiles nothing of the call."""

    def run():
        compiled = torch.compile(nn.Sequential(Counting(), Counting()), backend="eager")
        for size in range(2, 12):
            compiled(torch.ones(size))

    (cause,) = causes(run, tmp_path)
    assert cause.costs.compilations == 7 and cause.costs.python == 1
    assert {use.value("name") for way in cause.ways for use in way.uses if use.id == "unspecialised-int"} == {
        "self.0.seen",
        "self.1.seen",
    }
