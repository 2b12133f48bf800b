"""``with``: the call of the manager's exit after every exit of the region becomes one ``WITH_EXIT`` operation."""

from __future__ import annotations

from typing import NamedTuple

from depyf.decompiler.bytecode import ops
from depyf.decompiler.bytecode.codeunit import CO_OPTIMIZED
from depyf.decompiler.cfg.program import NONE, WITH_EXIT, Program
from depyf.decompiler.cfg.region_table import (
    SHUFFLES,
    Region,
    Regions,
    exits_of,
    note_continues,
    on_own_line,
    returned_constant,
    written_return,
)
from depyf.decompiler.structure.match.case_patterns import same_place
from depyf.safety.rewrites import step

_TAKING = frozenset({ops.POP, ops.STORE_FAST, ops.JUMP})


def strip_withs(regions: Regions) -> None:
    """Find the ``with`` regions, and make one operation of each call of their exits."""
    incoming = _Incoming(regions.program)
    withs = [one for one in sorted(regions.table.values(), key=lambda one: one.target) if _is_with(regions, one)]
    left = [_strip_with(regions, region, incoming) for region in withs]
    if regions.program.unit.flags & CO_OPTIMIZED and not regions.program.unit.keeps_dead_code:
        for found in left:
            if found is not None:
                _note_returns(regions, found)
    _cover_starts(regions, incoming)


class _Left(NamedTuple):
    """``exits`` leave the body of a ``with``, each to a copy of its exit, before ``following`` (-1 if none)."""

    region: Region
    exits: list[tuple[int, int]]
    following: dict[int, int]


