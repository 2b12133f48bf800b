"""The sources of the compiled build: those of ``src/depyf``, with what mypyc compiles badly written out.

mypyc makes of a dataclass a class whose ``__init__`` is interpreted, and of a ``cached_property`` a property that is computed
each time.  Both are written out here, each on lines that were empty, so that every line keeps its number and a traceback tells
the truth:

- a dataclass becomes an ordinary class with an ``__init__``; ``depyf.native.describe`` gives it the rest of a dataclass, its
  fields as text, as ``from __future__ import annotations`` has them (mypyc would look names up that only the type checker sees);
- ``dataclasses.replace``, which the type checker allows for dataclasses only, becomes ``depyf.native.replace``;
- a ``cached_property`` becomes a property and an attribute;
- a constant of the module becomes ``Final``, each of several on one line, too: another one is looked up by its name each time that
  it is read;
- ``tuple[Expr, ...]`` becomes ``Any``: a compiled function would refuse a long one, which is a ``Grown``.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from dataclasses import dataclass

DECORATORS = ("dataclass", "node")
FACTORIES = ("list", "dict", "set")
TYPE_VARIABLES = ("TypeVar", "ParamSpec", "NewType")
CONSTANT = re.compile(r"_?[A-Z][A-Z0-9_]*\Z")


class CannotExpand(Exception):
    """There is no room for what a construct would become."""


@dataclass(frozen=True)
class Field:
    """A field of a dataclass, as text."""

    name: str
    type: str
    default: str | None = None
    factory: bool = False

    def parameter(self) -> str:
        if self.factory:
            return f"{self.name}: {self.type} | None = None"
        return f"{self.name}: {self.type}" + (f" = {self.default}" if self.default is not None else "")

    def stored(self) -> str:
        value = f"{self.default}() if {self.name} is None else {self.name}" if self.factory else self.name
        return f"self.{self.name} = {value}"


def expanded(source: str) -> str:
    """A module with its dataclasses and cached properties written out; as many lines as before, but for those at its end."""
    tree = ast.parse(source)
    lines = source.split("\n")
    descriptions: list[str] = []
    _weaken(tree, lines)
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            described = _expand_dataclass(node, lines)
            if described:
                descriptions.append(described)
            _expand_cached_properties(node, lines)
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and node.module == "dataclasses":
            _import_replace(node, lines)
    _finalize(tree, lines)
    text = "\n".join(lines)
    if descriptions:
        text += (
            "".join(f"\n{line}" for line in ["from depyf.native import describe as _describe", *descriptions]) + "\n"
        )
    return text


def _is_long(node: ast.AST) -> bool:
    """Whether a type is a tuple of any length that may hold expressions, or names that an ``import`` may grow by."""
    if (
        not isinstance(node, ast.Subscript)
        or ast.unparse(node.value) != "tuple"
        or not isinstance(node.slice, ast.Tuple)
    ):
        return False
    item = ast.unparse(node.slice.elts[0])
    return ast.unparse(node.slice.elts[-1]) == "..." and ("Expr" in item or item in ("_Item", "tuple[str, str | None]"))


def _weaken(tree: ast.Module, lines: list[str]) -> None:
    annotations: list[ast.AST | None] = []
    for node in ast.walk(tree):
        if isinstance(node, (ast.arg, ast.AnnAssign)):
            annotations.append(node.annotation)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            annotations.append(node.returns)
        elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Subscript):  # another name for a type
            annotations.append(node.value)
    long = [inner for found in annotations if found is not None for inner in ast.walk(found) if _is_long(inner)]
    for inner in sorted(long, key=lambda one: (one.lineno, -one.col_offset)):  # type: ignore[attr-defined]
        _put_any(inner, lines)
    if long:
        _import_from_typing("Any", tree, lines)


def _import_from_typing(name: str, tree: ast.Module, lines: list[str]) -> None:
    """Import ``name`` on the line of ``from __future__``, in a module without it on the last one of the docstring."""
    first = [node for node in tree.body if isinstance(node, ast.ImportFrom) and node.module == "__future__"]
    lines[((first or tree.body)[0].end_lineno or 0) - 1] += f"; from typing import {name}"


def _finalize(tree: ast.Module, lines: list[str]) -> None:
    """Make constants ``Final``: what is named as one, and is given a value once, at the top of the module."""
    stored = Counter(
        node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load)
    )
    done = False
    for stmt in tree.body:
        if isinstance(stmt, ast.Assign) and len(stmt.targets) == 1:
            target = stmt.targets[0]
        elif isinstance(stmt, ast.AnnAssign) and stmt.value is not None:
            target = stmt.target
        else:
            continue
        names = target.elts if isinstance(target, ast.Tuple) else [target]
        constants = [one.id for one in names if isinstance(one, ast.Name) and stored[one.id] == 1]
        if len(constants) != len(names) or not all(map(CONSTANT.match, constants)):
            continue
        line = lines[stmt.lineno - 1]
        if isinstance(target, ast.Tuple):
            values = _values(stmt.value, len(names))
            if not values:
                continue
            lines[stmt.lineno - 1] = "; ".join(
                f"{name}: Final = {value}" for name, value in zip(constants, values, strict=True)
            )
        elif isinstance(stmt, ast.AnnAssign):
            lines[stmt.lineno - 1] = re.sub(r": (.+?) = ", r": Final[\1] = ", line, count=1)
        elif isinstance(stmt.value, ast.Call) and ast.unparse(stmt.value.func) in TYPE_VARIABLES:
            continue
        else:
            lines[stmt.lineno - 1] = f"{constants[0]}: Final{line[len(constants[0]) :]}"
        done = True
    if done:
        _import_from_typing("Final", tree, lines)


def _values(value: ast.expr | None, count: int) -> list[str]:
    """What each of ``count`` names is given, as text; nothing where that is not written on one line."""
    if isinstance(value, ast.Tuple) and len(value.elts) == count and value.lineno == value.end_lineno:
        return [ast.unparse(one) for one in value.elts]
    if isinstance(value, ast.Call) and ast.unparse(value) == f"range({count})":
        return [str(at) for at in range(count)]
    return []


def _put_any(node: ast.expr, lines: list[str]) -> None:
    assert node.lineno == node.end_lineno
    line = lines[node.lineno - 1].encode()
    lines[node.lineno - 1] = (line[: node.col_offset] + b"Any" + line[node.end_col_offset or 0 :]).decode()


def _import_replace(node: ast.ImportFrom, lines: list[str]) -> None:
    names = [alias.name for alias in node.names]
    if "replace" not in names:
        return
    assert node.lineno == node.end_lineno
    others = [name for name in names if name != "replace"]
    first = f"from dataclasses import {', '.join(others)}; " if others else ""
    lines[node.lineno - 1] = f"{first}from depyf.native import replace"


def _decorator(node: ast.ClassDef) -> tuple[ast.expr, dict[str, bool]] | None:
    for found in node.decorator_list:
        call = found.func if isinstance(found, ast.Call) else found
        if isinstance(call, ast.Name) and call.id in DECORATORS:
            keywords = found.keywords if isinstance(found, ast.Call) else []
            return found, {one.arg or "": ast.literal_eval(one.value) for one in keywords}
    return None


def _fields(node: ast.ClassDef) -> list[Field] | None:
    """The fields of a dataclass; None where one of them is more than a name, a type and a default."""
    found = []
    for stmt in node.body:
        if not isinstance(stmt, ast.AnnAssign) or not isinstance(stmt.target, ast.Name):
            continue
        name, kind, value = stmt.target.id, ast.unparse(stmt.annotation), stmt.value
        if isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id == "field":
            (only,) = value.keywords if len(value.keywords) == 1 else (None,)
            if only is None or only.arg != "default_factory" or ast.unparse(only.value) not in FACTORIES:
                return None
            found.append(Field(name, kind, ast.unparse(only.value), True))
        else:
            found.append(Field(name, kind, None if value is None else ast.unparse(value)))
    return found


def _weak(kind: str) -> str:
    return "Any" if _is_long(ast.parse(kind, mode="eval").body) else kind


def _expand_dataclass(node: ast.ClassDef, lines: list[str]) -> str | None:
    """What describes the class at the end of the module, where it was expanded."""
    decorator = _decorator(node)
    fields = _fields(node) if decorator else None
    if decorator is None or fields is None or len(node.decorator_list) != 1:
        return None
    defined = {stmt.name for stmt in node.body if isinstance(stmt, ast.FunctionDef)}
    if "__init__" in defined or "__post_init__" in defined:
        return None
    end = node.end_lineno or 0
    if end >= len(lines) or lines[end].strip():
        raise CannotExpand(f"no empty line after class {node.name}")
    at, options = decorator
    lines[at.lineno - 1] = ""
    for stmt in node.body:
        if isinstance(stmt, ast.AnnAssign) and stmt.value is not None:
            assert stmt.lineno == stmt.end_lineno
            lines[stmt.lineno - 1] = f"    {ast.unparse(stmt.target)}: {_weak(ast.unparse(stmt.annotation))}"
    shown = [Field(one.name, _weak(one.type), one.default, one.factory) for one in fields]
    parameters = ", ".join(["self", *(field.parameter() for field in shown)])
    lines[end] = f"    def __init__({parameters}) -> None: {'; '.join(field.stored() for field in fields) or 'pass'}"
    eq, frozen = options.get("eq", True), options.get("frozen", False)
    pairs = ", ".join(f"({field.name!r}, {field.type!r})" for field in fields)
    return f"_describe({node.name}, ({pairs}{',' if pairs else ''}), {eq}, {frozen}, {sorted(defined)!r})"


def _expand_cached_properties(node: ast.ClassDef, lines: list[str]) -> None:
    for stmt in node.body:
        if not isinstance(stmt, ast.FunctionDef) or [ast.unparse(d) for d in stmt.decorator_list] != [
            "cached_property"
        ]:
            continue
        kind = ast.unparse(stmt.returns) if stmt.returns is not None else "object"
        name, made, kept = stmt.name, f"_make_{stmt.name.lstrip('_')}", f"_kept_{stmt.name.lstrip('_')}"
        at = stmt.decorator_list[0].lineno - 1
        if lines[at - 1].strip() or stmt.lineno != at + 2:
            raise CannotExpand(f"no empty line before {node.name}.{name}")
        lines[at - 1] = "    @property"
        filled = f"self.{kept} = (self.{made}(),) if self.{kept} is None else self.{kept}; return self.{kept}[0]"
        lines[at] = f"    def {name}(self) -> {kind}: {filled}"
        lines[at + 1] = lines[at + 1].replace(f"def {name}(", f"def {made}(", 1)
        first = node.body[0]
        if not isinstance(first, (ast.Expr, ast.AnnAssign, ast.Assign)):
            raise CannotExpand(f"class {node.name} begins with no docstring")
        lines[(first.end_lineno or 0) - 1] += f"; {kept}: tuple[{kind}] | None = None"
