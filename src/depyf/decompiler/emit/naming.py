"""Identifiers: names in the bytecode versus names that may be written.

Generated code names things ``.0``, ``foo.bar``, ``class`` or ``<graph break in fn>``.  A keyword is written with a bold
letter, which the compiler reads as the plain one (PEP 3131: identifiers are normalised, keywords are looked for
before).  Each other such name gets one legal stand-in that no other name of the text uses, listed in ``renames``
(stand-in -> original).  Inside a class the mangled ``_Cls__x`` is written ``__x`` again.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable

from depyf.decompiler.bytecode import ops
from depyf.decompiler.bytecode.codeunit import CodeUnit, units
from depyf.decompiler.bytecode.lower import Lowered
from depyf.decompiler.bytecode.tables.static_attributes import static_attributes
from depyf.decompiler.bytecode.variables.spelling import exact, legalised, mangling_prefix
from depyf.errors import BytecodeError

DEF = "def "
"""A prefix of keys of ``renames``: only functions of that name are renamed, not the variable that holds them."""

_BINDING = frozenset({ops.STORE_GLOBAL, ops.STORE_NAME, ops.DELETE_GLOBAL, ops.DELETE_NAME})
_LOOKING_UP = frozenset({ops.LOAD_GLOBAL, ops.LOAD_NAME, ops.LOAD_FROM_DICT_OR_GLOBALS})


class Names:
    """Spelling of every name in one text."""

    def __init__(self, unit: CodeUnit, lower: Callable[[CodeUnit], Lowered]) -> None:
        self.unit = unit
        self.lower = lower
        self.renames: dict[str, str] = {}
        self._stand_ins: dict[str, str] = {}
        self._taken: set[str] | None = None
        self._variables: frozenset[str] | None = None
        self._looked_up: frozenset[str] = frozenset()
        self._mangled: dict[str, set[str]] = {}
        self._spellings: dict[str, dict[str, str]] = {}

    def spellings(self, class_name: str) -> dict[str, str]:
        """The memo of ``spell`` for one class context; "" if there is none."""
        return self._spellings.setdefault(class_name, {})

    def spell(self, name: str, class_name: str = "") -> str:
        """``name`` as it is written inside class ``class_name``."""
        memo = self.spellings(class_name)
        found = memo.get(name)
        if found is None:
            found = exact(name) or self.stand_in(name)
            prefix = mangling_prefix(class_name)
            if prefix and found.startswith(prefix + "__") and not found.endswith("__"):
                found = found if found in self._written_out(class_name) else found[len(prefix) :]
            memo[name] = found
        return found

    def _written_out(self, class_name: str) -> set[str]:
        """Attributes that a class's source calls by the mangled name: ``__static_attributes__`` has the written one."""
        known = self._mangled.get(class_name)
        if known is None:
            listed: set[str] = set()
            for unit in units(self.unit):
                if unit.name == class_name:
                    listed |= static_attributes(unit, self.lower) or frozenset()
            prefix = mangling_prefix(class_name)
            known = {name for name in listed if name.startswith(prefix + "__") and name[len(prefix) :] not in listed}
            self._mangled[class_name] = known
        return known

    def stand_in(self, name: str) -> str:
        """The legal identifier in the place of the illegal ``name``."""
        found = self._stand_ins.get(name)
        if found is None:
            base = legalised(name)
            if base.startswith("__"):  # a class would mangle it, and a module has some of these
                base = "_" + base.lstrip("_")
            if hasattr(builtins, base):  # what the original looks for is no builtin
                base += "_"
            found = self._stand_ins[name] = self.fresh(base)
            self.renames[found] = name
        return found

    def fresh(self, base: str) -> str:
        """``base``, or ``base_2`` and so on: an identifier nothing else in the text has."""
        taken = self.taken
        name, count = base, 1
        while name in taken:
            count += 1
            name = f"{base}_{count}"
        taken.add(name)
        return name

    def free_prefix(self, prefix: str) -> str:
        """``prefix``, lengthened until no name of the text starts with it."""
        while any(name.startswith(prefix) for name in self.taken):
            prefix += "_"
        return prefix

    @property
    def variables(self) -> frozenset[str]:
        """The names that some code of the text binds, or may find in an enclosing function."""
        if self._variables is None:
            bound, looked_up = set[str](), set[str]()
            for unit in units(self.unit):
                bound.update(unit.varnames, unit.cellvars, unit.freevars, (unit.name,))
                try:
                    instrs = self.lower(unit).instrs
                except BytecodeError:  # it has no text, and may bind what it likes
                    bound.update(unit.names)
                    continue
                for instr in instrs:
                    if instr.op in _BINDING:
                        bound.add(instr.arg)
                    elif instr.op in _LOOKING_UP:
                        looked_up.add(instr.arg)
            self._variables, self._looked_up = frozenset(bound), frozenset(looked_up)
        return self._variables

    @property
    def looked_up(self) -> frozenset[str]:
        """The names that some code of the text looks up among the globals and the builtins."""
        return self._looked_up if self.variables is not None else frozenset()

    @property
    def taken(self) -> set[str]:
        if self._taken is None:
            self._taken = set()
            for unit in units(self.unit):
                self._taken.update(unit.names, unit.varnames, unit.cellvars, unit.freevars, (unit.name,))
        return self._taken
