"""Rules of the operations that decide where control goes: loops, branches, cases, handlers, managers, returns."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from depyf.decompiler.bytecode import ops
from depyf.decompiler.cfg.except_star import STAR
from depyf.decompiler.cfg.program import ASYNC_FOR_ITER, END_FINALLY, MATCH_CASE, NONE, WITH_EXIT
from depyf.decompiler.ir.expr import (
    AwaitOf,
    BoolOf,
    Cmp,
    Comp,
    Const,
    Expr,
    Func,
    Invoke,
    Name,
    Temp,
    Walrus,
    YieldFrom,
    YieldOf,
)
from depyf.decompiler.ir.markers import (
    Case,
    CaseTest,
    ClauseEnd,
    CommonConstant,
    CompToAwait,
    Entered,
    ExceptTest,
    FinallyEnd,
    ForTest,
    ManagerExit,
    MatchStart,
    MatchSubject,
    NullSlot,
    Reraise,
    ToAwait,
    ToDelegate,
    WithStart,
    WrittenJump,
)
from depyf.decompiler.ir.stmt import ExprStmt, Raise, Return
from depyf.decompiler.lift.stack_values import EXC_OLD, TESTED_NONE, IterOf, LinkedLeft, Shared, flatten
from depyf.errors import DecompilationError

if TYPE_CHECKING:
    from depyf.decompiler.lift.symbolic import Symbolic

Rule = Callable[["Symbolic", Any], None]


def link(left: Expr, op: str, right: Expr) -> Cmp:
    """``left op right``, or the next link of the chained comparison that ``left`` is."""
    if isinstance(left, LinkedLeft):
        chain = left.comparison
        assert isinstance(chain, Cmp)
        return Cmp(chain.left, (*chain.ops, op), (*chain.rights, right))
    return Cmp(left, (op,), (right,))


def _get_iter(s: Symbolic, slots: Any) -> None:
    value = s.pop()
    below = s.stack[-2:]
    if s.generated and not s.before_loop and (slots or 1) == 1 and not any(isinstance(part, Func) for part in below):
        s.push(Invoke(Const(builtins.iter), (value,)))  # neither a loop nor a comprehension takes it
        return
    s.push(IterOf(value, False))
    for _ in range((slots or 1) - 1):
        s.push(NullSlot())


def _get_aiter(s: Symbolic, _: Any) -> None:
    s.push(IterOf(s.pop(), True))


def _for_iter(s: Symbolic, slots: Any) -> None:
    """The loop test; the item is pushed on the way into the body only (the caller drops the iterator on the other)."""
    if len(s.stack) < (slots or 1):  # what folding made of a program's own loops
        raise DecompilationError("a loop without its iterator", s.program.unit.qualname, s.instr.offset)
    s.block.cond = ForTest(s.stack[-(slots or 1)])


def _get_awaitable(s: Symbolic, _: Any) -> None:
    value = s.pop()
    if isinstance(value, Comp) and value.coroutine:
        s.push(CompToAwait(Comp(value.kind, value.elt, value.key, value.generators, value.unit)))
    else:
        s.push(ToAwait(value))


def _delegate(s: Symbolic, _: Any) -> None:
    value = s.pop()
    if isinstance(value, CompToAwait):
        s.push(value.comp)
    elif isinstance(value, ToAwait):
        s.push(value.value if isinstance(value.value, Entered) else AwaitOf(value.value))
    elif isinstance(value, ToDelegate):
        s.push(YieldFrom(value.value))
    else:
        s.push(YieldFrom(value))


def _yield_from_iter(s: Symbolic, _: Any) -> None:
    s.push(ToDelegate(s.pop()))


def _yield(s: Symbolic, _: Any) -> None:
    s.push(YieldOf(s.pop()))


def _return(s: Symbolic, _: Any) -> None:
    value = s.raw()
    if isinstance(value, Shared):
        s.force(value.origin)
    s.stack.append(value)
    value = s.pop()
    targets, inner = flatten(value)
    if targets:
        value = value if isinstance(value, Walrus) else inner
    s.emit(Return(value, s.instr.line, s.at - 1 in s.implicit))


def _jump(s: Symbolic, _: Any) -> None:
    """A jump that is left in the code is a ``continue``."""
    s.stmts.append(ExprStmt(WrittenJump(), s.instr.line))


def _raise(s: Symbolic, count: int) -> None:
    values = s.pops(count)
    exc = values[0] if values else None
    cause = values[1] if count > 1 else None
    raised = exc.func if isinstance(exc, Invoke) else exc
    asserts = isinstance(raised, CommonConstant) and raised.name == "AssertionError"
    s.emit(Raise(exc, cause, s.asserted if asserts else s.instr.line))


def _reraise(s: Symbolic, _: Any) -> None:
    s.stmts.append(ExprStmt(Reraise(), s.instr.line))


def _end_finally(s: Symbolic, _: Any) -> None:
    s.stmts.append(ExprStmt(FinallyEnd(), s.instr.line))


def _with_exit(s: Symbolic, slots: int) -> None:
    for _ in range(slots):
        s.raw()


def _push_exc_info(s: Symbolic, _: Any) -> None:
    exc = s.raw()
    s.push(EXC_OLD)
    s.push(exc)


def _pop_except(s: Symbolic, count: int) -> None:
    for _ in range(count):
        s.raw()
    if s.at in s.program.clause_ends:
        s.emit(ExprStmt(ClauseEnd(s.at in s.program.shared_ends), s.instr.line))


def _exc_match(s: Symbolic, kind: Any) -> None:
    s.push(ExceptTest(s.pop(), kind == STAR))


def _before_with(s: Symbolic, slots: Any, is_async: bool = False) -> None:
    manager = s.pop()
    leave = ManagerExit(manager, is_async)
    s.emit(ExprStmt(WithStart(leave), s.instr.line))
    s.push(leave)
    for _ in range((slots or 1) - 1):
        s.push(NullSlot())
    s.push(Entered(leave))


def _before_async_with(s: Symbolic, slots: Any) -> None:
    _before_with(s, slots, True)


def _branch(s: Symbolic, test: str) -> None:
    """Leaves ``succs`` as [fall-through, target]; the driver orders them by truth afterwards."""
    value = s.raw()
    block = s.block
    block.keep = None
    kept = bool(s.stack) and s.stack[-1] is value and test in ("true", "false")
    cond: Expr
    if kept and isinstance(value, Shared):
        if isinstance(value.expr, BoolOf):
            value = s.stack[-1] = Shared(BoolOf(value.expr.op, value.expr.values, True), value.origin)
        block.keep = value
        cond = value.expr
    elif kept and isinstance(value, (Name, Const, Temp)):
        block.keep = Shared(value, s.at)
        cond = value
    else:
        s.stack.append(value)
        cond = s.pop()
        if isinstance(cond, BoolOf):
            cond = BoolOf(cond.op, cond.values, True)
    if test in ("none", "not none"):
        cond = link(cond, "is", TESTED_NONE)
        test = "true" if test == "none" else "false"
    block.cond = cond
    block.test_line = s.instr.line if block.stmts else None
    block.begins = block.branch = s.at
    if test == "true":
        block.succs.reverse()
        block.falls = 1
    else:
        block.falls = 0


def _match_case(s: Symbolic, case: Case) -> None:
    """The subject is a marker on the stack from the first case of a ``match`` to the body that is taken."""
    if case.first:
        begun = MatchSubject(s.pop())
        s.emit(ExprStmt(MatchStart(begun), s.instr.line))
        s.push(begun)
    subject = s.raw()
    if not isinstance(subject, MatchSubject):
        raise DecompilationError("case without its subject", s.program.unit.qualname, s.instr.offset)
    if not case.last:
        s.push(subject)
    test = CaseTest(subject, case)
    if s.program.jump[s.at] == NONE:
        s.emit(ExprStmt(test, s.instr.line))
        return
    s.block.cond = test
    s.block.falls = 0


RULES: dict[str, Rule] = {
    ops.JUMP: _jump,
    ops.GET_ITER: _get_iter,
    ops.GET_AITER: _get_aiter,
    ops.FOR_ITER: _for_iter,
    ASYNC_FOR_ITER: _for_iter,
    ops.GET_AWAITABLE: _get_awaitable,
    ops.DELEGATE: _delegate,
    ops.GET_YIELD_FROM_ITER: _yield_from_iter,
    ops.YIELD: _yield,
    ops.RETURN: _return,
    ops.RAISE: _raise,
    ops.RERAISE: _reraise,
    END_FINALLY: _end_finally,
    MATCH_CASE: _match_case,
    WITH_EXIT: _with_exit,
    ops.PUSH_EXC_INFO: _push_exc_info,
    ops.POP_EXCEPT: _pop_except,
    ops.EXC_MATCH: _exc_match,
    ops.BEFORE_WITH: _before_with,
    ops.BEFORE_ASYNC_WITH: _before_async_with,
    ops.BRANCH: _branch,
}