class _Incoming:
    """The predecessors of each instruction, computed once: new edges are added, removed ones are asked for."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self._before: dict[int, list[int]] = {}

    def add(self, source: int, target: int) -> None:
        if self._before:
            self._before.setdefault(target, []).append(source)

    def from_elsewhere(self, before: list[int], between: list[int]) -> bool:
        """Whether control reaches ``between`` from anywhere but itself and ``before``."""
        program = self.program
        if not self._before:
            for i in range(len(program.instrs)):
                for after in program.successors(i):
                    self._before.setdefault(after, []).append(i)
        inside = {*before, *between}
        return any(
            after in program.successors(i) for after in between for i in self._before.get(after, ()) if i not in inside
        )


def _is_with(regions: Regions, region: Region) -> bool:
    program = regions.program
    position = region.target
    if program.instrs[position].op == ops.PUSH_EXC_INFO:
        position = program.next[position]
    return position != NONE and program.instrs[position].op == ops.WITH_EXCEPT_START


def _cover_starts(regions: Regions, incoming: _Incoming) -> None:
    """What takes the entered value off the stack before the protected range belongs to the body: it cannot raise."""
    program = regions.program
    for i, instr in enumerate(program.instrs):
        if instr.op != ops.BEFORE_WITH:
            continue
        outer, position, between = program.handler[i], program.next[i], list[int]()
        around = (*regions.chain(outer), NONE)
        while position != NONE and program.handler[position] in around and program.instrs[position].op in _TAKING:
            between.append(position)
            position = program.successors(position)[0]
        if not between or position == NONE:
            continue
        chain = regions.chain(program.handler[position])
        entered = chain[: chain.index(outer)] if outer in chain else chain
        if entered and regions.table[entered[-1]].kind == "with" and not incoming.from_elsewhere([i], between):
            for inside in between:
                program.handler[inside] = entered[-1]
    regions.forget_chains()


def _strip_with(regions: Regions, region: Region, incoming: _Incoming) -> _Left | None:
    program = regions.program
    position = region.target
    pushed = len(region.pushes)
    if program.instrs[position].op == ops.PUSH_EXC_INFO:
        position = program.next[position]
        pushed += 1
    slots = max(1, program.instrs[position].arg - pushed)
    while position != NONE and program.instrs[position].op != ops.BRANCH:
        position = program.follow(program.next[position])
    if position == NONE:
        return None
    jumps_when_true = program.instrs[position].arg == "true"
    resume = program.jump[position] if jumps_when_true else program.next[position]
    depth = region.depth + pushed
    while resume != NONE and depth > region.depth - slots:
        instr = program.instrs[resume]
        if instr.op == ops.POP:
            depth -= 1
        elif instr.op == ops.POP_EXCEPT:
            depth -= instr.arg
        elif instr.op not in SHUFFLES and instr.op != ops.JUMP:
            return None
        resume = program.jump[resume] if instr.op == ops.JUMP else program.next[resume]
    region.kind = "with"
    region.resume = resume
    step("recognise the exit of a with", region.target)
    left = exits_of(regions, region)
    exits = {
        exit_at: _strip_exit_call(regions, region, exit_at, slots, incoming)
        for exit_at in sorted({after for _, after in left})
    }
    region.resume = next((after for after in exits.values() if _is_copy(program, after, resume)), resume)
    if resume in program.unreached:
        region.resume = _resume_after(program, exits, region.depth - slots, resume)
    note_continues(regions, {copy: after for copy, after in exits.items() if after != NONE})
    return _Left(region, left, exits)


def _is_copy(program: Program, after: int, resume: int) -> bool:
    """Whether ``after``, where the body ends, leaves a handler by a return that was copied for what is suppressed
    (3.12, 3.13)."""
    if after == NONE or resume == NONE or program.handler[after] != program.handler[resume]:
        return False
    at = after
    while program.instrs[at].op == ops.POP and program.next[at] != NONE:
        at = program.next[at]  # what a ``finally`` caught
    leaves = program.instrs[at].op == ops.POP_EXCEPT and program.line[after] is not None
    return leaves and same_place(program, after, resume)


def _resume_after(program: Program, exits: dict[int, int], depth: int, otherwise: int) -> int:
    """Where control goes on after a ``with`` whose manager suppresses nothing: at the end of its body."""
    ends = [copy for copy, after in exits.items() if after != NONE and program.depths[after] == depth]
    return exits[max(ends)] if ends else otherwise


def _note_returns(regions: Regions, left: _Left) -> None:
    """Note which returns of None after copies of the exit were written: a ``NOP`` or what they drop has their line.

    A constant has the line of the ``with``, that of its return is put in its place.
    """
    program = regions.program
    lines = {program.line[i] for i in regions.members(left.region.index)}
    last = max((line for line in lines if line is not None), default=0)
    for source, copy in left.exits:
        after = left.following[copy]
        at = returned_constant(program, after) if after != NONE else NONE
        line = program.line_in_front(copy)
        own = line is not None and line not in lines
        valued = at != NONE and program.instrs[at].arg is not None
        if line is not None and own and valued and program.line[at] in _exit_lines(program, copy, at):
            program.place_return(at, line)
        if program.unit.copies_long_ends:  # after it may be the exit of the ``with`` around
            left_inside = on_own_line(program, source) and (program.line[source] or 0) < last
            if after != NONE and program.instrs[after].op in (ops.LOAD_CONST, WITH_EXIT) and (own or left_inside):
                program.own_returns.add(after)
        elif at not in (NONE, after) and program.instrs[at].arg is None and own:
            # where no iterator is dropped, ``written_return`` knows
            if program.columns.word(line) in ("return", "return None"):
                program.own_returns.add(at)


def _exit_lines(program: Program, copy: int, end: int) -> set[int | None]:
    """The lines of the exits from ``copy`` to ``end``, which have that of their ``with``."""
    lines, at = {program.line[copy]}, program.follow(copy)
    while at not in (end, NONE):
        if program.instrs[at].op == WITH_EXIT:
            lines.add(program.line[at])
        at = program.follow(program.next[at])
    return lines


def _strip_exit_call(regions: Regions, region: Region, position: int, slots: int, incoming: _Incoming) -> int:
    """Where control goes on after the call, -1 if there is none."""
    program = regions.program
    start = program.follow(position)
    dropped: list[int] = []
    while start != NONE and program.instrs[start].op in (ops.SWAP, ops.ROT, ops.POP):
        if program.instrs[start].op == ops.POP:
            dropped.append(start)
        start = program.follow(program.next[start])
    position, nones = start, 0
    while position != NONE and _is_none(program.instrs[position], nones):
        position, nones = program.follow(program.next[position]), nones + 1
        if nones == 3:
            break
    if nones != 3 or position == NONE or program.instrs[position].op != ops.CALL:
        return NONE
    position = program.follow(program.next[position])
    while position != NONE and program.instrs[position].op in (ops.GET_AWAITABLE, ops.DELEGATE):
        position = program.follow(program.next[position])
    if position == NONE or program.instrs[position].op != ops.POP:
        return NONE
    program.replace(start, WITH_EXIT, slots)
    program.next[start] = program.next[position]
    incoming.add(start, program.next[start])
    ret = program.next[start]
    if program.instrs[ret].op == ops.RETURN or written_return(regions, ret):
        program.own_returns.add(ret)
    if dropped and not incoming.from_elsewhere(regions.members(region.index), dropped):
        for inside in dropped:  # what the body left on the stack is dropped before the manager is left
            program.handler[inside] = region.index
        regions.forget_chains()
    return program.next[start]


def _is_none(instr: ops.Instr, before: int) -> bool:
    """Whether ``instr`` pushes None: the constant, or (3.9, 3.10) a copy of the one pushed before."""
    if instr.op == ops.COPY:
        return before > 0 and instr.arg == 1
    return instr.op == ops.LOAD_CONST and instr.arg is None
