"""From the labelled dialect to Python: labelled blocks, endless loops and exits become ordinary statements.

Input: the labelled dialect.  Output: the Python dialect.  The cheapest form of an exit wins: falling through, an
``else``, the ``else`` of a loop or a ``try``, ``break`` and ``continue``, a copy of a tiny tail, and last a flag.

    block L: { if a: { X; exit L }  Y }     ->     if a: X  else: Y
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from depyf.decompiler.ir.expr import Const, Name, Purpose, Temp
from depyf.decompiler.ir.markers import ManagerClause, Marker
from depyf.decompiler.ir.stmt import (
    Block,
    Body,
    Break,
    Continue,
    ExceptClause,
    Exit,
    For,
    If,
    Loop,
    Match,
    PassStmt,
    Raise,
    Return,
    Stmt,
    Try,
    While,
    With,
)
from depyf.decompiler.ir.walk_stmt import COMPOUND, bodies, walk, with_bodies
from depyf.decompiler.lift.negation import negate
from depyf.decompiler.structure.clauses import except_clauses, loop_heads, reraises
from depyf.decompiler.structure.exits import (
    NOWHERE,
    Labels,
    breaks_out,
    ends,
    exit_labels,
    exits_of,
    exits_to,
    fall_labels,
    first_line,
    forget,
    leaving,
    unwritten,
    with_copies,
)
from depyf.decompiler.structure.layout.flag_variables import with_flag
from depyf.decompiler.structure.layout.star_exits import falls_through, leave_clauses_first, leaves_clause
from depyf.decompiler.structure.layout.written_exits import exits_in_try
from depyf.decompiler.structure.match.match_statements import Raising, has_cases, is_wildcard
from depyf.safety.depth import any_depth
from depyf.safety.rewrites import step

_CHANGED = COMPOUND | {Exit}
"""Statements that may look otherwise in the Python dialect."""


class Lowering:
    """Lowers one function; ``flags`` counts the flag variables it needed, ``once`` the loops that run once, ``copies``
    the tails it wrote more than once.

    ``nop_lines`` (see ``Raising``) is None where there is no ``match``.  ``releases`` deletes each flag where it is of
    no use any more: in a namespace it would stay.  ``careful`` expects that leaving a ``with`` raises (``flags``).
    ``reraising``: the handled exception may be raised again.
    """

    def __init__(
        self,
        nop_lines: Callable[[], frozenset[int]] | None = None,
        releases: bool = False,
        careful: bool = False,
        reraising: bool = True,
    ) -> None:
        self.reraising = reraising
        self.nop_lines = nop_lines
        self.releases = releases
        self.careful = careful
        self.flags = 0
        self.once = 0
        self.trying = 0
        self.copies = 0
        self.temporaries = 0
        self.elsewhere = False

    @property
    def cost(self) -> tuple[int, int, int]:
        return self.flags, self.once, self.copies

    def run(self, body: list[Stmt]) -> Body:
        forget()
        stmts = tuple(body)
        if self.nop_lines is not None and has_cases(stmts):
            raising = Raising(self.nop_lines)
            stmts = raising.run(stmts)
            self.temporaries = raising.temporaries
        kinds = {type(stmt) for stmt in walk(stmts)}
        if kinds.isdisjoint(_CHANGED):
            return reraises(stmts) if self.reraising else stmts
        if Try not in kinds:
            lowered = self._lowered(stmts, loops=Loop in kinds)
            return reraises(lowered) if self.reraising else lowered
        stmts = exits_in_try(stmts)
        lowered = self._lowered(stmts)
        if self.elsewhere or leaves_clause(lowered) or falls_through(stmts):
            self.flags = self.once = self.copies = 0
            lowered = self._lowered(leave_clauses_first(stmts))
        return reraises(lowered)

    def _lowered(self, stmts: Body, *, loops: bool = True) -> Body:
        """``loops`` says whether there may be a ``for``, a ``while`` or a ``with``."""
        simple = simplify(stmts, NOWHERE)
        return self.lower(loop_heads(simple) if loops else simple, NOWHERE, NOWHERE, None)

    @any_depth
    def lower(self, stmts: Body, fall: Labels, breaks: Labels, loop: int | None) -> Body:
        """Replace exits; ``fall`` are the labels at the end of ``stmts``, ``breaks`` those after the loop around."""
        result: list[Stmt] = []
        last = len(stmts) - 1
        for i, stmt in enumerate(stmts):
            if type(stmt) not in _CHANGED:
                result.append(stmt)
                continue
            own = fall if i == last else fall_labels(stmts[i + 1])
            if isinstance(stmt, Exit):
                if result and isinstance(result[-1], Raise):
                    self.elsewhere |= stmt.label not in own
                    continue  # control goes on there to the compiler alone, after ``except*``
                if stmt.label in own and i == last and not (stmt.written and stmt.label == loop):
                    continue
                if stmt.label == loop:
                    result.append(Continue(stmt.line))
                elif stmt.label in breaks:
                    result.append(Break(stmt.line))
                else:
                    result.append(stmt)
                continue
            combined = self._with_else(stmt, stmts, i + 1, fall, own, breaks, loop)
            if combined is not None:
                result.extend(combined)
                return tuple(result)
            tail = _tiny_tail(stmts[-1]) if i == last - 1 and isinstance(stmt, Block) else None
            if isinstance(stmt, Block) and tail is not None and not _would_catch(stmt, tail):
                inner = self.lower(stmt.body, own | {stmt.label}, breaks, loop)
                if exits_to(inner, stmt.label):
                    self.copies += 1
                    inner = with_copies(inner, stmt.label, self.lower(tail, fall, breaks, loop))
                    result.extend(inner)
                    if ends(inner):
                        return _without_exit(tuple(result), fall, loop)
                    continue
                result.extend(inner)
                continue
            result.extend(self._statement(stmt, own, breaks, loop))
        return tuple(result)

    def _statement(self, stmt: Stmt, fall: Labels, breaks: Labels, loop: int | None) -> Body:
        if isinstance(stmt, Block):
            inner = self.lower(stmt.body, fall | {stmt.label}, breaks, loop)
            once = self._once(stmt, fall) if exits_to(inner, stmt.label) else None
            return once if once is not None else self._resolve(inner, stmt.label)
        if isinstance(stmt, Loop):
            inner = self.lower(stmt.body, frozenset({stmt.label}), fall, stmt.label)
            inner = self._resolve(inner, stmt.label)
            return (While(Const(True), inner, (), stmt.line or first_line(inner)),)
        if isinstance(stmt, For) and stmt.body and isinstance(stmt.body[0], Break):
            return (stmt,)  # one step of an iterator
        if isinstance(stmt, (While, For)):
            label = stmt.orelse[0].label if stmt.orelse and isinstance(stmt.orelse[0], Exit) else None
            assert label is not None
            exhausted = stmt.orelse[1:]
            return self._loop(stmt, label, exhausted, fall, breaks, loop, None)
        if isinstance(stmt, If):
            only = stmt.body[0] if len(stmt.body) == 1 and stmt.orelse else None
            if isinstance(only, Exit) and only.label == loop:
                body: Body = (Continue(only.line),)
            else:
                body = self.lower(stmt.body, fall, breaks, loop)
            orelse = self.lower(stmt.orelse, fall, breaks, loop) if stmt.orelse else ()
            return (tidy_if(If(stmt.test, body, orelse, stmt.line)),)
        if isinstance(stmt, Try) and stmt.final:
            inner = self.lower(stmt.body, fall, breaks, loop)
            return (replace(stmt, body=inner, final=self.lower(stmt.final, NOWHERE, breaks, loop)),)
        return (with_bodies(stmt, lambda body: self.lower(body, fall, breaks, loop)),) if bodies(stmt) else (stmt,)

    def _loop(
        self,
        stmt: While | For,
        label: int,
        exhausted: Body,
        fall: Labels,
        breaks: Labels,
        loop: int | None,
        orelse: Body | None,
    ) -> Body:
        """A recognised loop with body label ``label``; ``exhausted`` is where it goes when the test fails."""
        inner = self._resolve(self.lower(stmt.body, frozenset({label}), fall, label), label)
        if orelse is None:
            orelse = self.lower(exhausted, fall, breaks, loop)
            if orelse and not breaks_out(inner):
                return replace(stmt, body=inner, orelse=()), *orelse  # an ``else`` without a ``break`` is redundant
        return (replace(stmt, body=inner, orelse=orelse),)

    def _with_else(
        self, stmt: Stmt, body: Body, at: int, fall: Labels, own: Labels, breaks: Labels, loop: int | None
    ) -> Body | None:
        """``else`` of a loop or a ``try``: ``body[at:]``, the rest, runs unless something inside ``stmt`` skips to its
        end.

        Where it skips to the end of the loop around, that end is ``else: ...; continue`` and then ``break``.
        """
        core = stmt
        more = at < len(body)
        labels = set(own)
        while isinstance(core, Block) and len(core.body) == 1:
            labels.add(core.label)
            core = core.body[0]
        prefix: Body = ()
        if isinstance(core, Block) and core.body and isinstance(core.body[-1], (While, For, Try)):
            labels.add(core.label)
            prefix, core = core.body[:-1], core.body[-1]
            if exit_labels(prefix) & labels:
                return None
        if isinstance(core, (While, For)) and core.orelse and isinstance(core.orelse[0], Exit):
            inside = exit_labels(core.body)
            if inside & labels or not all(isinstance(s, Exit) and s.label in labels for s in core.orelse[1:]):
                return None
            leave: Body = ()
            if more and inside & fall:
                after = fall
            elif loop is not None and inside & breaks and not inside & (fall | {loop}):
                after, leave = breaks, (Break(),)
            else:
                return None
            orelse = self.lower(body[at:], fall, breaks, loop)
            if leave and not ends(orelse):
                orelse += (Continue(),)
            step("move what follows a loop into its else", core)
            head = self.lower(prefix, NOWHERE, breaks, loop)
            return head + self._loop(core, core.orelse[0].label, (), after, breaks, loop, orelse) + leave
        if not more:
            return None
        if isinstance(core, Try) and core.handlers and not core.final and not core.orelse:
            if any(isinstance(clause.type, ManagerClause) for clause in core.handlers):
                return None
            caught = [exit_labels(clause.body) for clause in core.handlers]
            written = frozenset[int]() if core.star else breaks | {loop}  # no statement may leave ``except*``
            skips = any(labels_ & (fall - labels - written) for labels_ in caught)
            if not skips and loop is not None and not core.star:
                skips = loop in fall - labels and any(_comes_round(clause.body, loop) for clause in core.handlers)
            if not skips or unwritten(core.body, loop) & (fall - labels):
                return None
            if any(unwritten(clause.body, loop) & labels or not ends(clause.body) for clause in core.handlers):
                return None
            tried = self.lower(core.body, own | labels, breaks, loop)
            if exit_labels(tried) & labels:
                return None
            handlers = tuple(
                ExceptClause(c.type, c.name, self.lower(c.body, fall, breaks, loop), c.line) for c in core.handlers
            )
            orelse = self.lower(body[at:], fall, breaks, loop)
            step("move what follows a try into its else", core)
            return (
                *self.lower(prefix, NOWHERE, breaks, loop),
                replace(core, body=tried, handlers=handlers, orelse=orelse),
            )
        return None

    def _once(self, block: Block, fall: Labels) -> Body | None:
        """A block as a loop that is left by ``break`` in any case, where nothing in it leaves or goes on with one
        around.

        What comes before the first ``break`` need not be in it.
        The source has a ``while True`` that ends in ``break``; the compiler has left no jump back.
        """
        own = fall | {block.label}
        if self.trying > 1 or not leaving(block.body) <= own:
            return None  # each try lowers all that is inside once more: not at every depth
        counted = self.flags, self.once, self.copies
        self.trying += 1
        body = self.lower(block.body, own, own, None)
        self.trying -= 1
        if self.flags > counted[0] or exit_labels(body):
            self.flags, self.once, self.copies = counted
            return None
        self.once += 1
        step("make a loop that runs once of a block", block)
        start = next((i for i, stmt in enumerate(body) if breaks_out((stmt,))), 0)
        body, before = body[start:], body[:start]
        line = block.line or first_line(body)
        return (*before, While(Const(True), body if ends(body) else (*body, Break()), (), line))

    def _resolve(self, body: Body, label: int) -> Body:
        """Replace the remaining exits to ``label``, the end of ``body``, by a flag variable."""
        if not exits_to(body, label):
            return body
        return with_flag(body, label, self._new_flag, careful=self.careful, releases=self.releases)

    def _new_flag(self) -> Temp:
        self.flags += 1
        step("set a flag for an exit, and test it after the block")
        return Temp(self.flags, Purpose.FLAG)


def _without_exit(body: Body, fall: Labels, loop: int | None) -> Body:
    """``body`` without an exit at its end to where control goes anyway."""
    last = body[-1]
    if isinstance(last, Exit) and last.label in fall and not (last.written and last.label == loop):
        return body[:-1]
    return body


def _comes_round(body: Body, loop: int) -> bool:
    """Whether a handler goes on with the loop at its end without a ``continue``: what follows is an ``else``."""
    last = body[-1] if body else None
    return loop in unwritten(body, loop) and (len(body) > 1 or isinstance(last, Exit) and last.falls)


@any_depth
def simplify(stmts: Body, fall: Labels, loop: int | None = None) -> Body:
    """Drop exits to where control goes anyway and blocks without exits; move code into ``else`` where that helps."""
    work = list(stmts)
    done: list[Stmt] = []
    while work:
        stmt = work.pop()
        if type(stmt) not in _CHANGED:
            done.append(stmt)
            continue
        own = fall_labels(done[-1]) if done else fall
        if isinstance(stmt, Exit):
            if done:
                done.clear()
            if stmt.label not in fall or stmt.written and stmt.label == loop:
                done.append(stmt)
            continue
        if isinstance(stmt, Block):
            body = simplify(stmt.body, own | {stmt.label}, loop)
            if not exits_to(body, stmt.label):
                if ends(body):
                    done.clear()
                done.extend(reversed(body))
                _absorb_tail(done, fall, loop)
                continue
            done.append(replace(stmt, body=body))
            continue
        if isinstance(stmt, Loop):
            if done and not _exits_anywhere(stmt.body):
                done.clear()
            inner = simplify(stmt.body, frozenset({stmt.label}), stmt.label)
            done.append(replace(stmt, body=_exit_of_head(stmt.body, inner)))
            continue
        if isinstance(stmt, If):
            changed = _simplify_if(stmt, own, loop)
            if ends((changed,)):
                done.clear()
            changed, both = _common_exit(changed)
            done.extend(both)
            done.append(changed)
            _absorb_tail(done, fall, loop)
            continue
        if isinstance(stmt, Match):
            changed_match = _simplify_match(stmt, own, loop)
            if ends((changed_match,)):
                done.clear()
            done.append(changed_match)
            continue
        if isinstance(stmt, Try):
            done.append(except_clauses(_simplify_try(stmt, own, loop)))
            continue
        done.append(stmt)
    done.reverse()
    return tuple(done)


def _simplify_if(stmt: If, own: Labels, loop: int | None) -> If:
    """Keep the first arm first, even if it is empty: the bytecode falls into it."""
    body = simplify(stmt.body, own, loop)
    orelse = simplify(stmt.orelse, own, loop) if stmt.orelse else ()
    if not body and orelse and stmt.body:
        first = stmt.body[0]
        body = (first,) if isinstance(first, Exit) and first.label == loop else (PassStmt(first.line),)
    return If(stmt.test, body, orelse, stmt.line)


def _common_exit(stmt: If) -> tuple[If, Body]:
    """Move an exit that ends both arms behind the ``if``; not if an arm is nothing else, or at the head of a loop."""
    if isinstance(stmt.test, Marker):
        return stmt, ()
    first = stmt.body[-1] if len(stmt.body) > 1 else None
    other = stmt.orelse[-1] if stmt.orelse else None
    if isinstance(first, Exit) and isinstance(other, Exit) and first.label == other.label:
        if not first.written or len(stmt.orelse) == 1:
            return replace(stmt, body=stmt.body[:-1], orelse=stmt.orelse[:-1]), (first,)
    return stmt, ()


def _exit_of_head(before: Body, after: Body) -> Body:
    """The test at the head of a loop keeps its exit, though the body ends in the same: ``while a: ...; break``."""
    head = before[0] if before else None
    if not isinstance(head, If) or len(head.orelse) != 1 or not isinstance(head.orelse[0], Exit) or len(after) != 2:
        return after
    test, leave = after
    if not isinstance(test, If) or test.orelse or not isinstance(leave, Exit) or leave.label != head.orelse[0].label:
        return after
    return (replace(test, body=(*test.body, leave), orelse=head.orelse),)


def _simplify_match(stmt: Match, own: Labels, loop: int | None) -> Match:
    """Drop a default case that does nothing."""
    cases = [replace(case, body=simplify(case.body, own, loop)) for case in stmt.cases]
    final = cases[-1]
    if len(cases) > 1 and not final.body and final.guard is None and is_wildcard(final.pattern):
        before = cases[-2]
        if not isinstance(before.guard, Const) and not (before.guard is not None and is_wildcard(before.pattern)):
            cases.pop()
    return replace(stmt, cases=tuple(cases))


def _exits_anywhere(body: Body) -> bool:
    return bool(exit_labels(body))


def _simplify_try(stmt: Try, own: Labels, loop: int | None) -> Try:
    handlers = tuple(ExceptClause(c.type, c.name, simplify(c.body, own, loop), c.line) for c in stmt.handlers)
    body = simplify(stmt.body, NOWHERE if stmt.orelse else own, loop)
    final, orelse = simplify(stmt.final, NOWHERE, loop), simplify(stmt.orelse, own, loop)
    return replace(stmt, body=body, handlers=handlers, orelse=orelse, final=final)


def _absorb_tail(done: list[Stmt], fall: Labels, loop: int | None) -> None:
    """``if a: X; exit L`` before ``rest`` whose end is L: the rest goes into the other arm, the exit goes away."""
    if len(done) < 2:
        return
    stmt = done[-1]
    if not isinstance(stmt, If) or not fall:
        return
    if any(arm and isinstance(arm[-1], Exit) and arm[-1].written for arm in (stmt.body, stmt.orelse)):
        return
    if ends(stmt.body) and not ends(stmt.orelse) and exit_labels(stmt.body) & fall:
        rest = tuple(reversed(done[:-1]))
        changed = replace(stmt, body=simplify(stmt.body, fall, loop), orelse=simplify(stmt.orelse + rest, fall, loop))
    elif stmt.orelse and ends(stmt.orelse) and not ends(stmt.body) and exit_labels(stmt.orelse) & fall:
        rest = tuple(reversed(done[:-1]))
        changed = replace(stmt, body=simplify(stmt.body + rest, fall, loop), orelse=simplify(stmt.orelse, fall, loop))
    else:
        return
    done[:] = [changed if changed.body else tidy_if(changed)]
    step("move what follows an if into its other arm", changed)


def _tiny_tail(last: Stmt) -> Body | None:
    """``last`` if it is so small that a copy is better than a flag."""
    if isinstance(last, (Return, Exit)):
        value = last.value if isinstance(last, Return) else None
        if value is None or isinstance(value, (Const, Name, Temp)):
            return (last,)
    return None


def _would_catch(block: Block, tail: Body) -> bool:
    """Whether a copy of ``tail`` at an exit of ``block`` raises into another handler than it does after the block."""
    value = tail[0].value if isinstance(tail[0], Return) else None
    if not isinstance(value, Name) or value.scope == "fast":
        return False
    return any(isinstance(stmt, (Try, With)) and block.label in exits_of(stmt) for stmt in walk(block.body))


def tidy_if(stmt: If) -> If:
    """Negate the test of an ``if`` whose first arm is empty."""
    if not stmt.body and stmt.orelse and not isinstance(stmt.test, Marker):
        return If(negate(stmt.test), stmt.orelse, (), stmt.line)
    return stmt


def empty(body: Body, line: int | None) -> Body:
    return body or (PassStmt(line),)


Change = Callable[[Body], Body]
