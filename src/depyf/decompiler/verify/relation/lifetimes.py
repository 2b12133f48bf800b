"""Compares the objects that each side keeps alive: a temporary must live exactly as long as its stack slot."""

from __future__ import annotations

from collections.abc import Iterable

from depyf.decompiler.verify.relation.facts import is_exception
from depyf.decompiler.verify.relation.values import OUTPUT, Values
from depyf.decompiler.verify.state.checked_code import ORIGINAL
from depyf.decompiler.verify.state.proof_state import NAMES_ONLY, Pair, resolve

HOLDS_NOTHING = frozenset({"bool", "int", "str", "mark"})


def held_apart(pair: Pair, values: Values) -> str:
    """Why the sets of objects held by stacks and temporaries differ, or ``""``; what user locals hold is common."""
    a, b = pair.a, pair.b
    own = [value for name, value in pair.temps.items() if name[0] == ORIGINAL]
    of_a = leaves(pair, values, (*a.stack, a.cur, *own))
    of_b = leaves(
        pair, values, (*b.stack, b.cur, *[value for name, value in pair.temps.items() if name[0] != ORIGINAL])
    )
    if of_a == of_b:
        return ""
    common = leaves(pair, values, pair.loc.values())
    more, less = of_b - of_a - common, of_a - of_b - common
    if values.promised is not None:  # the outputs of a graph live as long as the list of them
        more = {value for value in more if values.output_of(value) not in of_a | common}
        less = {value for value in less if values.output_of(value) not in of_b | common}
    if more:
        names = [
            name for name, value in pair.temps.items() if name[0] != ORIGINAL and more & leaves(pair, values, (value,))
        ]
        if names:
            return f"{min(names)} still holds an object that the original has released"
        if not less and all(is_exception(values, value) for value in more):
            # Records of handled exceptions: of the ``except`` clauses that control is in, one is left in the original.
            # As it was left by an exception, that one has the other as its context, and keeps it alive anyway.
            b.program.keeps = True
            return ""
        return "the recompiled code still holds an object that the original has released"
    if less:
        return "the original still holds an object that the recompiled code has released"
    return ""


def still_held(pair: Pair, values: Values, temps: dict[str, int], below: Iterable[int]) -> dict[str, int]:
    """The temporaries of ``temps`` whose objects the original keeps in the slots ``below``, and those that hold no
    object.

    No statement can release the others before the exit of a manager runs, or before ``except`` checks the type.
    Nothing may read them after that.
    """
    slots = set(below)
    known = leaves(pair, values, slots)
    return {
        name: value
        for name, value in temps.items()
        if name[0] == ORIGINAL
        or value in slots
        or (value not in pair.fresh and leaves(pair, values, (value,)) <= known)
    }


def leaves(pair: Pair, values: Values, places: Iterable[int]) -> set[int]:
    """The objects in ``places``, containers opened."""
    return set(ends_of(pair, values, places))


def ends_of(pair: Pair, values: Values, places: Iterable[int]) -> dict[int, None]:
    """The objects in ``places``, containers opened, the last item of each first."""
    found: dict[int, None] = {}
    work = list(places)
    seen: set[int] = set()
    memo: dict[int, int] = {}
    aliased = bool(pair.alias or pair.facts)
    desc = values.desc
    while work:
        value = work.pop()
        if value in seen:
            continue
        seen.add(value)
        if aliased:
            value = resolve(pair, values, value, memo)
        inside = pair.fresh.get(value)
        if inside is not None:
            work.extend(inside[1])
            continue
        known = desc[value]
        if known is None or known == ("maybe",):
            found[value] = None
        elif known[0] == "op":
            if known[1] == OUTPUT:
                found[value] = None
            elif known[1] not in NAMES_ONLY and known[1] != "str":  # a joined string holds none of its parts
                work.extend(known[2])
        elif known[0] == "type" and known[1] not in HOLDS_NOTHING:
            found[value] = None
    return found
