"""``depyf.compare`` runs the call as Python, too: it names what differs and why, and leaves the program as it was."""

from __future__ import annotations

import collections
import dataclasses
import functools
import io
import logging
import random
import sys
import threading
import time

import pytest
import torch
from torch import nn

import depyf
import depyf.testing
from depyf.actions.comparing.call_outcome import CallOutcome, may_be_rounding, outcomes_apart
from depyf.sources.live.state.images import Image
from depyf.sources.live.state.reached import ReachedState

pytestmark = pytest.mark.torch
QUICK = ("eager", "aot_eager")
FLAG = 2
SEEN: list = []


def small():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 2))


def add_one(module, args, out):
    return out + 1


def test_a_hook_that_no_guard_looks_at():
    model = small()
    compiled, x = torch.compile(model, backend="eager"), torch.ones(2, 4)
    compiled(x)
    assert depyf.compare(compiled, x, backends=QUICK)
    handle = model[2].register_forward_hook(add_one)
    result = depyf.compare(compiled, x, backends=QUICK)
    assert not result and result.python.entry == "0/0"
    assert "the layer is the guards: entry 0/0 ran" in str(result)
    assert "the entry leaves out the forward hook of self[2], " + __file__ in str(result)
    assert "skip_nnmodule_hook_guards is True" in str(result) and ": the same" not in str(result)
    assert list(model[2]._forward_hooks) == [handle.id], "the hooks are the program's"
    assert "DIFFERENT" in result._repr_html_() and "skip_nnmodule_hook_guards" in result._repr_html_()


def test_a_hook_that_changes_nothing_is_no_cause():
    model = small()
    compiled, x = torch.compile(model, backend="eager"), torch.ones(2, 4)
    model[0].register_forward_hook(lambda module, args, out: None)
    compiled(x)
    assert depyf.compare(compiled, x, backends=QUICK)


def test_a_guard_that_was_dropped():
    global FLAG

    def flagged(x):
        return x * FLAG

    compiled = torch.compile(
        flagged, backend="eager", options={"guard_filter_fn": lambda guards: [False] * len(guards)}
    )
    x = torch.ones(3)
    compiled(x)
    FLAG = 3
    try:
        result = depyf.compare(compiled, x, backends=QUICK)
    finally:
        FLAG = 2
    assert not result and "the layer is the guards" in str(result)
    line = flagged.__code__.co_firstlineno
    changed = f"the global FLAG (test_against_python.py:{line + 1}), which is 3 now (the entry's graph has 2)"
    by = f"EQUALS_MATCH: guard_filter_fn <lambda> (test_against_python.py:{line + 4}) left it out"
    assert f"no guard of the entry looks at {changed}, and an entry made anew has one, {by}" in str(result)


def test_a_guard_that_a_recording_saw_being_dropped(tmp_path):
    factor = 2.0

    def scaled(x):
        return x * factor

    compiled = torch.compile(
        scaled, backend="eager", options={"guard_filter_fn": torch.compiler.skip_all_guards_unsafe}
    )
    with depyf.prepare_debug(tmp_path):
        compiled(torch.ones(3))
    factor = 4.0
    result = depyf.compare(compiled, torch.ones(3), backends=QUICK)
    at = f"(test_against_python.py:{scaled.__code__.co_firstlineno + 1})"
    by = "torch.compiler.skip_all_guards_unsafe left out its guard, EQUALS_MATCH"
    assert not result and f"factor was 2.0 and is 4.0 {at}: {by}" in str(result)


def test_a_guard_that_the_stance_leaves_out():
    model = small()
    model.factor = 2

    def scaled(x):
        return model(x) * model.factor

    compiled, x = torch.compile(scaled, backend="eager"), torch.ones(2, 4)
    compiled(x)
    model.factor = 3
    with torch.compiler.set_stance(skip_guard_eval_unsafe=True):
        result = depyf.compare(compiled, x, backends=QUICK)
    at = f"(test_against_python.py:{scaled.__code__.co_firstlineno + 1})"
    assert not result and f"a guard of it fails: model.factor was 2 and is 3 {at}" in str(result)


class Holder:
    def __init__(self):
        self.left, self.right = object(), object()
        self.current = self.left


