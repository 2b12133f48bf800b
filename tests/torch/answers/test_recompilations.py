"""What the index says about recompilations: the guard, both values, and advice that fits the cause."""

from __future__ import annotations

import collections
import sys

import pytest
import torch
from dumps import check_dump

import depyf
import depyf.testing
from depyf.api import prepare_debug
from depyf.run.advice.registry import sentence
from depyf.run.advice.source_names import named, root
from depyf.sources.live.events.call_values import CallValues
from depyf.sources.reports.recompiles import parse_recompile

pytestmark = pytest.mark.torch

MODE = 1


def advised(reason):
    """The advice on one reason in the manifest, in words."""
    return "; or ".join(advice["text"] for advice in reason["advice"])


class Layer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = 2
        self.seen = []
        self.drop = torch.nn.Dropout(0.0)

    def forward(self, x, names=(), gain=1.0, table=None):
        for name in names:
            x = x + len(name)
        if table is not None:
            x = x + len(table)
        return self.drop(x) * self.scale * MODE * gain + len(self.seen)


def reasons(directory):
    manifest = check_dump(directory)
    return [r for f in manifest["functions"] for e in f["entries"] for r in e["recompiled_because"][:1]]


@pytest.mark.parametrize(
    ("again", "expected", "actual", "words"),
    [
        (lambda layer, x: layer(x, ["a"]), "tuple", "list", "let names be a tuple in every call, or a list"),
        (lambda layer, x: layer(x, (), 2.5), "1.0", "2.5", "pass gain as a tensor"),
        (lambda layer, x: layer(x, (), 1.0, collections.OrderedDict()), "None", "a OrderedDict", "with it is needed"),
        (lambda layer, x: layer(torch.ones(1)), "3", "1", "sizes 0 and 1"),
    ],
)
def test_arguments(again, expected, actual, words, tmp_path):
    layer = torch.compile(Layer(), backend="eager")
    x = torch.ones(3)
    with prepare_debug(tmp_path):
        layer(x)
        again(layer, x)
    (reason,) = reasons(tmp_path)
    assert (reason["expected"], reason["actual"]) == (expected, actual)
    assert words in advised(reason), reason


def test_attributes_and_globals(tmp_path, monkeypatch):
    inner = Layer()
    layer = torch.compile(inner, backend="eager")
    x = torch.ones(3)
    with prepare_debug(tmp_path):
        layer(x)
        inner.scale = 3
        layer(x)
        inner.seen.append(1)
        layer(x)
        monkeypatch.setitem(globals(), "MODE", 7)
        layer(x)
        inner.eval()
        layer(x)
    found = reasons(tmp_path)
    if len(found) < 4 and sys.version_info[:3] == (3, 13, 0):
        pytest.skip("torch on Python 3.13.0 takes a module for unchanged, and runs what no longer fits")
    values = [(reason["expected"], reason["actual"]) for reason in found]
    assert ("2", "3") in values and ("1", "7") in values and ("True", "False") in values
    told = "\n".join(advised(reason) for reason in found)
    assert "allow_unspec_int_on_nn_module" in told and "pass the global MODE as an argument" in told
    assert "one entry for train() and one for eval()" in told
    assert ("no items", "1") in values and "keep len(self.seen) the same" in told


def test_a_dynamic_number_that_the_program_needs(tmp_path):
    def unrolled(x, n):
        for i in range(n):
            x = x + i
        return x

    compiled = torch.compile(unrolled, backend="eager", dynamic=True)
    with prepare_debug(tmp_path):
        compiled(torch.ones(3), 2)
        compiled(torch.ones(3), 3)
    (reason,) = reasons(tmp_path)
    assert (reason["expected"], reason["actual"]) == ("2", "3")
    assert advised(reason).startswith("move what needs the value of n out of") and "range(n)" in advised(reason)


def test_values_between_graph_breaks(tmp_path):
    """What the function itself has computed cannot be marked."""

    def broken(x, y):
        z = x.sin() + 1
        print(end="")
        return z * 2 + y

    compiled = torch.compile(broken, backend="eager")
    with prepare_debug(tmp_path):
        compiled(torch.ones(3), 1)
        compiled(torch.ones(4), 1)
    first, second = reasons(tmp_path)
    assert advised(first) == "torch._dynamo.mark_dynamic(x, 0) before the first call; or torch.compile(dynamic=True)"
    assert advised(second) == "torch.compile(dynamic=True)"


def test_recompile_limit_is_no_graph_break(tmp_path):
    def f(x, word):
        return x + len(word)

    compiled = torch.compile(f, backend="eager")
    limit = "recompile_limit" if hasattr(torch._dynamo.config, "recompile_limit") else "cache_size_limit"
    with torch._dynamo.config.patch({limit: 2}), prepare_debug(tmp_path):
        for word in ("a", "bb", "ccc"):
            compiled(torch.ones(2), word)
    index = (tmp_path / "index.md").read_text()
    assert "- 0 distinct graph breaks\n- 1 recompilation\n- 1 time a function ran" in index
    assert "## Graph breaks" not in index
    ran = index.partition("## Ran as ordinary Python")[2]
    assert "limit" in ran and "0/2 (not compiled again: it ran as ordinary Python):" in ran
    assert "expected 'bb', got 'ccc'" in ran


class Loop(torch.nn.Module):
    def forward(self, x):
        for i in range(2):
            x = x + 1
            print(end="", sep=str(i))
        return x


