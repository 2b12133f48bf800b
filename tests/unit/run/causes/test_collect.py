"""Which events are one cause, and which cause comes first, on made-up records."""

from __future__ import annotations

from dataclasses import replace

from depyf.run.advice.registry import use
from depyf.run.causes.cause import Cause, CauseKind
from depyf.run.causes.collect import causes_of
from depyf.run.compile_stages import CAPTURED
from depyf.run.places.place import Place
from depyf.run.records import (
    BreakRecord,
    CallerRecord,
    CodeRecord,
    CompileKey,
    EntryRecord,
    FunctionRecord,
    GraphRecord,
    RecompileRecord,
    TransformedRecord,
)
from depyf.run.run import Run
from depyf.views.pages.print_style import TERMINAL
from depyf.views.pages.sections.fix_first import fix_first
from work import calls

COUNTER = Place("train.py", 45, "step", "step_no += 1")
READ = Place("train.py", 18, "forward", "if y.max().item() > 100:")
INSIDE = Place("/x/site-packages/torch/optim/optimizer.py", 79, "_use_grad", "graph_break()")


def code(name: str, line: int = 1, args: tuple[str, ...] = ()) -> CodeRecord:
    return CodeRecord(name, name, "train.py", line, (), args, (), None, None, ())


def counted(value: int, place: Place | None = COUNTER, source: str = "G['step_no']") -> RecompileRecord:
    return RecompileRecord(f"0/{value}", f"{source} == {value}", place, str(value), str(value + 1), ())


def broke(place: Place = READ, reason: str = "Tensor.item()", **more: object) -> BreakRecord:
    record = BreakRecord("", place, reason, "this reads a number", "", (), "", False, asked="Tensor.item")
    return replace(record, **more)  # type: ignore[arg-type]


def entry(key: str, **more: object) -> EntryRecord:
    return replace(EntryRecord(CompileKey(0, key), None, (), "live"), **more)  # type: ignore[arg-type]


def function(number: str, name: str, *entries: EntryRecord, **more: object) -> FunctionRecord:
    return replace(FunctionRecord((0, number), code(name), entries), **more)  # type: ignore[arg-type]


def causes(*functions: FunctionRecord, **more: object) -> tuple[Cause, ...]:
    return causes_of(replace(Run("2", "3", functions, (), ()), **more))  # type: ignore[arg-type]


def test_a_counter_is_one_cause_with_the_end_of_the_function() -> None:
    entries = [entry(f"0/{n}", recompiles=(counted(n - 1),)) for n in range(1, 8)]
    limit = entry("0/8", recompiles=(counted(7),), failed="the limit")
    (cause,) = causes(function("0", "step", entry("0/0", operations=12), *entries, limit))
    assert (
        cause.kind is CauseKind.RECOMPILES
        and cause.text == "the global counter `step_no` is a constant of the compiled code"
    )
    assert (cause.costs.compilations, cause.costs.python, cause.costs.operations) == (7, 1, 12)
    assert [key.text for key in cause.caused] == [f"0/{n}" for n in range(1, 8)]


def test_a_number_that_no_line_increases_is_told_with_its_values() -> None:
    read = replace(COUNTER, text="x * step_no")
    entries = [entry(f"0/{n}", recompiles=(counted(n - 1, read),)) for n in range(1, 8)]
    (cause,) = causes(function("0", "step", *entries))
    assert cause.text == "the global `step_no` is a constant of the compiled code (0, 1, 2, ...)"


def test_another_object() -> None:
    record = RecompileRecord("0/0", "same_object(self, 'torch.optim.adam.Adam')", COUNTER, "", "", ())
    (cause,) = causes(function("0", "step", entry("0/1", recompiles=(record,))))
    assert cause.text == "`self` is not the same object in every call"


def test_the_counters_of_all_layers_are_one() -> None:
    place = Place("train.py", 16, "forward", "self.calls += 1")
    sources = "L['self']._modules['h']._modules['0'].calls", "L['self']._modules['h']._modules['1'].calls"
    records = [entry(f"0/{n}", recompiles=(counted(n, place, source),)) for n, source in enumerate(sources, 1)]
    (cause,) = causes(function("0", "step", *records))
    assert cause.costs.compilations == 2 and cause.module == "h.0"


def test_a_break_is_one_in_every_frame_that_meets_it() -> None:
    found = causes(
        function("0", "step", entry("0/0", breaks=(broke(module="h.0"),)), entry("0/1", breaks=(broke(),))),
        function(
            "1", "GPT.forward", entry("1/0", breaks=(broke(skipped=True, in_loop=True),), failed="a break in a loop")
        ),
        function("2", "Block.forward", entry("2/0", breaks=(broke(),))),
    )
    (cause,) = found
    assert (cause.costs.breaks, cause.python, cause.module) == (2, ("GPT.forward",), "h.0")


