"""Functions, lambdas, classes and type aliases: headers, parameter lists, bodies, docstrings."""

from __future__ import annotations

from depyf.decompiler.bytecode.codeunit import (
    CO_ASYNC_GENERATOR,
    CO_COROUTINE,
    CO_GENERATOR,
    CO_VARARGS,
    CO_VARKEYWORDS,
    CodeUnit,
)
from depyf.decompiler.bytecode.tables.docstrings import begins_with_docstring
from depyf.decompiler.bytecode.tables.static_attributes import static_attributes
from depyf.decompiler.emit.expressions.access import arguments
from depyf.decompiler.emit.expressions.dead_arms import arm_of_lambda
from depyf.decompiler.emit.expressions.positions import outermost
from depyf.decompiler.emit.expressions.quoting import docstring, is_clean
from depyf.decompiler.emit.grammar import docstring_of
from depyf.decompiler.emit.naming import DEF
from depyf.decompiler.emit.printer import DEFINE, OR, TEST, Printer, prints
from depyf.decompiler.emit.scopes import Scope
from depyf.decompiler.emit.statements import annotation, head, whole
from depyf.decompiler.ir.expr import Cond, Const, Expr, Func, Name, Star, TypeParam
from depyf.decompiler.ir.stmt import Assign, ClassDef, ExprStmt, FuncDef, If, Raise, Return, Stmt, TypeAlias
from depyf.safety.depth import any_depth

# Functions.


@whole(FuncDef)
def function(p: Printer, node: FuncDef) -> None:
    _separate(p)
    first = len(p.lines)
    _decorators(p, node.decorators, node.line)
    name = p.store(node.target)
    define(p, name, node.func, node.line, not node.decorators)
    p.definitions.append((node.func.unit, first, len(p.lines)))
    p.blank = _blank_lines(p)


def define(p: Printer, name: str, node: Func, line: int | None, starts: bool = True) -> None:
    """``def name(...): ...`` with everything that is bound when the function is made."""
    outer, unit = p.scope, p.unit
    if node.type_params:
        p.enter("params", None)
    p.head(lambda printer, func: _header(printer, name, func), node, line, starts)
    function_body(p, node.unit, node.body)
    _leave_params(p, outer, unit)


def _leave_params(p: Printer, outer: Scope, unit: CodeUnit) -> None:
    if p.scope is not outer:
        p.scope.close(False)
    p.leave(outer, unit)


def _hoisted(p: Printer, name: str, node: Func) -> None:
    p.scope.stores["name" if p.scope.kind in ("module", "class") else "fast"].add(name)
    define(p, name, node, None, False)
    p.blank = 1


DEFINE.append(_hoisted)


def _header(p: Printer, name: str, node: Func) -> str:
    types = _type_params(p, node.type_params)
    notes = dict(node.annotations)
    params = _parameters(p, node, notes)
    returns = f" -> {annotation(p, notes['return'])}" if "return" in notes else ""
    word = "async def" if node.unit.flags & (CO_COROUTINE | CO_ASYNC_GENERATOR) else "def"
    return f"{word} {name}{types}({p.listed(params)}){returns}:"


def _parameters(p: Printer, node: Func, notes: dict[str, Expr]) -> list[str]:
    """The signature, in source order; defaults belong to the last positional parameters."""
    unit = node.unit
    names = unit.params
    positional, keyword_only = unit.argcount, unit.kwonlyargcount
    first_default = positional - len(node.defaults)
    kwdefaults = dict(node.kwdefaults)
    around = p.scope.parent if node.type_params else None
    out = []
    for index in range(positional):
        default = node.defaults[index - first_default] if index >= first_default else None
        out.append(_parameter(p, names[index], default, notes, around))
        if index + 1 == unit.posonlyargcount:
            out.append("/")
    rest = positional + keyword_only
    if unit.flags & CO_VARARGS:
        out.append("*" + _parameter(p, names[rest], None, notes))
        rest += 1
    elif keyword_only:
        out.append("*")
    for name in names[positional : positional + keyword_only]:
        out.append(_parameter(p, name, kwdefaults.get(name), notes, around))
    if unit.flags & CO_VARKEYWORDS:
        out.append("**" + _parameter(p, names[rest], None, notes))
    return out


