"""Names the temporaries of generated code as a person would, and joins deletions.

Input and output: the Python dialect, temporaries released.  A temporary, the program's own (``tmp_7``) among them, is
called what the value becomes: the parameter of the resume function it is passed as, the attribute or item it was read
from; what is only tested is a ``condition``; and where that says nothing, after the call that gave it or takes it
(``format_result``, ``update_argument``).  Nothing is moved.  A name is taken only where the code itself does not use it
for anything.
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Sequence
from dataclasses import replace

from depyf.decompiler.bytecode.codeunit import CodeUnit
from depyf.decompiler.generated.contract import GeneratorContract
from depyf.decompiler.generated.effects import variable
from depyf.decompiler.ir.expr import (
    Attr,
    CellOf,
    Cmp,
    Const,
    DictOf,
    Display,
    Expr,
    Func,
    Invoke,
    Name,
    Purpose,
    Sub,
    Temp,
    TempKey,
    Walrus,
)
from depyf.decompiler.ir.stmt import Assign, Body, Delete, For, FuncDef, If, Return, Stmt
from depyf.decompiler.ir.transformer import Transformer, map_statements
from depyf.decompiler.ir.walk_expr import children, map_expressions, next_number, walk_all
from depyf.decompiler.ir.walk_stmt import walk
from depyf.safety.depth import any_depth

_LINE = 90
_NUMBERED = re.compile(r"tmp_\d+")
"""Variables with generic names (``output_graph.new_var``)."""
_ON_STACK = re.compile(r"___stack\d+")
"""Parameters of resume functions for what has no name in the program either: last of all names."""
_TABLES = frozenset({"_modules", "_parameters", "_buffers"})
"""Attributes that every module has: called after the module as well."""
_WORDS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_NO_WORD = re.compile(r"\W+")
_COUNTED = re.compile(r"_\d.*")
"""Counters and addresses in the names of globals that the program installed."""


def name_values(unit: CodeUnit, body: Body, promises: GeneratorContract) -> Body:
    """``body`` with names for its temporaries, joined deletions, no ``else`` after a ``return``, and ``set()``, which
    no compiler writes as a display."""
    body, own = _without_numbered(_defined_before(body), promises)
    names = {**own, **_names(unit, body, promises)}

    def change(node: Expr) -> Expr:
        if isinstance(node, Temp) and node.key in names:
            return Name(names[node.key], "fast")
        return Invoke(Const(set), ()) if isinstance(node, Display) and (node.kind, node.elts) == ("set", ()) else node

    body = tuple(map_expressions(stmt, change) for stmt in body)
    return _Joined().run(
        map_statements(body, _defined, "define the function that a variable is bound to") if names else body
    )


def _without_numbered(body: Body, promises: GeneratorContract) -> tuple[Body, dict[TempKey, str]]:
    """``body`` with a temporary for each variable that the program numbered; what these were called."""
    numbered = {name for name in promises.variables or () if _NUMBERED.fullmatch(name)}
    if not numbered:
        return body, {}
    nodes = list(walk_all(body))
    used = [node for node in nodes if type(node) is Name and node.scope == "fast" and node.id in numbered]
    if not used:
        return body, {}
    inner = {id(part) for node in nodes if type(node) is Func for part in walk_all(node.body)}
    if any(id(node) in inner for node in used):
        return body, {}
    first = next_number(body, Purpose.GENERATED)
    temps = {
        name: Temp(first + number, Purpose.GENERATED)
        for number, name in enumerate(dict.fromkeys(node.id for node in used))
    }

    def change(node: Expr) -> Expr:
        return temps[node.id] if isinstance(node, Name) and node.scope == "fast" and node.id in temps else node

    return tuple(map_expressions(stmt, change) for stmt in body), {temp.key: name for name, temp in temps.items()}


def _defined_before(body: Body) -> Body:
    """A function that is made in the last expression of all has a variable there, to be named as others are."""
    last = body[-1] if body else None
    if not isinstance(last, Return) or last.value is None:
        return body
    free = next_number(body, Purpose.GENERATED)
    before: list[Stmt] = []
    made = {id(node) for node in _functions(last) if not node.unit.name.startswith("<")}

    def change(node: Expr) -> Expr:
        if id(node) not in made:
            return node
        temp = Temp(free + len(before), Purpose.GENERATED)
        before.append(Assign((temp,), node, last.line))
        return temp

    changed = map_expressions(last, change)
    return (*body[:-1], *before, changed) if before else body


def _functions(node: object) -> list[Func]:
    """The functions that ``node`` makes, without those nested in them."""
    nodes = walk_all((node,), lambda part: [] if isinstance(part, Func) else children(part))
    return [part for part in nodes if isinstance(part, Func)]


def _defined(stmt: Stmt) -> Stmt:
    """A function that a variable of its name is bound to is a ``def``."""
    if isinstance(stmt, Assign) and len(stmt.targets) == 1 and isinstance(stmt.value, Func):
        target = stmt.targets[0]
        if isinstance(target, Name) and target.id == stmt.value.unit.name:
            return FuncDef(target, stmt.value, (), stmt.line)
    return stmt


def _names(unit: CodeUnit, body: Body, promises: GeneratorContract) -> dict[TempKey, str]:
    nodes = list(walk_all(body))
    taken = {node.id for node in nodes if isinstance(node, (Name, CellOf))}
    taken.update(unit.params, unit.cellvars, unit.freevars)
    if any(isinstance(node, Func) for node in nodes):
        taken.update(unit.varnames)
    roles = _roles(body, nodes, dict(promises.signatures))
    hints = {key: name for key, name in roles.items() if not _ON_STACK.fullmatch(name)}
    inside: list[tuple[Expr, Expr]] = [(node.target, node.value) for node in nodes if isinstance(node, Walrus)]
    sources = _sources(body, inside)
    calls = _calls(nodes, {**sources, **hints}, promises, roles)
    parts = _sources(body, inside, calls)  # of what a call gave
    classes = {
        node.value.key
        for node in nodes
        if isinstance(node, Attr) and node.name == "__new__" and isinstance(node.value, Temp)
    }
    made = [(key, value.unit.name) for key, value in _values(body) if isinstance(value, Func)]
    functions = {key: name for key, name in made if not name.startswith("<")}
    names: dict[TempKey, str] = {}
    for key in dict.fromkeys(node.key for node in nodes if isinstance(node, Temp)):
        base = hints.get(key) or sources.get(key) or calls.get(key) or parts.get(key, "")
        if key in functions:
            base = functions[key]  # a name that cannot be written is spelled out by the printer
        elif not base.isidentifier() or keyword.iskeyword(base) or base.startswith("__") and base not in hints.values():
            base = roles.get(key, "")
        if not base:
            continue
        if base in taken and key in classes:
            base = "cls"
        name, number = base, 1
        while name in taken:
            number += 1
            name = f"{base}_{number}"
        taken.add(name)
        names[key] = name
    return names


def _roles(body: Body, nodes: list[object], signatures: dict[str, tuple[str, ...]]) -> dict[TempKey, str]:
    """Temporaries that are passed to a function with known parameters."""
    found: dict[TempKey, str] = {}
    made = {key: value.func for key, value in _values(body) if isinstance(value, Invoke)}  # functions made from cells
    for node in nodes:
        if not isinstance(node, Invoke) or node.keywords:
            continue
        function = node.func.func if isinstance(node.func, Invoke) else node.func
        function = made.get(function.key, function) if isinstance(function, Temp) else function
        parameters = signatures.get(function.id, ()) if isinstance(function, Name) else ()
        if len(parameters) != len(node.args):
            continue
        for parameter, argument in zip(parameters, node.args):
            if isinstance(argument, Temp):
                found.setdefault(argument.key, parameter)
    return found


def _calls(
    nodes: list[object], names: dict[TempKey, str], promises: GeneratorContract, roles: dict[TempKey, str]
) -> dict[TempKey, str]:
    """Temporaries called after the call that they come from or go to; ``roles``: not after that to a resume
    function."""

    def called(node: Expr) -> str:
        if isinstance(node, Temp):
            return names.get(node.key, "")
        name = node.name if isinstance(node, Attr) else node.id if isinstance(node, Name) else ""
        return _COUNTED.sub("", (name or _key_name(node, names)).strip("_"))

    found: dict[TempKey, str] = {}
    for node in nodes:
        if isinstance(node, Assign) and isinstance(node.value, Invoke):
            if len(node.targets) == 1 and isinstance(node.targets[0], Temp):
                function = node.value.func
                name = called(function)
                if isinstance(function, Name) and function.id.startswith(promises.closure_factories):
                    found[node.targets[0].key] = "resume"
                else:
                    found[node.targets[0].key] = "entered" if name in promises.profiler_enter else _given(name)
        elif isinstance(node, Invoke) and (name := called(node.func)):
            for argument in node.args:
                if isinstance(argument, Temp) and argument.key not in roles:
                    found.setdefault(argument.key, f"{name}_argument")
        if isinstance(node, Invoke):
            for keyword_name, value in node.keywords:
                if isinstance(value, Temp):
                    found.setdefault(value.key, keyword_name or "keywords")
    return found


def _given(function: str) -> str:
    """The name for the result of a call of ``function``; an object is named after its class."""
    if function[:1].isupper():
        return _WORDS.sub("_", function).lower()
    return "instance" if function == "new" else f"{function}_result" if function else "result"


@any_depth
def _key_name(node: Expr, names: dict[TempKey, str]) -> str:
    """``self._modules["attention"]`` is called ``attention``, ``layer_modules["0"]`` is ``layer_0``; else ""."""
    if not (isinstance(node, Sub) and isinstance(node.key, Const) and type(node.key.value) is str):
        return ""
    name, table = node.key.value, node.value
    if name.isidentifier():
        return name.strip("_") or name
    above = _key_name(table.value, names) if isinstance(table, Attr) else ""
    above = above or _container(table, names).removesuffix("_modules")
    return f"{above}_{_NO_WORD.sub('_', name)}" if above else ""


def _values(body: Body) -> list[tuple[TempKey, Expr]]:
    """The temporaries that a plain assignment binds, with the values."""
    return [
        (stmt.targets[0].key, stmt.value)
        for stmt in walk(body)
        if isinstance(stmt, Assign) and len(stmt.targets) == 1 and isinstance(stmt.targets[0], Temp)
    ]


def _sources(
    body: Body, inside: Sequence[tuple[Expr, Expr]], known: dict[TempKey, str] | None = None
) -> dict[TempKey, str]:
    """Temporaries called after what they were read from, or what they are for; ``inside``: those that an expression
    binds, with the values; ``known``: names of other ones."""
    found = dict(known or {})
    tested = {stmt.test.key for stmt in walk(body) if isinstance(stmt, If) and isinstance(stmt.test, Temp)}
    for stmt in walk(body):
        target = stmt.targets[0] if isinstance(stmt, Assign) and len(stmt.targets) == 1 else None
        if isinstance(stmt, For):
            found |= _loop_names(stmt)
        if isinstance(stmt, Assign) and isinstance(target, Display):
            for index, part in enumerate(target.elts):
                if isinstance(part, Temp):
                    found[part.key] = _item_name(stmt.value, index, found)
        if isinstance(stmt, Assign) and isinstance(target, Temp):
            _source(target.key, stmt.value, target.key in tested, found)
    for place, value in inside:
        if isinstance(place, Temp):
            _source(place.key, value, False, found)
    return found


def _source(key: TempKey, value: Expr, tested: bool, found: dict[TempKey, str]) -> None:
    """Name the temporary ``key`` after its value, where that says something."""
    if isinstance(value, Attr):
        name, owner, above = value.name.strip("_"), value.value, ""
        if keyword.iskeyword(name):
            name = "cls" if name == "class" else f"{name}_"
        if value.name == "__dict__":
            name = f"{_container(owner, found) or 'instance'}_dict"
        elif value.name in _TABLES:
            above = found.get(owner.key, "") if isinstance(owner, Temp) else _key_name(owner, found)
        found[key] = f"{above}_{name}" if above else name
    elif isinstance(value, Func):
        found[key] = value.unit.name
    elif isinstance(value, (DictOf, Display)):
        kind = "dict" if isinstance(value, DictOf) else value.kind
        found[key] = {"dict": "entries", "set": "members"}.get(kind, "items")
    elif isinstance(value, Name) and value.scope != "fast":
        found[key] = _COUNTED.sub("", value.id).strip("_") if value.id.startswith("__") else value.id
    elif isinstance(value, Walrus) and isinstance(value.target, Name):
        found[key] = value.target.id  # what it is an argument for says less
    elif name := _key_name(value, found):
        found[key] = name
    elif tested or isinstance(value, Cmp):
        found[key] = "condition"
    elif isinstance(value, Sub) and (name := _item(value, found)):
        found[key] = name
        if isinstance(value.key, Temp):
            found.setdefault(value.key.key, name.removesuffix("item") + "key")


def _loop_names(loop: For) -> dict[TempKey, str]:
    """``for key, entry in table.items()``, ``for item in things``."""
    if isinstance(loop.target, Temp):
        return {loop.target.key: "item"}
    pair = loop.target.elts if isinstance(loop.target, Display) and len(loop.target.elts) == 2 else ()
    of_items = isinstance(loop.iter, Invoke) and isinstance(loop.iter.func, Attr) and loop.iter.func.name == "items"
    return {part.key: name for part, name in zip(pair, ("key", "entry")) if isinstance(part, Temp) and of_items}


@any_depth
def _item(value: Sub, names: dict[TempKey, str]) -> str:
    """``args[0]`` is called ``args_0``, ``state[find(0)]`` is ``state_item``."""
    if isinstance(value.key, Const):
        return _item_name(value.value, value.key.value, names) if type(value.key.value) is int else ""
    base = _container(value.value, names)
    return f"{base}_item" if base else ""


def _item_name(container: Expr, index: int, names: dict[TempKey, str]) -> str:
    """The item of a call's result is called after compiled graphs, the most frequent ones."""
    if isinstance(container, Attr) and container.name == "__mro__":
        return "base"
    base = "graph_out" if isinstance(container, Invoke) else _container(container, names)
    return f"{base}_{index}" if base and index >= 0 else ""


