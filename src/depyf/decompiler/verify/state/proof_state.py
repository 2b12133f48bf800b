"""What a proof knows at a pair of program points.

Running state (``Pair``): both stacks, the exception that each side handles, the second side's temporaries, the user
locals with a known value (equal on both sides by construction), objects that only their side has seen (``fresh``), and
booleans decided on this path (``facts``).

Stored state (``Frozen``): the same, reduced to the relation "these places hold the same value".  ``covers`` tells
whether a stored state describes a new one too; ``meet`` is the strongest state that describes both.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from depyf.decompiler.verify.relation.values import Desc, Values
from depyf.decompiler.verify.state.checked_code import CheckedCode
from depyf.safety.depth import any_depth

Fresh = dict[int, tuple[tuple[object, ...], tuple[int, ...]]]
"""value -> (kind, elements): a list, dict, set or function that only its own side has seen."""

MAX_NAMES = 16


class Side:
    """One side of a running pair.  ``pc`` is -1 while an exception (``exc``) leaves the frame."""

    __slots__ = ("cur", "dirty", "exc", "gone", "joined", "marks", "pc", "program", "split", "stack")

    def __init__(self, program: CheckedCode, pc: int, stack: list[int], cur: int) -> None:
        self.program = program
        self.pc = pc
        self.stack = stack
        self.cur = cur
        self.dirty: dict[str, int] = {}
        """User locals stored since the last event."""
        self.gone: list[int] = []
        """What it has let go of since the last event, in order (``ends``)."""
        self.exc = -1
        self.joined = False
        self.split = -1
        """The undecided boolean this side wants to branch on."""
        self.marks: tuple[tuple[int, ...], ...] = ()
        """Calls whose place among the reads around them does not count (``promised``)."""

    def copy(self) -> Side:
        new = Side(self.program, self.pc, self.stack.copy(), self.cur)
        new.dirty = self.dirty.copy()
        new.gone = self.gone.copy()
        new.exc = self.exc
        new.joined = self.joined
        new.marks = self.marks
        return new


class Pair:
    """Both sides while they run in lock step."""

    __slots__ = (
        "a", "alias", "b", "before_graph", "early", "epoch", "facts", "fresh", "loc", "names", "owed",
        "standing", "temps",
    )  # fmt: skip

    def __init__(self, a: Side, b: Side) -> None:
        self.a, self.b = a, b
        self.temps: dict[str, int] = {}
        self.loc: dict[str, int] = {}
        self.names: dict[int, tuple[str, ...]] = {}
        """A value -> locals that were given it; some may hold another one by now, and the list may be cut short."""
        self.fresh: Fresh = {}
        self.alias: dict[int, int] = {}
        """A fresh object of one side that was matched with one of the other -> their common value."""
        self.facts: dict[int, int] = {}
        """A boolean -> the constant it was decided to be on this path."""
        self.epoch = 0
        self.early = False
        """Nothing but reads has happened since the code was entered (``promised``)."""
        self.before_graph = False
        """No compiled graph has been called since the code was entered."""
        self.owed = ""
        """The list whose last item the original has still to delete (``promises.handed_on``)."""
        self.standing = -1
        """Where the original stands while the other code asks whether something is a manager; no join is made then."""

    def bind(self, name: str, value: int) -> None:
        """Note that the local ``name`` holds ``value`` now, on both sides."""
        self.loc[name] = value
        names = self.names.get(value, ())
        if len(names) < MAX_NAMES:
            self.names[value] = (*names, name)

    def named(self, held: Iterable[int]) -> dict[str, int]:
        """Locals that hold one of ``held``, found by an index."""
        names, loc = self.names, self.loc
        return {name: value for value in held if value in names for name in names[value] if loc.get(name) == value}

    def view(self) -> Pair:
        """A copy whose stacks and objects may change, sharing what is only read."""
        new = Pair(self.a.copy(), self.b.copy())
        new.temps, new.loc, new.names, new.facts = self.temps, self.loc, self.names, self.facts
        new.fresh, new.alias, new.epoch = self.fresh.copy(), self.alias.copy(), self.epoch
        new.early, new.before_graph, new.owed = self.early, self.before_graph, self.owed
        return new

    def copy(self) -> Pair:
        new = Pair(self.a.copy(), self.b.copy())
        new.temps = self.temps.copy()
        new.loc = self.loc.copy()
        new.names = self.names.copy()
        new.fresh = self.fresh.copy()
        new.alias = self.alias.copy()
        new.facts = self.facts.copy()
        new.epoch, new.standing = self.epoch, self.standing
        new.early, new.before_graph, new.owed = self.early, self.before_graph, self.owed
        return new


class Frozen(NamedTuple):
    """``values`` holds the places of stack A, stack B, the two handled exceptions and the temporaries, in order."""

    depth_a: int
    depth_b: int
    values: tuple[int, ...]
    temps: tuple[str, ...]
    loc: dict[str, int]
    fresh: Fresh
    exc_a: int
    exc_b: int

    def held_by_temps(self) -> Iterable[tuple[str, int]]:
        """The temporaries with their values."""
        return zip(self.temps, self.values[self.depth_a + self.depth_b + 2 :])


def freeze(
    pair: Pair, values: Values, temps: dict[str, int], excs: tuple[int, int], loc: dict[str, int] | None = None
) -> Frozen:
    """The state of ``pair`` with the given temporaries; what the path has learned (aliases, facts) is applied.

    ``loc`` narrows down the locals that may share a value with another place.
    """
    stack_a, stack_b = pair.a.stack, pair.b.stack
    names = tuple(sorted(temps)) if temps else ()
    places = (*stack_a, *stack_b, pair.a.cur, pair.b.cur, *[temps[name] for name in names])
    searched = loc is None
    if loc is None:
        loc = pair.loc
    fresh = pair.fresh
    memo: dict[int, int] = {}
    aliased = bool(pair.alias or pair.facts)
    if aliased:
        places = tuple([resolve(pair, values, place, memo) for place in places])
        excs = (resolve(pair, values, excs[0], memo), resolve(pair, values, excs[1], memo))
        fresh = {
            value: (kind, tuple([resolve(pair, values, item, memo) for item in items]))
            for value, (kind, items) in fresh.items()
        }
    if fresh:
        fresh = reachable(places, fresh, values)
    held = contents(set(places), fresh, values)
    if aliased:
        kept = {name: new for name, value in loc.items() if (new := resolve(pair, values, value, memo)) in held}
    elif searched and held.isdisjoint(pair.names):
        kept = {}
    else:
        kept = {name: value for name, value in loc.items() if value in held}
    return Frozen(len(stack_a), len(stack_b), places, names, kept, fresh, *excs)


def resolve(pair: Pair, values: Values, value: int, memo: dict[int, int]) -> int:
    """``value`` with what this path has learned: matched objects under their common name, decided booleans."""
    found = memo.get(value)
    if found is not None:
        return found
    new = pair.alias.get(value, value)
    new = pair.facts.get(new, new)
    desc = values.desc[new]
    if desc is not None and desc[0] == "op" and desc[1] not in NAMES_ONLY:
        new = _resolved(pair, values, new, desc[1], desc[2], memo)
    memo[value] = new
    return new


@any_depth
def _resolved(pair: Pair, values: Values, value: int, tag: str, parts: tuple[int, ...], memo: dict[int, int]) -> int:
    items = tuple([resolve(pair, values, item, memo) for item in parts])
    if items == parts:
        return value
    new = values.made_of(tag, items)
    return pair.facts.get(new, new)


def propagate_facts(pair: Pair, values: Values) -> bool:
    """Apply what is decided about booleans to booleans that are made of them.

    False where that contradicts another decision: no run takes this path.
    """
    for value, constant in list(pair.facts.items()):
        desc = values.desc[value]
        if desc is None or desc[0] != "op" or desc[1] in NAMES_ONLY:
            continue
        items = tuple([resolve(pair, values, item, {}) for item in desc[2]])
        if items != desc[2]:
            made = values.made_of(desc[1], items)
            known = made if made in (values.true, values.false) else pair.facts.setdefault(made, constant)
            if known != constant:
                return False
    return True


NAMES_ONLY = frozenset({"cell", "common", "locals"})
"""Operation tags whose elements are names, not values."""


def reachable(places: Sequence[int], fresh: Fresh, values: Values) -> Fresh:
    """The part of ``fresh`` that some place can reach, the places' order decides the order."""
    found: Fresh = {}
    work = list(reversed(places))
    seen = set(work)
    while work:
        value = work.pop()
        inner: tuple[int, ...] = ()
        if value in fresh:
            found[value] = fresh[value]
            inner = fresh[value][1]
        else:
            desc = values.desc[value]
            if desc is not None and desc[0] == "op" and desc[1] not in NAMES_ONLY:
                inner = desc[2]
        for item in reversed(inner):
            if item not in seen:
                seen.add(item)
                work.append(item)
    return found