def _parameter(p: Printer, name: str, default: Expr | None, notes: dict[str, Expr], around: Scope | None = None) -> str:
    """``around`` is the scope in which defaults are evaluated, where that is not the one of the annotations."""
    text = p.spelled(name)
    note = notes.get(name)
    if note is None:
        return text if default is None else f"{text}={p.expr_in(around, default)}"
    shown = "*" + p.expr(note.value) if isinstance(note, Star) else annotation(p, note)
    return f"{text}: {shown}" if default is None else f"{text}: {shown} = {p.expr_in(around, default)}"


def function_body(p: Printer, unit: CodeUnit, body: tuple[Stmt, ...]) -> None:
    """The suite of a function in a new scope."""
    outer_unit = p.unit
    outer = p.enter("function", unit)
    p.scope.stores["fast"].update(unit.params)
    pad, p.pad = p.pad, p.pad + p.step
    text = docstring_of(unit)
    if text is not None:
        p.fresh_block = True
        p.line(docstring(text, p.pad, p.grammar.clean_docstrings), None, False)
    p.fresh_block, p.blank = True, 0
    p.reserve()
    p.pad = pad
    generator = bool(unit.flags & (CO_GENERATOR | CO_ASYNC_GENERATOR))
    if generator and not body:
        body = (Return(None),)
    p.block(body, filled=text is not None)
    if generator and not p.scope.has_yield and isinstance(body[-1], (Return, Raise)):
        # what is never reached leaves no code, and still makes this a generator
        p.pad = pad + p.step
        p.line("yield", None, False)
        p.pad = pad
        p.scope.has_yield = True
    p.leave(outer, outer_unit)
    p.blank = 0


# Lambdas.


@prints(Func)
def function_expression(p: Printer, node: Func, level: int) -> str:
    """A lambda, or the name of a function whose ``def`` is put before the statement."""
    if node.unit.name == "<lambda>":
        value = as_expression(node.body)
        if value is not None:
            text = lambda_text(p, node, value)
            return text if level <= TEST else p.paren(text)
    name = p.hoisted.get(id(node))
    if name is None:
        scope = p.scope
        if scope.kind in ("comp", "lambda"):
            raise p.fail(f"{node.unit.name} is no lambda, but made inside an expression")
        name = p.hoisted[id(node)] = p.names.stand_in(node.unit.name) if "<" in node.unit.name else ""
        if not name:
            name = p.hoisted[id(node)] = _stack_name(p, node.unit.name)
        p.pending.append((name, node))
    return name


def _stack_name(p: Printer, name: str) -> str:
    """A name for a function that only the stack holds: a temporary where there are locals, so that nothing takes it for
    the user's variable.  What the function calls itself is ``name`` all the same."""
    if p.scope.kind in ("module", "class"):
        found = p.names.fresh(p.spelled(name))
        p.names.renames[found] = name
    else:
        found = p.names.fresh(p.temp(p.spelled(name)))
        p.names.renames[f"{DEF}{found}"] = name
    return found


def lambda_text(p: Printer, node: Func, value: Expr) -> str:
    params = ", ".join(_parameters(p, node, {}))
    unit = p.unit
    outer = p.enter("lambda", node.unit)
    p.scope.stores["fast"].update(node.unit.params)
    text = p.expr(value)
    if arm := arm_of_lambda(p, node.unit):
        text = f"{p.expr(value, OR)} if 1 else {arm}"
    p.scope.close(False)
    p.leave(outer, unit)
    return f"lambda {params}: {text}" if params else f"lambda: {text}"


@any_depth
def as_expression(body: tuple[Stmt, ...]) -> Expr | None:
    """The value a body of returns and branches gives, None if it does anything else."""
    if not body:
        return Const(None)
    first = body[0]
    if isinstance(first, Return):
        if isinstance(first.value, Star):  # the one item of a sequence, which a program unpacked and returned
            return None
        return first.value if first.value is not None else Const(None)
    if isinstance(first, If):
        if first.orelse and len(body) > 1:
            return None
        then = as_expression(first.body) if first.body and isinstance(first.body[-1], (Return, If)) else None
        rest = first.orelse or body[1:]
        orelse = as_expression(rest)
        return Cond(first.test, then, orelse) if then is not None and orelse is not None else None
    if isinstance(first, ExprStmt) and len(body) == 1:
        return None
    return None


