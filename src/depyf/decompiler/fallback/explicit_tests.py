"""Spells out tests of exceptions and calls of managers, where they have no shape of ``except`` or ``with`` (plain
lifting).

The interpreter looks ``__enter__`` and ``__exit__`` up on the type; an attribute of the object is what it finds unless
the object has another one, which the verdict says.  The innermost ``with`` below is only reached where it raises at
once.

    EXC_MATCH             try: raise __temp_0                 BEFORE_WITH     if hasattr(type(__temp_0), '__enter__'):
                          except x: __temp_1 = True                               if hasattr(type(__temp_0),
                          '__exit__'): except BaseException: ...                                   __temp_1 =
                          __temp_0.__exit__
                                                                                      __temp_2 = __temp_0.__enter__()
    WITH_EXCEPT_START     __temp_1(type(e), e, e.__traceback__)                   else: with __temp_0: pass

    MATCH_SEQUENCE        match __temp_0:                           GET_LEN       len(__temp_0)
                              case [*_]: __temp_1 = True
                              case _: __temp_1 = False
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from depyf.decompiler.bytecode import ops
from depyf.decompiler.cfg.except_star import STAR
from depyf.decompiler.ir.expr import Attr, Const, Expr, Invoke, Temp
from depyf.decompiler.ir.markers import Caught, CaughtType, NullSlot
from depyf.decompiler.ir.stmt import (
    Assign,
    Body,
    ExceptClause,
    If,
    Match,
    MatchAs,
    MatchCase,
    MatchMapping,
    MatchSequence,
    MatchStar,
    PassStmt,
    Raise,
    Try,
    With,
)
from depyf.errors import DecompilationError

if TYPE_CHECKING:
    from depyf.decompiler.fallback.plain import PlainSymbolic


def match_exception(s: PlainSymbolic, kind: object, handled: bool) -> bool:
    """Whether the exception below the top is of the type on top; ``handled``: a bare ``raise`` raises it."""
    if kind == STAR or len(s.stack) < 2:
        return False
    line = s.instr.line
    s.spill()
    wanted = s.pop()
    caught = s.stack[-1]
    if not isinstance(caught, (Temp, Caught, CaughtType)):
        raise DecompilationError("a test of no exception", s.program.unit.qualname, s.instr.offset)
    found = s.new_temp()
    clauses = (
        ExceptClause(wanted, None, (Assign((found,), Const(True), line),), line),
        ExceptClause(Const(BaseException), None, (Assign((found,), Const(False), line),), line),
    )
    s.stmts.append(Try((Raise(None if handled else caught, None, line),), clauses, line=line))
    s.push(found)
    return True


def enter_manager(s: PlainSymbolic, slots: int) -> bool:
    """``BEFORE_WITH``: the bound exit, NULL for a second slot, and what entering gave."""
    line, is_async = s.instr.line, s.instr.op == ops.BEFORE_ASYNC_WITH
    enter, leave = ("__aenter__", "__aexit__") if is_async else ("__enter__", "__exit__")
    s.spill()
    manager = s.pop()
    kind = Invoke(Const(type), (manager,))

    def has(name: str) -> Expr:
        return Invoke(Const(hasattr), (kind, Const(name)))

    bound, entered = s.new_temp(), s.new_temp()
    refused: Body = (With(((manager, None),), (PassStmt(line),), is_async, line),)
    both: Body = (
        Assign((bound,), Attr(manager, leave), line),
        Assign((entered,), Invoke(Attr(manager, enter), ()), line),
    )
    s.stmts.append(If(has(enter), (If(has(leave), both, refused, line),), refused, line))
    s.push(bound)
    for _ in range(slots - 1):
        s.push(NullSlot())
    s.push(entered)
    return True


def match_kind(s: PlainSymbolic) -> bool:
    """``MATCH_SEQUENCE`` and ``MATCH_MAPPING``: the subject stays on the stack below the answer."""
    line = s.instr.line
    found = s.new_temp()
    subject = _named_top(s)
    wanted = MatchSequence((MatchStar(None),)) if s.instr.op == ops.MATCH_SEQUENCE else MatchMapping((), (), None)
    cases = (
        MatchCase(wanted, None, (Assign((found,), Const(True), line),)),
        MatchCase(MatchAs(None, None), None, (Assign((found,), Const(False), line),)),
    )
    s.stmts.append(Match(subject, cases, line))
    s.push(found)
    return True


def length(s: PlainSymbolic) -> bool:
    """``GET_LEN``."""
    s.push(Invoke(Const(len), (_named_top(s),)))
    return True


def _named_top(s: PlainSymbolic) -> Expr:
    """The value on top, which stays there, as something that may be read twice."""
    if not s.stack:
        raise DecompilationError("stack underflow", s.program.unit.qualname, s.instr.offset)
    s.spill()
    value = s.stack[-1]
    if not isinstance(value, Temp):
        named = s.new_temp()
        s.stmts.append(Assign((named,), value, s.instr.line))
        s.stack[-1] = value = named
    return value


def call_exit(s: PlainSymbolic, depth: int) -> bool:
    """``WITH_EXCEPT_START``: the exit is called with the exception on top, which stays there."""
    if depth > len(s.stack):
        raise DecompilationError("stack underflow", s.program.unit.qualname, s.instr.offset)
    caught = _named_top(s)
    values = (Invoke(Const(type), (caught,)), caught, Attr(caught, "__traceback__"))
    s.push(Invoke(s.stack[-depth], values))
    s.spill()
    return True
