"""The registry of advice, without torch."""

from __future__ import annotations

import pytest

from depyf.run.advice.advice import AdviceUse, SwitchKind
from depyf.run.advice.for_breaks import BreakFacts, for_break, for_failure, for_limit
from depyf.run.advice.registry import ADVICE, applicable, sentence, text_of, use
from depyf.run.guards.difference import INNER, MODULE, Difference, GuardSide
from depyf.run.guards.known_kinds import advice as advice_on


def ids(uses):
    return [use.id for use in uses]


def for_size(source, index, roles=(), found="5"):
    return advice_on((Difference("tensor", source, "size", index, found=GuardSide(found, "int"), roles=roles),))


def for_number(source, value, roles=()):
    return advice_on((Difference("value", source, wanted=GuardSide(value, "int"), roles=roles),))


def facts(reason, hint="", filename="/home/me/train.py", of_library=False, line="", explanation=""):
    return BreakFacts(reason, explanation, (hint,) if hint else (), filename, of_library, line, "")


@pytest.mark.parametrize("advice", ADVICE.values(), ids=list(ADVICE))
def test_an_advice_is_whole(advice):
    assert advice.about and advice.text and advice.changes
    assert advice.id == advice.id.lower() and " " not in advice.id
    for harmful in ("trace_autograd_ops", "dont_skip_tracing", "report an issue", "file an issue"):
        assert harmful not in advice.text
    if advice.switch is not None and advice.switch.kind is SwitchKind.CONFIG:
        assert advice.switch.value in ("True", "False")


def test_text_is_filled_and_values_are_only_text():
    assert text_of(use("one-length", name="len({id})")).startswith("keep len({id}) the same")
    assert text_of(AdviceUse("of another depyf")) == "" and sentence([AdviceUse("unknown")]) == ""
    with pytest.raises(KeyError):
        use("mark-dynamic", tensor="x")


def test_no_mark_where_none_can_be_made():
    assert ids(for_size("L['x']", 0)) == ["mark-dynamic", "compile-dynamic"]
    assert ids(for_size("L['self']._parameters['w']", 0)) == ["dynamic-parameters"]
    assert ids(for_size("G['model']._modules['a']._buffers['b']", 0)) == ["dynamic-parameters"]
    assert ids(for_size("G['TABLE']", 0)) == ["compile-dynamic"]
    assert ids(for_size("z", 0, (INNER,))) == ["compile-dynamic"]
    assert ids(for_size("z", 0, (INNER,), "1")) == ["pad-size"]
    assert ids(for_size("L['cache'].layers[0].keys", 2)) == ["compile-dynamic"]
    assert ids(for_size("L['batch']['image']", 0)) == ["mark-dynamic", "compile-dynamic"]
    assert for_size("kwargs['ids']", 1)[0].value("tensor") == "ids"
    assert ids(for_number("G['N']", "3")) == ["global-as-argument"]


def test_what_is_switched_on_is_not_given():
    given = for_size("L['x']", 0)
    assert ids(applicable(given, frozenset({"assume_static_by_default"}))) == ["fixed-value"]
    number = for_number("L['self'].k", "3", (MODULE,))
    on = frozenset({"allow_unspec_int_on_nn_module"})
    assert ids(applicable(number, on)) == ["compile-dynamic", "tensor-in-module"]
    assert ids(applicable(number, on | {"assume_static_by_default"})) == ["tensor-in-module"]
    printed = for_break(facts("builtin: print"))
    assert ids(applicable(printed, frozenset({"reorderable_logging_functions:print"}))) == ["write-outside"]
    assert ids(applicable(printed, frozenset({"reorderable_logging_functions:warnings.warn"}))) == ids(printed)
    lacking = frozenset({"reorderable_logging_functions", "reorderable_logging_functions:"})
    assert ids(applicable(printed, lacking)) == ["write-outside"]


def test_hints_of_torch_are_not_passed_on():
    assert for_break(facts("Something new", "Set torch._dynamo.config.do_as_you_like = True")) == ()
    backward = facts("Unsupported Tensor.backward() call", "Set torch._dynamo.trace_autograd_ops=True")
    assert ids(for_break(backward)) == ["backward-outside"]
    hint = "Remove the `torch._dynamo.graph_break()` call."
    reason = "Call to `torch._dynamo.graph_break()`"
    assert ids(for_break(facts(reason, hint))) == ["no-graph-break"]
    assert for_break(facts(reason, hint, "/env/torch/optim/sgd.py", of_library=True)) == ()
    assert for_break(facts(reason, hint, "/env/lightning/loop.py", of_library=True)) == ()
    skipped = facts(
        "Attempted to inline function marked as skipped",
        "Apply `@torch._dynamo.dont_skip_tracing` to the function `Optimizer.zero_grad` to force tracing",
        explanation="Dynamo developers have intentionally marked that the function `Optimizer.zero_grad` should not be traced.",
    )
    assert ids(for_break(skipped)) == ["backward-outside"]


def test_limits_and_errors():
    assert text_of(for_limit(8)[0]) == "torch._dynamo.config.recompile_limit = 64"
    (marked,) = for_failure("ConstraintViolationError: Constraints violated (L['x'].size()[0])! For more information")
    assert marked.value("tensor") == "x"
    assert for_failure("BackendCompilerFailed: no compiler") == ()
