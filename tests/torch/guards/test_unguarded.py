"""``explain(f).unguarded``: what may change without a recompilation.  Each value that is named is changed: the entry still
runs; each that is not named is changed, too: it does not."""

from __future__ import annotations

import math
import random
import sys
import types

import pytest
import torch
from torch import nn

import depyf
from depyf.run.store.loading import load

pytestmark = pytest.mark.torch
SCALE = 2.0
TABLE = {"k": 3, "other": 4}


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, 2)
        self.factor, self.options, self.unused = 2, {"k": 3}, 5

    def forward(self, x):
        y = self.layer(x) * self.factor * SCALE + self.options["k"]
        if self.factor > 100:
            return y * self.unused
        return y * math.pi


def none(guards):
    return [False] * len(guards)


def without(*parts):
    return lambda guards: [not any(part in guard.name for part in parts) for guard in guards]


def asked(keep):
    torch._dynamo.reset()
    model, count = Net(), []

    def backend(gm, inputs):
        count.append(gm)
        return gm

    options = {"guard_filter_fn": keep} if keep else None
    compiled = torch.compile(model, backend=backend, **({"options": options} if options else {}))
    compiled(torch.ones(1, 2))
    return model, compiled, count, depyf.explain(compiled).unguarded


CHANGES = {
    "self.factor": lambda model: setattr(model, "factor", 3),
    "self.options['k']": lambda model: model.options.update(k=7),
    "SCALE": lambda model: globals().update(SCALE=9.0),
}


@pytest.mark.parametrize("keep", (None, none, without("factor"), without("SCALE", "options")))
def test_what_is_named_is_not_looked_at_and_the_rest_is(keep, monkeypatch):
    monkeypatch.setitem(globals(), "SCALE", 2.0)
    names = {value.name for value in asked(keep)[3]}
    assert "self.unused" not in names, "a line that the call does not come to"
    for name, change in CHANGES.items():
        globals()["SCALE"] = 2.0
        model, compiled, count, _ = asked(keep)
        change(model)
        compiled(torch.ones(1, 2))
        assert (len(count) == 1) is (name in names), name


def test_why_and_where():
    found = {value.name: value for value in asked(without("factor"))[3]}
    by = f"guard_filter_fn <lambda> (test_unguarded.py:{without.__code__.co_firstlineno + 1})"
    assert found["self.factor"].why == f"{by} left its guard out"
    assert found["self.factor"].place.text.startswith("y = self.layer(x)") and found["self.factor"].entries == ("0/0",)
    assert "skip_nnmodule_hook_guards is True" in found["the hooks of self and 1 more module"].why


class Holder:
    pass


HOLDER = Holder()
HOLDER.table = TABLE
HOLDER.inner = HOLDER.outer = Holder()
HOLDER.inner.n = 2


def test_a_value_that_is_guarded_by_another_name(monkeypatch):
    """Guards say that both names are of one object, and look at its parts by one of them."""
    torch._dynamo.reset()

    @torch.compile(backend="eager")
    def f(x):
        return x * TABLE["k"] + HOLDER.table["k"] + HOLDER.inner.n + HOLDER.outer.n

    x = torch.ones(2)
    f(x)
    assert depyf.explain(f).unguarded == ()
    for change in (
        lambda: monkeypatch.setitem(TABLE, "k", 7),
        lambda: monkeypatch.setattr(HOLDER, "table", {"k": 9}),
        lambda: monkeypatch.setattr(HOLDER.outer, "n", 11),
        lambda: monkeypatch.setattr(HOLDER, "outer", types.SimpleNamespace(n=13)),
    ):
        change()
        assert depyf.why(f, x).runs is None
        assert f(x).equal(x * TABLE["k"] + HOLDER.table["k"] + HOLDER.inner.n + HOLDER.outer.n)


