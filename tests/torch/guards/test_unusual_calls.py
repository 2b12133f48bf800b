"""Asking about calls that are not a plain function of tensors: hooks, marks, callable objects, defaults, globals."""

from __future__ import annotations

import dataclasses
import functools
from collections import OrderedDict

import pytest

import depyf

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

LIMIT = [7]
COUNT = 3


@pytest.fixture(autouse=True)
def fresh():
    torch._dynamo.reset()


class Hooked(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = torch.nn.Linear(4, 4)
        self.register_forward_pre_hook(lambda module, args: (args[0] + 1,))
        self.register_forward_hook(lambda module, args, out: out * 3)

    def forward(self, x):
        return self.inner(x)


class Scaled:
    def __init__(self, scale):
        self.scale = scale

    def __call__(self, x):
        return x * self.scale


def agrees(compiled, replay, *args, **kwargs):
    found, wanted = replay(*args, **kwargs), compiled(*args, **kwargs)
    return torch.equal(found, wanted) and not replay.disagreements


def test_hooks_run_around_the_dispatched_forward():
    module = Hooked()
    compiled = torch.compile(module, backend="eager")
    x = torch.ones(2, 4)
    compiled(x)
    assert agrees(compiled, depyf.replay(compiled), x)
    assert "forward" not in vars(module)


def test_names_in_annotations_and_default_values(tmp_path):
    def inner(x: Scaled, y=LIMIT, *, z: Scaled = Scaled(2.0)):  # noqa: B008
        return x + y[0] * z.scale

    compiled = torch.compile(inner, backend="eager")
    with depyf.prepare_debug(tmp_path):
        compiled(torch.ones(3))
    assert agrees(compiled, depyf.replay(compiled), torch.ones(3))
    (page,) = tmp_path.glob("full_code_for_*.py")
    assert "# Default values: y=LIMIT, z=Scaled(2.0)" in page.read_text()


def test_a_callable_object():
    compiled = torch.compile(Scaled(2.0), backend="eager")
    compiled(torch.ones(3))
    assert agrees(compiled, depyf.replay(compiled), torch.ones(3))
    assert depyf.why(compiled, torch.ones(3)).runs is not None


def test_a_partial():
    def scaled(x, by, flag=None):
        return x * by if flag is None else x

    compiled = torch.compile(functools.partial(scaled, by=2), backend="eager")
    compiled(torch.ones(3))
    assert agrees(compiled, depyf.replay(compiled), torch.ones(3))
    assert depyf.why(compiled, torch.ones(3), flag=5).runs is None


def test_a_flag():
    def scaled(x, flag=None):
        return x * 2 if flag is None else x

    compiled = torch.compile(scaled, backend="eager")
    compiled(torch.ones(3))
    (refusal,) = depyf.why(compiled, torch.ones(3), flag=5).refusals
    assert (refusal.guard.expected, refusal.guard.actual) == ("None", "5")
    assert refusal.advice.startswith("one entry for calls without flag")


def test_marked_tensors():
    compiled = torch.compile(lambda x: x + x.shape[0], backend="eager")
    x = torch.ones(5, 2)
    torch._dynamo.mark_dynamic(x, 0)
    compiled(x)
    replay = depyf.replay(compiled)
    assert agrees(compiled, replay, x) and agrees(compiled, replay, torch.ones(9, 2))
    both = torch.ones(5, 2)
    torch._dynamo.mark_dynamic(both, [0, 1])
    why = depyf.why(compiled, both)
    if why.runs is None:  # not asked of such a tensor by every torch
        assert why.refusals[0].guard.expected == "marked dynamic in no other dimensions than {0}"
        assert why.refusals[0].guard.actual == "marked in {0, 1}"


def test_lengths_and_keys():
    def total(x, items, named):
        for item in items:
            x = x + item
        for name in named:
            x = x * named[name]
        return x

    compiled = torch.compile(total, backend="eager")
    compiled(torch.ones(2), [1, 2], {"a": 1})
    (refusal,) = depyf.why(compiled, torch.ones(2), [1, 2, 3], {"a": 1}).refusals
    assert refusal.differences[0].subject == "len(items) differs" and "keep len(items) the same" in refusal.advice
    (refusal,) = depyf.why(compiled, torch.ones(2), [1, 2], {"b": 1}).refusals
    assert "the same keys" in refusal.advice


def test_what_helps_against_a_changing_global(tmp_path):
    def scaled(x, values):
        for name in values:
            x = x + values[name]
        return x * COUNT

    def again(count, values):
        global COUNT
        COUNT = count
        compiled(torch.ones(2), values)

    compiled = torch.compile(scaled, backend="eager")
    with depyf.prepare_debug(tmp_path):
        again(3, {"a": 1})
        again(4, {"a": 1})
        again(3, {"a": 1, "b": 2})
    text = (tmp_path / "index.md").read_text()
    assert "pass the global COUNT as an argument" in text
    assert "`len(values) == 1`; expected 1, got 2" in text and "expected !=" not in text


def test_an_attribute_of_a_plain_object():
    class Steps:
        def __init__(self):
            self.count = 3

        def run(self, x):
            return x * self.count

    steps = Steps()
    compiled = torch.compile(steps.run, backend="eager")
    compiled(torch.ones(2))
    steps.count = 4
    (refusal,) = depyf.why(compiled, torch.ones(2)).refusals
    assert "torch.compile(dynamic=True)" in refusal.advice and "nn_module" not in refusal.advice
    counter = torch._dynamo.utils.counters["stats"]
    torch._dynamo.reset()
    compiled = torch.compile(steps.run, backend="eager", dynamic=True)
    compiled(torch.ones(2))
    before = counter["unique_graphs"]
    steps.count = 5
    compiled(torch.ones(2))
    assert counter["unique_graphs"] == before  # the advice is right


def test_texts_of_recompilations(tmp_path):
    compiled = torch.compile(lambda x: x * 2, backend="eager")
    with depyf.prepare_debug(tmp_path):
        with torch.inference_mode():
            made = torch.ones(2)
        with torch.no_grad():
            compiled(made)
            compiled(torch.ones(2))
        torch.compile(Scaled(2), backend="eager")(torch.ones(2))
    text = (tmp_path / "index.md").read_text()
    if "dispatch key set" in text:  # not told by every torch
        assert "DispatchKeySet" not in text and ", actual with " in text
    if "wrap_inline" in text:
        assert "torch's wrapper around a callable object" in text


def test_guards_that_torch_writes_in_other_ways():
    from depyf.sources.live.guards.printed_guards import parse_guards

    tree = """
TREE_GUARD_MANAGER:
+- RootGuardManager
| +- GuardManager: source=L['c'], accessed_by=FrameLocalsGuardAccessor(key='c', framelocals_idx=1)
| | +- TYPE_MATCH: ___check_type_id(L['c'], 94123456789012), type=<class 'mod.C'> (HINT: type C)
| | +- LAMBDA_GUARD: not math.isnan(L['c'].scale)
"""
    assert [guard.expression for guard in parse_guards(tree)] == [
        "type_is(L['c'], 'mod.C')",
        "not is_nan(L['c'].scale)",
    ]


def test_errors_are_no_ordinary_python(tmp_path):
    def whole(x):
        return x + 1 if x.sum() > 0 else x

    def broken(gm, inputs):
        raise ValueError("no such device")

    def scaled(x):
        return x * 2

    program = tmp_path / "program.py"  # here pytest would write more into the assertion, which Dynamo compiled then
    program.write_text("def checked(x):\n    y = x * 2\n    assert x.dim() == 1\n    return y\n")
    names = {}
    exec(compile(program.read_text(), str(program), "exec"), names)
    again = torch.compile(scaled, backend="eager")
    with depyf.prepare_debug(tmp_path / "dump"):
        with pytest.raises(Exception, match=r"(?i)data-dependent|dynamic control flow"):
            torch.compile(whole, backend="eager", fullgraph=True)(torch.ones(2))
        with pytest.raises(Exception, match="no such device"):
            torch.compile(lambda x: x + 3, backend=broken)(torch.ones(2))
        again(torch.ones(2))
        with torch._dynamo.config.patch(error_on_recompile=True), pytest.raises(Exception, match="Recompiling"):
            again(torch.ones(2).double())
        with pytest.raises(AssertionError):
            torch.compile(names["checked"], backend="eager")(torch.ones(2, 2))
    text = (tmp_path / "dump" / "index.md").read_text()
    raised = text.partition("## Failed: torch raised an error\n")[2].partition("\n## ")[0]
    assert "3 errors that torch raised instead of compiling" in text and "`checked`" not in raised
    assert "with `fullgraph=True` that is an error" in raised or "UserError: Dynamic control flow" in raised
    assert "the backend broken raised ValueError: no such device" in raised
    assert "Recompiling function scaled" in raised and "dtype mismatch. expected Float, actual Double" in text
    assert "asserted here is false while compiling" in text


def test_a_module_of_torch_that_is_compiled_in_place(tmp_path):
    module = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU())
    module.compile(backend="eager")
    with depyf.prepare_debug(tmp_path):
        module(torch.ones(1, 2))
    text = (tmp_path / "index.md").read_text()
    if "0 compilations" in text:  # as Dynamo has it
        assert "## Nothing was compiled" in text and "`torch.compile(module)` compiles it" in text
        assert "torch.compile(module) compiles it" in str(depyf.explain(module))
    torch._dynamo.reset()
    whole = torch.compile(torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU()), backend="eager")
    with depyf.prepare_debug(tmp_path / "whole"):
        whole(torch.ones(1, 2))
    text = (tmp_path / "whole" / "index.md").read_text()
    assert "1 compilation, 1 graph" in text and "Nothing was compiled" not in text


