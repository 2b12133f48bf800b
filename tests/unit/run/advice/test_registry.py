"""The registry of advice, without torch."""

from __future__ import annotations

import pytest

from depyf.run.advice.advice import AdviceUse, SwitchKind
from depyf.run.advice.for_breaks import IN_LINE, BreakFacts, for_break, for_failure, for_limit
from depyf.run.advice.registry import ADVICE, applicable, sentence, text_of, use
from depyf.run.guards.difference import INNER, MODULE, Difference, GuardSide
from depyf.run.guards.known_kinds import advice as advice_on
from depyf.run.installed_files import Owner
from depyf.run.uses.use_kinds import ValueUse


def ids(uses):
    return [use.id for use in uses]


def for_size(source, index, roles=(), found="5"):
    return advice_on((Difference("tensor", source, "size", index, found=GuardSide(found, "int"), roles=roles),))


def for_number(source, value, roles=()):
    return advice_on((Difference("value", source, wanted=GuardSide(value, "int"), roles=roles),))


def facts(reason, hint="", filename="/home/me/train.py", owner=Owner.PROGRAM, line="", explanation="", text="", **more):
    return BreakFacts(reason, explanation, (hint,) if hint else (), filename, owner, line, text, **more)


@pytest.mark.parametrize("advice", ADVICE.values(), ids=list(ADVICE))
def test_an_advice_is_whole(advice):
    assert advice.about and advice.text and (advice.changes or not advice.remedy)
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
    assert ids(for_number("G['N']", "3")) == ["global-as-tensor", "global-as-argument"]


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
    assert ids(for_break(facts(reason, hint, "/env/torch/optim/sgd.py", Owner.TORCH))) == ["torch-own"]
    (library,) = for_break(facts(reason, hint, "/env/site-packages/lightning/loop.py", Owner.LIBRARY))
    assert text_of(library) == "the line is one of lightning: there is nothing to change in the program"
    skipped = facts(
        "Attempted to inline function marked as skipped",
        "Apply `@torch._dynamo.dont_skip_tracing` to the function `Optimizer.zero_grad` to force tracing",
        explanation="Dynamo developers have intentionally marked that the function `Optimizer.zero_grad` should not be traced.",
    )
    assert ids(for_break(skipped)) == ["torch-own"], "with backward() in the same function it is backward-outside"


NUMBER = "Unsupported Tensor.item() call with capture_scalar_outputs=False"


@pytest.mark.parametrize(
    "uses, given",
    (
        ("branch", "branchless"),
        ("branch index log", "branchless"),
        ("loop", "loop-outside"),
        ("key", "index-tensor"),
        ("check log", "assert-tensor check-outside"),
        ("index", "capture-scalars pass-number"),
        ("size arithmetic", "capture-scalars pass-number"),
        ("arithmetic returned", "keep-tensor capture-scalars"),
        ("log", "log-after"),
        ("returned log", "read-after capture-scalars"),
        ("stored", "store-tensor capture-scalars"),
        ("", "unused-number capture-scalars"),
        ("unknown", "capture-scalars keep-tensor"),
    ),
)
def test_a_number_goes_by_its_uses(uses, given):
    known = frozenset(map(ValueUse, uses.split()))
    assert ids(for_break(facts(NUMBER, uses=lambda: known))) == given.split()


def test_no_file_of_a_library_is_edited():
    branch = lambda: frozenset((ValueUse.BRANCH,))
    library = "/env/site-packages/lightning/loop.py", Owner.LIBRARY
    assert ids(for_break(facts(NUMBER, "", *library, uses=branch))) == ["library-own"]
    size = lambda: frozenset((ValueUse.SIZE,))
    assert ids(for_break(facts(NUMBER, "", *library, uses=size))) == ["capture-scalars"]
    assert {id for id in IN_LINE if ADVICE[id].switch is not None} == set()


def test_what_the_program_calls_of_the_standard_library():
    """The line of ``logging`` or ``json`` that broke the graph is not the program's; its call of it is."""
    where = "/usr/lib/python3.11/logging/__init__.py", Owner.LIBRARY
    text = "  Developer debug context: method: logging.Logger.isEnabledFor, args: [], kwargs: {}\n"
    reason = "logging.Logger method not supported for non-export cases"
    given = for_break(facts(reason, "", *where, line='log.info("loss %.3f", loss.item())', text=text))
    assert text_of(given[0]).endswith("ignore_logging_functions.add(logging.Logger.info)")
    assert ids(given) == ["ignore-logging", "write-outside"]
    where = "/usr/lib/python3.11/json/encoder.py", Owner.LIBRARY
    called = facts("Attempted to call function marked as skipped", "", *where, expression="json.dumps(sizes)")
    assert [text_of(one) for one in for_break(called)] == ["call json.dumps outside of the compiled function"]


def test_what_is_all_torchs():
    """DistributedDataParallel: its context manager, by way of contextlib, and a method of its logger."""
    file = "/env/torch/nn/parallel/distributed.py"
    assert ids(for_break(facts("Something new", filename=file, owner=Owner.TORCH, only_libraries=True))) == [
        "torch-own"
    ]
    assert for_break(facts("Something new", filename=file, owner=Owner.TORCH)) == ()
    skipped = "Attempted to call function marked as skipped", "", "/lib/python3.11/contextlib.py", Owner.LIBRARY
    text = "  Developer debug context: module: torch.nn.parallel.distributed, qualname: DistributedDataParallel.f"
    assert ids(for_break(facts(*skipped, text=text, only_libraries=True))) == ["torch-own"]
    assert ids(for_break(facts(*skipped, only_libraries=True))) == ["library-own"]


def test_masks_and_questions():
    def given(explained, expression):
        reason = "Dynamic shape operator"
        hint = "with `torch._dynamo.config.capture_dynamic_output_shape_ops = True`"
        return ids(for_break(facts(reason, hint, explanation=explained, expression=expression)))

    both = ["keep-size", "capture-dynamic-shapes"]
    assert given("Operator `aten.nonzero.default`'s ...", "x[x > 3]") == both
    assert given("Operator `aten.masked_select.default`'s ...", "x.masked_select(m)") == both
    assert given("Operator `aten.nonzero.default`'s ...", "x.nonzero()[0]") == both[1:]
    assert given("Operator `aten.nonzero.default`'s ...", "torch.where(x)") == both[1:]
    assert given("Operator `aten._unique2.default`'s ...", "x.unique()") == both[1:]


def test_no_private_function_is_named():
    def called(explanation, expression, owner=Owner.PROGRAM):
        given = for_break(facts("Attempted to call function marked as skipped", explanation=explanation,
                                expression=expression, owner=owner))  # fmt: skip
        return [use.value("function") for use in given]

    assert called("Dynamo does not know function `torch._C._set_thing`", "set_thing(3)") == ["set_thing"]
    assert called("Dynamo does not know function `time.sleep`", "sleep(3)") == ["time.sleep"]


def test_limits_and_errors():
    assert text_of(for_limit(8)[0]) == "torch._dynamo.config.recompile_limit = 64"
    (marked,) = for_failure("ConstraintViolationError: Constraints violated (L['x'].size()[0])! For more information")
    assert marked.value("tensor") == "x"
    assert for_failure("BackendCompilerFailed: no compiler") == ()