@pytest.mark.parametrize("built_in", (False, True), ids=("a file", "built in"))
def test_a_closure_and_a_constant_of_a_library(built_in, monkeypatch):
    if built_in:  # as in a Python that is linked so: a module of the interpreter has no file
        monkeypatch.delattr(math, "__file__", raising=False)
        monkeypatch.setattr(sys, "builtin_module_names", (*sys.builtin_module_names, "math"))
    torch._dynamo.reset()
    factor = 2

    def scaled(x):
        return x * factor * math.pi * TABLE["k"]

    compiled = torch.compile(scaled, backend="eager", options={"guard_filter_fn": none})
    compiled(torch.ones(2))
    report = depyf.explain(compiled)
    by_filter = f"guard_filter_fn none (test_unguarded.py:{none.__code__.co_firstlineno}) left its guard out"
    assert {value.name: value.why for value in report.unguarded} == {
        "factor": by_filter,
        "math.pi": "a constant of the library math",
        "TABLE['k']": by_filter,
    }
    assert "no guard on factor (test_unguarded.py:" in str(report)
    assert [value["name"] for value in report.to_json()["unguarded"]] == [value.name for value in report.unguarded]


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale, self.gain = 2.0, 3.0

    def forward(self, x):
        return self.louder(x) * self.scale

    def louder(self, x):
        return x * self.gain


class Outer(nn.Module):
    bias = 4.0

    def __init__(self):
        super().__init__()
        self.block, self.blocks = Block(), nn.ModuleList([Block()])

    def forward(self, x):
        return doubled(self.block(x)) + self.bias + self.blocks[0](x)


FACTOR = 2.0


def doubled(x):
    return x * FACTOR


@torch._dynamo.disable
def apart(x):
    return x * SCALE


CALLED = {
    "self.block.scale": lambda model: setattr(model.block, "scale", 9.0),
    "self.block.gain": lambda model: setattr(model.block, "gain", 9.0),
    "FACTOR": lambda model: globals().update(FACTOR=9.0),
    "self.bias": lambda model: setattr(model, "bias", 9.0),
}


@pytest.mark.parametrize("keep", (None, none, without("gain", "FACTOR"), without("scale")))
def test_of_functions_methods_and_modules_that_are_called(keep, monkeypatch):
    monkeypatch.setitem(globals(), "FACTOR", 2.0)

    def fresh():
        torch._dynamo.reset()
        globals()["FACTOR"] = 2.0
        model, count = Outer(), []
        options = {"options": {"guard_filter_fn": keep}} if keep else {}
        compiled = torch.compile(model, backend=lambda gm, _: count.append(gm) or gm.forward, **options)
        compiled(torch.ones(2))
        return model, compiled, count

    report = depyf.explain(fresh()[1])
    names = {value.name for value in report.unguarded if not value.name.startswith("the hooks")}
    assert names <= CALLED.keys()
    for name, change in CALLED.items():
        model, compiled, count = fresh()
        change(model)
        compiled(torch.ones(2))
        assert (len(count) == 1) is (name in names), name


def test_the_line_is_that_of_the_callee():
    torch._dynamo.reset()
    compiled = torch.compile(Outer(), backend="eager", options={"guard_filter_fn": none})
    compiled(torch.ones(2))
    found = {value.name: value.place for value in depyf.explain(compiled).unguarded}
    assert found["FACTOR"].function == "doubled" and found["FACTOR"].text == "return x * FACTOR"
    assert found["self.block.gain"].function == "louder"


def test_what_the_rest_after_a_break_looks_at_is_guarded():
    def broken(x):
        y = x + TABLE["k"]
        torch._dynamo.graph_break()
        return apart(y) * SCALE

    torch._dynamo.reset()
    compiled = torch.compile(broken, backend="eager")
    compiled(torch.ones(2))
    assert depyf.explain(compiled).unguarded == ()


def test_a_module_of_the_program_is_no_library(monkeypatch):
    settings = types.ModuleType("settings")
    settings.__file__, settings.K = "/home/someone/settings.py", 3.0
    monkeypatch.setitem(globals(), "settings", settings)

    def scaled(x):
        return x * settings.K

    torch._dynamo.reset()
    compiled = torch.compile(scaled, backend="eager", options={"guard_filter_fn": none})
    compiled(torch.ones(2))
    (found,) = depyf.explain(compiled).unguarded
    assert found.name == "settings.K" and found.why.endswith("left its guard out")


class Holder:
    def __init__(self):
        self.left, self.right = object(), object()
        self.current = self.left


class Chooses(nn.Module):
    def __init__(self):
        super().__init__()
        self.holder, self.kind = Holder(), None

    def forward(self, x):
        if self.kind is None:
            x = x + 1
        return self.chosen(x)

    def chosen(self, x):
        if self.holder.current is self.holder.left:
            return x * 2
        return x * 3


