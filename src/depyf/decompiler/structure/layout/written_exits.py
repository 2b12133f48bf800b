"""A ``continue`` at the end of the body of a ``try``, whose jump the compiler moves out of the protected range.

Input and output: the labelled dialect.  Only the line of the jump tells it from one in the ``else``, or after.

    Block(L) { Try: A; exit L  except E: B; exit M }  exit N, on a line before E    ->    Try: A; exit N  except E: B;
    exit M Try: A; exit N, on a line after B  except E: B                                 ->    Try: A  except E: B
    else: exit N
"""

from __future__ import annotations

from depyf.decompiler.ir.markers import ManagerClause
from depyf.decompiler.ir.stmt import Block, Body, Exit, Stmt, Try
from depyf.decompiler.ir.transformer import Transformer, map_statements
from depyf.decompiler.ir.walk_stmt import walk
from depyf.decompiler.structure.exits import exit_labels, first_line


def exits_in_try(body: Body) -> Body:
    """``body`` with such exits in the ``try``."""
    return _WrittenExits().run(body)


class _WrittenExits(Transformer):
    title = "move an exit into or out of a try"

    def leave(self, stmt: Stmt, done: list[Stmt]) -> None:
        if type(stmt) is Try:
            if len(stmt.orelse) == 1 and _is_before(stmt.orelse[0], stmt):
                stmt = Try((*stmt.body, *stmt.orelse), stmt.handlers, (), stmt.final, stmt.star, stmt.line)
            elif not stmt.orelse and _is_written_after(stmt):
                stmt = Try(stmt.body[:-1], stmt.handlers, stmt.body[-1:], stmt.final, stmt.star, stmt.line)
        done.append(stmt)

    def finish(self, done: list[Stmt]) -> Body:
        if len(done) > 1 and isinstance(block := done[-2], Block) and isinstance(after := done[-1], Exit):
            done[-2:] = _merged(block, after) or done[-2:]
        return tuple(done)


def _merged(block: Block, after: Exit) -> Body | None:
    """The statements of ``block``, whose ``try`` takes ``after`` in, if nothing else goes on there."""
    tried = block.body[-1] if block.body else None
    if not isinstance(tried, Try) or tried.orelse or tried.final or not _is_before(after, tried):
        return None
    others = (*block.body[:-1], *(stmt for clause in tried.handlers for stmt in clause.body))
    if any(isinstance(stmt, Exit) and stmt.label == block.label for stmt in walk(others)):
        return None

    def written(stmt: Stmt) -> Stmt:
        return after if isinstance(stmt, Exit) and stmt.label == block.label else stmt

    inner = map_statements(tried.body, written)
    return *block.body[:-1], Try(inner, tried.handlers, (), (), tried.star, tried.line)


def _is_before(stmt: Stmt, tried: Try) -> bool:
    """Whether ``stmt`` is an exit that the source has in front of the handlers of ``tried``."""
    if not isinstance(stmt, Exit) or not stmt.written or stmt.line is None or not tried.handlers:
        return False
    first = tried.handlers[0].line or first_line(tried.handlers[0].body)
    return first is not None and stmt.line < first


def _is_written_after(tried: Try) -> bool:
    """Whether the body ends with an exit that the source has after the handlers, and none of them ends there."""
    last = tried.body[-1] if len(tried.body) > 1 else None
    if not isinstance(last, Exit) or last.written or last.line is None or not tried.handlers:
        return False
    if any(isinstance(clause.type, ManagerClause) for clause in tried.handlers):
        return False  # a ``with``: its body ends where its manager is left
    caught = tuple(stmt for clause in tried.handlers for stmt in clause.body)
    caught_line = max((stmt.line or 0 for stmt in walk(caught)), default=0)
    return last.line > max(caught_line, tried.handlers[-1].line or 0) and last.label not in exit_labels(caught)
