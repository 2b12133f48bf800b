"""Rewrites ``except*`` to the shape of ``except``.

Input: a fresh ``Program``.  Output: the same program, in which the handler of every ``try``/``except*`` is an ordinary
chain of tests that names its kind (``EXC_MATCH "star"``): the list of exceptions to raise again, and the way from the
end of one clause to the test of the next, are gone.

    PUSH_EXC_INFO; list                    PUSH_EXC_INFO
    T1; EG_MATCH; not none -> A            T1; EXC_MATCH "star"; true -> A
    T2; EG_MATCH; not none -> B      ->    T2; EXC_MATCH "star"; true -> B
    rest into list; raise the list         RERAISE
    A: body; go to T2                      A: body; POP_EXCEPT; go on
    exception in A: into list; to T2       exception in A: RERAISE

Control may also go on after the statement when every clause raises, or so the compiler thinks; where no clause ends, an
edge after one ``raise`` says so, or one after raising what no clause handles, so that what follows is not taken for the
``else``.
"""

from __future__ import annotations

from depyf.decompiler.bytecode import ops
from depyf.decompiler.cfg.program import NONE, Program

STAR = "star"
_RETURN_NONE = frozenset({ops.POP_EXCEPT, ops.LOAD_CONST, ops.RETURN})
_FORGETS = (
    frozenset({ops.LOAD_CONST}),
    frozenset({ops.STORE_FAST, ops.STORE_NAME, ops.STORE_GLOBAL, ops.STORE_DEREF}),
    frozenset({ops.DELETE_FAST, ops.DELETE_NAME, ops.DELETE_GLOBAL, ops.DELETE_DEREF}),
)
"""``e = None; del e``"""
_EXTRA_SLOTS = 3
"""The body of a clause runs with the group, the list and the rest on the stack; in ``except`` none of them is there."""


def plain_handlers(program: Program) -> set[int]:
    """Rewrite every ``except*`` handler (edits ``program``) and return where they begin."""
    instrs = program.instrs
    found: set[int] = set()
    if ops.EG_MATCH not in [instr.op for instr in instrs]:
        return found
    for at, instr in enumerate(list(instrs)):
        if instr.op == ops.PUSH_EXC_INFO:
            start = _after_list(program, program.next[at])
            if start != NONE and _Star(program, at, start).rewrite():
                found.add(at)
    return found


def _after_list(program: Program, at: int) -> int:
    """Where the first test begins, if the group is copied and a list made at ``at``."""
    operations: list[tuple[str, object]] = []
    for _ in range(3):
        if at == NONE:
            return NONE
        operations.append((program.instrs[at].op, program.instrs[at].arg))
        at = program.next[at]
        if operations == [(ops.BUILD_LIST, 0), (ops.COPY, 2)]:
            return at
    return at if operations == [(ops.COPY, 1), (ops.BUILD_LIST, 0), (ops.SWAP, 2)] else NONE


