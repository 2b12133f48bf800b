"""What is left of the compilations of a function when values are freed; against running the guards again."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from depyf.run.causes.guard_replay import NOTHING, FreedValues, GuardedValue, GuardTable, failed_in
from depyf.run.causes.guard_replay import replay as replay_of
from depyf.run.causes.ways_out import FunctionReplay, ways_out
from depyf.run.guards.difference import Difference, GuardSide
from depyf.run.guards.known_kinds import advice
from depyf.run.places.place import Place
from depyf.run.records import (
    BreakRecord,
    CodeRecord,
    CompileKey,
    EntryRecord,
    FailedGuardRecord,
    FunctionRecord,
    GuardRecord,
    RefusalRecord,
    ShapeFact,
    SymbolRecord,
    TransformedRecord,
)

CODE = TransformedRecord("", True, "", (), (), ())
Call = dict[str, int]


def difference(name: str, wanted: int, found: int) -> Difference:
    return Difference("value", f"L['{name}']", wanted=GuardSide(str(wanted), "int"), found=GuardSide(str(found), "int"))


def entries_of(calls: Sequence[Call]) -> list[EntryRecord]:
    """Those of a function that guards each of its arguments by value."""
    made: list[tuple[str, Call]] = []
    found: list[EntryRecord] = []
    for call in calls:
        if any(call == other for _, other in made):
            continue
        key = CompileKey(0, f"0/{len(made)}")
        refusals = tuple(
            RefusalRecord(
                name,
                tuple(
                    FailedGuardRecord(n, None, (difference(n, other[n], call[n]),)) for n in call if other[n] != call[n]
                ),
            )
            for name, other in made
        )
        found.append(EntryRecord(key, CODE, (), "live", refusals=refusals))
        made.append((key.text, call))
    return found


def counted(calls: Sequence[Call], freed: set[str]) -> int:
    """How many a function makes that does not look at the freed arguments."""
    kept = [{name: value for name, value in call.items() if name not in freed} for call in calls]
    return len({tuple(sorted(call.items())) for call in kept})


CALLS = st.lists(st.fixed_dictionaries({name: st.integers(2, 4) for name in "abc"}), min_size=1, max_size=9)


@given(CALLS)
def test_each_number_is_that_of_the_program_without_the_guards(calls: list[Call]) -> None:
    found = replay_of(entries_of(calls))
    assert found.compilations == counted(calls, set())
    for way in found.ways:
        assert way.left == counted(calls, {value.source for value in way.values}) < found.compilations
    assert found.needed == counted(calls, {"a", "b", "c"})


@given(CALLS)
def test_no_smaller_set_does_as_much(calls: list[Call]) -> None:
    found = replay_of(entries_of(calls))
    best = min(counted(calls, set(some)) for n in range(4) for some in itertools.combinations("abc", n))
    assert best == found.compilations or found.ways[0].left == best
    for way in found.ways:
        names = {value.source for value in way.values}
        alone = [counted(calls, names - {name}) for name in names]
        together = any(counted(calls, names - {name}) == way.left for name in names)
        assert not together or len(names) > 1 and len(set(alone)) == 1, way


def test_values_that_change_together_are_one_way() -> None:
    calls = [{"a": n, "b": n, "c": 0} for n in range(2, 7)]
    (way,) = replay_of(entries_of(calls)).ways
    assert way == FreedValues((GuardedValue("a"), GuardedValue("b")), 1)


def test_what_is_fixed_is_in_no_way() -> None:
    calls = [{"a": n, "b": n % 2 + 2, "c": 0} for n in range(2, 6)]
    found = replay_of(entries_of(calls), frozenset({GuardedValue("a")}))
    assert found.ways == () and found.needed == 4
    assert [way.left for way in replay_of(entries_of(calls)).ways] == [1, 2]


@pytest.mark.parametrize("calls, needed", [([{"a": 1, "b": 1, "c": 1}], 1), ([], 0)])
def test_nothing_to_free(calls: list[Call], needed: int) -> None:
    found = replay_of(entries_of(calls))
    assert (found.ways, found.needed, found.compilations) == ((), needed, len(calls))


def test_more_values_than_are_tried_together() -> None:
    calls = [dict.fromkeys("abcdef", n) | {"g": 0} for n in range(3)]
    calls += [{**calls[0], name: 7} for name in "abcde"]
    found = replay_of(entries_of(calls))
    assert found.needed == 1 and found.ways[0].left == 1
    assert {value.source for value in found.ways[0].values} == set("abcdef")


def sized(key: str, sizes: dict[str, int], earlier: dict[str, dict[str, int]]) -> EntryRecord:
    """An entry for vectors of these sizes."""
    guards = tuple(
        GuardRecord("", "", f"check_tensor(L[{name!r}], 'Tensor', torch.float32, size=[{size}], stride=[1])")
        for name, size in sizes.items()
    )
    refusals = tuple(
        RefusalRecord(
            other,
            tuple(
                FailedGuardRecord(
                    name,
                    None,
                    (
                        Difference(
                            "tensor", f"L[{name!r}]", "size", 0,
                            wanted=GuardSide(str(theirs[name]), "int"), found=GuardSide(str(size), "int"),
                        ),
                    ),
                )
                for name, size in sizes.items()
                if theirs[name] != size
            ),
        )
        for other, theirs in earlier.items()
    )  # fmt: skip
    return EntryRecord(CompileKey(0, key), CODE, guards, "live", refusals=refusals)


def test_sizes_that_are_equal_are_one_symbol() -> None:
    calls = {"0/0": {"q": 4, "k": 4}, "0/1": {"q": 5, "k": 7}, "0/2": {"q": 6, "k": 6}}
    entries = []
    for number, (key, sizes) in enumerate(calls.items()):
        entries.append(sized(key, sizes, dict(list(calls.items())[:number])))
    table = GuardTable(entries)
    assert table.left(table.values) == 1, "a mark for each"
    assert table.left(table.values, ducks=True) == 2, "dynamic=True takes both for one, and compiles for (5, 7)"


@pytest.mark.parametrize(
    ("expression", "operator", "left"),
    [
        ("s0 < 16", "conv2d", 2),
        ("s0 < 20", "conv2d", 1),
        ("Eq(s0, 4)", "conv2d", 1),
        ("Eq(s0, 4)", "", 2),
    ],
)
def test_an_operator_that_asks_for_a_bound_needs_an_entry_on_each_side(
    expression: str, operator: str, left: int
) -> None:
    """A convolution does: one entry for batches of 16 and more, one for smaller ones.  That sizes are equal is asked of
    every call."""
    line = Place("conv.py", 560, "forward", "return F.conv2d(")
    first = sized("0/0", {"x": 16}, {})
    second = replace(
        sized("0/1", {"x": 4}, {"0/0": {"x": 16}}),
        symbols=(SymbolRecord("s0", "L['x'].size()[0]", "4", "", None),),
        shape_facts=(ShapeFact(expression, line, operator),),
    )
    table = GuardTable([first, second])
    assert table.left(NOTHING, at_first=table.values) == left
    assert table.left(table.values, ducks=True) == left


def test_where_an_entry_ends_early_fewer_compilations_are_no_gain() -> None:
    """The rest of the function is compiled in later calls only, which the first entry would serve."""
    broken = BreakRecord("", None, "", "", "", (), "", False, cut=True)
    first = sized("0/0", {"x": 4}, {})
    entries = (first, sized("0/1", {"x": 5}, {"0/0": {"x": 4}}))
    code = CodeRecord("f", "f", "net.py", 1, (), ("x",), (), None, None, ())
    for ended, ways in (((), ["mark-dynamic", "compile-dynamic"]), ((broken,), [])):
        function = FunctionRecord((0, "0"), code, (replace(first, breaks=ended), entries[1]))
        replay = FunctionReplay(function)
        assert [use.id for way in ways_out([replay], replay.advice) for use in way.uses] == ways


def test_a_mark_on_the_first_tensor_reaches_what_is_computed_from_it() -> None:
    """A result with a symbol for a size is marked by torch: it may be the argument of a later call."""
    calls = [{"self.k": 0, "x": 4}, {"self.k": 1, "x": 4}, {"self.k": 0, "x": 6}, {"self.k": 1, "x": 6}]
    entries = []
    for number, call in enumerate(calls):
        earlier = {f"0/{n}": {"x": one["x"]} for n, one in enumerate(calls[:number])}
        made = sized(f"0/{number}", {"x": call["x"]}, earlier)
        refusals = tuple(
            replace(refusal, failed=(*refusal.failed, FailedGuardRecord("k", None, (difference("self.k", old, new),))))
            if (old := one["self.k"]) != (new := call["self.k"])
            else refusal
            for refusal, one in zip(made.refusals, calls, strict=False)
        )
        entries.append(replace(made, refusals=refusals))
    code = CodeRecord("f", "f", "net.py", 1, (), ("self", "x"), (), None, None, ())
    replay = FunctionReplay(FunctionRecord((0, "0"), code, tuple(entries)))
    size = next(value for value in replay.advice if value.what == "size")
    found = {way.uses[0].id: way.predicted for way in ways_out([replay], [size])}
    assert found["mark-dynamic"] == "4 compilations -> 3 or fewer, predicted"


def test_what_is_no_tensor_has_no_size_that_could_be_free() -> None:
    gone = GuardSide("x is None", missing=True)
    of_size = Difference("tensor", "L['x']", "size", 0, wanted=GuardSide("4", "int"), found=gone)
    of_stride = Difference("relation", "L['x'].stride()[1]", "equality", found=gone, others=("L['x'].size()[0]",))
    of_class = Difference("tensor", "L['x']", "type", wanted=GuardSide("Tensor"), found=GuardSide("NoneType"))
    failed = [FailedGuardRecord("", None, (one,)) for one in (of_size, of_stride, of_class)]
    assert [one.difference for one in failed_in(failed)] == [of_class]
    assert [one.difference for one in failed_in(failed[:1])] == [of_size]
    assert advice((of_stride,), None) == () and advice((replace(of_stride, source="L['x'].a"),), None)