def test_a_comparison_of_objects_that_torch_decided():
    """pytorch#196173: no guard wants the same objects."""

    def chosen(holder, x):
        y = x + 1
        return y * 2 if holder.current is holder.left else y * 3

    for fn, args, name, line in (
        (chosen, (Holder(), torch.ones(2)), "holder.current is holder.left", "return y * 2 if"),
        (Chooses(), (torch.ones(2),), "self.holder.current is self.holder.left", "if self.holder.current is"),
    ):
        torch._dynamo.reset()
        compiled = torch.compile(fn, backend="eager")
        before = compiled(*args)
        holder = fn.holder if isinstance(fn, nn.Module) else args[0]
        values = [value for value in depyf.explain(compiled).unguarded if " is " in value.name]
        holder.current = holder.right
        if not torch.equal(before, compiled(*args)):  # a later torch
            assert values == []
            continue
        assert [value.name for value in values] == [name] and values[0].place.text.startswith(line)
        assert values[0].why == "torch decided it when it compiled, and guards neither object"


def test_comparisons_that_guards_pin_are_not_named():
    def same(a, b, kind, flag):
        first = a if kind is flag else b
        return first * 2 if a is b else first * 3

    torch._dynamo.reset()
    compiled = torch.compile(same, backend="eager")
    one = torch.ones(2)
    compiled(one, one, None, True)
    assert [value for value in depyf.explain(compiled).unguarded if " is " in value.name] == []


dice = random.Random(3)


def thrown(x, mine):
    return x * dice.random() + mine.randint(1, 6)


def test_the_state_of_random_numbers():
    """torch copies the state when it compiles: each call draws the same numbers, where Python draws others."""
    torch._dynamo.reset()
    compiled, mine = torch.compile(thrown, backend="eager"), random.Random(4)
    first = compiled(torch.ones(1), mine)
    same = torch.equal(compiled(torch.ones(1), mine), first)
    names = [one.name for one in depyf.explain(compiled).unguarded]
    assert ("the state of dice" in names) is same, names
    if not same:  # since 2.15 each call draws from the object itself
        assert depyf.compare(compiled, torch.ones(1), mine)
        return
    assert "the state of dice" in names, names
    told = str(depyf.compare(compiled, torch.ones(1), mine))
    assert "the layer is the guards" in told and "no guard of the entry looks at the state of dice" in told, told


def test_a_method_that_torch_does_not_trace_draws_in_every_call():
    def f(x):
        y = x + 1
        return y * dice.gauss(0, 1)

    torch._dynamo.reset()
    compiled = torch.compile(f, backend="eager")
    compiled(torch.ones(1))
    assert not depyf.explain(compiled).unguarded


def test_the_page_has_them_beside_the_guards(tmp_path):
    """The same words as ``explain``, for each entry; what a filter left out is told with the guard."""

    def chosen(holder, x):
        y = x * SCALE * math.pi
        return y * 2 if holder.current is holder.left else y * 3

    def dumped(name, keep=None):
        torch._dynamo.reset()
        options = {"options": {"guard_filter_fn": keep}} if keep else {}
        compiled = torch.compile(chosen, backend="eager", **options)
        with depyf.prepare_debug(tmp_path / name):
            compiled(Holder(), torch.ones(2))
        page = (tmp_path / name / "full_code_for_chosen_0.py").read_text()
        return compiled, page, (tmp_path / name / "index.md").read_text()

    compiled, page, index = dumped("plain")
    found = depyf.explain(compiled).unguarded
    if not found:
        pytest.skip("this torch guards the objects")
    head = "# No guard looks at these: they may change, and this entry runs all the same.\n"
    assert head + "".join(f"#   {value}\n" for value in found) in page
    assert "## Values without a guard" in index and "`holder.current is holder.left`" in index
    assert load(tmp_path / "plain").functions[0].entries[0].unguarded == tuple(one.value for one in found)
    _, page, index = dumped("filtered", none)
    assert "SCALE == 2.0" in page and "SCALE (" not in page, "once, with the guard that was left out"
    assert "math.pi (test_unguarded.py:" in page and "a constant of the library math" in page
    assert "a constant of the library" not in index
