"""Rules for calls, function objects and the comprehensions that are calls of nested code."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from depyf.decompiler.bytecode import ops
from depyf.decompiler.bytecode.codeunit import CO_COROUTINE, CO_OPTIMIZED, CodeUnit
from depyf.decompiler.bytecode.host.idle_calls import does_nothing
from depyf.decompiler.bytecode.ops import CallShape
from depyf.decompiler.bytecode.variables.spelling import READABLE, exact
from depyf.decompiler.ir.expr import Attr, Comp, Const, DictOf, Display, Expr, Func, Generator, Invoke, Name
from depyf.decompiler.ir.markers import FoldedGenerator, NullSlot
from depyf.decompiler.ir.stmt import ExprStmt, Return
from depyf.decompiler.ir.walk_expr import names_of_block, walk_all
from depyf.decompiler.lift.rules import generics
from depyf.decompiler.lift.rules.unpacking import Keywords, arguments
from depyf.decompiler.lift.stack_values import IterOf
from depyf.errors import DecompilationError

if TYPE_CHECKING:
    from depyf.decompiler.lift.symbolic import Symbolic

COMPREHENSIONS = {"<listcomp>": "list", "<setcomp>": "set", "<dictcomp>": "dict", "<genexpr>": "generator"}


def is_null(value: Expr) -> bool:
    return isinstance(value, NullSlot)


def callee(s: Symbolic, slots: int) -> tuple[Expr, tuple[Expr, ...]]:
    """The callable and what is passed before the other arguments."""
    upper = s.pop()
    if slots == 1:
        return upper, ()
    lower = s.pop()
    if is_null(lower):
        return upper, ()
    if is_null(upper):
        return lower, ()
    return lower, (upper,)


def _call(s: Symbolic, shape: CallShape) -> None:
    values = s.pops(shape.count + len(shape.keywords))
    func, first = callee(s, shape.slots)
    if s.generated and not values and not first and isinstance(func, Const) and does_nothing(func.value):
        s.push(Const(None))
        return
    args = (*first, *values[: shape.count])
    keywords = tuple(zip(shape.keywords, values[shape.count :], strict=True))
    s.push(make_call(s, func, args, keywords))


def make_call(s: Symbolic, func: Expr, args: tuple[Expr, ...], keywords: Keywords) -> Expr:
    if isinstance(func, Func) and func.unit.name in COMPREHENSIONS and len(args) == 1 and not keywords:
        comp = _comprehension(func)
        if comp is not None:
            source = args[0].value if isinstance(args[0], IterOf) else args[0]
            head = comp.generators[0]
            is_async = head.is_async or (isinstance(args[0], IterOf) and args[0].is_async)
            first = Generator(head.target, source, head.ifs, is_async)
            coroutine = bool(func.unit.flags & CO_COROUTINE)
            return Comp(comp.kind, comp.elt, comp.key, (first, *comp.generators[1:]), func.unit, coroutine=coroutine)
    if isinstance(func, Func) and func.unit.name.startswith(generics.HIDDEN) and not keywords:
        definition = generics.expand(s, func, args)
        if definition is not None:
            return definition
    return Invoke(func, tuple(map(_made, args)), keywords)


def _made(argument: Expr) -> Expr:
    """An iterator that no comprehension takes is passed on as a value: a function that was made elsewhere takes it."""
    if isinstance(argument, IterOf) and not argument.is_async:
        return Invoke(Const(builtins.iter), (argument.value,))
    return argument


def _comprehension(func: Func) -> Comp | None:
    for stmt in func.body:
        value = stmt.value if isinstance(stmt, (Return, ExprStmt)) else None
        if isinstance(value, FoldedGenerator):
            value = value.comp
        if isinstance(value, Comp):
            source = value.generators[0].iter
            if isinstance(source, Name) and (source.id,) == func.unit.params and not _reads_again(value, source):
                return value
    return None


def _reads_again(comp: Comp, source: Name) -> bool:
    """Whether more than the first loop uses the variable of the iterable: a program may have named its own so."""
    names = [node for node in walk_all((ExprStmt(comp),)) if isinstance(node, Name) and node.id == source.id]
    return not source.id.startswith(".") and len(names) > 1


def _call_ex(s: Symbolic, shape: tuple[int, bool]) -> None:
    slots, has_mapping = shape
    if has_mapping and is_null(s.stack[-1]):  # 3.14: the slot is there, and code that swaps leaves it empty
        s.raw()
        has_mapping = False
    mapping = s.pop() if has_mapping else None
    packed = s.pop()
    func, first = callee(s, slots)
    args, keywords = arguments(s, packed, mapping)
    s.push(Invoke(func, (*first, *args), keywords))


def _make_function(s: Symbolic, extras: tuple[str, ...]) -> None:
    code = s.pop()
    values = dict(zip(extras, s.pops(len(extras)), strict=True))
    if not isinstance(code, Const) or not isinstance(code.value, CodeUnit):
        raise DecompilationError("function made of computed code", s.program.unit.qualname, s.instr.offset)
    unit = code.value
    func = Func(unit, s.nested(unit, generics.is_deferred(s, unit)))
    for name in ("defaults", "kwdefaults", "annotations", "annotate"):
        if name in values:
            func = with_attribute(s, func, name, values[name])
    s.push(func)


def _set_function_attribute(s: Symbolic, name: str) -> None:
    func = s.pop()
    value = s.pop()
    if not isinstance(func, Func):
        raise DecompilationError("attribute of a computed function", s.program.unit.qualname, s.instr.offset)
    s.push(with_attribute(s, func, name, value))


def with_attribute(s: Symbolic, func: Func, name: str, value: Expr) -> Func:
    """``func`` with its defaults, keyword defaults or annotations set; closures need nothing."""
    defaults, kwdefaults, annotations = func.defaults, func.kwdefaults, func.annotations
    if name == "defaults":
        defaults = (value,) if generics.passed_in(value) else sequence(s, value)
    elif name == "kwdefaults":
        kwdefaults = ((".kwdefaults", value),) if generics.passed_in(value) else named(s, value)
    elif name == "annotations":
        annotations = named(s, value)
    elif name == "annotate":
        annotations = annotate_items(value)
        if not s.program.unit.flags & CO_OPTIMIZED:
            annotations = names_of_block(annotations)
    return Func(func.unit, func.body, defaults, kwdefaults, annotations, func.type_params)


def annotate_items(value: Expr) -> tuple[tuple[str, Expr], ...]:
    """The pairs that a 3.14 ``__annotate__`` function returns."""
    if isinstance(value, Func):
        for stmt in reversed(value.body):
            if isinstance(stmt, Return) and isinstance(stmt.value, DictOf):
                return tuple((key.value, item) for key, item in stmt.value.items if isinstance(key, Const))
    return ()


def sequence(s: Symbolic, value: Expr) -> tuple[Expr, ...]:
    """The elements of a tuple that is written out."""
    if isinstance(value, Const) and isinstance(value.value, tuple):
        return tuple(Const(item) for item in value.value)
    if isinstance(value, Display):
        return tuple(value.elts)
    raise DecompilationError("defaults are not a tuple display", s.program.unit.qualname, s.instr.offset)


def named(s: Symbolic, value: Expr) -> tuple[tuple[str, Expr], ...]:
    """The pairs of a dict, or of a tuple of names and values in turn."""
    if isinstance(value, DictOf):
        pairs = [(key.value, item) for key, item in value.items if isinstance(key, Const)]
        if len(pairs) == len(value.items):
            return tuple(pairs)
    flat = sequence(s, value) if isinstance(value, (Const, Display)) else ()
    keys = flat[::2]
    if len(flat) % 2 or not all(isinstance(key, Const) for key in keys):
        raise DecompilationError("annotations are not a display", s.program.unit.qualname, s.instr.offset)
    return tuple((key.value, item) for key, item in zip(keys, flat[1::2], strict=True) if isinstance(key, Const))


def _super_attr(s: Symbolic, shape: tuple[str, bool]) -> None:
    name, explicit = shape
    func, cls, obj = s.pops(3)
    if exact(name) is None and name != READABLE:
        explicit = True  # the compiler fills in what ``super()`` leaves out only in front of a dot
    s.push(Attr(Invoke(func, (cls, obj) if explicit else ()), name))


def _super_method(s: Symbolic, shape: tuple[str, bool]) -> None:
    _super_attr(s, shape)
    s.push(NullSlot())


RULES: dict[str, Callable[[Symbolic, Any], None]] = {
    ops.CALL: _call,
    ops.CALL_EX: _call_ex,
    ops.MAKE_FUNCTION: _make_function,
    ops.SET_FUNCTION_ATTRIBUTE: _set_function_attribute,
    ops.INTRINSIC: generics.intrinsic,
    ops.LOAD_SUPER_ATTR: _super_attr,
    ops.LOAD_SUPER_METHOD: _super_method,
}
