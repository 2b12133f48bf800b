"""Exception regions: what each handler is for, how the regions nest, and the copies the compiler made of their ends.

Input: a fresh ``Program``.  Output: the same program in which

* clean-up handlers that only re-raise are gone (their instructions belong to the enclosing handler);
* the copy of a ``finally`` body after every exit of its region is skipped, the call of a ``with`` exit is one
  ``WITH_EXIT`` operation, the name clean-up after ``except E as e`` is skipped, ``async for`` is ``ASYNC_FOR_ITER``;
* each remaining handler is a ``Region`` of a known kind with a parent.

    try: A                 A; F; B                 A  -> B
    finally: F     was     H: F; RERAISE     is    H: F; END_FINALLY     kind "finally"
    B
"""

from __future__ import annotations

from dataclasses import dataclass

from depyf.bytecode import ops
from depyf.bytecode.codeunit import CodeUnit
from depyf.flow.program import ASYNC_FOR_ITER, END_FINALLY, NONE, WITH_EXIT, Program
from depyf.structure.except_star import plain_handlers

_SHUFFLES = frozenset({ops.POP, ops.SWAP, ops.ROT, ops.COPY, ops.POP_EXCEPT})
_CLEANUP = _SHUFFLES | {ops.PUSH_EXC_INFO, ops.JUMP, ops.RESTORE_FAST, ops.LOAD_CONST}
_NAME_STORES = frozenset({ops.STORE_FAST, ops.STORE_NAME, ops.STORE_GLOBAL, ops.STORE_DEREF})
_NAME_DELETES = frozenset({ops.DELETE_FAST, ops.DELETE_NAME, ops.DELETE_GLOBAL, ops.DELETE_DEREF})


@dataclass(slots=True)
class Region:
    """One handler: ``kind`` is "except", "finally" or "with"; ``parent`` the enclosing region or -1.

    ``resume`` is, for "with", where control continues when the manager suppressed the exception; ``star`` marks
    ``except*``, which nothing may leave but by its end.
    """

    index: int
    target: int
    depth: int
    pushes: tuple[str, ...]
    kind: str = "except"
    parent: int = NONE
    resume: int = NONE
    star: bool = False


class Regions:
    """All live regions of a program, and the chain of regions around each instruction."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.table: dict[int, Region] = {
            i: Region(i, handler.target, handler.depth, handler.pushes) for i, handler in enumerate(program.handlers)
        }
        self._chains: dict[int, tuple[int, ...]] = {}
        self._own: dict[int, list[int]] | None = None
        self._inner: dict[int, list[int]] = {}

    def chain(self, handler: int) -> tuple[int, ...]:
        """``handler`` and the regions around it, innermost first."""
        if handler == NONE:
            return ()
        known = self._chains.get(handler)
        if known is None:
            found: list[int] = []
            while handler != NONE and handler not in found:
                found.append(handler)
                handler = self.table[handler].parent
            known = self._chains[found[0]] = tuple(found)
        return known

    def inside(self, index: int, region: int) -> bool:
        """Whether instruction ``index`` lies in the protected range of ``region``, nested ranges included."""
        return region in self.chain(self.program.handler[index])

    def forget_chains(self) -> None:
        self._chains.clear()
        self._own = None

    def members(self, region: int) -> list[int]:
        """The instructions in the protected range of ``region``, nested ranges included, in order."""
        if self._own is None:
            self._own, self._inner = {}, {}
            for i, handler in enumerate(self.program.handler):
                if handler != NONE:
                    self._own.setdefault(handler, []).append(i)
            for inner in self.table.values():
                self._inner.setdefault(inner.parent, []).append(inner.index)
        found: list[int] = []
        work, seen = [region], {region}
        while work:
            current = work.pop()
            found.extend(self._own.get(current, ()))
            for index in self._inner.get(current, ()):
                if index not in seen:
                    seen.add(index)
                    work.append(index)
        return sorted(found)

    def dissolve(self, region: Region) -> None:
        """Leave the range of ``region`` to the region around it."""
        members, parent = self.members(region.index), region.parent
        assert self._own is not None
        handler = self.program.handler
        for i in members:
            if handler[i] == region.index:
                handler[i] = parent
        self._own.setdefault(parent, []).extend(self._own.pop(region.index, ()))
        inner = self._inner.pop(region.index, [])
        for index in inner:
            self.table[index].parent = parent
        if region.index in self._inner.get(parent, ()):
            self._inner[parent].remove(region.index)
        self._inner.setdefault(parent, []).extend(inner)
        del self.table[region.index]
        self._chains.clear()


def find_regions(program: Program, *, idioms: bool = True) -> Regions:
    """Classify the handlers of ``program`` and take the compiler's copies out of its graph (edits it)."""
    stars = plain_handlers(program)
    _strip_unused_names(program)
    regions = Regions(program)
    for region in regions.table.values():
        region.star = region.target in stars
    if not regions.table:
        return regions
    _drop_cleanups(regions)
    _async_for(regions)
    _parents(regions)
    _fill_gaps(regions)
    for region in sorted(regions.table.values(), key=lambda region: region.target):
        if _is_with(regions, region):
            _strip_with(regions, region)
    for region in sorted(regions.table.values(), key=lambda region: region.target):
        if region.kind == "except" and _is_name_cleanup(program, region):
            _strip_name_cleanup(regions, region)
    if idioms:
        # a copy is recognised once the copies inside it are gone, wherever the compiler put them
        pending = sorted(regions.table.values(), key=lambda region: -region.target)
        while pending:
            for region in pending:
                if region.kind == "except":
                    _strip_finally(regions, region)
            rest = [region for region in pending if region.kind == "except"]
            if len(rest) == len(pending):
                break
            pending = rest
    return regions