def contents(places: set[int], fresh: Fresh, values: Values) -> set[int]:
    """``places``, and what the fresh containers and the structures (tuples, slices) among them and in them hold."""
    found, work, desc = set(places), list(places), values.desc
    while work:
        value = work.pop()
        known = desc[value]
        if value in fresh:
            items = fresh[value][1]
        elif known is not None and known[0] == "op" and known[1] not in NAMES_ONLY:
            items = known[2]
        else:
            continue
        work += [item for item in items if item not in found]
        found.update(items)
    return found


def thaw(frozen: Frozen, a: CheckedCode, b: CheckedCode, pc_a: int, pc_b: int) -> Pair:
    """A running pair that starts from ``frozen``."""
    da, db, places = frozen.depth_a, frozen.depth_b, frozen.values
    at = da + db
    side_a = Side(a, pc_a, list(places[:da]), places[at])
    side_b = Side(b, pc_b, list(places[da:at]), places[at + 1])
    side_a.exc, side_b.exc = frozen.exc_a, frozen.exc_b
    pair = Pair(side_a, side_b)
    pair.temps = dict(zip(frozen.temps, places[at + 2 :]))
    for name, value in frozen.loc.items():
        pair.bind(name, value)
    pair.fresh = dict(frozen.fresh)
    return pair


