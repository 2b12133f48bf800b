"""Type parameters (PEP 695, 3.12+): turns the hidden function that makes them back into the brackets of a definition.

    T = TypeVar("T"); f = function(...); f.__type_params__ = (T,); return f       # <generic parameters of f>
                                                                      ->  def f[T](...)

Input: the call of the hidden function, whose body is lifted already.  Output: the function, class or alias it returns.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from depyf.decompiler.bytecode import ops
from depyf.decompiler.bytecode.codeunit import CodeUnit
from depyf.decompiler.bytecode.lower import lower
from depyf.decompiler.bytecode.variables.spelling import exact
from depyf.decompiler.ir.expr import Const, Display, Expr, Func, Invoke, Name, TypeParam, Walrus
from depyf.decompiler.ir.markers import AliasValue, BuildClass, GenericBase, GenericClass, Intrinsic
from depyf.decompiler.ir.stmt import Assign, Echo, If, Return

if TYPE_CHECKING:
    from depyf.decompiler.lift.symbolic import Symbolic

HIDDEN = "<generic parameters of "
PARAMS = ".type_params"
BASE = ".generic_base"
_DEFERRED = ("TYPEVAR_WITH_BOUND", "TYPEVAR_WITH_CONSTRAINTS", "SET_TYPEPARAM_DEFAULT", "TYPEALIAS")
_KINDS = {"TYPEVAR": "TypeVar", "TYPEVARTUPLE": "TypeVarTuple", "PARAMSPEC": "ParamSpec"}


def intrinsic(s: Symbolic, shape: tuple[str, int]) -> None:
    """The rule of the calls into the interpreter: most serve type parameters, one shows a value at the prompt."""
    name, count = shape
    values = s.pops(count)
    if name == "PRINT":
        s.emit(Echo(values[0], s.instr.line))
        s.push(Const(None))
        return
    s.push(_typed(s, name, values) or Intrinsic(name, tuple(values)))


def _typed(s: Symbolic, name: str, values: list[Expr]) -> Expr | None:
    first = values[0]
    if name in _KINDS and isinstance(first, Const):
        return TypeParam(_KINDS[name], first.value)
    if name in ("TYPEVAR_WITH_BOUND", "TYPEVAR_WITH_CONSTRAINTS") and isinstance(first, Const):
        bound = lazy_value(values[1])
        return None if bound is None else TypeParam("TypeVar", first.value, bound)
    if name == "SET_TYPEPARAM_DEFAULT" and isinstance(first, TypeParam):
        default = lazy_value(values[1])
        return None if default is None else TypeParam(first.kind, first.name, first.bound, default)
    if name == "SET_FUNCTION_TYPE_PARAMS" and isinstance(first, Func):
        params = _params(values[1])
        if params is None:
            return None
        return Func(first.unit, first.body, first.defaults, first.kwdefaults, first.annotations, params)
    if name == "SUBSCRIPT_GENERIC":
        return GenericBase()
    if name == "TYPEALIAS" and isinstance(first, Display) and len(first.elts) == 3:
        params = () if isinstance(first.elts[1], Const) else _params(first.elts[1])
        value = lazy_value(first.elts[2])
        return None if params is None or value is None else AliasValue(params, value)
    return None


def is_deferred(s: Symbolic, unit: CodeUnit) -> bool:
    """Whether the compiler made the function that is being made now, to evaluate an expression later.

    From 3.14 on such functions begin by refusing formats; before, it shows in what they are made for.
    """
    if unit.params and unit.params[0] in ("format", ".format"):
        return any(i.op == ops.LOAD_COMMON and i.arg == "NotImplementedError" for i in lower(unit).instrs[:6])
    if unit.params or unit.name.startswith("<"):
        return False
    instrs, index = s.program.instrs, s.program.next[s.at]
    while index >= 0 and instrs[index].op in (ops.SET_FUNCTION_ATTRIBUTE, ops.BUILD_TUPLE):
        index = s.program.next[index]
    return index >= 0 and instrs[index].op == ops.INTRINSIC and instrs[index].arg[0] in _DEFERRED


def lazy_value(value: Expr) -> Expr | None:
    """What a function without arguments returns: a bound, a default or an alias, which are evaluated on demand."""
    if not isinstance(value, Func):
        return None
    body = value.body
    if body and isinstance(body[0], If):
        body = body[1:]  # from 3.14 on it first refuses formats other than the value
    if not body:
        return Const(None)
    if len(body) > 1 or not isinstance(body[0], Return):
        return None
    return body[0].value if body[0].value is not None else Const(None)


def _params(value: Expr) -> tuple[TypeParam, ...] | None:
    """The type parameters in the tuple that was made of them, each stored to its name on the way."""
    if not isinstance(value, Display):
        return None
    found: list[TypeParam] = []
    for item in value.elts:
        inner = item.value if isinstance(item, Walrus) else item
        if not isinstance(inner, TypeParam):
            return None
        if isinstance(item, Walrus) and isinstance(item.target, Name) and exact(inner.name) is None:
            inner = TypeParam(inner.kind, item.target.id, inner.bound, inner.default)  # no source has that name
        found.append(inner)
    return tuple(found)


def expand(s: Symbolic, func: Func, args: tuple[Expr, ...]) -> Expr | None:
    """The definition that the hidden function returns, with the defaults passed to it."""
    if not func.body or not isinstance(func.body[-1], Return):
        return None
    value = func.body[-1].value
    if isinstance(value, Func) and len(func.body) == 1:
        return _with_defaults(s, value, args)
    if isinstance(value, AliasValue) and not args and len(func.body) == 1:
        return value
    if isinstance(value, Invoke) and not args:
        return _class(func, value)
    return None


def _with_defaults(s: Symbolic, func: Func, args: tuple[Expr, ...]) -> Func | None:
    from depyf.decompiler.lift.rules.calls import named, sequence

    passed = list(args)
    defaults, kwdefaults = func.defaults, func.kwdefaults
    if _is_passed(defaults):
        if not passed:
            return None
        defaults = sequence(s, passed.pop(0))
    if kwdefaults and kwdefaults[0][0] == ".kwdefaults":
        if not passed:
            return None
        kwdefaults = named(s, passed.pop(0))
    if passed:
        return None
    return Func(func.unit, func.body, defaults, kwdefaults, func.annotations, func.type_params)


def passed_in(value: Expr) -> bool:
    """Whether ``value`` is the hidden function's own parameter for the defaults of the function it makes.

    Its first parameter is called ``.defaults``, whatever comes in it.
    """
    return isinstance(value, Name) and value.id in (".defaults", ".kwdefaults")


def _is_passed(defaults: tuple[Expr, ...]) -> bool:
    return len(defaults) == 1 and passed_in(defaults[0])


def _class(func: Func, call: Invoke) -> Expr | None:
    if not isinstance(call.func, BuildClass):
        return None
    params: tuple[TypeParam, ...] | None = None
    for stmt in func.body[:-1]:
        if not isinstance(stmt, Assign) or len(stmt.targets) != 1 or not isinstance(stmt.targets[0], Name):
            return None
        if stmt.targets[0].id != PARAMS:
            return None
        params = _params(stmt.value)
    if params is None:
        return None
    bases = tuple(base for base in call.args if not (isinstance(base, Name) and base.id == BASE))
    return GenericClass(params, Invoke(call.func, bases, call.keywords))