def _drop_cleanups(regions: Regions) -> None:
    program = regions.program
    replaced: dict[int, int] = {}
    for index, region in regions.table.items():
        position, seen = program.follow(region.target), 0
        if _is_empty_finally(program, position):
            continue
        while position != NONE and program.instrs[position].op in _CLEANUP and seen < 40:
            position, seen = program.follow(program.next[position]), seen + 1
        if position != NONE and program.instrs[position].op == ops.RERAISE and seen < 40:
            replaced[index] = program.handler[region.target]
    if not replaced:
        return

    def resolve(handler: int) -> int:
        steps = 0
        while handler in replaced:
            handler = replaced[handler]
            steps += 1
            if steps > len(replaced):
                return NONE
        return handler

    program.handler = [resolve(handler) for handler in program.handler]
    for index in replaced:
        del regions.table[index]


def _is_empty_finally(program: Program, position: int) -> bool:
    """Whether the handler at ``position`` is that of ``finally: pass``: the compiler's own clean-up is never so short."""
    if program.instrs[position].op == ops.PUSH_EXC_INFO:
        position = program.next[position]
    return position != NONE and program.instrs[position].op == ops.RERAISE


def _parents(regions: Regions) -> None:
    """The region around a handler protects its first instruction.

    What stores the handled exception need not be protected; of a ``try`` that starts right there the depth tells that
    it lies inside the handler.
    """
    program = regions.program
    first: dict[int, int] = {}
    for region in regions.table.values():
        position, steps = region.target, 0
        while program.handler[position] == NONE and program.instrs[position].op in ops.SILENT and steps < 40:
            after = program.successors(position)
            if len(after) != 1:
                break
            position, steps = after[0], steps + 1
        first[region.index] = program.handler[position]
    for region in regions.table.values():
        parent, seen = first[region.index], {region.index}
        while parent != NONE and parent not in seen and regions.table[parent].depth > region.depth:
            seen.add(parent)
            parent = first[parent]
        region.parent = NONE if parent == region.index or parent in seen else parent
    regions.forget_chains()


def _fill_gaps(regions: Regions) -> None:
    """A jump within a protected range needs no protection itself: it belongs to the range if all around it does.

    The jump at the end of the range does not: it is what leaves the ``try``.
    """
    program = regions.program
    handler = program.handler
    jumps = [
        i
        for i, instr in enumerate(program.instrs)
        if instr.op == ops.JUMP and program.jump[i] != NONE and handler[i] != handler[program.jump[i]]
    ]
    if not jumps:
        return
    before: dict[int, list[int]] = {i: [] for i in jumps}
    for i in range(len(program.instrs)):
        for after in program.successors(i):
            if after in before:
                before[after].append(i)
    changed = True
    while changed:
        changed = False
        for i in jumps:
            wanted = handler[program.jump[i]]
            around = [handler[p] for p in (*before[i], min(i + 1, len(handler) - 1))]
            if handler[i] != wanted and before[i] and all(wanted in regions.chain(h) for h in around):
                handler[i] = wanted
                changed = True


def _async_for(regions: Regions) -> None:
    program = regions.program
    ends = {index for index, region in regions.table.items() if program.instrs[region.target].op == ops.END_ASYNC_FOR}
    if not ends:
        return
    for i, handler in enumerate(program.handler):
        if handler not in ends:
            continue
        target = regions.table[handler].target
        outer = program.handler[target]
        if program.instrs[i].op == ops.GET_ANEXT:
            await_at = program.follow(program.next[i])
            program.replace(i, ASYNC_FOR_ITER, 1)
            program.jump[i] = program.next[target]
            program.next[i] = program.next[await_at]
        program.handler[i] = outer
    for index in ends:
        del regions.table[index]