def restrict(frozen: Frozen, names: frozenset[str]) -> Frozen:
    """``frozen`` without the temporaries that are not in ``names``."""
    if names.issuperset(frozen.temps):
        return frozen
    at = frozen.depth_a + frozen.depth_b + 2
    kept = [(name, value) for name, value in zip(frozen.temps, frozen.values[at:]) if name in names]
    return frozen._replace(
        values=(*frozen.values[:at], *[value for _, value in kept]), temps=tuple([name for name, _ in kept])
    )


def covers(old: Frozen, new: Frozen, values: Values) -> bool:
    """Whether every run that ``new`` describes is described by ``old``."""
    found = new.values
    if old.temps != new.temps:
        if not set(new.temps) < set(old.temps):
            return False
        at = new.depth_a + new.depth_b + 2
        bound = dict(zip(new.temps, found[at:]))
        found = (*found[:at], *[bound.get(name, values.unbound) for name in old.temps])
    image: dict[int, int] = {}
    for o, n in zip(old.values, found):
        if image.get(o) != n and not _maps(o, n, old.fresh, new.fresh, values, image):
            return False
    if (old.exc_a >= 0 and not _maps(old.exc_a, new.exc_a, old.fresh, new.fresh, values, image)) or (
        old.exc_b >= 0 and not _maps(old.exc_b, new.exc_b, old.fresh, new.fresh, values, image)
    ):
        return False
    for name, o in old.loc.items():
        n = new.loc.get(name, -1)
        if n < 0 or not _maps(o, n, old.fresh, new.fresh, values, image):
            return False
    return _keeps_apart(image, old.fresh)


def _keeps_apart(image: dict[int, int], fresh: Fresh) -> bool:
    """Whether each unescaped object is still distinct: nothing else has become the same object."""
    if not fresh:
        return True
    owners: dict[int, int] = {}
    alone = {image[o] for o in fresh if o in image}
    return all(n not in alone or owners.setdefault(n, o) == o for o, n in image.items())


VACANT = ("maybe", "nothing")