@pytest.mark.parametrize("backend", ("eager", "aot_eager", "inductor"))
def test_a_branch_on_identity(backend):
    """pytorch#196173.  The answer is checked: with the other one Python does what the entry did."""

    def chosen(holder, x):
        y = x + 1
        if holder.current is holder.left:
            return y * 2
        return y - 100

    holder, x = Holder(), torch.ones(2)
    compiled = torch.compile(chosen, backend=backend)
    compiled(holder, x)
    holder.current = holder.right
    result = depyf.compare(compiled, holder, x, backends=QUICK)
    if result:
        pytest.skip("this torch guards the objects")
    where = f"holder.current is holder.left (test_against_python.py:{chosen.__code__.co_firstlineno + 2})"
    assert f"no guard of the entry looks at whether {where}: torch decided it when it compiled" in str(result)
    assert "with the other answer there Python does what the entry did" in str(result)
    assert holder.current is holder.right


def test_an_identity_that_is_not_to_blame_is_not_named():
    global FLAG

    def flagged(holder, x):
        y = x * FLAG
        return y if holder.current is holder.left else y + 1

    holder, x = Holder(), torch.ones(2)
    keep = {"guard_filter_fn": lambda guards: ["FLAG" not in guard.name for guard in guards]}
    compiled = torch.compile(flagged, backend="eager", options=keep)
    compiled(holder, x)
    FLAG = 3
    try:
        result = depyf.compare(compiled, holder, x, backends=QUICK)
    finally:
        FLAG = 2
    assert "the global FLAG" in str(result) and "holder.current is" not in str(result)


@dataclasses.dataclass
class Box:
    t: torch.Tensor


box = Box(torch.tensor(0.0))


@torch.compiler.nested_compile_region
def region():
    return box.t + 1


def rebound(h):
    global box
    for _ in range(2):
        box = Box(h)
        h = region()
    return h


REUSED = pytest.mark.skipif(torch.__version__ >= (2, 14), reason="this torch does not use the region again")


@REUSED
def test_a_captured_graph_that_python_does_not_agree_with():
    before = box
    result = depyf.compare(rebound, torch.tensor(0.0), backends=QUICK)
    assert not result and result.python.apart[0].path == "the result"
    assert (result.python.apart[0].first, result.python.apart[0].second) == ("2.0 (float32)", "1.0 (float32)")
    assert "the layer is Dynamo" in str(result) and ": the same" not in str(result)
    assert box is before and box.t.item() == 0.0


class Counting(nn.Module):
    calls = 0

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(3))
        self.register_buffer("mean", torch.zeros(3))
        self.history, self.last, self.table = [], None, collections.OrderedDict(a=1)

    def forward(self, x, given):
        global FLAG
        FLAG += 1
        Counting.calls += 1
        self.mean.mul_(0.5).add_(x.mean(0))
        self.history.append(x)
        self.last = x
        self.table["b"] = 2
        given["new"] = x * 2
        x.add_(1)
        SEEN.append(1)
        print("seen", len(self.history))
        with torch.no_grad():
            self.weight.mul_(2)
        return x * self.weight + random.random() + torch.rand(3)


def state(model, x, given):
    return (
        {name: (id(value), value._version, value.tolist(), value.grad) for name, value in model.state_dict(keep_vars=True).items()},
        list(map(id, model.history)), id(model.last), list(model.table.items()), list(given.items()), list(SEEN), FLAG,
        Counting.calls, sorted(vars(Counting)), list(vars(model)), x.tolist(), x._version, x.data_ptr(),
        torch.get_rng_state().tolist(), random.getstate(), torch.is_grad_enabled(), sorted(k for k in globals() if not k.startswith("__import_")),
    )  # fmt: skip


@pytest.mark.parametrize("compiled_before", (False, True))
@pytest.mark.parametrize("fails", (False, True))
def test_the_program_is_as_before(capsys, compiled_before, fails):
    torch._dynamo.reset()
    model, x, given = Counting(), torch.ones(2, 3), {"old": 1}
    called = torch.compile(model, backend="eager") if compiled_before else model
    if compiled_before:
        called(torch.ones(2, 3), {"old": 1})
        capsys.readouterr()
    if fails:
        model.register_forward_hook(lambda *_: 1 / 0)
    before = state(model, x, given)
    result = depyf.compare(called, x, given, backends=QUICK)
    assert state(model, x, given) == before
    assert capsys.readouterr().out == "", "what the calls print is compared, not shown"
    assert result, str(result)
    assert ("both raise ZeroDivisionError" in str(result)) is fails


