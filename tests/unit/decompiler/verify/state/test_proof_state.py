"""The lattice of stored states: ``covers`` is an order, ``meet`` a lower bound, and both are exact on small cases."""

from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from depyf.decompiler.verify.relation.values import Values
from depyf.decompiler.verify.state.proof_state import Fresh, Frozen, covers, meet

VALUES = Values()
PLAIN = [VALUES.new() for _ in range(4)]
KNOWN = [VALUES.const(1), VALUES.const(True), VALUES.const(None), VALUES.typed("bool"), VALUES.typed("list")]
BUILT = [
    VALUES.op("tuple", (PLAIN[0], PLAIN[1])),
    VALUES.op("tuple", (PLAIN[1], PLAIN[1])),
    VALUES.op("tuple", (PLAIN[2], KNOWN[0])),
    VALUES.op("is", (PLAIN[0], PLAIN[3])),
    VALUES.negated(KNOWN[3]),
    VALUES.op("slice", (PLAIN[0], KNOWN[0], KNOWN[2])),
    VALUES.const((1, True)),
    VALUES.const((None, True)),
    VALUES.const(slice(None, 1, None)),
]
FRESH: Fresh = dict.fromkeys((VALUES.new(), VALUES.new()), (("list",), (PLAIN[0],)))
CHOICES = [*PLAIN, *KNOWN, *BUILT, *FRESH]


def frozen(places: list[int], local: int) -> Frozen:
    loc = {"x": local} if local in places else {}
    fresh = {value: FRESH[value] for value in places if value in FRESH}
    return Frozen(2, 2, (*places[:4], VALUES.outer_exc, VALUES.outer_exc, *places[4:]), ("t",), loc, fresh, -1, -1)


STATES = st.builds(frozen, st.lists(st.sampled_from(CHOICES), min_size=5, max_size=5), st.sampled_from(CHOICES))


@given(STATES)
def test_a_state_covers_itself(state: Frozen) -> None:
    assert covers(state, state, VALUES)


@given(STATES, STATES)
def test_the_meet_describes_both(old: Frozen, new: Frozen) -> None:
    both = meet(old, new, VALUES)
    assert covers(both, old, VALUES)
    assert covers(both, new, VALUES)


@given(STATES, STATES)
def test_the_meet_of_a_covered_state_loses_nothing(old: Frozen, new: Frozen) -> None:
    if covers(old, new, VALUES):
        both = meet(old, new, VALUES)
        assert covers(old, both, VALUES) and covers(both, old, VALUES)


@given(STATES, STATES)
def test_equal_places_stay_equal_only_where_they_were_in_both(old: Frozen, new: Frozen) -> None:
    both = meet(old, new, VALUES)
    for i, j in itertools.combinations(range(len(both.values)), 2):
        if both.values[i] == both.values[j]:
            assert old.values[i] == old.values[j] and new.values[i] == new.values[j]


def test_a_constant_tuple_and_a_built_one_keep_their_parts() -> None:
    """``(2.5,)`` on one path and ``(x,)`` on the other: what the tuple holds is known after the join."""
    part, constant = VALUES.new(), VALUES.const(2.5)
    built = frozen([VALUES.tuple_of((part,)), part, part, part, part], part)
    whole = frozen([VALUES.const((2.5,)), constant, constant, constant, constant], constant)
    for both in (meet(built, whole, VALUES), meet(whole, built, VALUES)):
        assert VALUES.desc[both.values[0]] == ("op", "tuple", (both.values[1],))
        assert covers(both, whole, VALUES) and covers(both, built, VALUES)


def test_constant_tuples_of_other_lengths_are_any_object() -> None:
    both = meet(frozen([VALUES.const((1,))] * 5, -1), frozen([VALUES.const((1, 2))] * 5, -1), VALUES)
    assert VALUES.desc[both.values[0]] is None


def test_two_objects_of_their_own_are_not_one() -> None:
    """What is done to the one would be done to the other: a state with two covers none with one object in both places."""
    first, second = FRESH
    two = frozen([first, second, PLAIN[0], PLAIN[1], PLAIN[2]], PLAIN[3])
    one = frozen([first, first, PLAIN[0], PLAIN[1], PLAIN[2]], PLAIN[3])
    assert not covers(two, one, VALUES) and not covers(one, two, VALUES)
    assert not meet(one, two, VALUES).fresh and not meet(two, one, VALUES).fresh


def test_an_object_of_its_own_is_no_known_one() -> None:
    first, _ = FRESH
    apart = frozen([first, KNOWN[4], PLAIN[0], PLAIN[1], PLAIN[2]], PLAIN[3])
    one = frozen([first, first, PLAIN[0], PLAIN[1], PLAIN[2]], PLAIN[3])
    assert not covers(apart, one, VALUES)
    assert not meet(apart, one, VALUES).fresh
