"""Rules for containers, slices and formatted strings."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from depyf.decompiler.bytecode import ops
from depyf.decompiler.ir.expr import (
    Const,
    DictOf,
    Display,
    Expr,
    Fmt,
    FStr,
    Invoke,
    Name,
    SliceOf,
    Star,
)
from depyf.decompiler.ir.grown import grown
from depyf.decompiler.ir.markers import Accumulator, AnnotationReached, Collect, Conversion, NullSlot
from depyf.decompiler.ir.percent_format import percent, was_percent
from depyf.decompiler.ir.stmt import ExprStmt
from depyf.decompiler.lift.rules.augmented import operand
from depyf.decompiler.lift.stack_values import is_slot
from depyf.errors import DecompilationError
from depyf.safety.depth import spend

if TYPE_CHECKING:
    from depyf.decompiler.lift.symbolic import Symbolic

FOLDED = 3
"""From this many constants on a display is filled from one constant (3.9+)."""
FORMATTING = frozenset({ops.FORMAT, ops.BUILD_INTERPOLATION})
_FAR = 100
_NOTHING = Star(Const(()))
REACHED = "__conditional_annotations__"
"""The set of annotations reached so far (3.14+)."""


PAIRS, ITEMS = 15, 30
"""How many pairs of a dict, or items of a set, a compiler takes off the stack at once (3.10+)."""
_PLAIN = (str, int, bytes, bool, float, type(None))


def _build(kind: str) -> Callable[[Symbolic, Any], None]:
    def rule(s: Symbolic, count: int) -> None:
        elts = tuple(s.pops(count))
        if kind == "set" and count > ITEMS and _hashes_at_the_end(s, elts):
            s.push(Invoke(Const(set), (Display("list", elts),)))
        else:
            s.push(_display(s, kind, elts))

    return rule


def _hashes_at_the_end(s: Symbolic, keys: Sequence[Expr]) -> bool:
    """Whether it matters that keys are hashed once all of them, and the values, are evaluated.

    A compiler fills a display of so many parts one by one; ``dict([(k, v), ...])`` says what is made at once.
    """
    if s.plain_keys or not s.program.unit.fills_stepwise:
        return False
    plain = {key.value for key in keys if isinstance(key, Const) and type(key.value) in _PLAIN}
    return len(plain) < len(keys)


def _display(s: Symbolic, kind: str, elts: tuple[Expr, ...]) -> Display:
    """A set that is filled one by one may iterate otherwise than one filled from a constant, as ``{1, 2, 3}`` is."""
    unit = s.program.unit
    if kind == "set" and unit.fills_displays and not s.generated:
        elts = without_nothing(elts)
        folded = len(elts) >= FOLDED and (unit.fills_long_displays or len(elts) <= ITEMS)
        if folded and all(isinstance(item, Const) for item in elts):
            # in front of the third: 3.14 fills from a constant whatever three stand in front of it
            elts = (*elts[: FOLDED - 1], _NOTHING, *elts[FOLDED - 1 :])
    return Display(kind, elts)


def without_nothing(elts: tuple[Expr, ...]) -> tuple[Expr, ...]:
    """The elements of a set less the ``*()`` that keeps the compiler from filling it from a constant."""
    return tuple(item for item in elts if item != _NOTHING) if _NOTHING in elts else elts


def _build_map(s: Symbolic, count: int) -> None:
    flat = s.pops(2 * count)
    pairs = tuple(zip(flat[::2], flat[1::2], strict=True))
    if count > PAIRS and _hashes_at_the_end(s, flat[::2]):
        s.push(Invoke(Const(dict), (Display("list", tuple(Display("tuple", pair) for pair in pairs)),)))
    else:
        s.push(DictOf(pairs))


def _build_const_key_map(s: Symbolic, count: int) -> None:
    keys = s.pop()
    values = s.pops(count)
    if not isinstance(keys, Const) or len(keys.value) != count:
        raise DecompilationError("dict keys are not a constant tuple", s.program.unit.qualname, s.instr.offset)
    pairs = tuple((Const(key), value) for key, value in zip(keys.value, values, strict=True))
    if count > PAIRS and _hashes_at_the_end(s, [key for key, _ in pairs]):
        s.push(Invoke(Const(dict), (Display("list", tuple(Display("tuple", pair) for pair in pairs)),)))
    else:
        s.push(DictOf(pairs))


def below(s: Symbolic, depth: int) -> Expr:
    if depth > len(s.stack):
        raise DecompilationError("stack underflow", s.program.unit.qualname, s.instr.offset)
    return s.stack[-depth]


def marks_annotation(s: Symbolic, op: str, depth: int) -> bool:
    """Whether an addition to the set below a constant on top notes that an annotation was reached."""
    if op != ops.SET_ADD or depth != 1 or len(s.stack) < 2 or not isinstance(s.stack[-1], Const):
        return False
    container = s.stack[-2]
    return isinstance(container, Name) and container.id == REACHED


def is_result(container: Expr) -> bool:
    """Whether a container is the result of a comprehension."""
    return isinstance(container, Accumulator)


def collect(s: Symbolic, key: Expr | None, value: Expr) -> None:
    """One item added to the result of a comprehension, whose container was made in another block.

    From 3.15 on it may be a ``Star``; in a dict a key of None means ``**value``.
    """
    s.emit(ExprStmt(Collect(key, value), s.instr.line))


def _collect_into(s: Symbolic, kind: str, key: Expr | None, value: Expr, container: Expr) -> None:
    if not is_slot(container) and not is_result(container):
        raise DecompilationError(f"{kind} add to a value on the stack", s.program.unit.qualname, s.instr.offset)
    collect(s, key, value)


def _append(kind: str) -> Callable[[Symbolic, Any], None]:
    op = ops.LIST_APPEND if kind == "list" else ops.SET_ADD

    def rule(s: Symbolic, depth: int) -> None:
        if marks_annotation(s, op, depth):
            mark = s.pop()
            assert isinstance(mark, Const)
            s.stack[-1] = NullSlot()
            s.emit(ExprStmt(AnnotationReached(mark.value), s.instr.line))
            return
        item = s.pop()
        container = below(s, depth)
        if isinstance(container, Display):
            s.stack[-depth] = _display(s, kind, grown(container.elts, (item,)))
        else:
            _collect_into(s, kind, None, item, container)

    return rule


def _map_add(s: Symbolic, depth: int) -> None:
    key, value = s.pops(2)
    container = below(s, depth)
    if isinstance(container, DictOf):
        s.stack[-depth] = DictOf(grown(container.items, ((key, value),)))
    else:
        _collect_into(s, "dict", key, value, container)


def _build_slice(s: Symbolic, count: int) -> None:
    parts = [operand(s) for _ in range(count)]
    parts.reverse()
    s.push(SliceOf(parts[0], parts[1], parts[2] if count == 3 else None))


def _build_string(s: Symbolic, count: int) -> None:
    parts: list[str | Fmt] = []
    for value in s.pops(count):
        if isinstance(value, Const) and isinstance(value.value, str):
            parts.append(value.value)
        elif isinstance(value, Fmt):
            parts.append(value)
        elif isinstance(value, FStr):
            parts.extend(value.parts)
        else:
            parts.append(Fmt(value, "", None))
    spend(len(parts))  # each string may hold the one before several times
    found = tuple(parts)
    s.push(percent(found) if s.program.unit.folds_percent and was_percent(found) else FStr(found))


def _format(s: Symbolic, shape: tuple[str, bool]) -> None:
    conversion, has_spec = shape
    spec = s.pop() if has_spec else None
    value = s.pop()
    if isinstance(value, Conversion):
        s.push(Fmt(value.value, value.kind, spec, None, value.percent))
        return
    written = s.program.formats_in_place(s.at) if conversion else None
    s.push(Fmt(value, conversion, spec, None, written))


_PERCENT = re.compile(r"%(?:(%)|[-+ #0]*\d*(?:\.\d*)?([sra]))")


def folded_format(s: Symbolic, left: Expr, right: Expr) -> bool:
    """Whether the compiler would have turned ``"..." % (a, b)`` into a formatted string had ``left`` been a plain
    literal.

    It was not, then: an f-string without fields is no literal to it.
    """
    if not s.program.unit.folds_percent or not isinstance(left, Const) or not isinstance(left.value, str):
        return False
    if not isinstance(right, Display) or right.kind != "tuple" or any(isinstance(item, Star) for item in right.elts):
        return False
    fields = _PERCENT.findall(left.value)
    simple = len(fields) == len(re.findall("%", _PERCENT.sub("%", left.value)))
    return simple and sum(1 for percent, _ in fields if not percent) == len(right.elts)


def _convert(s: Symbolic, conversion: str) -> None:
    """A conversion belongs to the format after it; a program may take it as it is, a string that formats as itself."""
    value = s.pop()
    if _is_formatted(s):
        s.push(Conversion(conversion, value, s.program.formats_in_place(s.at)))
    else:
        s.push(Fmt(value, conversion, None))


def _is_formatted(s: Symbolic) -> bool:
    """Whether what is on top once the instruction has run is formatted; True where that is not found out."""
    program = s.program
    at, above = program.next[s.at], 0
    for _ in range(_FAR):
        if at < 0:
            break
        instr = program.instrs[at]
        takes, gives = ops.stack_effect(instr.op, instr.arg)
        if takes > above:
            return instr.op in FORMATTING
        above += gives - takes
        at = program.jump[at] if instr.op == ops.JUMP else program.next[at]
    return True


def _interpolation(s: Symbolic, shape: tuple[str, bool]) -> None:
    conversion, has_spec = shape
    spec = s.pop() if has_spec else None
    text = s.pop()
    value = s.pop()
    s.push(Fmt(value, conversion, spec, text.value if isinstance(text, Const) else ""))


def _template(s: Symbolic, _: Any) -> None:
    fields = s.pop()
    strings = s.pop()
    texts: list[str] = (
        [part.value for part in strings.elts if isinstance(part, Const)]
        if isinstance(strings, Display)
        else list(strings.value if isinstance(strings, Const) else ())
    )
    values = list(fields.elts) if isinstance(fields, Display) else []
    parts: list[str | Fmt] = []
    for i, text in enumerate(texts):
        if text:
            parts.append(text)
        if i < len(values):
            value = values[i]
            if not isinstance(value, Fmt):
                # its text is that of the expression, which cannot be evaluated elsewhere then
                raise DecompilationError("an interpolation on the stack", s.program.unit.qualname, s.instr.offset)
            parts.append(value)
    s.push(FStr(tuple(parts), True))


RULES: dict[str, Callable[[Symbolic, Any], None]] = {
    ops.BUILD_TUPLE: _build("tuple"),
    ops.BUILD_LIST: _build("list"),
    ops.BUILD_SET: _build("set"),
    ops.BUILD_MAP: _build_map,
    ops.BUILD_CONST_KEY_MAP: _build_const_key_map,
    ops.BUILD_SLICE: _build_slice,
    ops.BUILD_STRING: _build_string,
    ops.FORMAT: _format,
    ops.CONVERT: _convert,
    ops.BUILD_INTERPOLATION: _interpolation,
    ops.BUILD_TEMPLATE: _template,
    ops.LIST_APPEND: _append("list"),
    ops.SET_ADD: _append("set"),
    ops.MAP_ADD: _map_add,
}