@dataclasses.dataclass
class Pair:
    first: torch.Tensor
    second: int = 0


def test_fields_of_a_dataclass():
    def replaced(x):
        return dataclasses.replace(Pair(x + 1, 2), second=3).first

    compiled = torch.compile(replaced, backend="eager")
    compiled(torch.ones(3))
    assert agrees(compiled, depyf.replay(compiled), torch.ones(3))


def test_a_guard_that_can_only_be_asked_of_its_type():
    compiled = torch.compile(lambda x, items: x + 1 if items else x - 1, backend="eager")
    compiled(torch.ones(3), [])
    (refusal,) = depyf.why(compiled, torch.ones(3), True).refusals
    assert (refusal.guard.expected, refusal.guard.actual) == ("type list", "type bool")


def test_one_object_or_two():
    compiled = torch.compile(lambda x, y: x + y, backend="eager")
    x = torch.ones(3)
    compiled(x, x)
    (refusal,) = depyf.why(compiled, x, torch.ones(3)).refusals
    assert refusal.differences[0].subject == "x and y are not one object"
    assert refusal.guard.actual == "two objects, Tensor float32[3] and Tensor float32[3]"
    assert "pass distinct tensors" in refusal.advice
    (refusal,) = depyf.why(compiled, x, 2).refusals
    assert refusal.guard.actual == "two objects, Tensor float32[3] and 2"


