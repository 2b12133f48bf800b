"""``finally``: the copy of its body after every exit of the region is skipped, the handler ends in ``END_FINALLY``.

A copy is recognised by walking it and the handler in lock step; that is evidence only, the proof decides.
"""

from __future__ import annotations

from collections.abc import Collection

from depyf.decompiler.bytecode import ops
from depyf.decompiler.bytecode.codeunit import CodeUnit
from depyf.decompiler.cfg.program import END_FINALLY, NONE, Program
from depyf.decompiler.cfg.region_table import (
    SHUFFLES,
    Region,
    Regions,
    exits_of,
    note_continues,
    on_own_line,
    redirect,
    returned_constant,
    written_return,
)
from depyf.safety.rewrites import step

_ENDING = SHUFFLES | {ops.LOAD_CONST, ops.RETURN, ops.RERAISE, END_FINALLY}
"""What a return, or the end of a ``finally``, consists of, and what it takes off the stack before."""


def withs_inside(regions: Regions) -> dict[int, list[Region]]:
    """For each region the ``with`` regions in it after which control goes on where they suppressed an exception."""
    found: dict[int, list[Region]] = {}
    for inner in regions.table.values():
        if inner.kind == "with" and inner.resume != NONE:
            for around in regions.chain(inner.parent):
                found.setdefault(around, []).append(inner)
    return found


def strip_finally(regions: Regions, region: Region, withs: list[Region], *, classified: bool = True) -> None:
    """Take the copies of a ``finally`` body out, if ``region``, which has ``withs`` in it, has such a body.

    ``classified`` asks that what is protected within the body and a copy of it is known to be the same kind of
    statement: otherwise copies inside them would remain.
    """
    program = regions.program
    start = region.target
    if program.instrs[start].op == ops.PUSH_EXC_INFO:
        start = program.next[start]
    body, ends = _finally_body(regions, region, start)
    if not ends and not body:
        return
    exits = exits_of(regions, region)
    if any(program.instrs[i].op == ops.RETURN for i in regions.members(region.index)):
        return
    if not exits and (program.instrs[start].op == ops.POP or not ends):
        return  # a bare ``except:`` drops the exception before anything else
    # what a ``with`` at the end of the region suppressed leaves the region, too
    resumed = [inner for inner in withs if not regions.inside(inner.resume, region.index)]
    continuation: dict[int, int] = {}
    for after in [after for _, after in exits] + [inner.resume for inner in resumed]:
        if after not in continuation:
            found = after if start in ends else _match_copy(regions, region, start, after, ends, classified)
            if found == NONE and ends:  # only where an exception is caught inside does the body come to its end
                caught = _match_copy(regions, region, start, after, ends, classified, through_handlers=True)
                found = NONE if caught is None else caught
            if found is None:
                return
            continuation[after] = found
    if exits and not any(new != NONE for new in continuation.values()):
        if not ends and _is_body(program, start):
            _leave(regions, region, exits, resumed)
        return
    # what leaves the body at its end is laid out after it
    last = max((i for i in regions.members(region.index) if i < region.target), default=NONE)
    # at the end of the function it is not known who returns
    goes_on = any(returned_constant(program, after) == NONE for after in continuation.values() if after != NONE)
    left = {after: continuation[after] for _, after in exits}
    note_continues(regions, {copy: after for copy, after in left.items() if after not in (NONE, copy)})
    for source, after in exits:
        if continuation[after] != NONE:
            redirect(program, source, after, continuation[after])
            ret = continuation[after]
            if _is_loaded_after(program, returned_constant(program, ret), start):
                continue
            if after != ret and (program.instrs[ret].op == ops.RETURN or written_return(regions, ret)):
                program.own_returns.add(ret)
            elif after != ret and source < last and goes_on:
                ret = returned_constant(program, ret)
                program.own_returns.update({ret} - {NONE})
    _note_returns(program, regions.members(region.index), start, exits, continuation)
    for inner in resumed:
        if continuation[inner.resume] != NONE:
            inner.resume = continuation[inner.resume]
    for end in ends:
        program.replace(end, END_FINALLY)
    region.kind = "finally"
    step("take the copies of the body of a finally out", start)


def _is_body(program: Program, start: int) -> bool:
    """Whether the handler at ``start``, which always leaves, may be a ``finally``: what a bare ``except`` drops has a
    separate line."""
    if program.instrs[start].op != ops.POP:
        return True
    at = start
    while at != NONE and program.instrs[at].op in SHUFFLES:
        at = program.follow(program.next[at])
    return at != NONE and program.line[start] is not None and program.line[at] == program.line[start]


