"""From the compilation of decompiled text back to a code object that is faithful to the original.

Input: code that the running interpreter compiled from an ``Emitted`` text, and the tables that came with the text.
Output: code that holds the bound objects as constants, reads cells as cells, uses the original names, and (given the
original as ``template``) may be put in its place: same arguments, same cells and free variables in the same order.

    LOAD_GLOBAL __const_torch_float32    ->   LOAD_CONST <torch.float32>
    LOAD_GLOBAL __const_f + NULL         ->   PUSH_NULL; LOAD_CONST <f>   (3.13+: the other way round)
    LOAD_GLOBAL __cell_x                 ->   LOAD_CLOSURE x              (3.13+: LOAD_FAST of the cell's slot)

The instructions are assembled anew, so none of this has to fit into the room of the LOAD_GLOBAL (see ``assemble``).
Code in which nothing changes is returned as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from types import CodeType
from typing import Any

from depyf.decompiler.bytecode.codeunit import CO_NEWLOCALS, CO_OPTIMIZED, CodeUnit
from depyf.decompiler.bytecode.host.assemble import VERSION, Op, assemble, disassemble
from depyf.decompiler.bytecode.host.local_slots import conform, reorder_cells, same_slots, slots_of
from depyf.errors import DepyfError
from depyf.safety.depth import any_depth

__all__ = ["bind", "relocate", "reorder_cells"]

_NULL_LAST = VERSION >= (3, 13)
_LOADS = {
    "LOAD_GLOBAL": 1 if VERSION >= (3, 11) else 0,  # by how much the argument is shifted
    "LOAD_NAME": 0,
    "LOAD_FROM_DICT_OR_GLOBALS": 0,
}


def bind(
    code: CodeType,
    *,
    consts: Mapping[str, Any],
    cells: Mapping[str, str],
    renames: Mapping[str, str],
    template: CodeType | None = None,
) -> CodeType:
    """``code`` as the original had it; the tables are those of ``Emitted``.

    Every load of an identifier in ``consts`` becomes a load of that very object, every load of one in ``cells`` a load
    of the variable's cell, every name in ``renames`` gets its original spelling (one under ``def NAME`` only where it
    is what a function calls itself); nested code objects alike.  With a ``template`` the result also takes its name,
    flags and order of cells, and has at least as many locals.

    Raises ``DepyfError`` where the template has another signature, other cells or other free variables, where
    a variable in ``cells`` has no cell, and where two variables of one code object would get the same name.
    """
    old = new = ""
    if template is not None:
        old, new = _own_qualname(code), _own_qualname(template)
    result = _Binder(consts, cells, renames, old, new).bind(code, "")
    return result if template is None else conform(result, template)


def relocate(code: CodeType, filename: str, first_line: int, kept: Iterable[CodeType] = ()) -> CodeType:
    """The same code, nested code included, as if it were in ``filename`` and started at ``first_line``.

    Line tables are relative to ``co_firstlineno`` in every version; only classes also keep their line as a constant.
    The objects of ``kept`` are no text of this file and stay what they are.
    """
    return _moved(code, filename, first_line - code.co_firstlineno, frozenset(map(id, kept)))


@any_depth
def _moved(code: CodeType, filename: str, by: int, kept: frozenset[int]) -> CodeType:
    consts: list[Any] = [
        _moved(item, filename, by, kept) if isinstance(item, CodeType) and id(item) not in kept else item
        for item in code.co_consts
    ]
    ops = None
    if by and "__firstlineno__" in code.co_names:  # 3.13+
        ops = disassemble(code)
        for op, after in pairwise(ops):
            if after.name == "STORE_NAME" and code.co_names[after.arg] == "__firstlineno__":
                line = op.arg if op.name == "LOAD_SMALL_INT" else consts[op.arg]
                op.become("LOAD_CONST", _index(consts, line + by))
    lines: dict[str, Any] = {"co_filename": filename, "co_firstlineno": code.co_firstlineno + by}
    if ops is None:
        return code.replace(co_consts=tuple(consts), **lines)
    return assemble(code, ops, co_consts=tuple(consts)).replace(**lines)


def _index(consts: list[Any], value: Any) -> int:
    """Where ``value`` itself, not an equal one, is in ``consts``; appended if need be."""
    for index, item in enumerate(consts):
        if item is value:
            return index
    consts.append(value)
    return len(consts) - 1


@dataclass(frozen=True, slots=True)
class _Binder:
    """The tables of one call of ``bind``; ``old`` and ``new`` are qualified names of the outermost code."""

    consts: Mapping[str, Any]
    cells: Mapping[str, str]
    renames: Mapping[str, str]
    old: str
    new: str

    @any_depth
    def bind(self, code: CodeType, class_name: str) -> CodeType:
        """``class_name`` is that of the class around ``code``, whose private names the compiler has mangled."""
        inside = code.co_name if _is_class(code) else class_name
        renames: Mapping[str, str] = _mangled(self.renames, inside)
        consts = [self.bind(item, inside) if isinstance(item, CodeType) else item for item in code.co_consts]

        def rename(name: str) -> str:
            return renames.get(name, name)

        changes: dict[str, Any] = {}
        for field in ("co_names", "co_varnames", "co_cellvars", "co_freevars"):
            before: tuple[str, ...] = getattr(code, field)
            after = tuple([".".join(map(rename, name.split("."))) for name in before])
            if after != before:
                changes[field] = after
        if not same_slots(code, changes):
            raise DepyfError(f"{code.co_name}: two variables would get the same name")
        changes |= self._own_names(code)
        slots = slots_of(code.replace(**changes)) if changes else slots_of(code)
        ops = disassemble(code)
        edited = self._load_objects(code, ops, consts, slots, inside)
        edited |= self._spell_constants(code, ops, consts, rename)
        if len(consts) > len(code.co_consts) or any(new is not old for new, old in zip(consts, code.co_consts)):
            changes["co_consts"] = tuple(consts)
        if edited:
            return assemble(code, ops, **changes)
        return code.replace(**changes) if changes else code

    def _own_names(self, code: CodeType) -> dict[str, str]:
        changes = {}
        name = self._called(code.co_name)
        if name != code.co_name:
            changes["co_name"] = name
        if VERSION >= (3, 11):
            qualname = self.qualified(_own_qualname(code))
            if qualname != _own_qualname(code):
                changes["co_qualname"] = qualname
        return changes

    def qualified(self, name: str) -> str:
        """A qualified name as the original had it."""
        rest = name[len(self.old) :]
        if name.startswith(self.old) and self.old and (not rest or rest[0] == "."):
            return self.new + self._spelled(rest)
        return self._spelled(name)

    def _spelled(self, dotted: str) -> str:
        return ".".join([self._called(part) for part in dotted.split(".")])

    def _called(self, name: str) -> str:
        """The name in the code object of a function that is defined as ``name``."""
        return self.renames.get(f"def {name}", self.renames.get(name, name))

    def _load_objects(
        self, code: CodeType, ops: list[Op], consts: list[Any], slots: dict[str, int], class_name: str
    ) -> bool:
        """Replace the loads of ``self.consts`` and ``self.cells`` in ``ops``."""
        objects, cells = _mangled(self.consts, class_name), _mangled(self.cells, class_name)
        if not any(name in objects or name in cells for name in code.co_names):
            return False
        found: list[tuple[int, list[tuple[str, int]]]] = []
        for index, op in enumerate(ops):
            if op.name not in _LOADS:
                continue
            shift = _LOADS[op.name]
            name = code.co_names[op.arg >> shift]
            if name in objects:
                load = ("LOAD_CONST", _index(consts, objects[name]))
            elif name in cells:
                load = _cell_load(code, cells[name], slots)
            else:
                continue
            new = [load]
            if op.name == "LOAD_FROM_DICT_OR_GLOBALS":
                new.insert(0, ("POP_TOP", 0))  # the dict
            elif shift and op.arg & 1:
                new.insert(1 if _NULL_LAST else 0, ("PUSH_NULL", 0))
            found.append((index, new))
        for index, new in reversed(found):
            op = ops[index]
            op.become(*new[0])
            ops[index + 1 : index + 1] = [op.twin(*item) for item in new[1:]]
        return bool(found)

    def _spell_constants(self, code: CodeType, ops: list[Op], consts: list[Any], rename: Callable[[str], str]) -> bool:
        """Rename in constants that hold names; only there, other strings may happen to read the same."""
        if not self.renames and self.old == self.new:
            return False
        edited = False
        for index, op, kind in _name_constants(code, ops):
            value = consts[op.arg]
            if type(value) is tuple:
                names: Any = tuple([rename(item) if type(item) is str else item for item in value])
            elif type(value) is str:
                names = self.qualified(value) if kind == "qualname" else self._spelled(value)
            else:
                continue
            if names != value:
                consts.append(names)
                ops[index].arg = len(consts) - 1
                edited = True
        return edited


def _cell_load(code: CodeType, name: str, slots: dict[str, int]) -> tuple[str, int]:
    if name not in slots:
        raise DepyfError(f"{code.co_name}: the cell of {name!r} is read, but the compiled function has none")
    return ("LOAD_FAST" if VERSION >= (3, 13) else "LOAD_CLOSURE", slots[name])


def _name_constants(code: CodeType, ops: list[Op]) -> Iterator[tuple[int, Op, str]]:
    """LOAD_CONST instructions whose constant is a name or a tuple of names."""
    for index, (op, after) in enumerate(pairwise(ops)):
        if op.name != "LOAD_CONST":
            continue
        if after.name in ("IMPORT_NAME", "MATCH_CLASS"):
            yield index, op, "names"
        elif after.name == "STORE_NAME" and code.co_names[after.arg] in ("__qualname__", "__static_attributes__"):
            yield index, op, "qualname"
        elif after.name == "MAKE_FUNCTION" and VERSION < (3, 11):
            yield index, op, "qualname"
        elif _is_class_name(code, ops, index):
            yield index, op, "name"


def _is_class_name(code: CodeType, ops: list[Op], index: int) -> bool:
    """``LOAD_CONST <class body>; (qualname;) MAKE_FUNCTION; (SET_FUNCTION_ATTRIBUTE;) LOAD_CONST 'name'``."""
    index -= 1
    while index > 0 and ops[index].name in ("SET_FUNCTION_ATTRIBUTE", "MAKE_FUNCTION"):
        index -= 1
        if ops[index + 1].name == "MAKE_FUNCTION":
            index -= VERSION < (3, 11)
            body = code.co_consts[ops[index].arg] if ops[index].name == "LOAD_CONST" else None
            return isinstance(body, CodeType) and _is_class(body)
    return False


def _is_class(code: CodeType) -> bool:
    return not code.co_flags & (CO_OPTIMIZED | CO_NEWLOCALS) and "__qualname__" in code.co_names


def _mangled(table: Mapping[str, Any], class_name: str) -> Mapping[str, Any]:
    """``table`` with its identifiers as the compiler spells them inside class ``class_name``."""
    prefix = class_name.lstrip("_")
    if not prefix or not any(name.startswith("__") for name in table):
        return table
    return {
        f"_{prefix}{name}" if name.startswith("__") and not name.endswith("__") else name: item
        for name, item in table.items()
    }


def _own_qualname(code: CodeType) -> str:
    """Before 3.11 only what is nested in a function tells the function's own qualified name."""
    if VERSION >= (3, 11):
        return str(getattr(code, "co_qualname"))  # noqa: B009 (unknown to the typing of 3.10)
    for unit in CodeUnit.from_code(code).consts:
        if isinstance(unit, CodeUnit):
            own, dot, name = unit.qualname.rpartition(".<locals>.")
            if dot and name == unit.name:
                return own
    return code.co_name