def test_state_that_a_backend_does_not_write():
    """A backend whose graph leaves out the write to a buffer."""

    def forgetful(gm, inputs):
        def run(*args):
            kept = [value.clone() for value in args]
            made = gm(*kept)
            return made

        return run

    class Running(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("mean", torch.zeros(3))

        def forward(self, x):
            self.mean.add_(x)
            return x * 2

    model, x = Running(), torch.ones(3)
    compiled = torch.compile(model, backend=forgetful)
    compiled(x)
    result = depyf.compare(compiled, x, backends=QUICK)
    assert not result and [apart.path for apart in result.python.apart] == ["self.mean"]
    assert "the layer is the backend" in str(result)


def test_output_is_compared():
    def backend(gm, inputs):
        def run(*args):
            print("printed")
            return gm(*args)

        return torch._dynamo.disable(run)

    def f(x):
        return x + 1

    compiled = torch.compile(f, backend=backend)
    compiled(torch.ones(2))
    result = depyf.compare(compiled, torch.ones(2), backends=QUICK)
    assert [apart.path for apart in result.python.apart] == ["standard output"]


def test_what_only_one_run_can_use_is_named():
    def f(x, items):
        return x + next(items)

    result = depyf.compare(f, torch.ones(2), (n for n in range(3)), backends=QUICK)
    assert not result and "items is a generator, and only one run can use it" in str(result)


def test_what_the_program_goes_on_with_is_not_used_up():
    values, left = (n for n in range(3)), iter([4.0, 5.0])

    for fn in (lambda x: x + next(values), lambda x: x * next(left)):
        result = depyf.compare(torch.compile(fn, backend="eager"), torch.ones(2), backends=QUICK)
        assert not result and "would use it up for the program" in str(result)
    assert list(values) == [0, 1, 2] and list(left) == [4.0, 5.0]


def test_files(tmp_path):
    held, kept = io.StringIO("old "), open(tmp_path / "log", "w")
    held.seek(0, io.SEEK_END)

    def into(file):
        def f(x):
            file.write("seen")
            return x + 1

        return f

    result = depyf.compare(torch.compile(into(held), backend="eager"), torch.ones(2), backends=QUICK)
    assert result and held.getvalue() == "old " and held.tell() == 4
    result = depyf.compare(torch.compile(into(kept), backend="eager"), torch.ones(2), backends=QUICK)
    assert not result and "the call can reach file, a file that is open for writing, and each run could" in str(result)
    kept.close()
    assert (tmp_path / "log").read_text() == ""


def test_a_log_that_is_a_file(tmp_path):
    log, handler = logging.getLogger("depyf.tests.compared"), logging.FileHandler(tmp_path / "log")
    log.addHandler(handler)

    def f(x):
        log.warning("seen")
        return x + 1

    try:
        result = depyf.compare(torch.compile(f, backend="eager"), torch.ones(2), backends=QUICK)
        assert not result and "a handler of log, a file that is open for writing" in str(result)
    finally:
        log.removeHandler(handler)
        handler.close()
    assert (tmp_path / "log").read_text() == ""


def test_a_file_that_is_read_goes_back(tmp_path):
    (tmp_path / "numbers").write_text("1\n2\n")

    def f(x):
        return x + int(lines.readline())

    with open(tmp_path / "numbers") as lines:
        result = depyf.compare(torch.compile(f, backend="eager"), torch.ones(2), backends=QUICK)
        assert result and lines.readline() == "1\n"


def test_an_iterator_of_a_list_is_put_back():
    def f(x, items):
        return x + next(items)

    items = iter([1, 2, 3])
    result = depyf.compare(f, torch.ones(2), items, backends=QUICK)
    assert list(items) == [1, 2, 3]
    assert result, str(result)


def test_an_argument_with_a_history_keeps_it():
    leaf = torch.ones(3, requires_grad=True)
    given = leaf * 2
    history = given.grad_fn

    def writes(given):
        given.mul_(3)
        return given.sum()

    result = depyf.compare(writes, given, backends=QUICK)
    assert result and result.python.error is None, str(result)
    assert given.grad_fn is history and given._version == 0 and given.tolist() == [2.0] * 3
    given.sum().backward()
    assert leaf.grad.tolist() == [2.0] * 3


def test_a_step_of_an_optimizer():
    """The graph of the step holds the optimizer's tensors itself."""
    model, x = nn.Linear(4, 2), torch.ones(3, 4)
    optimizer = torch.optim.Adam(model.parameters())

    def step(x):
        optimizer.zero_grad()
        loss = model(x).sum()
        loss.backward()
        optimizer.step()
        return loss.detach()

    step(x)
    before = [model.weight.tolist(), model.weight.grad.tolist(), model.weight._version, str(optimizer.state_dict())]
    result = depyf.compare(step, x, backends=QUICK)
    assert result and len(result.graphs) == 3, str(result)
    assert before == [
        model.weight.tolist(),
        model.weight.grad.tolist(),
        model.weight._version,
        str(optimizer.state_dict()),
    ]


def test_arguments_of_every_layout():
    def doubled(*values):
        return [value * 2 for value in values]

    given = torch.ones(1).expand(3), torch.zeros(0), torch.ones(2, dtype=torch.complex64), torch.eye(3).t()
    result = depyf.compare(doubled, *given, backends=QUICK)
    assert result, str(result)


class Method:
    n = 2

    @torch.compile(backend="eager")
    def scaled(self, x):
        return x * self.n


def test_a_compiled_method():
    owner = Method()
    owner.scaled(torch.ones(2))
    result = depyf.compare(owner.scaled, torch.ones(2), backends=QUICK)
    assert result and result.python.entry, str(result)


def test_a_class_that_the_call_makes():
    def pair(x):
        return collections.namedtuple("Pair", "one other")(x + 1, x + 2)

    assert depyf.compare(pair, torch.ones(2), backends=QUICK)


def test_a_graph_that_a_backend_refuses():
    def refuses(gm, inputs):
        raise RuntimeError("not today")

    result = depyf.compare(lambda x: x + 1, torch.ones(2), backends=("eager", refuses))
    assert not result and "it could not be compared: RuntimeError: not today" in str(result)
    assert "compiled: raises BackendCompilerFailed" in str(result) and "the layer is the backend" in str(result)
    assert result._repr_html_()


def test_a_library_that_only_the_compiler_uses(tmp_path, monkeypatch):
    """Its classes and globals are not the program's, however they change meanwhile."""
    folder = tmp_path / "site-packages"
    folder.mkdir()
    (folder / "progress_bars.py").write_text("class Bar:\n    shown = 0\n")
    monkeypatch.syspath_prepend(str(folder))
    import progress_bars

    def helper():
        return progress_bars.Bar

    def backend(gm, inputs):
        progress_bars.Bar.shown += 1
        return gm

    def f(x):
        return x + 1 if helper is not None else x

    result = depyf.compare(f, torch.ones(2), backends=("eager", backend))
    assert result, str(result)
    assert progress_bars.Bar.shown > 0, "it is not put back: it may belong to a thread"


def test_the_order_of_the_entries_is_as_before():
    def times(x, n):
        return x * n

    def order():
        return list(map(id, torch._dynamo.eval_frame._debug_get_cache_entry_list(times.__code__)))

    compiled, x = torch.compile(times, backend="eager", dynamic=False), torch.ones(3)
    for n in (1.5, 2.5, 3.5):
        compiled(x, n)
    before, code = order(), times.__code__
    for n, entry in ((1.5, "/0"), (2.5, "/1"), (3.5, "/2")):
        result = depyf.compare(compiled, x, n, backends=QUICK)
        assert result and result.python.entry.endswith(entry), str(result)
        assert order() == before and times.__code__ is code


@REUSED
def test_the_assertion():
    depyf.testing.assert_compiled_equals_python(lambda x, *, n: x + n, torch.ones(2), n=2)
    with pytest.raises(AssertionError, match=r"(?s)the layer is Dynamo.*both backends agree"):
        depyf.testing.assert_compiled_equals_python(rebound, torch.tensor(0.0))
    with pytest.raises(AssertionError, match="nothing was compiled"):
        depyf.testing.assert_compiled_equals_python(lambda: 1)


def times(x, n):
    return x * n


def test_a_stance_without_guards():
    torch._dynamo.reset()
    compiled, x = torch.compile(times, backend="eager"), torch.ones(2)
    compiled(x, 2)
    with torch.compiler.set_stance("default", skip_guard_eval_unsafe=True):
        result = depyf.compare(compiled, x, 3, backends=QUICK)
        assert torch._dynamo.eval_frame._stance.skip_guard_eval_unsafe
    assert not result and "the stance skip_guard_eval_unsafe leaves its guards out" in str(result)
    assert torch._dynamo.eval_frame._stance.stance == "default"


def test_a_container_that_holds_itself():
    given = [1]
    given.append(given)
    assert depyf.compare(lambda x, given: (x + given[0], given), torch.ones(2), given, backends=QUICK)


def test_a_call_without_an_entry_is_compiled_apart():
    compiled, x = torch.compile(small(), backend="eager"), torch.ones(2, 4)
    result = depyf.compare(compiled, x, backends=QUICK)
    assert result and not result.python.entry and not result.python.graphs_only
    assert str(result).startswith("compiled against Python: the same"), str(result)
    with torch.compiler.set_stance("eager_on_recompile"):  # there the program would not compile it
        result = depyf.compare(compiled, x, backends=QUICK)
    assert "not compared: the program's own compiled code, for no cache entry for this call was found" in str(result)


def test_the_text_of_an_error_that_dynamo_makes_itself():
    def caught(x):
        try:
            return x + {}["k"]
        except KeyError as error:
            return x * 2, str(error)

    result = depyf.compare(caught, torch.ones(2), backends=QUICK)
    if str(KeyError("k")) == torch.compile(caught, backend="eager")(torch.ones(2))[1]:  # a torch that makes it right
        assert result
    else:
        assert [apart.path for apart in result.python.apart] == ["the result[1]"] and "the layer is Dynamo" in str(
            result
        )


def test_a_gradient_that_eager_graphs_make_wrong():
    """torch 2.13 forgets the random numbers of a checkpoint in a graph that eager mode runs."""

    def checkpointed(x):
        dropped = lambda y: torch.dropout(y.sin(), 0.5, True)
        return torch.utils.checkpoint.checkpoint(dropped, x, use_reentrant=False)

    def gradient(fn):
        torch.manual_seed(0)
        x = torch.ones(5, requires_grad=True)
        made = fn(x).sum()
        torch.manual_seed(1)
        return torch.autograd.grad(made, x)[0].tolist()

    right = gradient(checkpointed) == gradient(torch.compile(checkpointed, backend="eager"))
    torch.manual_seed(0)
    x = torch.ones(5, requires_grad=True)
    result = depyf.compare(checkpointed, x, backends=QUICK)
    assert result, str(result)  # the program runs them on another backend
    assert ("gradients: what runs again in the backward draws other random numbers" in str(result)) is not right


def test_other_threads_compile_as_before(capsys, tmp_path):
    """While a call is compared, another thread has the program's stance, and its own output."""
    file = str(tmp_path / "said")  # what the call changes in memory is put back

    def said(text):
        with io.FileIO(file, "a") as out:  # a call that opens a file by open() is not made
            out.write(text.encode() + b"\n")

    def counting(gm, inputs):
        said("compiled")
        return gm

    def other(x):
        return x * 2

    def run():
        said(torch._dynamo.eval_frame._stance.stance)
        torch.compile(other, backend=counting)(torch.ones(2))
        print("of another thread")

    @torch._dynamo.disable
    def wait():
        thread = threading.Thread(target=run)
        thread.start()
        thread.join()
        print("of the call")

    def f(x):
        wait()
        return x + 1

    before = torch._dynamo.eval_frame._stance
    result = depyf.compare(f, torch.ones(2), backends=QUICK)
    assert "standard output" not in str(result) and torch._dynamo.eval_frame._stance is before
    lines = (tmp_path / "said").read_text().split()
    assert lines.count("default") > 1 and lines[:2] == ["default", "compiled"] and {*lines} == {"default", "compiled"}
    assert capsys.readouterr().out == "of another thread\n" * lines.count("default")


def test_an_iterator_is_compared_and_kept():
    def each(values):
        return [value + 1 for value in values]

    given = iter([torch.ones(2), torch.zeros(2)])
    next(given)
    found = depyf.compare(each, given, backends=QUICK)
    assert found.python.ran and not found.python.apart, found
    assert len(list(given)) == 1


def test_a_call_that_cannot_print_leaves_sys_stdout_alone(tmp_path):
    """``sys.stdout`` is a setting of the process."""
    file = tmp_path / "streams"

    @torch._dynamo.disable
    def look():
        with io.FileIO(file, "a") as out:
            out.write(type(vars(sys)["stdout"]).__name__.encode() + b"\n")

    def quiet(x):
        look()
        return torch.sin(x) * 2

    def loud(x):
        print("loud")
        return quiet(x)

    own = type(sys.stdout).__name__
    assert depyf.compare(quiet, torch.ones(2), backends=QUICK)
    streams = file.read_text().split()
    assert len(streams) > 1 and {*streams} == {own}
    assert depyf.compare(loud, torch.ones(2), backends=QUICK)
    assert {*file.read_text().split()} == {own, "Output"}


@pytest.mark.parametrize(
    "text, prints",
    [
        ("def f(x): return x + 1", False),
        ("def f(x): print(x)", True),
        ("import sys\ndef f(x): sys.stdout.write('x')", True),
        ("def f(x):\n def g(): print(x)\n return g", True),
        ("def f(x): eval('print(1)')", True),
        ("def say(x): print(x)\ndef f(x): say(x)", True),
        ("say = print\ndef f(x): say(x)", True),
        ("import pprint\ndef f(x): pprint.pprint(x)", True),
        ("from pprint import pprint as show\ndef f(x): show(x)", True),
        ("import math, torch\ndef f(x): return torch.sin(x) * math.pi", False),
        ("def print(x): return x\ndef f(x): return print(x)", False),
    ],
)
def test_what_can_print(text, prints):
    space = {"__name__": "program"}
    exec(text, space)
    assert ReachedState([("f", space["f"])]).may_print is prints


def test_a_stance_that_the_call_sets_is_put_back():
    @torch._dynamo.disable
    def switch():
        torch.compiler.set_stance("force_eager")

    def f(x):
        switch()
        return x + 1

    before = torch._dynamo.eval_frame._stance
    depyf.compare(f, torch.ones(2), backends=QUICK)
    assert torch._dynamo.eval_frame._stance is before


def test_a_result_that_shares_memory():
    """A backend that gives back its input in the place of a copy."""

    def shares(gm, inputs):
        return torch._dynamo.disable(lambda *given: (given[0],))

    def copy(x):
        return x.clone()

    compiled, x = torch.compile(copy, backend=shares), torch.ones(2, 3)
    compiled(x)
    result = depyf.compare(compiled, x, backends=QUICK)
    assert [apart.path for apart in result.python.apart] == ["the result's memory"]
    assert "compiled: that of x" in str(result)
    assert depyf.compare(lambda x: (x, x.view(-1), x[:1]), x, backends=QUICK)


def test_a_result_that_is_expanded():
    """A write to one element is one to others; view() of a result may depend on its strides."""

    def dense(gm, inputs):
        return torch._dynamo.disable(lambda *given: (gm(*given)[0].contiguous(),))

    def turned(gm, inputs):
        return torch._dynamo.disable(lambda *given: (gm(*given)[0].t().contiguous().t(),))

    x = torch.ones(2, 1)
    compiled = torch.compile(lambda x: (x + 1).expand(2, 3), backend=dense)
    compiled(x)
    result = depyf.compare(compiled, x, backends=QUICK)
    assert [(apart.path, apart.first, apart.second) for apart in result.python.apart] == [
        ("the result's elements in memory", "one place for several", "a place for each")
    ]
    compiled = torch.compile(lambda x: x.expand(2, 3) + 1, backend=turned)
    compiled(x)
    result = depyf.compare(compiled, x, backends=QUICK)
    assert [(apart.path, apart.first, apart.second) for apart in result.python.apart] == [
        ("the result's strides", "(3, 1)", "(1, 2)")
    ]


def wrong(gm, inputs):
    """A backend whose results are those of the graph, and one."""
    return torch._dynamo.disable(lambda *given: tuple(value + 1 for value in gm(*given)))


def test_how_it_is_compiled_can_be_said():
    def f(x, factor):
        return x.sin() * factor

    def broken(x):
        torch._dynamo.graph_break()
        return x + 1

    x = torch.ones(3)
    assert depyf.compare(f, x, 2, backend="aot_eager", dynamic=True, fullgraph=True)
    result = depyf.compare(f, x, 2, backend=wrong)
    assert not result and result.python.apart and "the layer is the backend" in str(result)
    result = depyf.compare(broken, x, backend="eager", fullgraph=True)
    assert not result and "raises Unsupported" in str(result) and "raises nothing" in str(result)
    assert "no graph was compared" in str(result) and "nothing was compiled" not in str(result)
    assert depyf.compare(broken, x, backend="eager")
    assert depyf.compare(functools.partial(lambda x, mode: x + len(mode), mode="abc"), x, backend="aot_eager")
    with pytest.raises(depyf.DepyfError, match="compiled already"):
        depyf.compare(torch.compile(f), x, 2, fullgraph=True)
    with pytest.raises(depyf.DepyfError, match=r"torch\.compile refuses this"):
        depyf.compare(f, x, 2, mode="no such mode")


def test_results_that_are_arrays_of_numpy():
    """Each has its own memory, also where one is gone before the next is looked at."""
    numpy = pytest.importorskip("numpy")

    def f(a, x):
        b = numpy.sin(a) + numpy.linspace(0, 1, 4)
        return torch.from_numpy(b) * x, b, b + 1

    compiled = torch.compile(f, backend="eager")
    for _ in range(2):
        assert depyf.compare(compiled, numpy.ones(4), torch.ones(4), backends=QUICK)


def test_a_number_of_numpy_that_becomes_an_array():
    """Dynamo has no numbers of numpy: ``isinstance(result, numpy.floating)`` is another answer."""
    numpy = pytest.importorskip("numpy")
    result = depyf.compare(lambda a: numpy.sin(a).mean(), numpy.ones(4, numpy.float32), backends=QUICK)
    assert [(apart.path, apart.first, apart.second) for apart in result.python.apart] == [
        ("the result's class", "numpy.float32", "numpy.ndarray")
    ]


def test_what_two_runs_as_python_differ_in_is_no_difference():
    result = depyf.compare(lambda x: (x + 1, time.perf_counter_ns()), torch.ones(2), backends=QUICK)
    assert result and "not compared: the result[1], in which two runs as Python differ" in str(result), str(result)
    result = depyf.compare(lambda x: torch.empty(100_000).fill_(0).add_(x), torch.ones(1), backends=QUICK)
    assert result, str(result)


def test_a_result_that_is_conjugated():
    assert depyf.compare(lambda z: (z * 2j).conj(), torch.randn(4, dtype=torch.complex64), backends=QUICK)


def test_rounding_under_autocast():
    """Results in float32 that are computed in bfloat16 are rounded as those are; a wrong one is still found."""
    torch.manual_seed(0)
    layer, x = nn.Linear(8, 8), torch.randn(3, 8)

    def f(x):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return layer(x).relu()

    def halved(gm, inputs):
        return lambda *given: [value * 1.02 for value in gm(*given)]

    assert depyf.compare(f, x, backends=("eager", "inductor"))
    assert not depyf.compare(f, x, backends=("eager", torch._dynamo.disable(halved)))


def bottleneck():
    """What a normalization makes has the mean zero, and so has what a linear layer makes of that."""
    torch.manual_seed(0)
    layers = [nn.Conv2d(3, 16, 3, bias=False), nn.BatchNorm2d(16), nn.Conv2d(16, 32, 1, bias=False)]
    return nn.Sequential(*layers, nn.BatchNorm2d(32), nn.ReLU(), nn.Conv2d(32, 16, 1, bias=False), nn.BatchNorm2d(16))


def test_running_means_that_are_zero_but_for_rounding():
    net, x = bottleneck(), torch.randn(4, 3, 8, 8)
    compiled = torch.compile(net, backend="inductor")
    compiled(x)
    found = depyf.compare(compiled, x)
    assert found, str(found)
    assert found.python.entry and "self[3].running_mean" not in str(found)


def test_beside_numbers_of_another_kind_nothing_is_small():
    """Half of a result is wrong, and the gradients are large: each is measured by its own kind."""

    def made(result, gradient):
        images = (Image("tensor", torch.full((4,), value)) for value in (result, gradient))
        return CallOutcome(next(images), gradients={"x": next(images), "y": Image("tensor", torch.full((4,), 1e6))})

    def apart(second):
        return outcomes_apart(ReachedState([]), made(1.0, 1.0), second)

    assert may_be_rounding(apart(made(1.0, 1.5)))
    assert not may_be_rounding(apart(made(1.5, 1.0)))


class Scaled(nn.Module):
    def __init__(self):
        super().__init__()
        self.net, self.scale = bottleneck(), 1.0

    def forward(self, x):
        return self.net(x) * self.scale


def test_a_stale_entry_is_found_beside_rounding():
    """It is 5 % wrong, and an entry made anew differs by rounding alone."""
    model, x = Scaled(), torch.randn(4, 3, 8, 8)
    without = {"guard_filter_fn": lambda guards: ["scale" not in guard.name for guard in guards]}
    compiled = torch.compile(model, backend="inductor", options=without)
    compiled(x)
    assert depyf.compare(compiled, x)
    model.scale = 1.05
    found = depyf.compare(compiled, x)
    assert not found and "compiled anew the call does what Python does, up to rounding" in str(found), str(found)
    assert "no guard of the entry looks at self.scale" in str(found)


def test_a_wrong_running_mean_is_found_and_what_writes_to_it():
    """torch does not count the writes of ``batch_norm``."""

    def forgets(gm, inputs):
        for node in gm.graph.nodes:
            if node.target is nn.functional.batch_norm:
                node.args = (*node.args[:6], 0.2, *node.args[7:])
        gm.recompile()
        return gm

    net, x = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4)), torch.randn(4, 3, 8, 8)
    compiled = torch.compile(net, backend=forgets)
    compiled(x)
    found = depyf.compare(compiled, x)
    assert not found and "self[1].running_mean differs" in str(found), str(found)
    assert "(call_function batch_norm) writes to" in str(found)