# Classes.


@whole(ClassDef)
def class_(p: Printer, node: ClassDef) -> None:
    _separate(p)
    first = len(p.lines)
    _decorators(p, node.decorators, node.line)
    name = p.store(node.target)
    outer, unit = p.scope, p.unit
    if node.type_params:
        p.enter("params", None)
    p.head(lambda printer, item: _class_header(printer, name, item), node, node.line, not node.decorators)
    class_name, spell = p.class_name, p.spell
    p.class_name = node.func.unit.name
    p.spell = p.names.spellings(p.class_name)
    params = p.enter("class", node.func.unit)
    p.scope.listed = static_attributes(node.func.unit, p.options.lower)
    _class_body(p, node.func.body)
    p.class_name, p.spell = class_name, spell
    p.leave(params, unit)
    _leave_params(p, outer, unit)
    p.definitions.append((node.func.unit, first, len(p.lines)))
    p.blank = _blank_lines(p)


def _class_header(p: Printer, name: str, node: ClassDef) -> str:
    types = _type_params(p, node.type_params)
    if not node.bases and not node.keywords:
        return f"class {name}{types}:"
    return f"class {name}{types}({arguments(p, node.bases, node.keywords)}):"


def _class_body(p: Printer, body: tuple[Stmt, ...]) -> None:
    pad, p.pad = p.pad, p.pad + p.step
    p.fresh_block = True
    rest = namespace_docstring(p, body)
    filled = len(rest) < len(body)
    p.reserve()
    p.pad = pad
    p.blank = 1 if filled else 0
    _after_docstring(p, rest, filled)
    p.blank = 0


def _after_docstring(p: Printer, body: tuple[Stmt, ...], filled: bool) -> None:
    outer = p.pad
    p.pad = outer + p.step
    p.fresh_block = not filled
    before = len(p.lines)
    p.statements(body)
    if len(p.lines) == before and not filled:
        p.line("pass", None, False)
    p.pad = outer
    p.fresh_block = False


def namespace_docstring(p: Printer, body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
    """Print a leading ``__doc__ = "..."`` of a class or module as a docstring; returns the other statements."""
    if not body or not isinstance(body[0], Assign):
        return body
    first = body[0]
    name, value = first.targets[0], first.value
    if len(first.targets) > 1 or not isinstance(name, Name) or name.id != "__doc__" or name.scope != "name":
        return body
    if not isinstance(value, Const) or type(value.value) is not str:
        return body
    if p.grammar.clean_docstrings and not is_clean(value.value):
        return body
    if not begins_with_docstring(p.options.lower(p.unit), p.names.unit):
        return body
    p.line(docstring(value.value, p.pad, p.grammar.clean_docstrings), first.line)
    return body[1:]


# Common parts.


def _decorators(p: Printer, decorators: tuple[Expr, ...], line: int | None) -> None:
    for index, decorator in enumerate(decorators):
        p.head(_decorator, decorator, line, index == 0)


def _decorator(p: Printer, node: Expr) -> str:
    return "@" + p.expr(node)


def _type_params(p: Printer, params: tuple[TypeParam, ...]) -> str:
    if not params:
        return ""
    p.scope.stores["name"].update(item.name for item in params)
    return f"[{p.listed([_type_param(p, item) for item in params])}]"


def _type_param(p: Printer, node: TypeParam) -> str:
    text = {"TypeVar": "", "TypeVarTuple": "*", "ParamSpec": "**"}[node.kind] + p.spelled(node.name)
    if node.bound is not None:
        text += f": {p.expr(node.bound)}"
    if node.default is not None:
        default = node.default
        text += f" = {'*' + p.expr(default.value) if isinstance(default, Star) else p.expr(default)}"
    return text


@head(TypeAlias)
def type_alias(p: Printer, node: TypeAlias) -> str:
    name = p.store(node.target)
    outer, unit = p.scope, p.unit
    p.enter("params", None)
    text = f"type {name}{_type_params(p, node.type_params)} = {outermost(p, node.value)}"
    _leave_params(p, outer, unit)
    return text


def _blank_lines(p: Printer) -> int:
    return 1 if p.pad else 2


def _separate(p: Printer) -> None:
    """Ask for the blank lines that go before a definition."""
    p.blank = max(p.blank, _blank_lines(p))
