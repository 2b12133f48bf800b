"""Scopes: the ``global``/``nonlocal`` lines and dead bindings that make the compiler resolve names as the bytecode
does.

The printer records, while it prints, how every name of every scope is used (``Scope.reads`` and ``Scope.stores``, by
the scope kind the bytecode gave).  ``resolve`` then walks the finished scopes from the outside in and returns, per
function or class, the lines that go first in its body.  Output invariant: in the text, every name compiles to the
same kind of variable it is in the bytecode, and ``co_freevars``/``co_cellvars`` hold the same names.

A line such as ``if 0: x = None`` generates no code on any version, but makes ``x`` a local variable.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Iterable, Iterator
from itertools import groupby, pairwise

from depyf.decompiler.bytecode import ops
from depyf.decompiler.bytecode.codeunit import CO_ASYNC_GENERATOR, CO_GENERATOR, CO_OPTIMIZED, CodeUnit
from depyf.decompiler.bytecode.lower import Lowered
from depyf.decompiler.bytecode.variables.spelling import exact
from depyf.safety.unheard import parse

IMPLICIT = frozenset({"__class__", "__classdict__", "__conditional_annotations__", ".type_params", ".generic_base"})
"""Cells that the compiler makes without a name in the source."""

_OF_FUNCTIONS = ("local", "type parameter")

Spell = Callable[[str], str]
Lower = Callable[[CodeUnit], Lowered]

KINDS = ("fast", "cell", "global", "name")


class Shadowed(Exception):
    """A code object uses one name both as a global and as a separate variable; the global needs a stand-in."""

    def __init__(self, unit: CodeUnit | None, names: list[str]) -> None:
        self.unit = unit
        self.names = names
        super().__init__(names)


class Scope:
    """How the names of one block are used; ``kind`` is "module", "class", "function", "lambda", "comp" or "params".

    "params" is the scope of PEP 695 type parameters.  ``lower`` gives the lowered form of ``unit``.  ``inner_globals``
    are globals read in lambdas and comprehensions below, which cannot declare them; ``captured`` are the names that
    comprehensions below take from here as cells.  ``comp_bound`` are the variables of comprehensions inlined here,
    ``comp_cells`` those that functions in them share.  ``listed`` are the attributes that the bytecode of a class
    notes, ``noted`` those that its text makes it note so far, and ``unnoted`` those that a method has to assign in code
    that is never reached.
    """

    __slots__ = (
        *("kind", "unit", "parent", "children", "slot", "pad"),
        *(
            "reads",
            "stores",
            "inner_globals",
            "captured",
            "comp_bound",
            "comp_cells",
            "has_yield",
            "has_await",
            "shares_frame",
        ),
        *("listed", "noted", "unnoted", "lower", "_kinds"),
    )

    def __init__(self, kind: str, unit: CodeUnit | None, parent: Scope | None, lower: Lower) -> None:
        self.kind = kind
        self.lower = lower
        self.unit = unit
        self.parent = parent
        self.reads: dict[str, set[str]] = {kind: set() for kind in KINDS}
        self.stores: dict[str, set[str]] = {kind: set() for kind in KINDS}
        self.inner_globals: set[str] = set()
        self.captured: set[str] = set()
        self._kinds: dict[object, str] | None = None
        self.comp_bound: set[str] = set()
        self.comp_cells: set[str] = set()
        self.children: list[Scope] = []
        self.slot = -1
        self.pad = ""
        self.has_yield = False
        self.has_await = False
        self.shares_frame = False
        self.listed: frozenset[str] | None = None
        self.noted: set[str] = set()
        self.unnoted: frozenset[str] = frozenset()
        if parent is not None:
            parent.children.append(self)

    @property
    def bound(self) -> set[str]:
        """Names that the text of this block binds as local variables."""
        return self.stores["fast"] | self.stores["cell"] | self.stores["name"]

    def noting_class(self) -> Scope | None:
        """The class that notes what is assigned on ``self`` here: the nearest one around this block."""
        scope: Scope | None = self
        while scope is not None and scope.kind == "comp":  # the compiler makes it a part of the block around it
            scope = scope.parent
        scope = scope and scope.parent
        while scope is not None and scope.kind != "class":
            scope = scope.parent
        return scope

    def bind(self, name: str) -> None:
        """Record a binding that carries no scope kind: an import, a capture pattern."""
        self.stores[self.kind_of(name)].add(name)

    def kind_of(self, name: str) -> str:
        """The kind that the code object gives to ``name`` where the tree does not say."""
        unit = self.unit
        if self.kind not in ("function", "lambda") or unit is None:
            return "name" if unit is None else self._stored().get(name, "name")
        if name in unit.varnames or name in unit.cellvars or name in unit.freevars:
            if unit.inlines_comprehensions and name in unit.names and self._stored().get(name) == "global":
                return "global"  # the variable is that of a comprehension
            return "cell" if name not in unit.varnames else "fast"
        return "global"

    def implicit(self) -> dict[str, str]:
        """The kinds of the names that the code of a class stores and loads of itself, where that is not the ordinary
        one: the class declares them, whether anything in its source uses them or not."""
        if self.unit is None:
            return {}
        found = {str(name): kind for name, kind in self._stored().items()}
        for load, store in pairwise(self.lower(self.unit).instrs):
            if store.arg == "__module__" and load.arg == "__name__":
                found.update({"__name__": "global"} if load.op == ops.LOAD_GLOBAL else {})
                break
        return found

    def _stored(self) -> dict[object, str]:
        """The kind of the names that the bytecode stores to as globals, and in a class as variables of functions around
        it."""
        if self._kinds is None:
            assert self.unit is not None
            stores = {ops.STORE_GLOBAL: "global", **({ops.STORE_DEREF: "cell"} if self.kind == "class" else {})}
            instrs = self.lower(self.unit).instrs
            self._kinds = {instr.arg: stores[instr.op] for instr in instrs if instr.op in stores}
        return self._kinds

    def close(self, shares_frame: bool) -> None:
        """Pass what a finished comprehension, lambda or type parameter list leaves unresolved to the block around
        it."""
        parent = self.parent
        assert parent is not None
        self.shares_frame = shares_frame
        parent.inner_globals |= self.reads["global"] | self.inner_globals
        if self.kind == "lambda":
            return
        if self.kind == "params" and parent.kind == "class":
            parent.reads["global"] |= self.reads["global"]  # these see the names of the class, unless it declares them
        bound = self.bound
        for kind in ("fast", "cell", "name"):
            rest = self.reads[kind] - bound
            parent.reads[kind] |= rest
            if not shares_frame:
                parent.captured |= rest
        parent.captured |= self.captured - bound
        parent.has_yield |= self.has_yield


class Visible:
    """The names that a block sees from the blocks around it.  Each block adds its names to a chain, so that nothing is
    copied."""

    __slots__ = ("_names", "_outer")

    def __init__(self, names: dict[str, str], outer: Visible | None = None) -> None:
        self._names = names
        self._outer = outer

    def inside(self, names: Iterable[str], what: str) -> Visible:
        """The names as a block sees them in which ``names`` are ``what``."""
        own = dict.fromkeys(names, what)
        return Visible(own, self) if own else self

    def get(self, name: str) -> str | None:
        place: Visible | None = self
        while place is not None:
            found = place._names.get(name)
            if found is not None:
                return found
            place = place._outer
        return None


def resolve(root: Scope, spell: Spell, ordered: Collection[int] = ()) -> dict[int, list[str]]:
    """The lines to insert, by ``Scope.slot``; raises ``Shadowed`` where a name needs a stand-in first.

    ``ordered``: ids of the functions whose local variables have to be in the order of the bytecode.
    """
    lines: dict[int, list[str]] = {}
    pending: list[tuple[Scope, Visible]] = [(root, Visible({}))]
    implied: set[str] = set()  # to be declared by the first function that uses them, else by the module
    while pending:
        scope, visible = pending.pop()
        if scope.kind == "comp":
            visible = visible.inside(scope.bound, "local")
        elif scope.kind == "params":
            visible = visible.inside(scope.stores["name"], "type parameter")
        elif scope.kind == "lambda":
            hidden = scope.reads["global"] & (scope.bound | scope.reads["fast"] | scope.reads["cell"])
            hidden |= {name for name in scope.reads["global"] if visible.get(name) in _OF_FUNCTIONS}
            if hidden:
                raise Shadowed(scope.unit, sorted(hidden))
            visible = visible.inside(scope.bound, "local")
        elif scope.kind == "module":
            implied = _module_globals(scope)
            lines[scope.slot] = _lost_cells(_lost(scope, set(), id(scope.unit) in ordered), set(), spell)
        elif scope.kind == "class":
            lines[scope.slot] = _class_lines(scope, visible, spell, id(scope.unit) in ordered)
            visible = visible.inside(scope.unit.implicit_variables if scope.unit is not None else (), "local")
        else:
            lines[scope.slot], visible = _function_lines(scope, visible, implied, spell)
            if id(scope.unit) in ordered:
                lines[scope.slot] = _in_order(scope, lines[scope.slot], spell)
        pending.extend((child, visible) for child in reversed(scope.children))
    lines[root.slot] = lines.get(root.slot, []) + _declare("global", implied, spell)
    return {slot: text for slot, text in lines.items() if text and slot >= 0}


def _module_globals(scope: Scope) -> set[str]:
    """Names that a module's own code uses by ``*_GLOBAL`` operations, and that no comprehension's walrus makes so.

    They come from a ``global`` statement in some function: the compiler then treats the module's name likewise.
    """
    declared = scope.stores["global"] | scope.reads["global"]
    for child in _comprehensions(scope):
        if child.shares_frame and scope.unit is not None and scope.unit.leaks_comprehensions:
            declared |= child.reads["global"]  # an inlined one reads other names as the module does
        declared -= child.stores["global"]
    return declared


def _class_lines(scope: Scope, visible: Visible, spell: Spell, ordered: bool) -> list[str]:
    free = set(scope.unit.freevars) if scope.unit is not None else set()
    implicit = scope.implicit()
    declared = (
        scope.stores["global"] | scope.reads["global"] | {name for name in implicit if implicit[name] == "global"}
    )
    own_cells = set(scope.unit.cellvars) if scope.unit is not None else set()
    declares = {"__conditional_annotations__"} - own_cells  # where there is such a cell, the class uses that
    outer = scope.stores["cell"] | {name for name in implicit if implicit[name] == "cell"}
    outer -= {"__conditional_annotations__"} - declares
    shared = captured(scope)
    # else the compiler gives the class a separate cell for what functions in it call so
    borrowed = {"__class__"} & free & shared
    lines = _declare("global", declared, spell)
    lines += _declare("nonlocal", (outer & free) | borrowed, spell)
    unused = free - (IMPLICIT - declares) - scope.reads["cell"] - outer - shared
    own = unused & scope.bound  # only code nested here reaches beyond a variable of the class
    if "__class__" in free and not {"__class__"} & (scope.reads["cell"] | shared):
        unused.add("__class__")
    lines += _dead_uses(unused - own, spell)
    lines += [f"if 0: lambda: {spell(name)}" for name in sorted(own)]
    # what is looked up by name, though a function around has a variable of that name, the class binds
    unbound = {name for name in scope.reads["name"] - scope.bound if visible.get(name) in _OF_FUNCTIONS}
    if unbound:
        lines.append(f"if 0: {' = '.join(map(spell, sorted(unbound)))} = None")
    if scope.unit is not None and "__class__" in scope.unit.cellvars and "__class__" not in shared:
        lines.append("if 0: lambda: __class__")
    lines += _lost_cells(_lost(scope, set(), ordered), set(), spell)
    unnoted = frozenset(name for name in (scope.listed or frozenset()) - scope.noted if exact(name) is not None)
    if unnoted:
        inner = (
            below for child in scope.children for below in (child, *(child.children if child.kind == "params" else ()))
        )
        method = next(filter(_takes_self, inner), None)
        if method is not None:
            method.unnoted = unnoted
        else:
            lines.append(f"if 0: lambda self: [0 for {', '.join(_on_self(unnoted, spell))} in ()]")
    return lines


def _takes_self(scope: Scope) -> bool:
    return scope.kind == "function" and scope.unit is not None and "self" in scope.unit.params


def _on_self(names: Iterable[str], spell: Spell) -> list[str]:
    """Attributes as targets.  The compiler notes them as they are written: names that a class mangles, too."""
    return [f"self.{spell(name)}" for name in sorted(names)]


def _in_order(scope: Scope, lines: list[str], spell: Spell) -> list[str]:
    """``lines``, with others in front that bind variables, by which all are in the order of the bytecode."""
    unit = scope.unit
    declared = [line for line in lines if line.startswith(("global ", "nonlocal "))]
    known = [name for name in unit.varnames if name not in unit.params] if unit else []
    test = "if 0 and 0" if unit is not None and unit.drops_constant_statements else "if 0"
    front = []
    for is_own, group in groupby(known, scope.bound.__contains__):
        names = [spell(name) for name in group if is_own or name in scope.comp_bound]
        if is_own:
            front.append(f"{test}: {' = '.join(names)} = None")
        elif names:  # of inlined comprehensions
            cells = ", ".join(name for name in names if unit and name in map(spell, unit.cellvars))
            element = f"lambda: ({cells})" if cells else "0"
            front.append(f"if 0: [{element} {' '.join(f'for {name} in ()' for name in names)}]")
    return [*declared, *front, *(line for line in lines if line not in declared)]


def _function_lines(scope: Scope, visible: Visible, implied: set[str], spell: Spell) -> tuple[list[str], Visible]:
    unit = scope.unit
    if unit is None:  # the wrapper around a closure, printed as a whole by functions.py
        return [], visible.inside(scope.bound, "local").inside(scope.stores["global"], "global")
    bound = scope.bound
    free = set(unit.freevars)
    own = bound | scope.reads["fast"] | scope.reads["cell"]
    outside = scope.reads["global"] | scope.stores["global"]
    taken = {name for name in outside | scope.inner_globals if visible.get(name) in _OF_FUNCTIONS}
    declared = scope.stores["global"] | taken | (scope.reads["global"] & implied)
    implied -= declared
    clash = own & (outside | declared)
    if clash:
        raise Shadowed(unit, sorted(clash))
    captured_here = captured(scope)
    used = scope.reads["cell"] | bound | captured_here
    if {"super"} & (scope.reads["global"] | scope.reads["name"]):
        used.add("__class__")
    unused = free - used - (IMPLICIT - {"__class__"})
    # a free variable that nothing uses: its declaration alone makes it one, where it can be declared
    named = {name for name in unused if name != "__class__" and visible.get(name) != "type parameter"}
    lines = _declare("global", declared, spell) + _declare("nonlocal", (bound & free) | named, spell)
    if scope.unnoted:
        lines.append(f"if 0: {' = '.join(_on_self(scope.unnoted, spell))} = None")
    # also one called ``__class__``: only class bodies have it without being asked
    cells = set(unit.cellvars) - (scope.comp_cells - own)
    lost = _lost(scope, captured_here)
    lines += _lost_cells(lost, own | captured_here, spell)
    cells.difference_update(set(lost) - own - captured_here)
    unbound = ((scope.reads["fast"] | (scope.reads["cell"] - free)) - IMPLICIT | cells) - bound - free
    if unbound and unit.leaks_comprehensions and (loose := (unbound - cells) & _globals_below(scope)):
        # a comprehension's variable, which is local here alone: functions below go on reading the global of that name
        unbound -= loose
        lines.append(f"if 0: [0 {' '.join(f'for {spell(name)} in ()' for name in sorted(loose))}]")
    if unbound:
        lines.append(f"if 0: {' = '.join(map(spell, sorted(unbound)))} = None")
    shared = cells - captured_here
    if shared or unused - named:
        lines.append(_shared(scope, shared, unused - named, spell))
    if unit.flags & (CO_GENERATOR | CO_ASYNC_GENERATOR) and not scope.has_yield:
        lines.append(_YIELDS)
    return lines, visible.inside(bound | unbound, "local").inside(declared, "global")


_YIELDS = "if 0: yield"


def never_run(line: str) -> str:
    """What a line of these tells the compiler about the function; "" for another line."""
    try:
        found = parse(line.strip()).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ""
    test = found[0] if len(found) == 1 else None
    if not isinstance(test, ast.If) or not isinstance(test.test, ast.Constant) or test.test.value != 0:
        return ""
    inner = test.body[0]
    if isinstance(inner, ast.Expr):
        return "makes this a generator" if isinstance(inner.value, ast.Yield) else ""
    if not isinstance(inner, ast.Assign) or not all(isinstance(name, ast.Name) for name in inner.targets):
        return ""
    if isinstance(inner.value, ast.Constant) and inner.value.value is None:
        return "makes it a local variable"
    parts = inner.value.elts if isinstance(inner.value, ast.Tuple) else [inner.value]
    if not all(isinstance(part, (ast.Lambda, ast.Name)) for part in parts):
        return ""
    names = [name for name in ast.walk(inner.value) if isinstance(name, ast.Name)]
    names.sort(key=lambda name: name.col_offset)
    return f"makes {', '.join(name.id for name in names)} shared with other functions"


def _declare(word: str, names: Iterable[str], spell: Spell) -> list[str]:
    listed = ", ".join(spell(name) for name in sorted(names))
    return [f"{word} {listed}"] if listed else []


def _dead_uses(names: Iterable[str], spell: Spell) -> list[str]:
    listed = ", ".join(spell(name) for name in sorted(names))
    return [f"if 0: {listed}"] if listed else []


def _shared(scope: Scope, cells: set[str], free: set[str], spell: Spell) -> str:
    """A line that makes variables cells, or free variables, where no code in the text shares them."""
    listed = ", ".join(map(spell, sorted(cells)))
    parts = [f"lambda: {listed}" if len(cells) == 1 else f"lambda: ({listed})"] if cells else []
    parts += map(spell, sorted(free))
    taken = {*scope.unit.varnames, *scope.unit.names, *scope.unit.cellvars, *scope.unit.freevars} if scope.unit else ()
    name = "shared"
    while name in taken:
        name += "_"
    return f"if 0: {name} = {', '.join(parts)}"


def captured(scope: Scope) -> set[str]:
    """Names of this block that code nested in it takes as free variables."""
    found = set(scope.captured)
    hidden: frozenset[str] = frozenset()  # by comprehensions in between
    pending = [(child, hidden) for child in scope.children]
    while pending:
        child, hidden = pending.pop()
        if child.unit is not None:
            found.update(name for name in child.unit.freevars if name not in hidden)
        else:
            hidden |= child.bound
            pending.extend((inner, hidden) for inner in child.children)
    return found


def _lost(scope: Scope, shared: set[str], ordered: bool = False) -> tuple[str, ...]:
    """Cells, in order, that are variables of inlined comprehensions one of which the text does not have, or has
    elsewhere (``ordered``).

    The compiler sorts its cells, but variables of comprehensions come first, as they come in the source.
    """
    unit = scope.unit
    if unit is None or not unit.inlines_comprehensions:
        return ()
    borrowed = tuple(name for name in unit.cellvars if name not in IMPLICIT and name not in unit.params)
    if unit.flags & CO_OPTIMIZED:
        borrowed = tuple(name for name in borrowed if name in unit.varnames)
    own = scope.bound | scope.reads["fast"] | scope.reads["cell"] | scope.reads["name"] | shared
    present = scope.comp_cells | (scope.comp_bound & own)
    return () if present.issuperset(borrowed) and not ordered else borrowed


def _lost_cells(lost: tuple[str, ...], own: set[str], spell: Spell) -> list[str]:
    """Comprehensions with the variables ``lost``, in code that is never reached; a variable in ``own`` is a cell
    anyway."""
    shown = [(spell(name), name in own) for name in lost]
    parts = [f"[{'0' if is_own else f'lambda: {name}'} for {name} in ()]" for name, is_own in shown]
    return [f"if 0: {', '.join(parts)}"] if parts else []


def _globals_below(scope: Scope) -> set[str]:
    """Names that code nested in this block reads as globals."""
    found = set(scope.inner_globals)
    pending = list(scope.children)
    while pending:
        child = pending.pop()
        found |= child.reads["global"]
        pending.extend(child.children)
    return found


def _comprehensions(scope: Scope) -> Iterator[Scope]:
    pending = [child for child in reversed(scope.children) if child.kind == "comp"]
    while pending:
        child = pending.pop()
        yield child
        pending.extend(inner for inner in reversed(child.children) if inner.kind == "comp")
