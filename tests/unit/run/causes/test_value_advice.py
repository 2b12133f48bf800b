"""What would free a number, by what the function does with it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from depyf.run.advice.registry import use
from depyf.run.causes.guard_replay import failed_in
from depyf.run.causes.program_questions import pinned_below
from depyf.run.causes.value_advice import ValueAdvice, without_tensors
from depyf.run.causes.ways_out import FunctionReplay, WayOut, ways_out
from depyf.run.guards.difference import MODULE, Difference, GuardSide
from depyf.run.places.place import Place
from depyf.run.records import (
    CallerRecord,
    CodeRecord,
    CompileKey,
    EntryRecord,
    FailedGuardRecord,
    FunctionRecord,
    GuardRecord,
    RecompileRecord,
    RefusalRecord,
    SymbolRecord,
    TransformedRecord,
)

TENSOR = "check_tensor(L['table'], 'Tensor', torch.float32, size=[4], stride=[1], requires_grad=False)"


def advised(source: str, guards: tuple[str, ...] = ()) -> list[str]:
    records = tuple(GuardRecord("", text, text) for text in guards)
    entry = EntryRecord(CompileKey(0, "0/1"), None, records, "live")
    code = CodeRecord("f", "f", "net.py", 1, (), (), (), None, None, (), source=source)
    found = Difference(
        "value", "L['self'].k", wanted=GuardSide("2", "int"), found=GuardSide("3", "int"), roles=(MODULE,)
    )
    (failed,) = failed_in([FailedGuardRecord("self.k == 2", Place("net.py", 2, "f", "x"), (found,))])
    return [use.id for use in ValueAdvice(FunctionRecord((0, "0"), code, ()), entry).on(failed)]


@pytest.mark.parametrize(
    "body",
    [
        "cache[self.k] = x",
        "return cache[self.k + 1]",
        "for _ in range(self.k): x = x + 1",
        "k = self.k\n    return cache[k]",
    ],
)
def test_what_must_be_known_while_compiling_is_no_symbol(body: str) -> None:
    assert advised(f"def f(self, x, cache):\n    {body}\n") == ["needed-value"]


@pytest.mark.parametrize(
    "body, others", [("return x * self.k", ["tensor-in-module"]), ("return x.view(self.k, -1)", [])]
)
def test_what_is_computed_with_may_be_a_symbol(body: str, others: list[str]) -> None:
    """A size that is in a tensor has to be read out of it."""
    assert advised(f"def f(self, x):\n    {body}\n") == ["unspecialised-int", *others]


@pytest.mark.parametrize(
    "body", ["return x + 1 if self.k > 3 else x", "if self.k == 0: print(x.shape)", "if self.k > 9: raise ValueError"]
)
def test_a_number_that_decides_a_branch_is_no_tensor(body: str) -> None:
    assert advised(f"def f(self, x):\n    {body}\n") == ["unspecialised-int"]


@pytest.mark.parametrize(
    ("body", "predicted"),
    [
        ("return x * self.k", "3 compilations -> 2, predicted"),
        ("return x + 1 if self.k > 3 else x", "3 compilations -> 2 or more, predicted"),
    ],
)
def test_nothing_is_known_of_a_symbol_that_decides(body: str, predicted: str) -> None:
    """No entry shows which side of the branch another value takes."""
    entries = []
    for number in range(3):
        refusals = []
        for earlier in range(number):
            values = GuardSide(str(earlier + 2), "int"), GuardSide(str(number + 2), "int")
            found = Difference("value", "L['self'].k", wanted=values[0], found=values[1], roles=(MODULE,))
            failed = FailedGuardRecord("self.k", Place("net.py", 2, "f", "x"), (found,))
            refusals.append(RefusalRecord(f"0/{earlier}", (failed,)))
        transformed = TransformedRecord("", True, "", (), (), ())
        key = CompileKey(0, f"0/{number}")
        entries.append(EntryRecord(key, transformed, (), "live", refusals=tuple(refusals)))
    source = f"def f(self, x):\n    {body}\n"
    code = CodeRecord("f", "f", "net.py", 1, (), (), (), None, None, (), source=source)
    replay = FunctionReplay(FunctionRecord((0, "0"), code, tuple(entries)))
    assert [way.predicted for way in ways_out([replay], replay.advice)][:1] == [predicted]


def test_an_index_of_a_tensor_may_be_a_symbol() -> None:
    source = "def f(self, table):\n    return table[self.k]\n"
    assert advised(source) == ["needed-value"]
    assert advised(source, (TENSOR,)) == ["unspecialised-int", "tensor-in-module"]


def test_values_that_are_a_part_of_code_are_not_joined_in_it() -> None:
    marks = tuple(use("mark-dynamic", tensor="x", dimension=str(number)) for number in (1, 2))
    assert "mark_dynamic(x, 1) and torch._dynamo.mark_dynamic(x, 2) before" in WayOut(marks).text
    tensors = tuple(use("contiguous", tensor=name) for name in "xyz")
    several = "pass x.contiguous(), y.contiguous() and z.contiguous(), or tensors of one memory layout"
    assert WayOut(tensors).text == several
    numbers = tuple(use("tensor-in-module", name=name) for name in ("self.a", "self.b"))
    assert WayOut(numbers).text == "keep self.a and self.b as a tensor (register_buffer)"


SIZE = Difference("tensor", "L['x']", "size", 0, wanted=GuardSide("4", "int"), found=GuardSide("5", "int"))


def test_a_size_that_a_callee_makes_a_constant_is_not_marked() -> None:
    """torch raises an error where it makes a constant of a size of a marked tensor, in whichever function."""
    code = CodeRecord("f", "f", "net.py", 1, (), ("x",), (), None, None, (), source="def f(x):\n    return g(x)\n")
    failed = FailedGuardRecord("", Place("net.py", 2, "f", "x"), (SIZE,))
    made = TransformedRecord("", True, "", (), (), ())
    first = EntryRecord(CompileKey(0, "0/0"), made, (), "live")
    second = EntryRecord(CompileKey(0, "0/1"), made, (), "live", refusals=(RefusalRecord("0/0", (failed,)),))
    caller = FunctionRecord((0, "0"), code, (first, second))

    def ways(became: str) -> list[str]:
        symbol = SymbolRecord("s0", "L['y'].size()[0]", "5", "[2, int_oo]", None, became=became)
        called = (CallerRecord(Place("net.py", 2, "f", ""), caller.function),)
        entry = EntryRecord(CompileKey(0, "1/0"), made, (), "live", symbols=(symbol,), callers=called)
        callee = FunctionRecord((0, "1"), replace(code, name="g", qualname="g"), (entry,))
        replay = FunctionReplay(caller, pinned_below((caller, callee)).get(caller.function, frozenset()))
        return [way.text for way in ways_out([replay], replay.advice)]

    marked = "torch._dynamo.mark_dynamic(x, 0) before the first call"
    assert ways("") == ways("77") == [marked, "torch.compile(dynamic=True)"]
    assert ways("5") == ["torch.compile(dynamic=True)"]


def on_a_size(source: str, callers: tuple[CallerRecord, ...] = (), decorated: Place | None = None) -> list[str]:
    entry = EntryRecord(CompileKey(0, "0/1"), None, (), "live", callers=callers)
    code = CodeRecord("f", "f", "net.py", 1, (), ("x",), (), "rest", None, (), decorated=decorated)
    (failed,) = failed_in([FailedGuardRecord("", Place("net.py", 2, "f", "x"), (replace(SIZE, source=source),))])
    return [use.id for use in ValueAdvice(FunctionRecord((0, "0"), code, ()), entry).on(failed)]


def test_only_what_the_program_passes_is_marked() -> None:
    """A library that calls its own function, and a decorator that passes on what it got, have the tensor alone."""
    program = CallerRecord(Place("train.py", 3, "main", "f(x)"))
    library = CallerRecord(Place("/lib/site-packages/lib/model.py", 3, "Model.forward", "loss(x)"), (0, "1"))
    seen = CallerRecord(Place("train.py", 3, "step", "f(x)"), (0, "1"))
    both = ["mark-dynamic", "compile-dynamic"]
    for callers in ((), (program,), (seen,), (library, program)):
        assert on_a_size("L['x']", callers) == both
    assert on_a_size("L['x']", (program, library)) == ["compile-dynamic"]
    inner = Place("net.py", 7, "Net.forward")
    assert on_a_size("L['rest'][0]") == both
    assert on_a_size("L['rest'][0]", decorated=inner) == ["compile-dynamic"]
    assert on_a_size("L['x']", decorated=inner) == both


@pytest.mark.parametrize(
    ("body", "left"),
    [("return x * step", ["number-as-tensor"]), ("return x + 1 if step % 2 == 0 else x", [])],
)
def test_no_page_advises_a_tensor_for_a_number_that_decides(body: str, left: list[str]) -> None:
    """Where the refusals are not known, the records of recompilations are all that is told."""
    code = CodeRecord(
        "f", "f", "net.py", 1, (), ("x", "step"), (), None, None, (), source=f"def f(x, step):\n    {body}\n"
    )
    found = Difference("value", "L['step']", wanted=GuardSide("1", "int"), found=GuardSide("2", "int"))
    given = (use("compile-dynamic"), use("number-as-tensor", name="step"))
    record = RecompileRecord("0/0", "step == 1", Place("net.py", 2, "f", body), "1", "2", given, (found,))
    (entry,) = without_tensors([EntryRecord(CompileKey(0, "0/1"), None, (), "live", recompiles=(record,))], code)
    assert [one.id for one in entry.recompiles[0].advice] == ["compile-dynamic", *left]
