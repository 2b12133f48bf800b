"""Statements: the first line of each, and what is nested below it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from depyf.decompiler.bytecode.variables.spelling import exact, is_legal
from depyf.decompiler.emit.annotation_text import source_of
from depyf.decompiler.emit.expressions.displays import for_target
from depyf.decompiler.emit.expressions.positions import (
    bare,
    decision,
    iterable,
    loose,
    named,
    outermost,
    target,
    touched,
)
from depyf.decompiler.emit.patterns import pattern
from depyf.decompiler.emit.printer import BLOCKS, BODIES, HEADS, TEST, BodyPrinter, HeadPrinter, Printer
from depyf.decompiler.ir.expr import Bin, Const, Display, Expr, Name, NestedTemp, Temp, YieldFrom, YieldOf
from depyf.decompiler.ir.stmt import (
    AnnAssign,
    Assert,
    Assign,
    AugAssign,
    Block,
    Break,
    Continue,
    Delete,
    Echo,
    ExceptClause,
    Exit,
    ExprStmt,
    For,
    If,
    Import,
    ImportFrom,
    Loop,
    Match,
    MatchCase,
    PassStmt,
    Raise,
    Return,
    Stmt,
    Try,
    While,
    With,
)

_H = TypeVar("_H", bound=HeadPrinter)
_B = TypeVar("_B", bound=BodyPrinter)


def head(kind: type) -> Callable[[_H], _H]:
    """Registers the printer of a statement's first line."""

    def register(function: _H) -> _H:
        HEADS[kind] = function
        return function

    return register


def body(kind: type) -> Callable[[_B], _B]:
    """Registers the printer of what is nested in a statement."""

    def register(function: _B) -> _B:
        BODIES[kind] = function
        return function

    return register


def whole(kind: type) -> Callable[[_B], _B]:
    """Registers a printer that takes care of all lines."""

    def register(function: _B) -> _B:
        BLOCKS[kind] = function
        return function

    return register


# Simple statements.


@whole(ExprStmt)
def expression_statement(p: Printer, node: ExprStmt) -> None:
    if isinstance(node.value, Const):
        return  # no effect, and a string in first place would become a docstring
    p.head(_expression, node, node.line)


def _expression(p: Printer, node: ExprStmt) -> str:
    return loose(p, node.value)


@head(Echo)
def echo(p: Printer, node: Echo) -> str:
    p.mode = "single"
    return loose(p, node.value)


_VARIABLE = (Name, Temp, NestedTemp)


@whole(Assign)
def assign(p: Printer, node: Assign) -> None:
    value = node.value
    if isinstance(value, Bin) and value.op.endswith("="):
        left, first = value.left, node.targets[0]
        same = isinstance(left, _VARIABLE) and isinstance(first, _VARIABLE) and p.expr(left) == p.expr(first)
        place: Expr = first if same else Name(p.temp("inplace"), "fast")
        if not same:
            p.head(_assign, Assign((place,), left), node.line)
        p.head(_augmented, AugAssign(place, value.op, value.right), node.line)
        rest = node.targets[1:] if same else node.targets
        if rest:
            p.head(_assign, Assign(rest, place), node.line, False)
        return
    p.head(_assign, node, node.line)


def _assign(p: Printer, node: Assign) -> str:
    value = loose(p, node.value)
    return " = ".join([*(target(p, item) for item in node.targets), value])


@head(AugAssign)
def _augmented(p: Printer, node: AugAssign) -> str:
    return f"{touched(p, node.target)} {node.op} {loose(p, node.value, p.grammar.star_for)}"


@head(AnnAssign)
def annotated(p: Printer, node: AnnAssign) -> str:
    left = touched(p, node.target) if node.value is None else target(p, node.target)
    if not node.simple and isinstance(node.target, Name):
        left = f"({left})"
    text = f"{left}: {annotation(p, node.annotation)}"
    if node.value is None:
        return text
    return f"{text} = {loose(p, node.value, p.grammar.star_for)}"


def annotation(p: Printer, node: Expr) -> str:
    """Under ``from __future__ import annotations`` the constant is the source text of the annotation."""
    if p.text_annotations and isinstance(node, Const) and type(node.value) is str and node.value:
        return source_of(node.value, p.unit.folds_annotations)
    return p.expr(node)


@head(Delete)
def delete(p: Printer, node: Delete) -> str:
    return "del " + ", ".join([touched(p, item) for item in node.targets])


@head(Return)
def return_(p: Printer, node: Return) -> str:
    return "return" if node.value is None else "return " + bare(p, node.value)


@head(Raise)
def raise_(p: Printer, node: Raise) -> str:
    if node.exc is None:
        return "raise"
    text = "raise " + p.expr(node.exc)
    return text if node.cause is None else f"{text} from {p.expr(node.cause)}"


@head(Assert)
def assert_(p: Printer, node: Assert) -> str:
    p.decide(node.test)
    text = "assert " + outermost(p, node.test)
    return text if node.message is None else f"{text}, {outermost(p, node.message)}"


@head(Import)
def import_(p: Printer, node: Import) -> str:
    items = []
    for name, asname in node.names:
        if asname is None:
            p.bind(name.partition(".")[0])
            items.append(_dotted(p, name))
        else:
            items.append(f"{_dotted(p, name)} as {p.bind(asname)}")
    return ("lazy " if node.lazy else "") + "import " + ", ".join(items)