def test_a_skipped_method_has_its_whole_name(tmp_path):
    with prepare_debug(tmp_path):
        torch.compile(Loop(), backend="eager")(torch.ones(2))
    (function,) = [f for f in check_dump(tmp_path)["functions"] if f["function"].endswith("forward")]
    assert function["function"] == ("Loop.forward" if hasattr(Loop.forward.__code__, "co_qualname") else "forward")
    assert function["entries"][0]["compiled"] is False


def disabled(t):
    return t + 1


def test_disabled_but_what_it_calls(tmp_path):
    try:
        left_alone = torch.compiler.disable(disabled, recursive=False)
    except TypeError:
        pytest.skip("this torch has no disable(recursive=False)")
    with prepare_debug(tmp_path):
        torch.compile(lambda x: left_alone(x * 2) * 3, backend="eager")(torch.ones(2))
    index = (tmp_path / "index.md").read_text()
    assert "`disabled`" not in index or "excluded from compilation by torch.compiler.disable(recursive=False)" in index


def test_inference_tensors(tmp_path):
    compiled = torch.compile(lambda x: x + 1, backend="eager")
    with prepare_debug(tmp_path), torch.no_grad():
        compiled(torch.ones(3))
        with torch.inference_mode():
            inner = torch.ones(3)
        compiled(inner)
    (reason,) = reasons(tmp_path)
    assert "inference_mode" in advised(reason), reason


def test_reasons_without_a_call():
    found = parse_recompile('["0/1: len(L) == 3", "0/0: GLOBAL_STATE changed: grad_mode autocast(cpu)_enabled"]')
    assert [record.actual for record in found] == ["", ""]
    assert (
        sentence(found[1].advice)
        == "make every call under the same torch.no_grad() / torch.enable_grad() and the same torch.autocast"
    )
    (gone,) = parse_recompile("0/0: Cache line invalidated because L['___stack0'] got deallocated")
    assert "bound method" in sentence(gone.advice)
    (again,) = parse_recompile("0/0: Unexpected recompilation: runtime guards failed even though they passed")
    assert "another thread" in sentence(again.advice)


class Loud:
    """Everything that could run code of the user's raises."""

    def __getattr__(self, name):
        raise AssertionError(name)

    def __len__(self):
        raise AssertionError("len")

    def __eq__(self, other):
        raise AssertionError("==")

    __hash__ = None


def test_values_are_read_without_running_anything():
    call = CallValues({"x": torch.ones(6, 2), "loud": Loud(), "d": {"k": [1, 2.5]}, "n": "text"}, {"G0": (3,)})
    shown = {
        "x.size()[0]": "6",
        "x.size()[0] % 4": "2",
        "x.size()[0] // 0": "",
        "d['k'][1]": "2.5",
        "L['d']['k'][7]": "",
        "G['G0'][0]": "3",
        "len(d['k'])": "2",
        "len(loud)": "",
        "loud.a": "",
        "loud": "a Loud",
        "n": "'text'",
        "missing": "",
        "f(x)": "",
    }
    assert {source: call.shown(source) for source in shown} == shown


def test_advice_names():
    assert named("len(L['self']._modules['a'].items)") == "len(self.a.items)"
    assert root("G['x']") == "" and root("len(L['x'].y)") == "x" and root("x.size()[0]") == "x"


def test_why_and_testing_say_the_same():
    compiled = torch.compile(lambda x, k=1: x + k, backend="eager")
    compiled(torch.ones(3))
    with torch.inference_mode():
        inner = torch.ones(3)
    assert "sizes 0 and 1" in str(depyf.why(compiled, torch.ones(1)))
    assert "inference_mode" in str(depyf.why(compiled, inner))
    with pytest.raises(AssertionError) as failed, depyf.testing.assert_no_recompiles():
        compiled(torch.ones(3), 2)
    text = str(failed.value)
    assert text.count("because of ") == text.count(f"because of {__file__}:"), "a shortened file name"


class Inherited:
    @torch.compile(backend="eager")
    def scaled(s, x):
        return x * s.factor

    factor = 2


class Inheriting(Inherited):
    factor = 3


def test_what_a_value_is_counts_not_its_name(tmp_path):
    """The object of a method is that whatever the parameter is called; a number is one though it is called ``mode_stack``."""
    torch._dynamo.reset()

    def by_number(x, mode_stack):
        return x + 1 if mode_stack > 3 else x - 1

    def further(x, *items):
        return x + len(items)

    numbered = torch.compile(by_number, backend="eager", dynamic=True)
    variadic = torch.compile(further, backend="eager")
    with prepare_debug(tmp_path):
        Inherited().scaled(torch.ones(3))
        Inheriting().scaled(torch.ones(3))
        numbered(torch.ones(3), 5)
        numbered(torch.ones(3), 2)
        variadic(torch.ones(3), 1)
        variadic(torch.ones(3), 1, 2)
    found = [[advice["id"] for advice in reason["advice"]] for reason in reasons(tmp_path)]
    assert found == [["class-of-self"], ["condition"], ["same-arguments"]]


def test_what_torch_does_not_name_is_asked(tmp_path):
    """A guard on the base of a view raises for what is no view, and torch reports the error alone."""
    torch._dynamo.reset()
    compiled = torch.compile(lambda G: (G * 2).sum(), backend="eager")
    with prepare_debug(tmp_path):
        for shape in ((8, 3, 3, 3), (16, 8, 3, 3)):
            compiled(torch.ones(shape).view(shape[0], -1))
        compiled(torch.ones(32, 64))
    found = [(reason["guard"], reason["expected"]) for reason in reasons(tmp_path)]
    assert "NoneType" not in (tmp_path / "index.md").read_text()
    if "_base" in (tmp_path / "full_code_for_lambda_0.py").read_text():  # an older torch has no such guard
        assert ("G is a view", "a view of another tensor") in found, found
