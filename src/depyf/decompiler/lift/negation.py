"""Negates tests, and decides between ``not a or not b`` and ``not (a and b)``, which have the same bytecode."""

from __future__ import annotations

from dataclasses import replace

from depyf.decompiler.bytecode.tables.columns import STEP, Place
from depyf.decompiler.ir.expr import BoolOf, Cmp, Cond, Expr, Un
from depyf.decompiler.ir.grown import grown
from depyf.decompiler.lift.stack_values import TESTED_NONE
from depyf.safety.depth import any_depth

OPPOSITE = {"is": "is not", "is not": "is", "in": "not in", "not in": "in"}
"""The comparisons that the compiler itself rewrites under ``not``."""
_OTHER = {"and": "or", "or": "and"}
Span = tuple[Place, Place]
"""Where an operand begins and ends."""
_OR = len("or ")
_PARENTHESES = 2
"""The maximum number of columns between an operator and an operand."""


@any_depth
def negate(test: Expr) -> Expr:
    """``not test``, with a leading ``not`` taken away instead where there is one.

    The ``not`` goes to the operands of ``and`` and ``or`` where that leaves no more of them; the code is the same.
    """
    if isinstance(test, Un) and test.op == "not":
        return test.operand
    if isinstance(test, Cmp) and len(test.ops) == 1 and test.ops[0] in OPPOSITE:
        return Cmp(test.left, (OPPOSITE[test.ops[0]],), test.rights, not test.turned)
    if isinstance(test, BoolOf) and not test.apart and not test.written:
        if sum(map(_nots, test.values)) <= 1 or _two_plain(test):
            return _turned(test)
    return Un("not", test)


Groups = dict[int, tuple[Expr, tuple[Expr, ...]]]
"""What ``grouped`` made, by its id: the group, and the operands that it was made of."""


def grouped(test: BoolOf, left: Span | None, right: Span | None, least: dict[int, int], made: Groups) -> Expr:
    """``test``, of whose last two operands these are the places: as it is, or with ``not`` around a group of them.

    Between the operands there is room for the operator and perhaps a ``not``: `` or `` is shorter than `` and ``, and
    `` or not `` than `` and not ``.  Where there is room for parentheses as well, nothing is known.  Where each operand
    is on a separate line, which begins with the operator, the column tells.  ``made`` is added to.
    """
    last, added = test.values[-2], test.values[-1]
    if left is None or right is None or isinstance(last, BoolOf) or isinstance(added, BoolOf):
        return test
    other = _OTHER[test.op]
    turned = negate(added)
    here, there = _width(test.op, added), _width(other, turned)
    if right[0][0] == left[1][0]:
        room = right[0][1] - left[1][1]
        written = room == here
        flips = room == there and (there < here or there - here > _PARENTHESES)
    else:
        known = test.written or isinstance(last, Un) and isinstance(last.operand, BoolOf) and last.operand.written
        begins_with_or = _begin_with_or(left, right, least, first=not known)
        written = begins_with_or and test.op == "or"
        flips = begins_with_or and test.op == "and"
    if isinstance(added, Cmp) and added.ops[0] in OPPOSITE and added.rights[0] is not TESTED_NONE and not added.turned:
        flips = False  # it would be another instruction
    if flips:
        group = Un("not", BoolOf(other, grown(_operands(other, negate(last)), (turned,)), written=True))
        earlier = made[id(last)][1] if id(last) in made else (last,)
        made[id(group)] = group, grown(earlier, (added,))
        before = tuple(test.values[:-2])
        return replace(test, values=(*before, group), written=False) if before else group
    return replace(test, written=True) if written and (test.written or len(test.values) == 2) else test


@any_depth
def ungrouped(value: Expr, made: Groups) -> Expr:
    """``value`` without the groups of ``grouped`` where it is more than a test: there, ``not`` computes a value."""
    if not made:
        return value
    if isinstance(value, Cond):
        return Cond(value.test, ungrouped(value.body, made), ungrouped(value.orelse, made))
    if id(value) in made:
        parts = made[id(value)][1]
        assert isinstance(value, Un) and isinstance(value.operand, BoolOf)
        return BoolOf(_OTHER[value.operand.op], tuple([ungrouped(part, made) for part in parts]))
    if not isinstance(value, BoolOf):
        return value
    values: list[Expr] = []
    for part in value.values:
        plain = ungrouped(part, made)
        values += _operands(value.op, plain) if plain is not part else (plain,)
    return replace(value, values=tuple(values))


def steps_deeper(test: BoolOf, first: int, last: int) -> int:
    """How many steps the ``if`` of the last operand would be indented deeper than that of the first; 0 if it cannot be
    one.

    ``first`` and ``last`` are the columns of these operands.  Of ``if (`` and the operands below it, whatever their
    style, the columns are others.
    """
    before = first - _lead(test.values[0])
    level = {3: before - len("if "), 1: before - len("elif ")}.get(before % STEP)
    added = test.values[-1]
    right = (
        0
        if level is None
        else last - _lead(added.values[0] if isinstance(added, BoolOf) else added) - len("if ") - level
    )
    return right // STEP if right % STEP == 0 and right > 0 else 0


def _lead(operand: Expr) -> int:
    """How wide the ``not`` and parentheses are that an operand begins with."""
    width = 0
    while isinstance(operand, BoolOf) or isinstance(operand, Un) and operand.op == "not":
        if isinstance(operand, BoolOf):
            width, operand = width + len("("), operand.values[0]
        else:
            width, operand = width + len("not "), operand.operand
    return width


def _begin_with_or(left: Span, right: Span, least: dict[int, int], *, first: bool) -> bool:
    """Whether the line of the right operand, the next one, begins with ``or``; ``first``: that of the left one not."""
    (line, start), (last, _), (below, column) = left[0], left[1], right[0]
    if not line == last == below - 1 or least.get(line) != start or least.get(below) != column:
        return False
    begins = start % STEP == (0 if first else _OR)
    return begins and column % STEP == _OR and abs(column - start - (_OR if first else 0)) in (0, len("not "))


def _width(op: str, added: Expr) -> int:
    """How many columns the operator takes before an operand without parentheses."""
    return len(f" {op} ") + (len("not ") if isinstance(added, Un) and added.op == "not" else 0)


def _operands(op: str, value: Expr) -> tuple[Expr, ...]:
    return value.values if isinstance(value, BoolOf) and value.op == op and not value.apart else (value,)


def _turned(test: BoolOf) -> BoolOf:
    return BoolOf(
        _OTHER[test.op], tuple([negate(value) for value in test.values]), below=test.below, deeper=test.deeper
    )


@any_depth
def _nots(test: Expr) -> int:
    """How many more ``not`` the negation of a test has; many where it would compile to another instruction."""
    if isinstance(test, Un) and test.op == "not":
        return -1
    if isinstance(test, Cmp) and len(test.ops) == 1 and test.ops[0] in OPPOSITE:
        return 0 if test.rights[0] is TESTED_NONE else -100 if test.turned else 100
    if isinstance(test, Cmp):
        return 2  # ``not (a == b or c)`` is written more often than ``not a == b and not c``
    return min(1, sum(map(_nots, test.values))) if isinstance(test, BoolOf) else 1


def _two_plain(test: BoolOf) -> bool:
    """``not a and not b`` outnumbers ``not (a or b)`` in the standard library; it is the other way round for
    ``and``."""
    return (
        test.op == "or"
        and [_nots(value) for value in test.values] == [1, 1]
        and not any(isinstance(value, BoolOf) for value in test.values)
    )