def reshaped(x, size):
    y = x * 2
    return y.view(size, size)


def layer_of_other_sizes(x, layer):
    return layer(x) + 1


@pytest.mark.parametrize("backend", ("eager", "aot_eager"))
@pytest.mark.parametrize("before", (False, True))
@pytest.mark.parametrize(
    ("fn", "args"), ((reshaped, (torch.ones(4), 3)), (layer_of_other_sizes, (torch.ones(4), nn.Linear(5, 5))))
)
def test_an_error_that_torch_wraps_is_the_same(fn, args, before, backend):
    """Dynamo tries an operation with fake tensors, and raises an error of its own in place of Python's."""
    torch._dynamo.reset()
    compiled = torch.compile(fn, backend=backend)
    if before:
        with pytest.raises(RuntimeError, match="fake tensor"):
            compiled(*args)
    result = depyf.compare(compiled, *args, backends=QUICK)
    told = str(result)
    assert result and not result.python.apart, told
    assert "both raise RuntimeError: " in told and "which torch wraps in TorchRuntimeError" in told
    assert "no graph was compared" in told and "not compared" not in told
    assert "both raise RuntimeError" in result._repr_html_()


def test_a_wrapped_error_of_another_line_is_a_difference():
    def f(x):
        if not torch.compiler.is_compiling():
            return x.view(3, 3)
        return x.view(5, 5)

    result = depyf.compare(f, torch.ones(4), backends=QUICK)
    assert [apart.path for apart in result.python.apart] == ["the call"], str(result)


