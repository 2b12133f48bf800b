"""Attributes, items, slices and calls."""

from __future__ import annotations

from depyf.decompiler.bytecode.variables.spelling import READABLE, exact, mangling_prefix
from depyf.decompiler.emit.expressions.displays import comprehension_text
from depyf.decompiler.emit.expressions.literals import literal
from depyf.decompiler.emit.expressions.positions import element, is_none, tuple_of
from depyf.decompiler.emit.expressions.quoting import string
from depyf.decompiler.emit.printer import EXPRESSIONS, LOOSE, PRIMARY, TEST, Printer, prints
from depyf.decompiler.ir.expr import (
    Attr,
    Bin,
    BoolOf,
    Cmp,
    Comp,
    Cond,
    Const,
    Display,
    Expr,
    Invoke,
    SliceOf,
    Star,
    Sub,
    Walrus,
)


@prints(Attr)
def attribute(p: Printer, node: Attr, level: int) -> str:
    value = node.value
    text = p.attributes.get((p.class_name, node.name))
    if text is None:
        text = p.attributes[p.class_name, node.name] = _written(p, node.name)
    if not text:
        named = p.expr(Const(node.name))
        return f"{p.bound_const(getattr)}({p.listed([p.expr(value), named])})"
    return EXPRESSIONS[type(value)](p, value, PRIMARY) + "." + text


def _written(p: Printer, name: str) -> str:
    """What is written after the dot; "" for a name that cannot be written as an identifier."""
    if name == READABLE:
        return name
    private = name.startswith("__") and not name.endswith("__") and "." not in name
    if exact(name) is None or private and mangling_prefix(p.class_name):
        return ""
    return p.spelled(name)


@prints(Sub)
def subscript(p: Printer, node: Sub, level: int) -> str:
    value = node.value
    return f"{EXPRESSIONS[type(value)](p, value, PRIMARY)}[{_key(p, node.key)}]"


def _key(p: Printer, node: Expr) -> str:
    if _is_slice(node):
        return _slice(p, node)
    parts = _parts(node)
    if parts is None:
        return p.inner(p.expr(node, TEST))
    starred = any(isinstance(item, Star) for item in parts)
    if starred and not p.grammar.star_index:
        return tuple_of(p, [element(p, item) for item in parts])
    items = [_slice(p, item) if _is_slice(item) else element(p, item) for item in parts]
    return f"{items[0]}," if len(items) == 1 and not starred else p.listed(items)


def _is_slice(node: Expr) -> bool:
    return isinstance(node, SliceOf) or isinstance(node, Const) and type(node.value) is slice


def _parts(node: Expr) -> tuple[Expr, ...] | None:
    """The items of a tuple that is written in brackets without parentheses; None for any other key."""
    if isinstance(node, Display) and node.kind == "tuple" and node.elts:
        return node.elts
    if not isinstance(node, Const) or type(node.value) is not tuple:
        return None
    parts = tuple(Const(item) for item in node.value)
    if any(_is_slice(item) for item in parts):
        return parts
    return parts if len(parts) > 1 and literal(node.value) is not None else None


def _slice(p: Printer, node: Expr) -> str:
    """``lower:upper:step``; an absent bound and a written None are the same, but for the step."""
    bounds: tuple[Expr | None, Expr | None, Expr | None]
    if isinstance(node, SliceOf):
        bounds = node.lower, node.upper, node.step
    else:
        assert isinstance(node, Const)
        value = node.value
        if any(part is not None and literal(part) is None for part in (value.start, value.stop, value.step)):
            return p.bound_const(value)
        bounds = Const(value.start), Const(value.stop), None if value.step is None else Const(value.step)
    lower, upper, step = ["" if part is None or is_none(part) else p.expr(part, TEST) for part in bounds]
    step = step or "None"  # a written None makes it a slice of three
    spaced = any(isinstance(part, (Bin, BoolOf, Cmp, Cond)) for part in bounds)
    colon = " : " if spaced else ":"
    text = (lower + colon + upper).strip(" ") if spaced else f"{lower}:{upper}"
    if bounds[2] is None:
        return text
    return f"{text}{colon}{step}".rstrip(" ") if spaced else f"{text}:{step}"


@prints(SliceOf)
def slice_of(p: Printer, node: SliceOf, level: int) -> str:
    parts = [node.lower, node.upper] if node.step is None else [node.lower, node.upper, node.step]
    p.reads["global"].add("slice")
    return f"slice({p.listed([p.expr(part) for part in parts])})"


@prints(Invoke)
def call(p: Printer, node: Invoke, level: int) -> str:
    func = node.func
    return f"{EXPRESSIONS[type(func)](p, func, PRIMARY)}({arguments(p, node.args, node.keywords)})"


def arguments(p: Printer, args: tuple[Expr, ...], keywords: tuple[tuple[str | None, Expr], ...]) -> str:
    """The inside of the parentheses of a call or class statement."""
    if len(args) == 1 and not keywords:
        only = args[0]
        if isinstance(only, Comp) and only.kind == "generator":
            return p.inner(comprehension_text(p, only))
        if isinstance(only, Walrus):
            return EXPRESSIONS[Walrus](p, only, LOOSE)
        if isinstance(only, Star):
            return p.listed(["*" + p.expr(only.value)])
        return p.listed([EXPRESSIONS[type(only)](p, only, TEST)])
    items = []
    for item in args:
        if isinstance(item, Star):
            items.append("*" + p.expr(item.value))
        else:
            items.append(EXPRESSIONS[type(item)](p, item, TEST))
    for key, value in keywords:
        if key is None:
            items.append("**" + p.expr(value))
        elif (name := exact(key)) is not None:
            items.append(f"{name}={p.expr(value)}")
        else:
            items.append(f"**{{{string(key)}: {p.expr(value)}}}")
    return p.listed(items)