def test_a_number_whose_value_is_needed():
    def unrolled(x, n):
        while n > 0:
            x, n = x + n, n - 1
        return x

    compiled = torch.compile(unrolled, backend="eager")
    compiled(torch.ones(2), 2)
    assert "torch.compile(dynamic=True)" in depyf.why(compiled, torch.ones(2), 5).refusals[0].advice
    compiled(torch.ones(2), 3)
    assert all("one entry per value" in r.advice for r in depyf.why(compiled, torch.ones(2), 5).refusals)
    (refusal, *_) = depyf.why(compiled, torch.ones(2, dtype=torch.float64), 3).refusals
    assert "one dtype" in refusal.advice


def test_another_type_and_another_function():
    compiled = torch.compile(lambda x, y: x * y, backend="eager")
    compiled(torch.ones(2), 2)
    compiled(torch.ones(2), 3)
    refusal = depyf.why(compiled, torch.ones(2), 2.5).refusals[0]
    assert refusal.advice == "let y be an int in every call, or a float in every call"
    called = torch.compile(lambda x, fn: fn(x), backend="eager")
    called(torch.ones(2), lambda x: x + 1)
    (refusal,) = depyf.why(called, torch.ones(2), torch.sin).refusals
    assert refusal.guard.actual.startswith("another, builtin_function_or_method") and refusal.guard.actual.endswith(
        "sin"
    )


def test_recompiled_for_another_class_or_object(tmp_path):
    compiled = torch.compile(lambda x, y=None: x + 1 if y is None else x + y, backend="eager")
    x = torch.ones(3)
    with depyf.prepare_debug(tmp_path):
        compiled(x, x)
        compiled(x, torch.ones(3))
        compiled(torch.nn.Parameter(x), torch.ones(3))
    text = (tmp_path / "index.md").read_text()
    assert ("`x is y`" in text or "`y is x`" in text) and "got two objects" in text and "pass distinct tensors" in text
    if "tensor type" in text or "the class of the tensor" in text:  # in other words before torch 2.7
        assert "`the class of the tensor x`, got torch.nn.parameter.Parameter" in text
        assert "a Parameter and a Tensor are compiled apart" in text


