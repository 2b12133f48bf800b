"""Rules for names, imports, tuple swaps and the statements that a store can complete."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from depyf.decompiler.bytecode import ops
from depyf.decompiler.bytecode.variables.spelling import exact
from depyf.decompiler.cfg.program import ASYNC_FOR_ITER, END_FINALLY, MATCH_CASE, WITH_EXIT
from depyf.decompiler.ir.expr import CellOf, Const, Display, Expr, Invoke, Name
from depyf.decompiler.ir.markers import (
    AnnotationsSetUp,
    ImportedModule,
    ImportedName,
    Marker,
    SavedLocal,
)
from depyf.decompiler.ir.stmt import Delete, ExprStmt, ImportFrom
from depyf.decompiler.lift import stores, unpackings
from depyf.decompiler.lift.stack_values import UnpackedItem, is_slot
from depyf.decompiler.lift.stored_statements import same_name
from depyf.errors import DecompilationError
from depyf.safety.depth import spend

if TYPE_CHECKING:
    from depyf.decompiler.lift.symbolic import Symbolic

STORES: frozenset[str] = frozenset({ops.STORE_FAST, ops.STORE_NAME, ops.STORE_GLOBAL, ops.STORE_DEREF})

_NO_TARGET = frozenset({WITH_EXIT, END_FINALLY, ASYNC_FOR_ITER, MATCH_CASE, ops.POP_EXCEPT})


def tuple_swap(s: Symbolic, n: int) -> bool:
    """``a, b = y, x`` is compiled to a swap: see it as the unpacking of a tuple it was."""
    if n not in (2, 3) or s.at in s.forced or not _stores_follow(s, s.program.next[s.at], n):
        return False
    return _as_unpacking(s, n)


def tuple_rotation(s: Symbolic, n: int) -> bool:
    """The same before 3.11: ``ROT 2`` for two targets, ``ROT 3; ROT 2`` for three."""
    after = s.program.next[s.at]
    if n == 2:
        return tuple_swap(s, 2)
    if n != 3 or after < 0 or s.at in s.forced:
        return False
    second = s.program.instrs[after]
    if second.op not in (ops.ROT, ops.SWAP) or second.arg != 2 or not _stores_follow(s, s.program.next[after], 3):
        return False
    if not _as_unpacking(s, 3):
        return False
    s.skip.add(after)
    return True


def _stores_follow(s: Symbolic, index: int, count: int) -> bool:
    """Whether ``count`` targets are stored from ``index`` on; the parts of attribute and item targets are evaluated in
    between.

    Where these have tests or comprehensions, one way through them is followed: all leave the stack equally high.
    """
    program = s.program
    depth = steps = 0
    missing = count
    while missing:
        if index < 0 or steps > len(program.instrs):  # nothing follows, or control goes round in a circle
            return False
        op, arg = program.instrs[index].op, program.instrs[index].arg
        after = program.next[index]
        steps += 1
        if depth == 0 and op in STORES:
            missing -= 1
        elif depth == 1 and op == ops.STORE_ATTR or depth == 2 and op == ops.STORE_SUBSCR:
            missing, depth = missing - 1, 0
        elif depth == 0 and op == ops.UNPACK_SEQUENCE:
            missing += arg - 1
        elif depth == 0 and op == ops.UNPACK_EX:
            missing += arg[0] + arg[1]
        elif depth and op in ops.JUMPS and (op == ops.BRANCH or program.jump[index] > index):
            if op == ops.BRANCH:
                depth -= 1
            else:
                after = program.jump[index]
                depth -= arg if op == ops.FOR_ITER else 0
        elif op in ops.TERMINATORS or op in ops.JUMPS or op in _NO_TARGET:
            return False
        else:
            pops, pushes = ops.stack_effect(op, arg)
            if pops > depth:
                return False
            depth += pushes - pops
        index = after
    spend(steps >> 3)
    return True


def _as_unpacking(s: Symbolic, n: int) -> bool:
    if len(s.stack) < n or any(isinstance(value, (Marker, UnpackedItem)) or is_slot(value) for value in s.stack[-n:]):
        return False
    values = s.pops(n)
    unpackings.begin_unpack(s, Display("tuple", tuple(values)), n, -1, None)
    return True


def finish_import(s: Symbolic, module: ImportedModule) -> None:
    """The module of ``from m import a, b`` is dropped: the statement is complete."""
    if module.parts and module.stored:
        s.emit(ImportFrom(module.name, tuple(module.stored), module.level, s.instr.line, module.lazy))


_IMPORTING = STORES | {ops.IMPORT_FROM, ops.IMPORT_STAR}


def _is_statement(s: Symbolic, name: str) -> bool:
    """Whether the result of an import is used as an import statement uses it."""
    if not all(exact(part) for part in name.split(".") if part):
        return False
    at = s.program.next[s.at]
    while at >= 0 and s.program.instrs[at].op == ops.JUMP:
        at = s.program.jump[at]
    if at < 0 or s.program.instrs[at].op not in _IMPORTING:
        return False
    fromlist, level = s.stack[-1], s.stack[-2]
    if not isinstance(fromlist, Const) or not isinstance(level, Const) or not (name or level.value):
        return False
    if s.program.instrs[at].op in STORES:  # ``import a.b as c`` gives b, and ``from a import b`` stores no module
        top, _, rest = name.partition(".")
        return not fromlist.value and not level.value and (not rest or same_name(top, str(s.program.instrs[at].arg)))
    return True


def _module(s: Symbolic, name: str) -> None:
    """A module as a value in an expression: no statement can stand there."""
    fromlist, level = s.pop(), s.pop()
    arguments: tuple[Expr, ...] = (Const(name),)
    keywords: tuple[tuple[str | None, Expr], ...] = ()
    if not _is_falsy(fromlist):
        keywords = (("fromlist", fromlist),)
    if not _is_falsy(level):
        arguments = (*arguments, Invoke(Const(globals), ()))
        keywords = (*keywords, ("level", level))
    s.push(Invoke(Const(__import__), arguments, keywords))


def _is_falsy(value: Expr) -> bool:
    """Whether a value is an argument that an import passes where nothing is given."""
    if isinstance(value, Display):
        return not value.elts
    return isinstance(value, Const) and not value.value


def _import_name(s: Symbolic, name: str) -> None:
    if s.instr.op == ops.IMPORT_NAME and not _is_statement(s, name):
        _module(s, name)
        return
    fromlist = s.pop()
    level = s.pop()
    names = fromlist.value if isinstance(fromlist, Const) else ()
    number = level.value if isinstance(level, Const) and (names or names is None) else 0
    s.push(ImportedModule(name, bool(names), [], number, s.instr.op == ops.IMPORT_NAME_LAZY))


def _import_from(s: Symbolic, name: str) -> None:
    module = s.stack[-1]
    if not isinstance(module, (ImportedModule, ImportedName)):
        raise DecompilationError("no source imports a name from this value", s.program.unit.qualname, s.instr.offset)
    s.push(ImportedName(module, name))


def _import_star(s: Symbolic, _: Any) -> None:
    module = s.raw()
    if not isinstance(module, ImportedModule):
        raise DecompilationError("no source imports all names of this value", s.program.unit.qualname, s.instr.offset)
    s.emit(ImportFrom(module.name, (("*", None),), module.level, s.instr.line))


def _load(scope: str) -> Callable[[Symbolic, Any], None]:
    def rule(s: Symbolic, name: str) -> None:
        s.stack.append(Name(name, scope))

    return rule


def _store(scope: str) -> Callable[[Symbolic, Any], None]:
    def rule(s: Symbolic, name: str) -> None:
        target = Name(name, scope)
        value = s.raw()
        if is_slot(value):
            s.block.used = True
        if scope == "fast" and not s.spill_all and stores.static_run(s, target, value):
            return
        s.store(target, value)

    return rule


def _delete(scope: str) -> Callable[[Symbolic, Any], None]:
    def rule(s: Symbolic, name: str) -> None:
        stores.protect_name(s, Name(name, scope))
        s.emit(Delete((Name(name, scope),), s.instr.line))

    return rule


def _load_from_dict(s: Symbolic, name: str) -> None:
    s.raw()
    s.push(Name(name, "name"))


def _load_from_dict_or_cell(s: Symbolic, name: str) -> None:
    s.raw()
    s.push(Name(name, "cell"))


def _load_closure(s: Symbolic, name: str) -> None:
    s.push(CellOf(name))


def _load_fast_clear(s: Symbolic, name: str) -> None:
    s.push(SavedLocal(name))


def _restore_fast(s: Symbolic, name: str) -> None:
    s.raw()


def _nothing(s: Symbolic, _: Any) -> None:
    return


def _setup_annotations(s: Symbolic, _: Any) -> None:
    s.emit(ExprStmt(AnnotationsSetUp(), s.instr.line))


RULES: dict[str, Callable[[Symbolic, Any], None]] = {
    ops.LOAD_FAST: _load("fast"),
    ops.LOAD_DEREF: _load("cell"),
    ops.LOAD_CLASSDEREF: _load("cell"),
    ops.LOAD_GLOBAL: _load("global"),
    ops.LOAD_NAME: _load("name"),
    ops.STORE_FAST: _store("fast"),
    ops.STORE_DEREF: _store("cell"),
    ops.STORE_GLOBAL: _store("global"),
    ops.STORE_NAME: _store("name"),
    ops.DELETE_FAST: _delete("fast"),
    ops.DELETE_DEREF: _delete("cell"),
    ops.DELETE_GLOBAL: _delete("global"),
    ops.DELETE_NAME: _delete("name"),
    ops.LOAD_FROM_DICT_OR_DEREF: _load_from_dict_or_cell,
    ops.LOAD_FROM_DICT_OR_GLOBALS: _load_from_dict,
    ops.LOAD_CLOSURE: _load_closure,
    ops.LOAD_FAST_CLEAR: _load_fast_clear,
    ops.RESTORE_FAST: _restore_fast,
    ops.MAKE_CELL: _nothing,
    ops.SETUP_ANNOTATIONS: _setup_annotations,
    ops.IMPORT_NAME: _import_name,
    ops.IMPORT_NAME_LAZY: _import_name,
    ops.IMPORT_FROM: _import_from,
    ops.IMPORT_STAR: _import_star,
}