def _is_with(regions: Regions, region: Region) -> bool:
    program = regions.program
    position = region.target
    if program.instrs[position].op == ops.PUSH_EXC_INFO:
        position = program.next[position]
    return position != NONE and program.instrs[position].op == ops.WITH_EXCEPT_START


def _strip_with(regions: Regions, region: Region) -> None:
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
        return
    jumps_when_true = program.instrs[position].arg == "true"
    resume = program.jump[position] if jumps_when_true else program.next[position]
    depth = region.depth + pushed
    while resume != NONE and depth > region.depth - slots:
        instr = program.instrs[resume]
        if instr.op == ops.POP:
            depth -= 1
        elif instr.op == ops.POP_EXCEPT:
            depth -= instr.arg
        elif instr.op not in _SHUFFLES and instr.op != ops.JUMP:
            return
        resume = program.jump[resume] if instr.op == ops.JUMP else program.next[resume]
    region.kind = "with"
    region.resume = resume
    for exit_at in sorted({after for _, after in _exits(regions, region)}):
        _strip_exit_call(program, exit_at, slots)


def _strip_exit_call(program: Program, position: int, slots: int) -> None:
    start = program.follow(position)
    while start != NONE and program.instrs[start].op in (ops.SWAP, ops.ROT):
        start = program.follow(program.next[start])
    position, nones = start, 0
    while position != NONE and _is_none(program.instrs[position], nones):
        position, nones = program.follow(program.next[position]), nones + 1
        if nones == 3:
            break
    if nones != 3 or position == NONE or program.instrs[position].op != ops.CALL:
        return
    position = program.follow(program.next[position])
    while position != NONE and program.instrs[position].op in (ops.GET_AWAITABLE, ops.DELEGATE):
        position = program.follow(program.next[position])
    if position == NONE or program.instrs[position].op != ops.POP:
        return
    program.replace(start, WITH_EXIT, slots)
    program.next[start] = program.next[position]


def _is_none(instr: ops.Instr, before: int) -> bool:
    """Whether ``instr`` pushes None: the constant, or (3.9, 3.10) a copy of the one pushed before."""
    if instr.op == ops.COPY:
        return before > 0 and instr.arg == 1
    return instr.op == ops.LOAD_CONST and instr.arg is None


def _exits(regions: Regions, region: Region) -> list[tuple[int, int]]:
    """Edges (from, to) that leave the protected range of ``region``."""
    program = regions.program
    found: list[tuple[int, int]] = []
    members = regions.members(region.index)
    inside = set(members)
    for i in members:
        for after in program.successors(i):
            if after not in inside:
                found.append((i, after))
    return found


def _redirect(program: Program, source: int, old: int, new: int) -> None:
    if program.next[source] == old:
        program.next[source] = new
    if program.jump[source] == old:
        program.jump[source] = new


def _name_cleanup_end(program: Program, position: int) -> tuple[str, int] | None:
    """Where ``name = None; del name`` at ``position`` ends, with the name."""
    position = program.follow(position)
    if position == NONE or program.instrs[position].op != ops.LOAD_CONST or program.instrs[position].arg is not None:
        return None
    store = program.follow(program.next[position])
    if store == NONE or program.instrs[store].op not in _NAME_STORES:
        return None
    delete = program.follow(program.next[store])
    if delete == NONE or program.instrs[delete].op not in _NAME_DELETES:
        return None
    if program.instrs[delete].arg != program.instrs[store].arg:
        return None
    return program.instrs[store].arg, program.next[delete]


def _strip_unused_names(program: Program) -> None:
    """Skip ``e = None; del e`` after ``except E as e`` with a body in which nothing can raise: it has no handler."""
    for at, instr in enumerate(program.instrs):
        if instr.op != ops.EXC_MATCH:
            continue
        test = program.next[at]
        if test == NONE or program.instrs[test].op != ops.BRANCH:
            continue
        position = program.follow(program.next[test] if program.instrs[test].arg == "false" else program.jump[test])
        if position != NONE and program.instrs[position].op == ops.POP:
            position = program.follow(program.next[position])
        if position == NONE or program.instrs[position].op not in _NAME_STORES:
            continue
        name = program.instrs[position].arg
        position = program.follow(program.next[position])
        while position != NONE and program.instrs[position].op in (ops.POP, ops.JUMP):
            position = program.follow(program.next[position])
        if position == NONE or program.instrs[position].op != ops.POP_EXCEPT:
            continue
        found = _name_cleanup_end(program, program.next[position])
        if found is not None and found[0] == name:
            program.next[position] = found[1]