def test_a_break_inside_a_call_comes_before_the_recompilations_of_what_was_called() -> None:
    again = [entry(f"1/{n}", recompiles=(counted(n - 1),)) for n in range(1, 8)]
    called = function("1", "Block.forward", entry("1/0", breaks=(broke(),)), *again)
    first, second = causes(function("0", "step", entry("0/0", breaks=(broke(),))), called)
    assert first.kind is CauseKind.BREAKS and second.costs.compilations == 7
    assert first.more == "torch compiles Block.forward alone only because of it, with 7 recompilations"
    first, second = causes(called, function("2", "step", entry("2/0", breaks=(broke(),))))
    assert first.kind is CauseKind.RECOMPILES and second.more == ""


def test_a_break_in_a_library_one_frame_further_out() -> None:
    call = Place("train.py", 49, "step", "opt.step()")
    inner = broke(INSIDE, "graph_break()", caller=call)
    (cause,) = causes(
        function("0", "step", entry("0/0", breaks=(inner,))), function("1", "Adam.step", entry("1/0", breaks=(inner,)))
    )
    assert cause.place == call and cause.inside == INSIDE


def test_what_torch_does_on_purpose_is_nothing_to_change_unless_nothing_was_compiled() -> None:
    inner = broke(INSIDE, "graph_break()", caller=READ, advice=(use("torch-own", of="optimizer"),))
    step = function("0", "AdamW.step", entry("0/0", breaks=(inner,)))
    (cause,) = causes(step, graphs=(GraphRecord(CompileKey(0, "0/0"), CAPTURED, 0, ""),))
    assert cause.needed and cause.of_torch
    assert fix_first([cause], style=TERMINAL) == [
        "Nothing. torch's own, nothing to change: 1 graph break in AdamW.step (train.py:18 `if y.max().item() > 100:`)"
    ]
    (cause,) = causes(step)
    assert not cause.needed and not cause.advice


def test_a_size_that_changes_for_several_functions_is_one() -> None:
    def changed(name: str) -> RecompileRecord:
        return RecompileRecord(
            "0/0", f"tensor '{name}' size mismatch at index 1. expected 16, actual 17", None, "16", "17", ()
        )

    (cause,) = causes(
        function("0", "step", entry("0/1", recompiles=(changed("x"),))),
        function("1", "forward", entry("1/1", recompiles=(changed("h"),))),
    )
    assert cause.text == "size 1 of `x` changes (16, 17)" and cause.functions == ("step", "forward")


def test_a_value_that_went_over_a_break_belongs_to_the_break() -> None:
    made = TransformedRecord(
        "def t(self, y):\n    item = y.item()\n    return __resume_at_4_1([], [], item, self)\n",
        True,
        "",
        (),
        (),
        ("__resume_at_4_1",),
    )
    rest = FunctionRecord(
        (0, "1"), code("resume", 18, ("a", "b", "___stack0", "self")),
        (entry("1/0"), entry("1/1", recompiles=(RecompileRecord("1/0", "___stack0 == 0.25", READ, "0.25", "0.5", ()),))),
        (0, "0"), ("__resume_at_4_1",),
    )  # fmt: skip
    (cause,) = causes(function("0", "forward", entry("0/0", breaks=(broke(),), transformed=made)), rest)
    assert cause.kind is CauseKind.BREAKS and cause.costs.compilations == 2
    assert cause.more == "the value of `y.max().item()`, which goes over the break, is a constant of the code after it"


