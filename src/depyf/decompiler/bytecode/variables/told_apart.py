"""Other names for variables and code, where a text by the names of the bytecode would mean something else.

Instructions mean slots; a text means names.  Obfuscators call every variable of a function, and every function, the
same; and a program that makes code may call a parameter as no source can.  ``told_apart`` gives back the same code,
with the same slots in the same order, in which

- no two slots of one code object have one name;
- a free variable is called like the variable of the code around it whose cell it gets;
- no local variable is called like a global that the same code, or a lambda in it, looks up;
- code is called what its use says: what it is stored as, the class that is made of it, ``<lambda>``, ``<listcomp>``.

A new name is one that nothing in the code has.  Names that are right stay, parameters first: they are seen by callers.
What has another name than it was read with is in ``CodeUnit.given``; the proof tells of it (``assumptions.py``).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from itertools import pairwise

from depyf.decompiler.bytecode import ops
from depyf.decompiler.bytecode.codeunit import CodeUnit, nested_units
from depyf.decompiler.bytecode.lower import Lowered, lower, lowered_once
from depyf.decompiler.bytecode.ops import Instr
from depyf.decompiler.bytecode.variables import borrowed
from depyf.decompiler.bytecode.variables.annotated import annotated_parameters
from depyf.decompiler.bytecode.variables.function_use import (
    ANNOTATING,
    CLASS,
    COMPREHENSIONS,
    HIDDEN,
    STORED,
    VALUE,
    comprehension_name,
    globals_of,
    has_statements,
    uses,
)
from depyf.decompiler.bytecode.variables.nested_code import NestedCode
from depyf.decompiler.bytecode.variables.renaming import called, relowered, with_consts
from depyf.decompiler.bytecode.variables.slots import (
    BORROWING,
    CELL,
    FREE,
    IMPLICIT_CELLS,
    ONE_ARRAY,
    cells_of_parameters,
    renamed,
)
from depyf.decompiler.bytecode.variables.sorting import Sorting
from depyf.decompiler.bytecode.variables.spelling import exact, is_legal, is_private, legalised, mangling_prefix
from depyf.errors import BytecodeError

_LONGEST = 40
"""What a new name takes of the old one."""
_NUMBERED = re.compile(r"_[a-z]?([0-9]{1,9})$")
_CELLS_OF_CLASSES = {"__classcell__": "__class__", "__classdictcell__": "__classdict__"}
"""Cells that the compiler makes in a class, by the names under which the class hands them on."""
_FORMATS = {ANNOTATING: "format", HIDDEN: ".format"}
"""The parameter of functions that the compiler makes for what is evaluated later (3.14+)."""
_LAMBDA = "<lambda>"
_GENERIC = "<generic parameters of "


def told_apart(root: CodeUnit, known: dict[int, Lowered] | None = None, *, generated: bool = False) -> CodeUnit:
    """``root`` with the code nested in it, told apart; ``given`` of the result is ``root``.

    Nested code that needs no other name is the same object.  ``known``: what was lowered, by the ids of the units; the
    result is put there.  ``generated``: a program of today wrote the code and looks for its names; only slots are told
    apart.
    """
    if root.given is not None:
        return root
    tree = _Tree(root, {} if known is None else known, generated)
    if not generated:
        tree.name_kinds()
    tree.name_slots()
    if not generated:
        tree.name_stored()
    result = tree.rebuilt()
    for code in tree.codes:
        code.children.clear()  # with ``around`` they are cycles, which would keep all of it until the collector comes
    return result


class _Tree:
    """A code object with all that is nested in it; ``same`` joins the slots that hold one variable."""

    def __init__(self, root: CodeUnit, known: dict[int, Lowered], generated: bool) -> None:
        self.known = known
        self.generated = generated
        self.codes: list[NestedCode] = []
        self.same: list[int] = []
        self.counts: dict[str, int] = {}
        self._known: set[str] | None = None
        self._globals: dict[int, frozenset[str]] = {}
        pending: list[tuple[CodeUnit, NestedCode | None]] = [(root, None)]
        while pending:
            unit, around = pending.pop()
            code = NestedCode(unit, around, len(self.codes), len(self.same))
            if around is not None:
                if id(unit) in around.children:
                    continue
                around.children[id(unit)] = code
            self.codes.append(code)
            self.same.extend(range(code.first, code.first + len(code.slots)))
            pending.extend((inner, code) for inner in reversed(nested_units(unit)))
        for code in self.codes:
            self._read(code)
        for code in self.codes:
            self._join(code)

    def _read(self, code: NestedCode) -> None:
        """Lower the code of a unit, under names that tell its slots apart, and see what becomes of the code in it."""
        unit = code.unit
        names = code.names
        try:
            if len(set(names)) == len(names):
                code.lowered = lowered_once(self.known, unit)
            else:
                names = [f"\0{at}" for at in range(len(names))]
                for cell, parameter in cells_of_parameters(unit):
                    names[cell] = names[parameter]
                code.lowered = lower(renamed(replace(unit, live=None), names))
        except BytecodeError:
            return  # it has no text
        bound = len(unit.varnames) if unit.version < ONE_ARRAY else len(names)
        code.fast = {name: at for at, name in enumerate(names[:bound])}
        code.cells = {name: at for at, name in enumerate(names) if at >= bound or unit.version >= ONE_ARRAY}
        for use in uses(code.lowered) if code.children else ():
            child = code.children.get(id(use.unit))
            if child is not None and (child.use is None or child.use.kind != STORED):
                child.use = use

    def _join(self, code: NestedCode) -> None:
        """Join cells with what is in them: the parameters of this code, the free variables of what is nested in it."""
        for cell, parameter in cells_of_parameters(code.unit):
            self._unite(code.first + parameter, code.first + cell)
        for child in code.children.values():
            free = len(child.slots) - len(child.unit.freevars)
            closure = child.use.closure if child.use is not None else None
            for at, name in enumerate(child.unit.freevars):
                slot = code.cells.get(closure[at], -1) if closure is not None else self._called(code, name)
                if slot >= 0:
                    self._unite(code.first + slot, child.first + free + at)

    def _called(self, code: NestedCode, name: str) -> int:
        """The cell or free variable of this name."""
        found = [at for at, (own, kind) in enumerate(code.slots) if own == name and kind & (CELL | FREE)]
        return found[0] if len(found) == 1 else -1

    def _find(self, slot: int) -> int:
        same = self.same
        while same[slot] != slot:
            same[slot] = same[same[slot]]
            slot = same[slot]
        return slot

    def _unite(self, one: int, other: int) -> None:
        self.same[self._find(other)] = self._find(one)

    # Variables.

    def name_slots(self) -> None:
        """Choose the names of all slots."""
        members: dict[int, list[tuple[NestedCode, int]]] = {}
        for code in self.codes:
            for at in range(len(code.slots)):
                members.setdefault(self._find(code.first + at), []).append((code, at))
        defined = {} if self.generated else self._defined()
        sorting = Sorting() if self.generated else self._sorting()
        chosen: dict[int, str] = {}
        for code, at in [*self._classes(), *self._in_order(sorting)]:
            found = self._find(code.first + at)
            slots = members.pop(found, None)
            if slots is None:
                continue
            given = code.slots[at][0]
            wanted = [defined[found], given] if found in defined else [given]
            least = max([chosen.get(other, "") for other in sorting.before(found)], default="")
            if sorting.is_sorted(found):  # no stand-in sorts as what it stands for
                wanted = [name for name in wanted if name > least and (name.startswith(".") or exact(name))]
            free = [name for name in wanted if all(self._is_free(c, slot, name) for c, slot in slots)]
            name = free[0] if free else self._fresh(given)
            if not free:
                name = name if name > least else self._above(least)
            chosen[found] = name
            for other, slot in slots:
                other.names[slot] = name
                other.taken.add(name)

    def _sorting(self) -> Sorting:
        """How the compiler sorts cells and free variables: a code object has them in the order of their names."""
        found = Sorting()
        for code in self.codes:
            kinds = (FREE, CELL) if code.is_function else (FREE,)
            for kind in kinds:  # a local that is a cell has its place among the locals (3.11+)
                row = [at for at, (_, own) in enumerate(code.slots) if own == kind]
                found.add([self._find(code.first + at) for at in row])
        return found

    def _defined(self) -> dict[int, str]:
        """What functions and classes are called that are stored in slots of another name, and parameters in their
        annotations: no source does that."""
        found: dict[int, str] = {}
        for code in self.codes:
            around, use, lowered = code.around, code.use, code.lowered
            if lowered is not None and use is not None and use.kind == CLASS:
                for cell, after in pairwise(lowered.instrs):
                    slot = code.slot(cell) if cell.op == ops.LOAD_CLOSURE else -1
                    handed = (
                        "__classcell__" if after.op == ops.COPY else after.arg if after.op == ops.STORE_NAME else ""
                    )
                    if slot >= 0 and handed in _CELLS_OF_CLASSES:
                        found[self._find(code.first + slot)] = _CELLS_OF_CLASSES[handed]
            if around is None or use is None:
                continue
            if around.lowered is not None and code.is_function:
                names = annotated_parameters(around.lowered, use.made, use.first, code.unit, around.lowered_child)
                found.update((self._find(code.first + at), name) for at, name in names.items())
            if use.kind in _FORMATS and code.unit.posonlyargcount == 1 and code.unit.params[0] not in _FORMATS.values():
                found[self._find(code.first)] = _FORMATS[use.kind]
            if use.store is None:
                continue
            slot = around.slot(use.store)
            name = use.name if use.kind == CLASS else ""
            if use.kind == STORED and _tail(code.unit) == code.name:
                name = code.name
            if slot >= len(around.unit.params) and is_legal(name) and not _is_stored_as(name, around.slots[slot][0]):
                found[self._find(around.first + slot)] = name
        return found

    def _classes(self) -> Iterator[tuple[NestedCode, int]]:
        """The slots that classes are stored in: no source stores one under another name than its own."""
        for code in self.codes:
            use = code.use
            if code.around is not None and use is not None and use.kind == CLASS and use.store is not None:
                slot = code.around.slot(use.store)
                if slot >= 0 and not self.generated:
                    yield code.around, slot

    def _in_order(self, sorting: Sorting) -> Iterator[tuple[NestedCode, int]]:
        """All slots: parameters that are passed by keyword only (their defaults are kept by name), other parameters,
        cells and free variables, locals; last what comprehensions borrow.  What the compiler sorts is in order, and not
        among the parameters."""
        ranked: list[list[tuple[NestedCode, int]]] = [[], [], [], [], []]
        places: dict[int, tuple[NestedCode, int]] = {}
        for code in self.codes:
            unit = code.unit
            parameters, positional = len(unit.params), unit.argcount
            lent = self._lent(code)
            for at, (_, kind) in enumerate(code.slots):
                found = self._find(code.first + at)
                if sorting.is_sorted(found):
                    places.setdefault(found, (code, at))
                if at < parameters:
                    rank = 0 if positional <= at < positional + unit.kwonlyargcount else 1
                else:
                    rank = 4 if at in lent else 2 if kind & (CELL | FREE) else 3
                if rank > 1 or not sorting.is_sorted(found):
                    ranked[rank].append((code, at))
        yield from ranked[0] + ranked[1]
        yield from [places[found] for found in sorting.in_order()]
        yield from ranked[2] + ranked[3] + ranked[4]

    def _lent(self, code: NestedCode) -> frozenset[int]:
        """The slots that inlined comprehensions borrow."""
        if code.lowered is None or code.unit.version < BORROWING:
            return frozenset()
        return frozenset([code.fast[i.arg] for i in code.lowered.instrs if i.op == ops.LOAD_FAST_CLEAR])

    def _is_free(self, code: NestedCode, slot: int, name: str) -> bool:
        """Whether a slot may be called ``name`` in ``code``: nothing else is called so there that the text would take
        for it."""
        if code.class_name and is_private(name) and not self.generated:
            return False
        if name in code.taken and not self._shares(code, slot, name):
            return False
        if self.generated or not code.is_function or name not in self._looked_up(code):
            return True
        return self._is_apart(code, slot, lambda instr: self._means_global(code, instr, name))

    def _shares(self, code: NestedCode, slot: int, name: str) -> bool:
        """Whether the only other slot of this name is a free variable, and comprehensions alone use this one; or both
        are what the compiler makes for a class: a cell of its own, and that of the class around it."""
        others = [at for at, own in enumerate(code.names) if own == name and at != slot]
        if len(others) != 1:
            return False
        one, other = code.slots[slot][1], code.slots[others[0]][1]
        if not code.is_function and name in IMPLICIT_CELLS and (one | other) & (CELL | FREE) == CELL | FREE:
            return True
        if not other & FREE:
            return False
        return self._is_apart(code, slot, lambda instr: code.slot(instr) == others[0])

    def _is_apart(self, code: NestedCode, slot: int, other: Callable[[Instr], bool]) -> bool:
        if code.lowered is None or code.unit.version < BORROWING:
            return False
        name = next((name for name, at in code.fast.items() if at == slot), "")
        return borrowed.apart(code.lowered, name, other)

    def _looked_up(self, code: NestedCode) -> frozenset[str]:
        """Names that ``code`` looks up among the globals, or an expression or class in it that cannot say that it
        does."""
        found = self._globals.get(code.at)
        if found is None:
            names = set[str]() if code.lowered is None else set(globals_of(code.lowered))
            for child in code.children.values():
                names |= self._open_to(child)
            found = self._globals[code.at] = frozenset(names)
        return found

    def _open_to(self, child: NestedCode) -> frozenset[str]:
        """Names of ``child`` that the text would take for variables of the code around it."""
        # a class says what it looks up: by a `global`, or by a binding that is never reached
        return self._looked_up(child) if child.is_function and child.name.startswith("<") else frozenset()

    def _means_global(self, code: NestedCode, instr: Instr, name: str) -> bool:
        if instr.op == ops.LOAD_CONST and type(instr.arg) is CodeUnit:
            child = code.children.get(id(instr.arg))
            return child is not None and name in self._open_to(child)
        return instr.op in (ops.LOAD_GLOBAL, ops.STORE_GLOBAL, ops.DELETE_GLOBAL) and instr.arg == name

    def _fresh(self, name: str) -> str:
        """A name that nothing in the code has; no class mangles it."""
        if self._known is None:
            self._known = set()
            for code in self.codes:
                self._known.update(code.unit.names, [own for own, _ in code.slots], (code.unit.name,))
        base = (name if is_legal(name) else legalised(name))[:_LONGEST]
        if base not in self._known and not base.startswith("__") and base.strip("_"):
            self._known.add(base)
            return base
        if base.startswith("__") or not base.strip("_"):
            base = base.strip("_")
        count = self.counts.get(base, 1)
        while True:
            count += 1
            found = f"{base}_{count}"
            if found not in self._known:
                self.counts[base] = count
                self._known.add(found)
                return found

    def _above(self, name: str) -> str:
        """A new name that sorts behind ``name``: ``x_2`` to ``x_9``, ``x_b10`` to ``x_b99``, ``x_c100``."""
        assert self._known is not None
        numbered = _NUMBERED.search(name)
        base, count = (name[: numbered.start()], int(numbered[1])) if numbered else (name, 1)
        while True:
            count += 1
            digits = str(count)
            found = f"{base}_{digits}" if count < 10 else f"{base}_{chr(ord('a') + len(digits) - 1)}{digits}"
            if found not in self._known:
                self._known.add(found)
                return found

    # Code.

    def name_kinds(self) -> None:
        """Say which code is that of a module, a class, a lambda or a comprehension."""
        for code in self.codes:
            around = code.around
            if around is None:
                if not code.is_function and not {"__module__", "__qualname__"}.issubset(code.unit.names):
                    code.name = "<module>"
                continue
            code.class_name = around.class_name if around.is_function else mangling_prefix(around.name)
            use, lowered = code.use, code.lowered
            if use is None or lowered is None or around.name.startswith(_GENERIC) or code.name.startswith(_GENERIC):
                continue
            if use.kind == ANNOTATING:
                code.name = "__annotate__"
            elif use.kind == CLASS and not code.is_function:
                code.name = use.name or code.name
            elif use.kind == VALUE and code.is_function:
                found = comprehension_name(lowered)
                named = code.name == _LAMBDA or code.name in COMPREHENSIONS and code.unit.params == (".0",)
                if not found and not named and not has_statements(lowered):
                    found = _LAMBDA
                code.name = found or code.name

    def name_stored(self) -> None:
        """Call functions what they are stored as; the slots have their names by now."""
        for code in self.codes:
            around, use = code.around, code.use
            if around is None or use is None or use.kind != STORED or use.store is None or not code.is_function:
                continue
            if code.name.startswith(_GENERIC):
                continue
            if code.name == _LAMBDA and _may_be_lambda(code):
                continue
            slot = around.slot(use.store)
            stored = around.names[slot] if slot >= 0 else use.store.arg
            if _is_stored_as(code.name, stored):
                continue
            prefix = mangling_prefix(around.name) if not around.is_function else around.class_name
            mangled = prefix and stored.startswith(prefix + "__") and not stored.endswith("__")
            code.name = stored[len(prefix) :] if mangled else stored

    def rebuilt(self) -> CodeUnit:
        """The root anew, with everything in it that has another name."""
        made: list[CodeUnit] = [code.unit for code in self.codes]
        qualnames = self._qualnames()
        for code in reversed(self.codes):
            unit = code.unit
            changed = unit
            if tuple(code.names) != tuple([name for name, _ in code.slots]) or unit.slots:
                try:
                    changed = renamed(unit, code.names)
                except BytecodeError:
                    pass  # lowering says so
            consts = tuple([made[code.children[id(c)].at] if type(c) is CodeUnit else c for c in unit.consts])
            if any(new is not old for new, old in zip(consts, unit.consts)):
                changed = with_consts(changed, consts)
            name, qualname = code.name, qualnames[code.at]
            if (name, qualname) != (unit.name, unit.qualname):
                changed = called(changed, name, qualname)
            if changed is not unit or not code.at:
                made[code.at] = new = replace(changed, given=unit)
                if code.lowered is not None and not new.slots:
                    self.known[id(new)] = relowered(code.lowered, new, partial(self._argument, code, made))
        return made[0]

    def _argument(self, code: NestedCode, made: list[CodeUnit], instr: Instr) -> object:
        """The argument of an instruction of ``code.lowered`` under the names that all have now."""
        if type(instr.arg) is CodeUnit:
            child = code.children.get(id(instr.arg))
            return instr.arg if child is None else made[child.at]
        slot = code.slot(instr)
        return instr.arg if slot < 0 else code.names[slot]

    def _qualnames(self) -> list[str]:
        """The qualified names of all code: those that it had, but where it or what is around it has another name."""
        found: list[str] = []
        for code in self.codes:
            around, unit = code.around, code.unit
            if around is None:
                found.append("<module>" if code.name != unit.name else unit.qualname)
                continue
            outer = "" if around.name == "<module>" and not around.is_function else found[around.at] + "."
            if outer and around.is_function:
                outer += "<locals>."
            old = around.unit.qualname
            if code.name != unit.name:
                found.append(outer + code.name)
            elif found[around.at] != old and unit.qualname.startswith(old + "."):
                found.append(found[around.at] + unit.qualname[len(old) :])
            else:
                found.append(unit.qualname)
        return found


def _tail(unit: CodeUnit) -> str:
    """What the qualified name of a function calls the function itself."""
    return unit.qualname.rpartition(".")[2]


def _is_stored_as(name: str, stored: str) -> bool:
    """Whether the source may say ``name`` where ``stored`` is stored: a class puts its own name before private ones."""
    return name == stored or name.startswith("__") and stored.startswith("_") and stored.endswith(name)


def _may_be_lambda(code: NestedCode) -> bool:
    """Whether nothing says that code of this name is that of a ``def``."""
    return code.unit.qualname.endswith(_LAMBDA) and (code.lowered is None or not has_statements(code.lowered))