def _is_name_cleanup(program: Program, region: Region) -> bool:
    found = _name_cleanup_end(program, region.target)
    if found is None:
        return False
    end = program.follow(found[1])
    return end != NONE and program.instrs[end].op == ops.RERAISE


def _strip_name_cleanup(regions: Regions, region: Region) -> None:
    program = regions.program
    wanted = _name_cleanup_end(program, region.target)
    assert wanted is not None
    edits: list[tuple[int, int, int]] = []
    for source, after in _exits(regions, region):
        before, position = source, after
        edge = after
        while position != NONE and program.instrs[position].op in _SHUFFLES | {ops.JUMP}:
            before = position
            position = edge = program.successors(position)[0]
        copy = _name_cleanup_end(program, position)
        if copy is None or copy[0] != wanted[0]:
            return
        edits.append((before, edge, copy[1]))
    for source, old, new in edits:
        _redirect(program, source, old, new)
    regions.dissolve(region)


def _strip_finally(regions: Regions, region: Region) -> None:
    program = regions.program
    start = region.target
    if program.instrs[start].op == ops.PUSH_EXC_INFO:
        start = program.next[start]
    body, ends = _finally_body(regions, region, start)
    if not ends and not body:
        return
    exits = _exits(regions, region)
    if any(program.instrs[i].op == ops.RETURN for i in regions.members(region.index)):
        return
    if not exits and (program.instrs[start].op == ops.POP or not ends):
        return  # a bare ``except:`` drops the exception before anything else
    continuation: dict[int, int] = {}
    for _, after in exits:
        if after not in continuation:
            found = after if start in ends else _match_copy(program, start, after, ends)
            if found is None:
                return
            continuation[after] = found
    if exits and not any(new != NONE for new in continuation.values()):
        return
    for source, after in exits:
        if continuation[after] != NONE:
            _redirect(program, source, after, continuation[after])
    for end in ends:
        program.replace(end, END_FINALLY)
    region.kind = "finally"


def _finally_body(regions: Regions, region: Region, start: int) -> tuple[set[int], set[int]]:
    """Instructions of the handler, nested handlers included, and those that re-raise what it was entered with."""
    program = regions.program
    seen: set[int] = set()
    ends: set[int] = set()
    own = program.handler[region.target]
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
        inner = program.handler[position]
        if inner not in (own, NONE, region.index) and inner not in entered and inner in regions.table:
            entered.add(inner)
            nested = regions.table[inner]
            if nested.kind == "with":
                work.append((nested.resume, depth))
            else:
                work.append((nested.target, depth + 1))
    return seen, ends


def _match_copy(program: Program, body: int, copy: int, ends: set[int]) -> int | None:
    """Walk a ``finally`` handler and its presumed copy in lock step.

    Returns where the copy continues, -1 if it never does (the body returns or raises), None if it is no copy.  Only
    evidence: a wrong answer is caught by the verifier, so stack shuffles may differ.
    """
    continuation = NONE
    seen: set[tuple[int, int]] = set()
    work = [(body, copy, False)]
    matched = 0
    while work:
        left, right, nested = work.pop()
        left = program.follow(left)
        if left in ends and not nested:
            target = right
            if continuation == NONE:
                continuation = target
            elif not _same_place(program, continuation, target):
                return None
            continue
        right = program.follow(right)
        if (left, right) in seen:
            continue
        seen.add((left, right))
        if left == NONE or right == NONE:
            if left != right:
                return None
            continue
        a, b = program.instrs[left], program.instrs[right]
        if not _same(a, b):
            if a.op in _SHUFFLES:
                work.append((program.next[left], right, nested))
                continue
            if b.op in _SHUFFLES:
                work.append((left, program.next[right], nested))
                continue
            return None
        matched += 1
        first, second = program.successors(left), program.successors(right)
        if len(first) != len(second):
            return None
        work.extend((x, y, nested) for x, y in zip(first, second, strict=True))
    return continuation if matched else None


def _same_place(program: Program, left: int, right: int) -> bool:
    """Whether two continuations are one place, or copies of one ``return``."""
    left, right = program.follow(left), program.follow(right)
    for _ in range(3):
        if left == right:
            return True
        if left == NONE or right == NONE or not _same(program.instrs[left], program.instrs[right], lines=False):
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