def test_what_python_does_before_a_wrapped_error_counts():
    def f(x, seen):
        seen.append(1)
        return x.view(3, 3)

    seen = []
    result = depyf.compare(f, torch.ones(4), seen, backends=QUICK)
    assert [apart.path for apart in result.python.apart] == ["seen[0]"], str(result)
    assert seen == []


def test_a_wrapped_error_that_no_handler_of_the_program_catches():
    """``except ValueError`` catches Python's error, and not torch's."""

    @torch.library.custom_op("depyf_compared::refuses", mutates_args=())
    def refuses(x: torch.Tensor) -> torch.Tensor:
        raise ValueError("no")

    @refuses.register_fake
    def _(x):
        raise ValueError("no")

    result = depyf.compare(lambda x: refuses(x) + 1, torch.ones(2), backends=QUICK)
    assert [apart.path for apart in result.python.apart] == ["the call"], str(result)


def test_settings_that_a_comparison_changes_are_put_back():
    def f(x):
        torch.set_default_dtype(torch.float64)
        torch.set_float32_matmul_precision("medium")
        return x + torch.ones(3)

    before = torch.get_default_dtype(), torch.get_float32_matmul_precision()
    result = depyf.compare(f, torch.ones(3), backends=QUICK)
    assert (torch.get_default_dtype(), torch.get_float32_matmul_precision()) == before
    assert result.first is not None and result.first.setting == "torch.get_default_dtype()", str(result)


class ScaledBy:
    def __init__(self):
        self.factor = 2

    def times(self, x):
        return x * self.factor


def test_a_bound_method_is_compiled_as_asked():
    result = depyf.compare(ScaledBy().times, torch.ones(2), backend="aot_eager", fullgraph=True)
    assert result and str(result).startswith("compiled against Python: the same"), str(result)
