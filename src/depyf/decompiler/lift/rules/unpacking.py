"""``*`` and ``**`` in displays and calls: decides which elements were written out and which were unpacked from a
literal.

The compiler builds a display or an argument list in groups, and joins them: a run of plain elements is one group, each
starred value another.  A literal that is joined may be either; the neighbours tell, for two runs never stand side by
side:

    [a]; extend (b, c)          ->   [a, *(b, c)]         # b and c written out would have been in the first group
    {}; merge {"k": a}          ->   f(**{"k": a})        # before a run there is no empty group
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import groupby
from typing import TYPE_CHECKING, Any

from depyf.decompiler.bytecode import ops
from depyf.decompiler.bytecode.codeunit import CodeUnit
from depyf.decompiler.bytecode.variables.spelling import is_legal
from depyf.decompiler.emit.expressions.literals import filled_in_order, in_order
from depyf.decompiler.ir.expr import Attr, Const, DictOf, Display, Expr, Invoke, Star, Temp
from depyf.decompiler.ir.grown import grown
from depyf.decompiler.ir.stmt import ExprStmt
from depyf.decompiler.lift.rules.container_rules import FOLDED, below, collect, is_result, without_nothing
from depyf.errors import DecompilationError

if TYPE_CHECKING:
    from depyf.decompiler.lift.symbolic import Symbolic

Items = tuple[tuple[Expr | None, Expr], ...]
Keywords = tuple[tuple[str | None, Expr], ...]

_FOLDED_TO: dict[str, type[Any]] = {"tuple": tuple, "set": frozenset}
BATCH = 17
"""A long dict display is made of dicts of this many items (3.9+)."""
STACK_USE_GUIDELINE = 30
"""A call that needs more stack slots than this passes a tuple and a dict instead (3.10+)."""


def _extend(kind: str) -> Callable[[Symbolic, Any], None]:
    folded = "tuple" if kind == "list" else "set"

    def rule(s: Symbolic, depth: int) -> None:
        items = s.pop()
        container = below(s, depth)
        at = len(s.stack) - depth
        if is_result(container):
            collect(s, None, Star(items))
        elif isinstance(container, Display) and not _holds_temporary(s, at, container.elts, items):
            added: tuple[Expr, ...] = (Star(items),)
            if not container.elts and isinstance(items, Const):
                constants = _elements(items, folded, s.program.unit) or ()
                if constants and folded == "set":
                    # no other text gives a constant set; where elements are missing they were equal: {1, 1.0, True}
                    constants += constants[-1:] * (FOLDED - len(constants))
                added = constants if len(constants) >= FOLDED else added
            elts = grown(without_nothing(container.elts), added)
            s.stack[-depth] = Display(kind, elts)
            s.starred[at] = added[-1], len(elts)
        else:
            _grow(s, depth, "extend" if kind == "list" else "update", items)

    return rule


def _holds_temporary(s: Symbolic, at: int, elts: tuple[Expr, ...], items: Expr) -> bool:
    """Whether a temporary is in the display at slot ``at``, or joins it; only what is new there is looked at."""
    last, count = s.starred.get(at, (None, 0))
    known = count if 0 < count <= len(elts) and elts[count - 1] is last and isinstance(last, Star) else 0
    return isinstance(items, Temp) or any(isinstance(value, Temp) for value in elts[known:])


def _grow(s: Symbolic, depth: int, method: str, items: Expr) -> None:
    """Only Dynamo adds to a container after it was used: ``container.extend(items)``, the same for an exact list.

    A display of temporaries is not continued either: it would keep them alive while ``items`` is iterated over.
    """
    s.spill()
    s.emit(ExprStmt(Invoke(Attr(below(s, depth), method), (items,)), s.instr.line))


def _list_to_tuple(s: Symbolic, _: Any) -> None:
    value = s.pop()
    if not isinstance(value, Display):
        raise DecompilationError("a list on the stack becomes a tuple", s.program.unit.qualname, s.instr.offset)
    s.push(Display("tuple", tuple(value.elts)))


def _join_dicts(batch: int) -> Callable[[Symbolic, Any], None]:
    def rule(s: Symbolic, depth: int) -> None:
        items = s.pop()
        container = below(s, depth)
        if is_result(container):
            collect(s, None, items)
            return
        if not isinstance(container, DictOf):
            raise DecompilationError("dict updated on the stack", s.program.unit.qualname, s.instr.offset)
        at = len(s.stack) - depth
        known, run = s.runs.get(at, (None, 0))
        if known is not container:
            run = _run(container.items)
        added = _continued(container.items, items, batch, run)
        made = s.stack[at] = DictOf(grown(container.items, added), container.call or not batch)
        s.runs[at] = made, 0 if added[-1][0] is None else run + len(added)

    return rule


def _run(items: Items) -> int:
    """How many items at the end are written out."""
    run = 0
    while run < len(items) and items[-1 - run][0] is not None:
        run += 1
    return run


def _continued(before: Items, joined: Expr, batch: int, run: int) -> Items:
    """What joining the dict ``joined`` adds after a ``run`` of items; 0 for ``batch``: a group of keyword arguments."""
    literal = isinstance(joined, DictOf) and joined.items and not joined.call
    follows = before[-1:] and (not run or (batch and run % batch == 0))
    if literal and follows and isinstance(joined, DictOf) and (batch or _are_keywords(joined.items)):
        return joined.items
    return ((None, joined),)


def _build_unpack(s: Symbolic, shape: tuple[str, int]) -> None:
    """3.8 has all groups on the stack, and joins them at once."""
    kind, count = shape
    values = s.pops(count)
    call = kind.startswith("call_")
    if kind.endswith("map"):
        items: Items = ()
        for value in values:
            first = isinstance(value, DictOf) and not items and count > 1
            if first and isinstance(value, DictOf) and value.items and (not call or _are_keywords(value.items)):
                items = value.items
            else:
                items += _continued(items, value, 0 if call else BATCH * len(values), _run(items))
        s.push(DictOf(items, call))
        return
    elts: tuple[Expr, ...] = ()
    for value in values:
        run = count > 1 and (not elts or isinstance(elts[-1], Star))
        elts += _written_out(value, "set" if kind == "set" else "tuple") if run else (Star(value),)
    s.push(Display("arguments" if call else kind, elts))


def _written_out(value: Expr, kind: str = "tuple") -> tuple[Expr, ...]:
    """The elements of a group, for which any display of that kind is taken; the compiler makes no empty one."""
    return _elements(value, kind) or (Star(value),)


def _elements(value: Expr, kind: str = "tuple", unit: CodeUnit | None = None) -> tuple[Expr, ...] | None:
    """What a display or a constant of that kind consists of.

    With ``unit``, a compiler makes a constant of a set first: its elements are in the order that gives this one; None
    where there is none, and the constant itself can be put there.
    """
    if isinstance(value, Display) and value.kind == kind and not _has_star(value):
        return tuple(value.elts)
    if isinstance(value, Const) and type(value.value) is _FOLDED_TO[kind]:
        if kind == "tuple":
            return tuple(map(Const, value.value))
        order = in_order(value.value) if unit is None else filled_in_order(value.value, unit.fills_sets_twice)
        if order is None and unit is not None and unit.live is None:
            order = in_order(value.value)
        return None if order is None else tuple(map(Const, order))
    return None


def _has_star(display: Display) -> bool:
    return any(isinstance(item, Star) for item in display.elts)


def _are_keywords(items: Items) -> bool:
    """Whether a dict's items can be written as keyword arguments."""
    keys = [key.value for key, _ in items if isinstance(key, Const) and type(key.value) is str and is_legal(key.value)]
    return len(keys) == len(items) and len(set(keys)) == len(keys)


