"""Compares the order in which objects are released between two operations.

Input: what each side has let go of since the last operation (``Side.gone``).  An object ends when the last place that
holds it lets go; a finaliser, or the callback of a weak reference, tells the order.  Where the sides differ in nothing
but that, the proof goes on under an assumption that its verdict names.  Items of a list or a tuple end from the last to
the first (``list_dealloc`` and ``tupledealloc`` of CPython), the variables of a frame in the order of ``co_varnames``,
then what is left on its stack (``Python/frame.c``).
"""

from __future__ import annotations

from collections.abc import Iterable

from depyf.decompiler.verify.relation.lifetimes import ends_of, leaves
from depyf.decompiler.verify.relation.values import Values
from depyf.decompiler.verify.state.checked_code import ORIGINAL
from depyf.decompiler.verify.state.proof_state import Pair, Side


def same_order(pair: Pair, values: Values, returns: bool) -> bool:
    """Whether objects that both sides have let go of end in the same order; forgets them.

    ``returns``: the frame ends here, with all that it still holds.
    """
    a, b = pair.a, pair.b
    gone_a, gone_b = a.gone, b.gone
    if returns and (pair.temps or a.stack or b.stack or gone_a or gone_b):
        gone_a, gone_b = [*gone_a, *_of_frame(pair, a)], [*gone_b, *_of_frame(pair, b)]
    a.gone, b.gone = [], []
    if gone_a == gone_b or len(gone_a) + len(gone_b) < 3:
        return True
    first, second = _ended(pair, values, a, gone_a, returns), _ended(pair, values, b, gone_b, returns)
    if returns and first.keys() != second.keys():  # one of them may be another name of the other
        return False
    return [value for value in first if value in second] == [value for value in second if value in first]


def _ended(pair: Pair, values: Values, side: Side, gone: list[int], returns: bool) -> dict[int, None]:
    """The objects of ``gone`` that nothing on this side holds any more, in the order of their last release."""
    found: dict[int, None] = {}
    for value in gone:
        for item in [value] if value < 0 else ends_of(pair, values, (value,)):
            found.pop(item, None)
            found[item] = None
    if not returns:
        held = leaves(pair, values, _places(pair, side))
        found = {value: None for value in found if value not in held}
    return found


def _places(pair: Pair, side: Side) -> Iterable[int]:
    own = side is pair.a
    temps = [value for name, value in pair.temps.items() if (name[0] == ORIGINAL) == own]
    return (*side.stack, side.cur, *temps, *pair.loc.values(), *side.dirty.values())


def unknown(pair: Pair, name: str) -> int:
    """A number for the content of a variable of which nothing is known; -1 where the original has no such variable."""
    numbers = pair.a.program.numbers
    return -2 - numbers[name] if name in numbers else -1


def _of_frame(pair: Pair, side: Side) -> list[int]:
    """What the frame of a side lets go of when it returns; a variable whose value is not known is below zero."""
    found = []
    for name in side.program.variables:
        value = side.dirty.get(name, pair.loc.get(name, pair.temps.get(name, -1)))
        if value < 0 and name not in side.program.temps:
            value = unknown(pair, name)
        if value != -1:
            found.append(value)
    return [*found, *side.stack[:-1]]
