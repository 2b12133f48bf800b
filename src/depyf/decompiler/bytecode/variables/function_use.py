"""What becomes of the functions and classes that code makes, and what kind of code each is made of.

Input: lowered code.  Output: a ``Use`` for each function that is made of constant code, in order.  A compiler gives
code the name under which the source defines it; a program may give it any other one, and then its use says what the
source has.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

from depyf.decompiler.bytecode import ops
from depyf.decompiler.bytecode.codeunit import CO_ASYNC_GENERATOR, CO_COROUTINE, CO_GENERATOR, CO_OPTIMIZED, CodeUnit
from depyf.decompiler.bytecode.lower import Lowered
from depyf.decompiler.bytecode.ops import CallShape, Instr

STORES = frozenset({ops.STORE_FAST, ops.STORE_NAME, ops.STORE_GLOBAL, ops.STORE_DEREF})
STORED, CLASS, ANNOTATING, HIDDEN, VALUE = "stored", "class", "annotating", "hidden", "value"
"""A function is stored at once, decorated or not; is the body of a class; evaluates annotations (3.14+); evaluates a
bound or an alias; or is a value in an expression."""
_GLOBALS = frozenset({ops.LOAD_GLOBAL, ops.STORE_GLOBAL, ops.DELETE_GLOBAL})
_ANNOTATE = ("__annotate__", "__annotate_func__")


class Use(NamedTuple):
    """``closure`` names the variables of the code around it whose cells it gets, None where that is not plain to see;
    ``store`` is the instruction that stores it, ``name`` what a class is called.  ``made`` is the place of the
    instruction that makes it, ``first`` that of the first one for its closure or code."""

    unit: CodeUnit
    closure: tuple[str, ...] | None
    kind: str
    store: Instr | None = None
    name: str = ""
    made: int = 0
    first: int = 0


def uses(lowered: Lowered) -> list[Use]:
    """What is made of the code nested in ``lowered``."""
    found = []
    for at, instr in enumerate(lowered.instrs):
        if instr.op == ops.MAKE_FUNCTION and at and lowered.instrs[at - 1].op == ops.LOAD_CONST:
            unit = lowered.instrs[at - 1].arg
            if type(unit) is CodeUnit:
                found.append(_use(lowered, at, unit))
    return found


def _use(lowered: Lowered, at: int, unit: CodeUnit) -> Use:
    instrs = lowered.instrs
    closure, start = _closure(instrs, at, len(unit.freevars))
    after = at + 1
    while instrs[after].op == ops.SET_FUNCTION_ATTRIBUTE:
        after += 1
    following = instrs[after]
    below = instrs[start - 1].op if start else ""
    if (
        below == ops.LOAD_BUILD_CLASS
        or below == ops.NULL
        and start > 1
        and instrs[start - 2].op == ops.LOAD_BUILD_CLASS
    ):
        named = following.op == ops.LOAD_CONST and type(following.arg) is str
        store = _store_of_class(instrs, after, 2 + (ops.NULL in (below, instrs[start - 2].op if start > 1 else "")))
        return Use(unit, closure, CLASS, store, following.arg if named else "", at, start)
    stored = following.op in STORES and following.arg in _ANNOTATE
    if _annotates(instrs, after) or stored and unit.posonlyargcount == 1:  # one of the program's own takes it by name
        return Use(unit, closure, ANNOTATING, made=at, first=start)
    if _is_hidden(instrs, after, unit):
        return Use(unit, closure, HIDDEN, made=at, first=start)
    while instrs[after].op == ops.CALL and _is_decoration(instrs[after].arg, below):
        after += 1
    following = instrs[after]
    if following.op in STORES:
        return Use(unit, closure, STORED, following, made=at, first=start)
    return Use(unit, closure, VALUE, made=at, first=start)


def _store_of_class(instrs: tuple[Instr, ...], at: int, depth: int) -> Instr | None:
    """The instruction that stores the class whose body is made into a function just before ``at``.

    ``depth``: how many slots the call that makes the class has by then.
    """
    while at < len(instrs):
        instr = instrs[at]
        if depth == 1 and instr.op in STORES:
            return instr
        if instr.op in ops.JUMPS or instr.op in ops.TERMINATORS:
            return None
        pops, pushes = ops.stack_effect(instr.op, instr.arg)
        depth = max(depth - pops, 0) + pushes
        at += 1
    return None


def _closure(instrs: tuple[Instr, ...], at: int, count: int) -> tuple[tuple[str, ...] | None, int]:
    """The variables in the closure of the function made at ``at``, and where its first operand is loaded."""
    start = at - 1
    if not count:
        return (), start
    first = start - 1 - count
    if first < 0 or (instrs[start - 1].op, instrs[start - 1].arg) != (ops.BUILD_TUPLE, count):
        return None, start
    cells = instrs[first : start - 1]
    if any(instr.op != ops.LOAD_CLOSURE for instr in cells):
        return None, start
    return tuple([instr.arg for instr in cells]), first


def _annotates(instrs: tuple[Instr, ...], after: int) -> bool:
    """Whether the function that is made next gets this one for its annotations."""
    while instrs[after].op in (ops.LOAD_CLOSURE, ops.BUILD_TUPLE):
        after += 1
    if type(instrs[after].arg) is not CodeUnit or instrs[after + 1].op != ops.MAKE_FUNCTION:
        return False
    after += 2
    while instrs[after].op == ops.SET_FUNCTION_ATTRIBUTE and instrs[after].arg != "annotate":
        after += 1
    return instrs[after].op == ops.SET_FUNCTION_ATTRIBUTE


def _is_hidden(instrs: tuple[Instr, ...], after: int, unit: CodeUnit) -> bool:
    """Whether no source has a function there: it is for a type parameter, an alias or an annotation."""
    if unit.params[:1] in ((".format",), ("format",), (".defaults",), (".kwdefaults",), (".type_params",)):
        return True
    while instrs[after].op in (ops.BUILD_TUPLE, ops.SET_FUNCTION_ATTRIBUTE):
        after += 1
    return instrs[after].op == ops.INTRINSIC


def _is_decoration(shape: CallShape, below: str) -> bool:
    """Whether a call passes what was just made to what lies below it."""
    given = shape.count + len(shape.keywords)
    return given == 1 and not shape.keywords or given == 0 and shape.slots == 2 and below != ops.NULL


def globals_of(lowered: Lowered) -> frozenset[str]:
    """The names that the code itself looks up among the globals only."""
    return frozenset([instr.arg for instr in lowered.instrs if instr.op in _GLOBALS])


_STATEMENTS = frozenset(
    {
        *(ops.STORE_ATTR, ops.STORE_SUBSCR, ops.STORE_GLOBAL, ops.DELETE_FAST, ops.DELETE_DEREF, ops.DELETE_GLOBAL),
        *(ops.DELETE_ATTR, ops.DELETE_SUBSCR, ops.IMPORT_NAME, ops.IMPORT_NAME_LAZY, ops.RAISE, ops.BEFORE_WITH),
        *(ops.BEFORE_ASYNC_WITH, ops.EXC_MATCH, ops.UNPACK_SEQUENCE, ops.UNPACK_EX),
    }
)


def has_statements(lowered: Lowered) -> bool:
    """Whether no lambda has such code; false where that is not certain."""
    instrs = lowered.instrs
    names = {instr.op for instr in instrs}
    if lowered.unit.flags & (CO_COROUTINE | CO_ASYNC_GENERATOR):
        return True
    if ops.LOAD_FAST_CLEAR in names:  # an inlined comprehension has loops and stores
        return False
    if not _STATEMENTS.isdisjoint(names):
        return True
    return any(
        instr.op in (ops.STORE_FAST, ops.STORE_DEREF)
        and before.op != ops.COPY
        or instr.op == ops.POP
        and before.op == ops.CALL
        for before, instr in pairwise(instrs)
    )


_FILLED = {ops.BUILD_LIST: "<listcomp>", ops.BUILD_SET: "<setcomp>", ops.BUILD_MAP: "<dictcomp>"}
COMPREHENSIONS = frozenset({*_FILLED.values(), "<genexpr>"})


def comprehension_name(lowered: Lowered) -> str:
    """What a compiler calls such code where it is that of a comprehension; "" where it is not."""
    unit, instrs = lowered.unit, lowered.instrs
    if len(unit.params) != 1 or unit.argcount != 1 or not unit.flags & CO_OPTIMIZED or len(instrs) < 4:
        return ""
    at = 1 if instrs[0].op in _FILLED and not instrs[0].arg else 0
    first, second = instrs[at], instrs[at + 1]
    reads = first.op == ops.LOAD_FAST and first.arg == unit.params[0]
    if not reads or second.op not in (ops.FOR_ITER, ops.GET_ANEXT):
        return ""
    if at:
        return _FILLED[instrs[0].op]
    return "<genexpr>" if unit.flags & CO_GENERATOR or second.op == ops.GET_ANEXT else ""