def test_two_breaks_keep_what_goes_over_each() -> None:
    """The guard on the value of the first break is at the line of the second one."""
    clock = Place("train.py", 31, "f", "start = time.time()")
    first = TransformedRecord(
        "", True, "def g():\n    return __resume_at_4_1(time.time())\n", (), (), ("__resume_at_4_1",)
    )
    second = TransformedRecord(
        "", True, "def g():\n    return __resume_at_9_2(a, a.item())\n", (), (), ("__resume_at_9_2",)
    )
    name = "torch_dynamo_resume_in_f_at_"
    over = RecompileRecord("1/0", "___stack0 == 0.25", READ, "0.25", "0.5", ())
    after = RecompileRecord("2/0", "___stack0.sum == 1.0", replace(READ, line=12, filename="m.py"), "1.0", "2.0", ())
    early, late = causes(
        function("0", "f", entry("0/0", breaks=(broke(clock),), transformed=first)),
        FunctionRecord(
            (0, "1"), code(f"{name}31", 31, ("___stack0",)),
            (entry("1/0", breaks=(broke(),), transformed=second), entry("1/1", recompiles=(over,))),
            (0, "0"), ("__resume_at_4_1",),
        ),
        FunctionRecord(
            (0, "2"), code(f"{name}{READ.line}", READ.line, ("___stack0", "___stack1")),
            (entry("2/0"), entry("2/1", recompiles=(after,)), entry("2/2", recompiles=(after,))),
            (0, "1"), ("__resume_at_9_2",),
        ),
    )  # fmt: skip
    told = {cause.place: [key.text for key in cause.caused] for cause in (early, late)}
    assert told == {clock: ["1/0", "1/1"], READ: ["2/0", "2/1", "2/2"]}


def test_the_line_of_a_library_is_shown_as_the_call_of_the_program() -> None:
    call = Place("train.py", 60, "", "model(x)")
    record = RecompileRecord("0/0", "self.training == True", INSIDE, "True", "False", ())
    (cause,) = causes(
        function("0", "Linear.forward", entry("0/1", recompiles=(record,), callers=(CallerRecord(call),)))
    )
    assert cause.place == call and cause.inside == INSIDE


def test_failures_first_then_the_limit_then_breaks_then_recompilations() -> None:
    dear = replace(counted(1), place=replace(COUNTER, line=1))
    found = causes(
        function("0", "a", entry("0/1", recompiles=(counted(1),))),
        function("1", "b", entry("1/0", breaks=(broke(),))),
        function("2", "c", entry("2/1", recompiles=(dear,)), entry("2/2", recompiles=(dear,), failed="the limit")),
        function("3", "d", entry("3/0", failed="ValueError", raised=True, error="the backend raised ValueError")),
    )
    assert [cause.function for cause in found] == ["d", "c", "b", "a"]


def test_what_a_function_without_tensors_does_is_no_cause() -> None:
    assert causes(function("0", "f", entry("0/0", failed="there was nothing to compile in it"))) == ()


def test_a_cell_of_a_notebook_is_called_by_its_number() -> None:
    cell = Place("/tmp/ipykernel_1/2.py", 3, "step", "n += 1")
    run = function("0", "step", entry("0/1", recompiles=(counted(1, cell),)))
    (cause,) = causes(run, cells=(("/tmp/ipykernel_1/2.py", "In [4]"),))
    assert cause.place is not None and cause.place.filename == "In [4]"


def test_the_rest_of_a_function_is_not_the_whole() -> None:
    (cause,) = causes(function("0", "step", entry("0/0", breaks=(broke(cut=True),), operations=9)))
    assert cause.python == ("the rest of step",) and cause.costs.operations == 0


def test_a_key_that_is_there_in_some_calls() -> None:
    record = RecompileRecord(
        "0/0", "'use_cache' not in kwargs", None, "", "", (use("always-there", name="'use_cache' of kwargs"),)
    )
    (cause,) = causes(function("0", "f", entry("0/1", recompiles=(record,))))
    assert cause.text == "`kwargs` has `'use_cache'` in some calls, and not in others"
    assert [use.id for use in cause.advice] == ["always-there"]


def test_the_state_of_torch_is_at_the_call() -> None:
    call = Place("train.py", 60, "", "model(x)")
    record = RecompileRecord("0/0", "GLOBAL_STATE changed: grad_mode", None, "", "", ())
    (cause,) = causes(function("0", "GPT.forward", entry("0/1", recompiles=(record,), callers=(CallerRecord(call),))))
    assert (
        cause.place == call
        and cause.text == "not every call is made under the same torch.no_grad() / torch.enable_grad()"
    )


def test_the_work_grows_with_the_breaks() -> None:
    """Each looks for the rests of functions after it; comprehensions belong to the function around them."""

    def work(count: int) -> int:
        found = []
        for n in range(count):
            place = replace(READ, line=n)
            rest = f"__resume_at_{n}"
            made = TransformedRecord("", True, "", (), (), (rest,))
            found.append(
                function(f"{n}", f"f{n}", entry(f"{n}/0", breaks=(broke(place, f"reason {n}"),), transformed=made))
            )
            number = f"{count + n}"
            found.append(function(number, rest, entry(f"{number}/0"), resume_of=(0, f"{n}"), resume_names=(rest,)))
        return calls(lambda: causes(*found))

    assert work(80) < 2.2 * work(40)
