"""Which guard of those that failed made torch compile, on made-up records."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from depyf.run.causes.collect import causes_of
from depyf.run.causes.deciding import DecidingGuards
from depyf.run.guards.difference import Difference, GuardSide
from depyf.run.records import (
    CodeRecord,
    CompileKey,
    EntryRecord,
    FailedGuardRecord,
    FunctionRecord,
    RecompileRecord,
    RefusalRecord,
    SymbolRecord,
)
from depyf.run.run import Run
from depyf.views.pages.sections.recompilations import recompile_lines
from work import calls as calls_of

CODE = CodeRecord("f", "f", "train.py", 1, (), (), (), None, None, ())


def unlike(entry: str, guard: str, expected: str = "", actual: str = "") -> RecompileRecord:
    return RecompileRecord(entry, guard, None, expected, actual, ())


def grads(entry: str, expected: str, actual: str) -> RecompileRecord:
    return unlike(entry, f"tensor 'x' requires_grad mismatch. expected requires_grad={expected}", expected, actual)


def calls(entry: str, expected: str, actual: str) -> RecompileRecord:
    return unlike(entry, f"self.calls == {expected}", expected, actual)


def size(entry: str, expected: str, actual: str) -> RecompileRecord:
    return unlike(entry, f"tensor 'x' size mismatch at index 0. expected {expected}, actual {actual}", expected, actual)


def decided(*failed: tuple[RecompileRecord, ...], of: int = -1, symbols: tuple[SymbolRecord, ...] = ()) -> str:
    """The guard that made torch compile the entry ``of``, the last one where none is named.

    ``failed``: what failed for each entry; ``symbols``: those of the last but one.
    """
    entries = [EntryRecord(CompileKey(0, "0/0"), None, (), "live")]
    for number, records in enumerate(failed, 1):
        known = symbols if number == len(failed) - 1 else ()
        entries.append(EntryRecord(CompileKey(0, f"0/{number}"), None, (), "live", recompiles=records, symbols=known))
    return DecidingGuards(FunctionRecord((0, "0"), CODE, tuple(entries))).of(entries[of]).guard.split()[0]


def test_the_counter_decides_not_the_flag_that_sorts_the_entries() -> None:
    first = (grads("0/0", "False", "True"),)
    second = (grads("0/1", "True", "False"), calls("0/0", "0", "1"))
    third = (grads("0/2", "False", "True"), calls("0/1", "0", "1"), grads("0/0", "False", "True"))
    assert decided(first, second) == "self.calls"
    fourth = (grads("0/3", "True", "False"), calls("0/2", "1", "2"))
    assert decided(first, second, third, fourth, of=3) == "self.calls"
    assert decided(first, second, third, fourth) == "self.calls"


def test_what_most_entries_were_made_for_decides_where_little_is_known() -> None:
    """torch keeps one reason of the call that reached the limit: the entry nearest to it failed at a flag."""
    made = [(grads("0/0", "False", "True"),)]
    for number in range(1, 4):
        made.append((calls(f"0/{number}", str(number), str(number + 1)), grads(f"0/{number - 1}", "False", "True")))
    entries = [EntryRecord(CompileKey(0, f"0/{n}"), None, (), "live", recompiles=r) for n, r in enumerate(made, 1)]
    entries.append(EntryRecord(CompileKey(0, "0/0"), None, (), "live"))
    told = grads("0/4", "True", "False")
    refused = EntryRecord(CompileKey(0, "0/5"), None, (), "none", recompiles=(told,), failed="recompile_limit")
    function = FunctionRecord((0, "0"), CODE, (*entries, refused))
    assert DecidingGuards(function).of(refused).guard.startswith("self.calls")
    alone = FunctionRecord((0, "0"), CODE, (entries[-1], refused))
    assert DecidingGuards(alone).of(refused) is told


def test_the_flag_decides_where_its_value_is_new() -> None:
    assert decided((calls("0/0", "0", "1"),), (grads("0/1", "False", "True"), calls("0/0", "0", "1"))) == "tensor"


def missed(entry: str, *values: tuple[str, str, str]) -> RefusalRecord:
    """All that kept ``entry`` from running: (value, wanted, found)."""
    failed = []
    for name, wanted, found in values:
        sized = name in ("x", "y")
        one = Difference(
            "tensor" if sized else "value", f"L['{name}']", "size" if sized else "", 0 if sized else None,
            wanted=GuardSide(wanted, "int"), found=GuardSide(found, "int"),
        )  # fmt: skip
        failed.append(FailedGuardRecord(name, None, (one,)))
    return RefusalRecord(entry, tuple(failed))


@pytest.mark.parametrize(
    ("refusals", "guard"),
    [
        ((missed("0/1", ("calls", "1", "0"), ("x", "5", "7")), missed("0/0", ("x", "5", "7"))), "tensor"),
        ((missed("0/1", ("calls", "1", "0")), missed("0/0", ("x", "5", "7"), ("flag", "1", "2"))), "self.calls"),
        ((missed("0/1", ("calls", "1", "0"), ("mode", "1", "0")), missed("0/0", ("x", "5", "7"), ("y", "5", "7"))), "tensor"),
        ((missed("0/1", ("calls", "1", "0")),), "self.calls"),
    ],
)  # fmt: skip
def test_the_entry_that_lacked_the_least_decides(refusals: tuple[RefusalRecord, ...], guard: str) -> None:
    """A guard that an entry is asked first may be one of many that fail there; sizes that change alike are one."""
    made = [
        EntryRecord(CompileKey(0, "0/0"), None, (), "live"),
        EntryRecord(CompileKey(0, "0/1"), None, (), "live", recompiles=(calls("0/0", "0", "1"),)),
    ]
    failed = (calls("0/1", "1", "2"), size("0/0", "5", "7"))
    last = EntryRecord(CompileKey(0, "0/2"), None, (), "live", recompiles=failed, refusals=refusals)
    found = DecidingGuards(FunctionRecord((0, "0"), CODE, (*made, last))).of(last)
    assert found.guard.split()[0] == guard


SYMBOL = SymbolRecord("s0", "L['x'].size()[0]", "5", "", None)


@pytest.mark.parametrize(("symbols", "guard"), (((), "tensor"), ((SYMBOL,), "mode")))
def test_a_size_that_a_newer_entry_takes_as_a_symbol_does_not_decide(
    symbols: tuple[SymbolRecord, ...], guard: str
) -> None:
    first, second = (size("0/0", "3", "5"),), (unlike("0/1", "mode == 'a'", "a", "b"), size("0/0", "3", "8"))
    last = (unlike("0/2", "mode == 'b'", "b", "a"), unlike("0/1", "mode == 'b'", "b", "a"), size("0/0", "3", "7"))
    assert decided(first, second, last, symbols=symbols) == guard


def test_a_guard_without_values_comes_before_values_that_have_entries() -> None:
    state = "GLOBAL_STATE changed: grad_mode"
    first = (grads("0/0", "False", "True"),)
    assert decided(first, (grads("0/1", "True", "False"), unlike("0/0", state))) == "GLOBAL_STATE"


def test_the_nearest_of_equals_decides() -> None:
    assert decided((unlike("0/0", "a"),), (unlike("0/1", "b"), unlike("0/0", "a"))) == "b"


def counting(older: int, new: int) -> RecompileRecord:
    return calls(f"0/{older}", str(older), str(new))


def several_reasons(older: int, new: int) -> RecompileRecord:
    kinds = (
        counting,
        lambda older, new: size(f"0/{older}", str(older), str(new)),
        lambda older, new: unlike(f"0/{older}", f"mode == 'm{older}'", f"m{older}", f"m{new}"),
        lambda older, new: unlike(f"0/{older}", f"type_is(x, 'T{older}')", f"T{older}", f"T{new}"),
        lambda older, new: unlike(f"0/{older}", f"g{older} == 0", "0", "1"),
    )
    return kinds[older % len(kinds)](older, new)


@pytest.mark.parametrize("reason", (counting, several_reasons))
def test_the_work_grows_with_the_guards_that_failed(reason: Callable[[int, int], RecompileRecord]) -> None:
    """Each entry has one for each older entry, so that twice as many entries have four times as many."""

    def work(count: int) -> int:
        symbols = tuple(SymbolRecord(f"s{n}", f"L['y{n}'].size()[0]", "5", "", None) for n in range(8))
        entries = [EntryRecord(CompileKey(0, "0/0"), None, (), "live", symbols=symbols)]
        for new in range(1, count):
            failed = tuple(reason(older, new) for older in reversed(range(new)))
            key = CompileKey(0, f"0/{new}")
            entries.append(EntryRecord(key, None, (), "live", recompiles=failed, symbols=symbols))
        function = FunctionRecord((0, "0"), CODE, tuple(entries))
        run = Run("2.13", "3.11", (function,), (), ())

        def tell() -> None:
            causes_of(run)
            recompile_lines([(function, entry) for entry in entries[1:]], {})

        return calls_of(tell)

    assert work(64) < 4.5 * work(32)
    assert work(64) < 150 * (64 * 63 // 2)  # no guard is parsed for each
