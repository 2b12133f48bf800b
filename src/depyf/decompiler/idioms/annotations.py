"""Deferred annotations (3.14+): turns the function that computes them back into annotations, where they were written.

Input: the statements of a module or class body, in which ``__annotate__`` (a class: ``__annotate_func__``) is a
function and a mark stands where an annotation in a conditional place was reached.  Output: annotated assignments
instead.  A function of another shape is the user's own and stays.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

from depyf.decompiler.bytecode import ops
from depyf.decompiler.bytecode.codeunit import CodeUnit
from depyf.decompiler.bytecode.lower import lower
from depyf.decompiler.ir.expr import Cmp, Const, DictOf, Display, Expr, Func, Name, Sub, Temp
from depyf.decompiler.ir.markers import AnnotationReached, CommonConstant
from depyf.decompiler.ir.stmt import (
    AnnAssign,
    Assign,
    Body,
    ExprStmt,
    For,
    FuncDef,
    If,
    Raise,
    Return,
    Stmt,
    Try,
    While,
)
from depyf.decompiler.ir.transformer import Transformer
from depyf.decompiler.ir.walk_expr import names_of_block
from depyf.decompiler.ir.walk_stmt import COMPOUND, bodies, walk

REACHED = "__conditional_annotations__"
_PROLOGUE = ("__module__", "__qualname__", "__firstlineno__", "__type_params__", "__doc__", "__classdict__")
_STORED = ("__annotate__", "__annotate_func__")


class _Note(NamedTuple):
    name: str
    value: Expr
    mark: int | None
    line: int | None


def place_annotations(body: Body, in_class: bool) -> Body:
    """``body`` with annotated assignments for what its annotate function computes."""
    for index, stmt in enumerate(body):
        func = annotate_function(stmt)
        if func is not None:
            notes = _notes(func)
            if notes is not None:
                notes = [note._replace(value=names_of_block(note.value)) for note in notes]
                rest = body[:index] + body[index + 1 :]
                marked = _MarkedAnnotations({note.mark: note for note in notes if note.mark is not None}).run(rest)
                conditional = {id(note.value) for note in notes if note.mark is not None}
                return _place(_conditional(marked, conditional) if in_class else marked, notes)
    # under ``from __future__ import annotations`` the set is made but not used
    return _lost(tuple(stmt for stmt in body if not _is_reset(stmt)), in_class) if any(map(_is_reset, body)) else body


def annotate_function(stmt: Stmt) -> Func | None:
    """The function of a deferred annotation that a statement binds, if it does."""
    value: Expr | None = None
    if isinstance(stmt, FuncDef) and not stmt.decorators:
        value = stmt.func
    elif isinstance(stmt, Assign) and len(stmt.targets) == 1:
        target = stmt.targets[0]
        if isinstance(target, Name) and target.id in _STORED:
            value = stmt.value
    if isinstance(value, Func) and value.unit.name == "__annotate__" and value.unit.params == ("format",):
        return value
    return None


def _notes(func: Func) -> list[_Note] | None:
    """The annotations that the function computes, in order; None if the compiler did not write it."""
    body = func.body
    if len(body) < 2 or not _refuses_formats(body[0]) or not isinstance(body[-1], Return):
        return None
    stored = _stored_lines(func.unit)
    result = body[-1].value
    found: list[_Note] = []
    rest = body[1:-1]
    if isinstance(result, DictOf) and not rest:
        return found if _read(result, stored, found) else None
    if not isinstance(result, Temp) or not rest:
        return None
    first = rest[0]
    if not (isinstance(first, Assign) and _is_temp(first.targets[0], result) and isinstance(first.value, DictOf)):
        return None
    if len(first.targets) != 1 or not _read(first.value, stored, found):
        return None
    for stmt in rest[1:]:
        mark = None
        if isinstance(stmt, If) and len(stmt.body) == 1 and not stmt.orelse:
            mark = _mark(stmt.test)
            if mark is None:
                return None
            stmt = stmt.body[0]
        if not (isinstance(stmt, Assign) and len(stmt.targets) == 1):
            return None
        target = stmt.targets[0]
        if not (isinstance(target, Sub) and _is_temp(target.value, result) and isinstance(target.key, Const)):
            return None
        found.append(_Note(target.key.value, stmt.value, mark, _next_line(stored, target.key.value)))
    return found


def _is_temp(value: Expr, temp: Temp) -> bool:
    return isinstance(value, Temp) and value.key == temp.key


def _read(display: DictOf, stored: _Lines, found: list[_Note]) -> bool:
    for key, value in display.items:
        if not isinstance(key, Const) or not isinstance(key.value, str):
            return False
        found.append(_Note(key.value, value, None, _next_line(stored, key.value)))
    return True


def _refuses_formats(stmt: Stmt) -> bool:
    """``if format > 2: raise NotImplementedError``, the error loaded as only the compiler does."""
    if not isinstance(stmt, If) or len(stmt.body) != 1 or not isinstance(stmt.body[0], Raise):
        return False
    exc = stmt.body[0].exc
    return isinstance(exc, CommonConstant) and exc.name == "NotImplementedError"


def _mark(test: Expr) -> int | None:
    if isinstance(test, Cmp) and test.ops == ("in",) and isinstance(test.left, Const):
        container = test.rights[0]
        if isinstance(container, Name) and container.id == REACHED and isinstance(test.left.value, int):
            return test.left.value
    return None


_Lines = dict[str, list[int | None]]


def _next_line(stored: _Lines, name: str) -> int | None:
    lines = stored.get(name)
    return lines.pop(0) if lines else None


def _stored_lines(unit: CodeUnit) -> _Lines:
    """The source lines of the annotations of each name that are stored one by one."""
    instrs = lower(unit).instrs
    found: _Lines = {}
    for i, instr in enumerate(instrs[:-2]):
        if instr.op == ops.COPY and instrs[i + 1].op == ops.LOAD_CONST and instrs[i + 2].op == ops.STORE_SUBSCR:
            found.setdefault(instrs[i + 1].arg, []).append(instr.line)
    return found


class _MarkedAnnotations(Transformer):
    """Marks become annotated assignments, together with the assignment before them."""

    title = "annotate the variable that a mark is of"

    def __init__(self, notes: dict[int | None, _Note]) -> None:
        self.notes = notes

    def leave(self, stmt: Stmt, done: list[Stmt]) -> None:
        if _is_reset(stmt):
            return
        note = self.notes.get(_reached(stmt))
        before = done[-1] if done else None
        if note is None:
            done.append(stmt)
        elif before is not None and _assigns(before, note, None):
            assert isinstance(before, Assign)
            done[-1] = AnnAssign(before.targets[0], note.value, before.value, before.line)
        else:
            done.append(AnnAssign(Name(note.name, "name"), note.value, None, stmt.line))


def _lost(body: Body, in_class: bool) -> Body:
    """Marks where no function computes annotations: a class makes it at its end, which one that never ends does not
    reach.

    Nothing tells what the annotations were; they are numbered as they stand in the text, those in dead code too.
    """
    marks = sorted({mark for stmt in walk(body) if (mark := _reached(stmt)) is not None})
    if not marks:
        return body
    copied = _FinallyNumbers(marks)
    copied.run(body)
    body = _LostAnnotations(copied.unseen).run(body)
    return _conditional(body, {id(value) for stmt in body for value in _annotations(stmt)}) if in_class else body


class _FinallyNumbers(Transformer):
    """Finds which numbers without a mark are those of copies: the body of a ``finally`` is numbered once for each, the
    last is shown."""

    def __init__(self, marks: list[int]) -> None:
        self.unseen = set(range(marks[-1])).difference(marks)
        self._open: list[set[int]] = [set()]

    def enter(self, stmt: Stmt) -> Stmt:
        self._open.append(set())
        return stmt

    def begin(self, body: Body, around: Stmt | None, at: int) -> None:
        if isinstance(around, Try) and body is around.final:
            self._open.append(set())

    def leave(self, stmt: Stmt, done: list[Stmt]) -> None:
        done.append(stmt)
        if (mark := _reached(stmt)) is not None:
            self._open[-1].add(mark)
        if type(stmt) not in COMPOUND:
            return
        found = self._open.pop()
        if isinstance(stmt, Try) and stmt.final:
            first, count = min(found, default=0), len(found)
            while count and self.unseen.issuperset(copy := range(first - count, first)):
                self.unseen.difference_update(copy)
                found.update(copy)
                first -= count
            found |= self._open.pop()
        self._open[-1] |= found


class _LostAnnotations(Transformer):
    title = "annotate a variable whose annotation is lost"

    def __init__(self, unseen: set[int]) -> None:
        self.unseen = unseen

    def leave(self, stmt: Stmt, done: list[Stmt]) -> None:
        mark = _reached(stmt)
        if mark is None:
            done.append(stmt)
            return
        before = done[-1] if done else None
        target = before.targets[0] if isinstance(before, Assign) and len(before.targets) == 1 else None
        if isinstance(before, Assign) and isinstance(target, Name):
            done[-1] = AnnAssign(target, Const(None), before.value, before.line)
        else:
            done.append(AnnAssign(Name("_", "name"), Const(None), None, stmt.line))
        for number in sorted(self.unseen):
            if number < mark:
                self.unseen.discard(number)
                dead = AnnAssign(Name("_", "name"), Const(None), None, stmt.line)
                done.insert(-1, If(Const(False), (dead,), (), stmt.line))


def _conditional(body: Body, marked: set[int]) -> Body:
    """In a class only what stands inside of a compound statement has a mark: the ``else`` of a loop has ended there.

    ``marked`` are the annotations with a mark, by identity.
    """
    result: list[Stmt] = []
    for stmt in body:
        if isinstance(stmt, AnnAssign) and id(stmt.annotation) in marked:
            before = result[-1] if result else None
            if isinstance(before, (For, While)):
                result[-1] = replace(before, orelse=(*before.orelse, stmt))
                continue
            stmt = If(Const(True), (stmt,), (), stmt.line)
        result.append(stmt)
    return tuple(result)


def _reached(stmt: Stmt) -> int | None:
    return stmt.value.index if isinstance(stmt, ExprStmt) and isinstance(stmt.value, AnnotationReached) else None


def _is_reset(stmt: Stmt) -> bool:
    if not isinstance(stmt, Assign) or len(stmt.targets) != 1 or not isinstance(stmt.targets[0], Name):
        return False
    return stmt.targets[0].id == REACHED and isinstance(stmt.value, Display) and not stmt.value.elts


def _assigns(stmt: Stmt, note: _Note, line: int | None) -> bool:
    if not isinstance(stmt, Assign) or len(stmt.targets) != 1 or not isinstance(stmt.targets[0], Name):
        return False
    return stmt.targets[0].id == note.name and (line is None or stmt.line is None or line == stmt.line)


def _place(body: Body, notes: list[_Note]) -> Body:
    """Place unconditional annotations by their lines, in the order of the function."""
    stmts = list(body)
    at = 0
    while at < len(stmts) and _is_prologue(stmts[at]):
        at += 1
    placed = {id(value) for stmt in stmts for value in _annotations(stmt)}
    copied = {
        id(value) for stmt in walk(body) if isinstance(stmt, Try) for s in stmt.final for value in _annotations(s)
    }
    found_at = {(note.name, note.line) for note in notes if id(note.value) in placed and id(note.value) in copied}
    for note in notes:
        if note.mark is not None:
            where = next((i for i, stmt in enumerate(stmts) if any(s is note.value for s in _annotations(stmt))), -1)
            if where < 0 and (note.name, note.line) in found_at:
                continue  # in another copy of a ``finally`` body
            if where < 0:
                # written in code that was dropped as dead
                while at < len(stmts) and note.line is not None and _before(stmts[at], note.line):
                    at += 1
                bare = AnnAssign(Name(note.name, "name"), note.value, None, note.line)
                stmts.insert(at, If(Const(False), (bare,), (), note.line))
                where = at
            at = max(at, where + 1)
            continue
        found = next((i for i in range(at, len(stmts)) if _assigns(stmts[i], note, note.line)), -1)
        if found >= 0:
            stmt = stmts[found]
            assert isinstance(stmt, Assign)
            stmts[found] = AnnAssign(stmt.targets[0], note.value, stmt.value, stmt.line)
            at = found + 1
            continue
        while at < len(stmts) and note.line is not None and _before(stmts[at], note.line):
            at += 1
        stmts.insert(at, AnnAssign(Name(note.name, "name"), note.value, None, note.line))
        at += 1
    return tuple(stmts)


def _is_prologue(stmt: Stmt) -> bool:
    if not isinstance(stmt, Assign) or not isinstance(stmt.targets[0], Name):
        return False
    return stmt.targets[0].id in _PROLOGUE


def _before(stmt: Stmt, line: int) -> bool:
    if bodies(stmt):
        # a compound statement may carry the line of what came before its test
        lines = [inner.line for inner in walk((stmt,)) if inner is not stmt and inner.line is not None]
        return bool(lines) and max(lines) < line
    own = None if isinstance(stmt, Return) else stmt.line
    if own is not None and own < line and isinstance(stmt, Assign) and isinstance(stmt.targets[0], Name):
        return stmt.targets[0].id not in ("__static_attributes__", "__classdictcell__", "__classcell__")
    return own is not None and own < line


def _annotations(stmt: Stmt) -> Iterator[Expr]:
    return (inner.annotation for inner in walk((stmt,)) if isinstance(inner, AnnAssign))