def _is_loaded_after(program: Program, at: int, start: int) -> bool:
    """Whether a returned constant has a line after the first one of the handler: then it is no part of the body."""
    if at == NONE:
        return False
    line, first = program.line[at], program.line[start]
    return line is not None and first is not None and line > first and line != program.line[at - 1]


def _leave(regions: Regions, region: Region, exits: list[tuple[int, int]], resumed: list[Region]) -> None:
    """Restore the statements of ``exits``, where the body of ``finally``, to copies of which they lead, always leaves.

    A value on the stack was to be returned, it is dropped in its copy; a copy in the middle of the region is that of
    another ``return``.  What follows the other copies, one of which is kept, is dead then (``leaving_finally``).
    """
    program = regions.program
    copies = {copy for _, copy in exits}
    valued = {copy for copy in copies if program.depths[copy] == region.depth + 1}
    ends = {copy for copy in copies if program.depths[copy] == region.depth}
    if len(valued) + len(ends) < len(copies):
        return
    last = max(source for source, _ in exits)
    lines = {program.line[i] for i in regions.members(region.index)}
    said = {copy for source, copy in exits if source < last and _returns(program, source, copy, lines)}
    inside = ends & said - {copy for source, copy in exits if not _returns(program, source, copy, lines)}
    ends -= inside
    target = dict.fromkeys(ends, min(ends, default=NONE))
    places = {copy: source for source, copy in exits}
    for copy in sorted(valued | inside):
        ret = target[copy] = program.append(places[copy], ops.RETURN)
        program.next[ret], program.jump[ret], program.handler[ret] = NONE, NONE, region.parent
        program.own_returns.add(ret)
        if copy in inside:
            target[copy] = program.append(ret, ops.LOAD_CONST)
            program.own_returns.add(target[copy])
    for source, copy in exits:
        redirect(program, source, copy, target[copy])
    for inner in resumed:
        inner.resume = target.get(inner.resume, inner.resume)
    region.kind = "finally"


def _returns(program: Program, source: int, copy: int, lines: set[int | None]) -> bool:
    """Whether the source has a ``return`` between ``source`` and a copy of a ``finally`` body.

    ``lines`` are those of what is protected.
    """
    if program.instrs[source].op == ops.POP_EXCEPT:
        return program.word(source) in ("return", "return None")
    line = program.line_in_front(copy)
    known = line is not None and line not in lines and program.columns.word(line) != "pass"
    at = source
    while program.instrs[at].op == ops.POP:
        at -= 1
    drops = at < source and program.instrs[at].op in ops.JUMPS  # an iterator
    return known or drops or program.unit.keeps_dead_code


def _note_returns(
    program: Program, inside: Collection[int], start: int, exits: list[tuple[int, int]], continuation: dict[int, int]
) -> None:
    """Note the returns of constants after copies of the body at ``start``, to which ``exits`` lead from ``inside`` the
    region.

    ``return`` leaves a ``NOP`` on its line in front of the copy, if nothing else has that line; falling off the end
    does not.
    """
    lines: set[int | None] = set()
    for source, copy in exits:
        after = continuation[copy]
        at = returned_constant(program, after) if after not in (NONE, copy) else NONE
        if at == NONE or program.instrs[at].line != program.instrs[at - 1].line:
            continue
        ret = program.next[at]
        program.after_finally.add(ret)
        if program.unit.keeps_dead_code:
            continue
        if not lines:  # a ``try`` that the body begins with leaves a ``NOP``, too
            lines = {program.line[i] for i in inside} | {program.line_in_front(start)}
        line = program.line_in_front(copy)
        if line is None or line in lines:
            line = program.line[source] if on_own_line(program, source) else None
        breaks = line is not None and program.columns.word(line) == "break"
        if program.instrs[at].arg is None and (line is None or breaks):
            if breaks:
                program.own_returns.discard(at)
            if at not in program.own_returns:
                program.line[at] = program.line[ret] = None
            continue
        program.own_returns.add(at)
        if line is not None:
            program.place_return(at, line)


def _finally_body(regions: Regions, region: Region, start: int) -> tuple[set[int], set[int]]:
    """Instructions of the handler, nested handlers included, and those that re-raise what it was entered with."""
    program = regions.program
    seen: set[int] = set()
    ends: set[int] = set()
    outer = {NONE, region.index, *regions.chain(region.parent)}
    work = [(start, 0)]
    entered: set[int] = set()
    while work:
        position, depth = work.pop()
        if position in seen or position == NONE:
            continue
        seen.add(position)
        instr = program.instrs[position]
        if depth == 0 and instr.op in (ops.EXC_MATCH, ops.EG_MATCH):
            return set(), set()
        if depth == 0 and instr.op == ops.RERAISE:
            ends.add(position)
        if instr.op == ops.POP_EXCEPT:
            depth -= 1
        work.extend((after, depth) for after in program.successors(position))
        at = program.handler[position]
        for inner in regions.chain(at) if at in regions.table else ():
            if inner in outer:
                break
            if inner in entered:
                continue
            entered.add(inner)
            nested = regions.table[inner]
            if nested.kind == "with":
                work.append((nested.resume, depth))
            else:
                work.append((nested.target, depth + 1))
    return seen, ends