@any_depth
def _maps(o: int, n: int, old_fresh: Fresh, new_fresh: Fresh, values: Values, image: dict[int, int]) -> bool:
    """Extend ``image`` (old value -> new value) by ``o -> n`` if the description of ``o`` fits ``n``."""
    found = image.get(o)
    if found is not None:
        return found == n
    image[o] = n
    inside = old_fresh.get(o)
    if inside is not None:
        other = new_fresh.get(n)
        if other is None or other[0] != inside[0] or len(other[1]) != len(inside[1]):
            return False
        return all(_maps(p, q, old_fresh, new_fresh, values, image) for p, q in zip(inside[1], other[1]))
    if n in new_fresh:
        # An object the new state knows to be unseen by others is an ordinary object to the old one.
        return values.desc[o] is None or values.desc[o] == ("type", new_fresh[n][0][0])
    desc, desc_n = values.desc[o], values.desc[n]
    if o == n and (desc is None or desc[0] != "op"):
        return True
    if desc is None:
        # Unknown object: anything that surely is an object fits.
        return desc_n is None or desc_n[0] not in ("mark", "maybe")
    if desc_n is None:
        return bool(desc == ("maybe",))
    if desc[0] == "type":
        if desc_n[0] == "const":
            return bool(type(desc_n[1]).__name__ == desc[1])
        return bool(desc == desc_n) or (desc[1] == "bool" and values.is_bool(n))
    if desc[0] == "op":
        desc_n = _opened(desc_n, values)
    if desc[0] == "op" and desc_n[0] == "op":
        if desc[1] in NAMES_ONLY:
            return o == n
        return _same_shape(desc, desc_n) and all(
            _maps(p, q, old_fresh, new_fresh, values, image) for p, q in zip(desc[2], desc_n[2])
        )
    if desc == VACANT:
        return _vacant(values, n)
    if desc[0] == "maybe":
        return desc_n[0] != "mark" or n == values.unbound
    return False


def _bool(values: Values, value: int) -> bool:
    return values.is_bool(value) or value in (values.true, values.false)


def _int(desc: Desc) -> bool:
    """Whether a value is a plain number, as dispatch variables hold."""
    return desc[0] == "const" and type(desc[1]) is int or desc == ("type", "int")


MAX_OPENED = 32


def _opened(desc: Desc, values: Values) -> Desc:
    """A constant tuple or slice as one made of constants: on another path its parts may be no constants.

    A join keeps the parts apart then, and with them which objects live in it.
    """
    if desc[0] == "const":
        whole = desc[1]
        if type(whole) is tuple and 0 < len(whole) <= MAX_OPENED:
            return "op", "tuple", tuple([values.const(item) for item in whole])
        if type(whole) is slice:
            return "op", "slice", tuple([values.const(item) for item in (whole.start, whole.stop, whole.step)])
    return desc


def _vacant(values: Values, value: int) -> bool:
    """Whether the release of a variable with this value is unobservable: it is unbound, or None or a number."""
    desc = values.desc[value]
    if desc is None:
        return False
    if desc[0] == "const":
        return desc[1] is None or type(desc[1]) in (int, bool)
    return value == values.unbound or desc == VACANT or desc in (("type", "int"), ("type", "bool"))


def _same_shape(p: Desc, q: Desc) -> bool:
    return p[1] == q[1] and p[1] not in NAMES_ONLY and len(p[2]) == len(q[2])


def meet(old: Frozen, new: Frozen, values: Values) -> Frozen:
    """The strongest state that describes both: places stay equal where they are equal in both, an unescaped object
    stays one where the same places hold it in both."""
    shared: set[tuple[int, int]] = set()
    while True:
        found, mixed = _meet(old, new, values, shared)
        if not mixed:
            return found
        shared |= mixed