@head(ImportFrom)
def import_from(p: Printer, node: ImportFrom) -> str:
    items = []
    for name, asname in node.names:
        if name != "*" and exact(name) is None:
            raise p.fail("no source imports a name that is no identifier")
        if name == "*":
            items.append("*")
        elif asname is None or asname == name:
            items.append(p.bind(name))
        else:
            items.append(f"{p.spelled(name)} as {p.bind(asname)}")
    listed = f"({p.listed(items)})" if p.wide and items != ["*"] else ", ".join(items)
    return f"{'lazy ' if node.lazy else ''}from {'.' * node.level}{_dotted(p, node.module)} import {listed}"


def _dotted(p: Printer, module: str) -> str:
    if not module or is_legal(module):
        return module
    return ".".join([p.spelled(part) for part in module.split(".")])


@head(PassStmt)
def pass_(p: Printer, node: PassStmt) -> str:
    return "..." if node.dots else "pass"


@head(Break)
def break_(p: Printer, node: Break) -> str:
    return "break"


@head(Continue)
def continue_(p: Printer, node: Continue) -> str:
    return "continue"


# Branches and loops.


@whole(If)
def if_(p: Printer, node: If) -> None:
    p.head(_if, node, node.line)
    p.block(node.body)
    orelse = node.orelse
    while len(orelse) == 1 and isinstance(orelse[0], If):
        inner = orelse[0]
        text = _elif(p, inner)
        if p.pending:
            break  # a function has to be defined before this test: ``else: if``
        if len(text) + len(p.pad) > p.options.width:
            p.head(_elif, inner, inner.line)
        else:
            p.line(text, inner.line)
        p.block(inner.body)
        orelse = inner.orelse
    _else(p, orelse)


def _if(p: Printer, node: If) -> str:
    return f"if {decision(p, node.test)}:"


def _elif(p: Printer, node: If) -> str:
    return f"elif {decision(p, node.test)}:"


def _else(p: Printer, orelse: tuple[Stmt, ...]) -> None:
    if orelse:
        p.line("else:", None, False)
        p.block(orelse)


@whole(While)
def while_(p: Printer, node: While) -> None:
    p.head(_while, node, node.line, hoist=False)
    loop_body(p, node)


def _while(p: Printer, node: While) -> str:
    return f"while {decision(p, node.test)}:"


@head(For)
def for_(p: Printer, node: For) -> str:
    source = node.iter
    if isinstance(source, (YieldOf, YieldFrom)):
        text = p.expr(source, TEST)
    elif isinstance(source, Display) and source.kind == "tuple":
        text = bare(p, source, p.grammar.star_for)
    elif isinstance(source, Const) and type(source.value) is not frozenset:
        text = bare(p, source)
    else:
        text = iterable(p, source, TEST)
    return f"{'async ' if node.is_async else ''}for {for_target(p, node.target)} in {text}:"


@body(For)
def loop_body(p: Printer, node: While | For) -> None:
    p.block(node.body)
    _else(p, node.orelse)


# Exceptions and context managers.


@whole(Try)
def try_(p: Printer, node: Try) -> None:
    p.line("try:", node.line)
    p.block(node.body)
    for clause in node.handlers:
        p.head(_except_star if node.star else _except, clause, clause.line, hoist=False)
        p.block(clause.body)
    _else(p, node.orelse)
    if node.final or not node.handlers:
        p.line("finally:", None, False)
        p.block(node.final)


def _except(p: Printer, node: ExceptClause, word: str = "except") -> str:
    if node.type is None:
        return f"{word}:"
    name = f" as {target(p, node.name)}" if node.name is not None else ""
    return f"{word} {p.expr(node.type)}{name}:"


def _except_star(p: Printer, node: ExceptClause) -> str:
    return _except(p, node, "except*")


@head(With)
def with_(p: Printer, node: With) -> str:
    items = []
    for context, name in node.items:
        text = p.expr(context)
        if name is not None:
            text += f" as {target(p, name, True)}"
        elif len(node.items) == 1 and _is_tuple(context):
            text = f"({text})"  # else the items of the tuple would be entered one by one
        items.append(text)
    listed = ", ".join(items)
    if p.wide and p.grammar.paren_with and len(items) > 1:
        listed = f"({p.listed(items)})"
    return f"{'async ' if node.is_async else ''}with {listed}:"


def _is_tuple(node: Expr) -> bool:
    return (isinstance(node, Display) and node.kind == "tuple") or (
        isinstance(node, Const) and type(node.value) is tuple
    )


@body(With)
def with_body(p: Printer, node: With) -> None:
    p.block(node.body)


# Pattern matching.


@head(Match)
def match(p: Printer, node: Match) -> str:
    if isinstance(node.subject, Display) and node.subject.kind == "tuple":
        return f"match {bare(p, node.subject)}:"
    return f"match {named(p, node.subject)}:"


@body(Match)
def match_body(p: Printer, node: Match) -> None:
    outer = p.pad
    p.pad = outer + p.step
    for case in node.cases:
        p.head(_case, case, None, False, hoist=False)
        p.block(case.body)
    p.pad = outer


def _case(p: Printer, node: MatchCase) -> str:
    guard = "" if node.guard is None else f" if {decision(p, node.guard)}"
    return f"case {pattern(p, node.pattern)}{guard}:"


# The labelled dialect: never Python, only for dumps between the passes.


@whole(Block)
def block(p: Printer, node: Block) -> None:
    p.labelled = True
    p.line(f"block L{node.label}:", node.line)
    p.block(node.body)


@whole(Loop)
def loop(p: Printer, node: Loop) -> None:
    p.labelled = True
    p.line(f"loop L{node.label}:", node.line)
    p.block(node.body)


@head(Exit)
def exit_(p: Printer, node: Exit) -> str:
    p.labelled = True
    return f"goto L{node.label}"