def _match_copy(
    regions: Regions,
    region: Region,
    body: int,
    copy: int,
    ends: set[int],
    classified: bool,
    *,
    through_handlers: bool = False,
) -> int | None:
    """Walk a ``finally`` handler and its presumed copy in lock step; ``through_handlers``, also what handles exceptions
    in them.

    Returns where the copy continues, -1 if it never does (the body returns or raises), None if it is no copy.  Only
    evidence: a wrong answer is caught by the verifier, so stack shuffles may differ.
    """
    program, outer = regions.program, {NONE, region.index, *regions.chain(region.parent)}

    def around(position: int) -> list[Region]:
        inner = program.handler[position]
        chain = regions.chain(inner) if inner in regions.table else ()
        return [regions.table[index] for index in chain if index not in outer]

    def kinds(position: int) -> list[str]:
        return [inner.kind for inner in around(position)]

    continuation = NONE
    seen: set[tuple[int, int]] = set()
    work = [(body, copy)]
    matched, joined = 0, False
    while work:
        left, right = work.pop()
        left = program.follow(left)
        if left in ends:
            target = right
            while program.instrs[target].op == ops.JUMP and kinds(target) and program.jump[target] != target:
                target = program.jump[target]  # the jump is still in what the copy protects, the place is not
            if continuation == NONE:
                continuation = target
            elif not _same_place(program, continuation, target):
                return None
            continue
        right = program.follow(right)
        if left == right:
            joined = True
            continue
        if (left, right) in seen:
            continue
        seen.add((left, right))
        if left == NONE or right == NONE:
            return None
        a, b = program.instrs[left], program.instrs[right]
        if not _same(a, b) and not _both_mark(program, left, right):
            if a.op in SHUFFLES:
                work.append((program.next[left], right))
                continue
            if b.op in SHUFFLES:
                work.append((left, program.next[right]))
                continue
            return None
        if classified and kinds(left) != kinds(right):
            return None
        matched += 1
        first, second = program.successors(left), program.successors(right)
        if len(first) != len(second):
            return None
        work.extend(zip(first, second, strict=True))
        if through_handlers:
            pairs = zip(around(left), around(right), strict=False)
            work.extend((_caught_at(x), _caught_at(y)) for x, y in pairs)
    # a returned value that is dropped before ``finally: return`` needs no code after that (3.8)
    return continuation if matched or joined and program.depths[copy] > region.depth else None


def _caught_at(inner: Region) -> int:
    """Where control goes on once an exception was caught."""
    return inner.resume if inner.kind == "with" else inner.target


def _both_mark(program: Program, left: int, right: int) -> bool:
    """Whether both constants note annotations that were reached (3.14+): each copy of one has its own number."""
    for at in (left, right):
        after = program.next[at]
        if program.instrs[at].op != ops.LOAD_CONST or after == NONE or program.instrs[after].op != ops.SET_ADD:
            return False
    return program.instrs[left].line == program.instrs[right].line


def _same_place(program: Program, left: int, right: int) -> bool:
    """Whether two continuations are one place, or copies of one end of the function."""
    left, right = program.follow(left), program.follow(right)
    for _ in range(12):
        if left == right:
            return True
        if left == NONE or right == NONE or program.instrs[left].op == ops.BRANCH:
            return False
        # a way out that is copied after each branch has the line of what comes before it
        implicit = program.instrs[left].op in _ENDING
        if not _same(program.instrs[left], program.instrs[right], lines=not implicit):
            return False
        if program.instrs[left].op == ops.RETURN:
            return True
        left, right = program.follow(program.next[left]), program.follow(program.next[right])
    return False


def _same(a: ops.Instr, b: ops.Instr, *, lines: bool = True) -> bool:
    if a.op != b.op:
        return False
    if lines and a.line != b.line and a.line is not None and b.line is not None:
        return False
    if a.op == ops.LOAD_CONST:
        if isinstance(a.arg, CodeUnit) and isinstance(b.arg, CodeUnit):
            return a.arg.code == b.arg.code
        return a.arg is b.arg or (type(a.arg) is type(b.arg) and repr(a.arg) == repr(b.arg))
    return bool(a.arg == b.arg)