def test_a_number_that_torch_could_not_make_dynamic(tmp_path):
    compiled = torch.compile(lambda x, dim: x.softmax(dim), backend="eager")
    with depyf.prepare_debug(tmp_path):
        compiled(torch.ones(2, 3), 1)
        compiled(torch.ones(2, 3), 0)
    text = (tmp_path / "index.md").read_text()
    if ", a constant" in (tmp_path / "shapes.md").read_text():  # not told by every torch
        assert "to avoid it: move what needs the value of dim out of the compiled function" in text


@pytest.mark.parametrize(
    ("reason", "explanation", "cause"),
    [
        ("Failed to trace builtin operator",
         "Dynamo does not know how to trace builtin operator `open` with argument types ['str'] (has_kwargs False)",
         "Dynamo does not know the builtin `open` for these arguments"),
        ("Unsupported context manager", "Dynamo does not know how to enter a `lock` context manager.",
         "Dynamo does not know the context manager `lock`"),
        ("Attempted to call function marked as skipped",
         "Dynamo does not know how to trace the builtin `_thread.allocate_lock.` This function is either a Python builtin",
         "Dynamo does not look into `_thread.allocate_lock` (a builtin, C or library function)"),
        ("Skip inlining `torch.compiler.disable()`d function",
         "Skip inlining function <function remote at 0xADDR> since it was wrapped with `torch.compiler.disable` (reason: slow)",
         "this function was excluded from compilation (slow)"),
        ("Skip calling `torch.compiler.disable()`d function",
         "Skip calling function `<function f at 0xADDR>` since it was wrapped with `torch.compiler.disable` (reason: None)",
         "this function was excluded from compilation by torch.compiler.disable"),
        ("logging.Logger method not supported for non-export cases",
         "logging.Logger methods are not supported for non-export cases.",
         "logging writes while the program runs; a compiled graph cannot"),
        ("'skip function graph_break in file /env/torch/_dynamo/decorators.py'", "", "the program asked for a graph break here"),
    ],
)  # fmt: skip
def test_causes_have_names(reason, explanation, cause):
    from depyf.sources.reports.graph_breaks import parse_break

    text = f"Graph break in user code at a.py:3\nGraph Break Reason: {reason}\n  Explanation: {explanation}\n"
    assert parse_break(text).cause == cause


def told(*args, **kwargs):
    return len(args) + len(kwargs)


def keywords_behind_a_break(x, args, kw):
    y = x.cos()
    n = told(*args, **kw)
    m = told(x, **kw)
    return y + n + m


@pytest.mark.parametrize(("kw", "texts"), [({}, ("(*args)", "told(x)")), ({"a": 1}, ('told(x, a=kw["a"])',))])
def test_keywords_are_written_as_such(tmp_path, monkeypatch, kw, texts):
    """Dynamo hands over a dict that it has made; an empty one says nothing."""
    monkeypatch.setitem(globals(), "told", torch._dynamo.disable(told))
    with depyf.prepare_debug(tmp_path):
        found = torch.compile(keywords_behind_a_break, backend="eager")(torch.ones(3), [1, 2], kw)
    assert torch.equal(found, torch.ones(3).cos() + 3 + 2 * len(kw))
    pages = [page.read_text() for page in sorted(tmp_path.glob("__transformed_code_*.py"))]
    assert all("EQUIVALENT (proven)" in page or "IDENTICAL (proven)" in page for page in pages)
    whole = "".join(pages)
    assert "**{" not in whole
    assert "entries" in whole or all(text in whole for text in texts), whole  # some torch keeps the dict in a variable


def every_item(d, x):
    for value in d.values():
        x = x * value
    return x


def test_a_dict_of_another_class_with_as_many_items(tmp_path):
    """torch guards a dict whose items are walked through by its class and its length at once."""
    torch._dynamo.reset()
    compiled = torch.compile(every_item, backend="eager")
    with depyf.prepare_debug(tmp_path):
        compiled({"a": 2}, torch.ones(3))
        told = str(depyf.why(compiled, OrderedDict(a=2), torch.ones(3)))
        compiled(OrderedDict(a=2), torch.ones(3))
    assert "expected type dict, actual type OrderedDict" in told and "as many items" not in told
    page = (tmp_path / "index.md").read_text()
    assert "the type of `d` changes (dict, OrderedDict)" in page and "an OrderedDict in every call" in page
    assert "TYPE_MISMATCH" not in page