class _Star:
    def __init__(self, program: Program, push: int, start: int) -> None:
        self.program = program
        self.push = push
        self.start = start
        self.tests: list[tuple[int, int, int, int]] = []
        self.raises: list[int] = []

    def rewrite(self) -> bool:
        """Rewrite one handler; False, and nothing done, if it is not what a compiler writes."""
        program = self.program
        at = self.start
        final = NONE
        while True:
            match = self._match_of(at)
            test = program.next[program.next[match]] if match != NONE else NONE
            if test == NONE or program.instrs[test].op != ops.BRANCH:
                return False
            taken, after = program.jump[test], program.next[test]
            body, other = (after, taken) if program.instrs[test].arg == "none" else (taken, after)
            other = program.follow(other)
            if other == NONE or program.instrs[other].op != ops.POP:
                return False
            following = program.follow(program.next[other])
            if following == NONE:
                return False
            self.tests.append((match, test, body, following))
            if self._collects_rest(following) != NONE:
                final = other
                break
            at = following
        done = self._done(following)
        if done == NONE:
            return False
        goes_on = any(self._ends(body, following) for _, _, body, following in self.tests) or self._go_on(done)
        for match, test, body, following in self.tests:
            self._clause(body, following, done)
            program.replace(match, ops.EXC_MATCH, STAR)
            program.next[match] = test
            program.replace(test, ops.BRANCH, "false")
            program.next[test] = body
            program.jump[test] = following
        program.jump[self.tests[-1][1]] = final
        program.replace(final, ops.RERAISE, 0)
        program.next[final] = NONE if goes_on else done
        program.jump[final] = NONE
        program.next[self.push] = self.start
        return True

    def _ends(self, body: int, following: int) -> bool:
        """Whether control reaches the end of a clause."""
        program = self.program
        last = self._collects_rest(following)
        seen: set[int] = set()
        work = [program.follow(body)]
        while work:
            at = work.pop()
            if at == following or (last != NONE and at != NONE and self._collects_rest(at) == last):
                return True
            raised = at != NONE and (program.instrs[at].op, program.instrs[at].arg) == (ops.LIST_APPEND, 3)
            if at not in seen and at != NONE and not raised:
                seen.add(at)
                work.extend(program.follow(after) for after in program.successors(at))
                handler = program.handler[at]
                if handler not in (NONE, program.handler[self.push]):
                    work.append(program.follow(program.handlers[handler].target))
                if program.instrs[at].op == ops.RAISE:
                    self.raises.append(at)
        return False

    def _go_on(self, done: int) -> bool:
        """An edge from a ``raise`` in a clause to what follows the statement; false if there is none."""
        program = self.program
        for at in self.raises:
            target = program.handlers[program.handler[at]].target if program.handler[at] != NONE else NONE
            cleanup: list[tuple[str, object]] = []
            while (
                target != NONE and len(cleanup) < len(_FORGETS) and program.instrs[target].op in _FORGETS[len(cleanup)]
            ):
                cleanup.append((program.instrs[target].op, program.instrs[target].arg))
                target = program.next[target]
            collects = target != NONE and self._collects_raised(target)
            if collects and len(cleanup) in (0, len(_FORGETS)):
                after = done
                for op, arg in reversed(cleanup):
                    after = program.append(after, op, arg)
                    program.handler[after] = program.handler[self.push]
                for copy, instr in enumerate(program.instrs):  # of one statement; only alike are they one again
                    same = (instr.op, instr.arg) == (program.instrs[at].op, program.instrs[at].arg)
                    if same and program.line[copy] == program.line[at] and program.handler[copy] == program.handler[at]:
                        program.next[copy] = after
                return True
        return False

    def _collects_raised(self, at: int) -> bool:
        """Whether what a clause has raised is put into the list at ``at``: of this handler, not of one in a clause of
        it."""
        program = self.program
        drop = program.next[at]
        if (program.instrs[at].op, program.instrs[at].arg) != (ops.LIST_APPEND, 3) or drop == NONE:
            return False
        after = program.follow(program.next[drop]) if program.instrs[drop].op == ops.POP else NONE
        rest = self._collects_rest(after) if after != NONE else NONE
        followings = {following for _, _, _, following in self.tests}
        return after in followings or rest != NONE and rest == self._collects_rest(self.tests[-1][3])

    def _match_of(self, at: int) -> int:
        """The ``EG_MATCH`` that the type expression at ``at`` leads to."""
        program = self.program
        seen: set[int] = set()
        work = [at]
        while work:
            at = work.pop()
            if at in seen or at == NONE:
                continue
            seen.add(at)
            if program.instrs[at].op == ops.EG_MATCH:
                return at
            work.extend(program.successors(at))
        return NONE

    def _collects_rest(self, at: int) -> int:
        """The ``PREP_RERAISE_STAR`` after the rest is put into the list at ``at``, -1 if that is something else."""
        program = self.program
        instr = program.instrs[at]
        if instr.op != ops.LIST_APPEND or instr.arg != 1:
            return NONE
        after = program.follow(program.next[at])
        return after if after != NONE and program.instrs[after].op == ops.PREP_RERAISE_STAR else NONE

    def _done(self, at: int) -> int:
        """The ``POP_EXCEPT`` on the way on when nothing is left to raise."""
        program = self.program
        prepare = program.follow(program.next[at])
        test = program.next[program.next[prepare]]
        if test == NONE or program.instrs[test].op != ops.BRANCH:
            return NONE
        nothing = program.next[test] if program.instrs[test].arg == "not none" else program.jump[test]
        nothing = program.follow(nothing)
        if program.instrs[nothing].op != ops.POP:
            return NONE
        done = program.follow(program.next[nothing])
        if done == NONE or program.instrs[done].op != ops.POP_EXCEPT:
            return NONE
        # a copied implicit return has the line of what was before it, which is not the end of any clause
        position, line = done, program.line[nothing]
        while position != NONE and program.line[position] == line and program.instrs[position].op in _RETURN_NONE:
            program.line[position] = None
            position = program.next[position]
        return done

    def _clause(self, body: int, following: int, done: int) -> None:
        """Let the body of one clause end the handler, and raise what it raises."""
        program = self.program
        outer = program.handler[self.push]
        last = self._collects_rest(following)

        def leaves(at: int) -> bool:
            at = program.follow(at)
            return at == following or (last != NONE and at != NONE and self._collects_rest(at) == last)

        seen: set[int] = set()
        entered: set[int] = set()
        work = [body]
        while work:
            at = work.pop()
            if at in seen or at in (NONE, done):  # done: the edge after a ``raise``
                continue
            seen.add(at)
            instr = program.instrs[at]
            if instr.op == ops.LIST_APPEND and instr.arg == 3:
                drop = program.next[at]
                if program.instrs[drop].op == ops.POP and leaves(program.next[drop]):
                    if any(handler.target == at for handler in program.handlers):
                        program.replace(at, ops.COPY, 1)  # a handler that does nothing but RERAISE is ``finally: pass``
                        at = drop
                    program.replace(at, ops.RERAISE, 1)
                    program.next[at] = program.jump[at] = NONE
                    continue
            for after in program.successors(at):
                if leaves(after):
                    if program.next[at] == after:
                        program.next[at] = done
                    if program.jump[at] == after:
                        program.jump[at] = done
                else:
                    work.append(after)
            handler = program.handler[at]
            if handler not in (NONE, outer) and handler not in entered:
                entered.add(handler)
                record = program.handlers[handler]
                handlers = list(program.handlers)
                handlers[handler] = record._replace(depth=record.depth - _EXTRA_SLOTS)
                program.handlers = tuple(handlers)
                work.append(record.target)