def _meet(
    old: Frozen, new: Frozen, values: Values, shared: set[tuple[int, int]]
) -> tuple[Frozen, set[tuple[int, int]]]:
    """``meet``, with the pairs of ``shared`` as objects that others may have; which pairs ought to be among these."""
    temps = old.temps
    old_values, new_values = old.values, new.values
    if temps != new.temps:
        at = old.depth_a + old.depth_b + 2
        temps = tuple(sorted({*old.temps, *new.temps}))
        old_temps = dict(zip(old.temps, old_values[at:]))
        new_temps = dict(zip(new.temps, new_values[at:]))
        old_values = (*old_values[:at], *[old_temps.get(name, values.unbound) for name in temps])
        new_values = (*new_values[:at], *[new_temps.get(name, values.unbound) for name in temps])
    memo: dict[tuple[int, int], int] = {}
    fresh: Fresh = {}

    def joined(o: int, n: int) -> int:
        found = memo.get((o, n))
        if found is not None:
            return found
        desc, desc_n = values.desc[o], values.desc[n]
        in_o, in_n = old.fresh.get(o), new.fresh.get(n)
        result = -1
        alike = in_o is not None and in_n is not None and in_o[0] == in_n[0] and len(in_o[1]) == len(in_n[1])
        if alike and in_o is not None and in_n is not None and (o, n) not in shared:
            result = memo[o, n] = values.new()
            fresh[result] = (in_o[0], tuple([join(p, q) for p, q in zip(in_o[1], in_n[1])]))
        elif in_o is not None and in_n is not None and in_o[0][0] == in_n[0][0]:
            result = values.typed(str(in_o[0][0]))
        elif (in_o is not None and desc_n == ("type", in_o[0][0])) or (
            in_n is not None and desc == ("type", in_n[0][0])
        ):
            result = values.typed(str((in_o or in_n or ((),))[0][0]))
        elif o == n and in_o is None and in_n is None and (desc is None or desc[0] != "op"):
            result = o
        elif desc is not None and desc_n is not None:
            if o != n:
                desc, desc_n = _opened(desc, values), _opened(desc_n, values)
            if desc[0] == "op" and desc_n[0] == "op" and (o == n or _same_shape(desc, desc_n)):
                if desc[1] in NAMES_ONLY:
                    result = o
                else:
                    tag = desc[1]
                    items = tuple([join(p, q) for p, q in zip(desc[2], desc_n[2])])
                    result = values.tuple_of(items) if tag == "tuple" else values.op(tag, items)
            elif desc[0] == "type" and desc == desc_n:
                result = values.typed(desc[1])
            elif _bool(values, o) and _bool(values, n):
                result = values.typed("bool")
            elif _int(desc) and _int(desc_n):
                result = values.typed("int")
            elif {desc[0], desc_n[0]} & {"mark", "maybe"} and values.null not in (o, n):
                result = values.new(VACANT if _vacant(values, o) and _vacant(values, n) else ("maybe",))
        if result < 0 and values.null in (o, n):  # a slot that a call has emptied on one way to a handler
            result = values.new(VACANT)
        if result < 0:
            absent = any(known is not None and known[0] in ("mark", "maybe") for known in (desc, desc_n))
            result = values.new(("maybe",) if absent else None)
        memo[o, n] = result
        return result

    join = any_depth(joined)
    places = tuple([join(o, n) for o, n in zip(old_values, new_values)])
    excs = [join(o, n) if o >= 0 else -1 for o, n in ((old.exc_a, new.exc_a), (old.exc_b, new.exc_b))]
    held = contents(set(places), fresh, values)
    loc = {}
    for name, o in old.loc.items():
        n = new.loc.get(name, -1)
        if n >= 0:
            value = join(o, n)
            if value in held:
                loc[name] = value
    mixed = _mixed(memo, fresh, values) if fresh else set()
    return Frozen(old.depth_a, old.depth_b, places, temps, loc, fresh, excs[0], excs[1]), mixed


def _mixed(memo: dict[tuple[int, int], int], fresh: Fresh, values: Values) -> set[tuple[int, int]]:
    """The pairs of objects, joined to a separate one, of which one is in a place where the other is not."""
    places: dict[tuple[bool, int], set[int]] = {}
    for o, n in memo:
        if not any(known is not None and known[0] in ("mark", "maybe") for known in (values.desc[o], values.desc[n])):
            places.setdefault((True, o), set()).add(n)
            places.setdefault((False, n), set()).add(o)
    return {
        (o, n)
        for (o, n), made in memo.items()
        if made in fresh and (len(places[True, o]) > 1 or len(places[False, n]) > 1)
    }