def arguments(s: Symbolic, packed: Expr, mapping: Expr | None) -> tuple[tuple[Expr, ...], Keywords]:
    """The arguments that ``CALL_EX`` passes as a tuple and a dict."""
    unit = s.program.unit
    if isinstance(packed, Display) and packed.kind == "arguments":
        return tuple(packed.elts), keywords(mapping)
    if isinstance(packed, Display) and packed.kind == "tuple" and _has_star(packed):
        apart = unit.joins_at_once or len(packed.elts) == 1
        return (Star(packed),) if apart else tuple(packed.elts), keywords(mapping)
    named, positional = keywords(mapping), _elements(packed)
    if positional is None:
        return (Star(packed),), named
    if any(key is None for key, _ in named):
        return positional, named
    if unit.packs_wide_calls and len(positional) + 2 * len(named) >= STACK_USE_GUIDELINE:
        return positional, named
    if mapping is not None and unit.joins_at_once:
        return positional, ((None, mapping),)
    return (Star(packed),), named


def keywords(mapping: Expr | None) -> Keywords:
    """What ``CALL_EX`` passes by name; a name is None for ``**value``."""
    if mapping is None:
        return ()
    if isinstance(mapping, DictOf):
        named = tuple((key, value) for key, value in mapping.items if key is not None)
        if mapping.call or (mapping.items and len(named) == len(mapping.items) and _are_keywords(named)):
            return tuple(_passed(mapping.items))
    return ((None, mapping),)


def _passed(items: Items) -> Iterator[tuple[str | None, Expr]]:
    """``k=v`` for each name, ``**mapping`` as it is; what is between two of these and no name is one ``**{x: y}``."""
    for whole, run in groupby(items, lambda item: item[0] is None):
        part = tuple(run)
        if not whole and not _are_keywords(part):
            yield None, DictOf(part)
            continue
        for key, value in part:
            yield (key.value if isinstance(key, Const) else None), value


RULES: dict[str, Callable[[Symbolic, Any], None]] = {
    ops.BUILD_UNPACK: _build_unpack,
    ops.LIST_EXTEND: _extend("list"),
    ops.SET_UPDATE: _extend("set"),
    ops.DICT_UPDATE: _join_dicts(BATCH),
    ops.DICT_MERGE: _join_dicts(0),
    ops.LIST_TO_TUPLE: _list_to_tuple,
}