@any_depth
def _container(node: Expr, names: dict[TempKey, str]) -> str:
    """What the items of ``node`` are called after; ``f.__defaults__`` is ``defaults``."""
    if isinstance(node, Temp):
        return names.get(node.key, "")
    name = node.id if isinstance(node, Name) else node.name if isinstance(node, Attr) else _key_name(node, names)
    return name.strip("_") or (_item(node, names) if isinstance(node, Sub) else "")


class _Joined(Transformer):
    """Neighbouring deletions of variables in one statement; what follows an arm that returns needs no ``else``."""

    title = "join deletions, or drop an else"

    def leave(self, stmt: Stmt, done: list[Stmt]) -> None:
        last = done[-1] if done else None
        if isinstance(stmt, Delete) and isinstance(last, Delete) and _plain(stmt) and _plain(last):
            if sum(_length(target) for target in (*last.targets, *stmt.targets)) < _LINE:
                done[-1] = Delete((*last.targets, *stmt.targets), last.line)
                return
        done.append(stmt)
        if isinstance(stmt, If) and stmt.orelse and stmt.body and isinstance(stmt.body[-1], Return):
            done[-1] = replace(stmt, orelse=())
            done.extend(stmt.orelse)


def _plain(stmt: Delete) -> bool:
    return all(variable(target) is not None for target in stmt.targets)


def _length(target: Expr) -> int:
    return 2 + (len(target.id) if isinstance(target, Name) else 8)
