"""``except E as e``: skips the compiler's ``e = None; del e`` at each end of the clause, and drops its handler."""

from __future__ import annotations

from depyf.decompiler.bytecode import ops
from depyf.decompiler.cfg.program import NONE, Program
from depyf.decompiler.cfg.region_table import SHUFFLES, Region, Regions, exits_of, redirect

_NAME_STORES = frozenset({ops.STORE_FAST, ops.STORE_NAME, ops.STORE_GLOBAL, ops.STORE_DEREF})
_LEAVING = 150
"""How many instructions may leave what is around a ``return``: twenty blocks of up to seven."""
_NAME_DELETES = frozenset({ops.DELETE_FAST, ops.DELETE_NAME, ops.DELETE_GLOBAL, ops.DELETE_DEREF})


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


def strip_unused_names(program: Program) -> set[str]:
    """Skip ``e = None; del e`` after ``except E as e`` with a body in which nothing can raise: it has no handler.

    Returns the names.
    """
    found_names: set[str] = set()
    for at, instr in enumerate(program.instrs):
        if instr.op != ops.EXC_MATCH:
            continue
        test = program.next[at]
        while test != NONE and program.instrs[test].op in (ops.SWAP, ops.POP):
            test = program.next[test]  # of the exception the test leaves nothing
        if test == NONE or program.instrs[test].op != ops.BRANCH:
            continue
        position = program.follow(program.next[test] if program.instrs[test].arg == "false" else program.jump[test])
        if position != NONE and program.instrs[position].op == ops.POP:
            position = program.follow(program.next[position])
        if position == NONE or program.instrs[position].op not in _NAME_STORES:
            continue
        name, store = program.instrs[position].arg, position
        last, position = position, program.follow(program.next[position])
        while position != NONE and program.instrs[position].op in (ops.POP, ops.JUMP):
            last, position = position, program.follow(program.next[position])
        if position != NONE and program.instrs[position].op == ops.POP_EXCEPT:
            last, position = position, program.next[position]
        found = _name_cleanup_end(program, position)
        if found is None or found[0] != name:
            continue
        after = program.follow(found[1])
        ends = [program.instrs[at].op for at in (last, after) if at != NONE]
        if ops.POP_EXCEPT in ends:  # after the clean-up in 3.8
            program.next[last] = found[1]
            found_names.add(name)
            left = program.instrs[last].op == ops.POP_EXCEPT
            _note_end(program, found[1], left, program.instrs[store].op != ops.STORE_FAST)
    return found_names


def _note_end(program: Program, after: int, left: bool, shared: bool) -> None:
    """Note what follows the clean-up of a name: at the end of its clause the exception is still handled (3.8).

    ``left``: it is not, for a statement of the clause has left it.  ``shared``: other code sees the name, too.
    """
    if not program.unit.unbinds_handled:
        return
    end = program.follow(after)
    if end != NONE and program.instrs[end].op == ops.POP_EXCEPT and not left:
        program.clause_ends.add(end)
        if shared:
            program.shared_ends.add(end)
        return
    jump = after
    while left and program.instrs[jump].op == ops.POP_EXCEPT and program.next[jump] != NONE:
        jump = program.next[jump]
    if program.instrs[jump].op == ops.JUMP and program.jump[jump] <= jump:
        program.own_continues[jump] = after
    else:
        _note_return(program, after)


def _note_return(program: Program, at: int) -> None:
    """The constant that is returned at ``at``, or once managers and handlers are left, is the statement's own."""
    last = NONE
    for _ in range(_LEAVING):
        if at == NONE or program.jump[at] != NONE:
            return
        if program.instrs[at].op == ops.RETURN:
            break
        last, at = at, program.next[at]
    if last != NONE and at != NONE and program.instrs[last].op == ops.LOAD_CONST:
        program.own_returns.add(last)


def is_name_cleanup(program: Program, region: Region) -> bool:
    found = _name_cleanup_end(program, region.target)
    if found is None:
        return False
    end = program.follow(found[1])
    return end != NONE and program.instrs[end].op == ops.RERAISE


def strip_name_cleanup(regions: Regions, region: Region, withs: list[Region]) -> None:
    """``withs`` are those in the clause: what they suppress at its end goes on after a copy of the clean-up, too."""
    program = regions.program
    wanted = _name_cleanup_end(program, region.target)
    assert wanted is not None
    shared = wanted[0] not in program.unit.varnames or wanted[0] in program.unit.cellvars  # a parameter is in both
    edits: list[tuple[int, int, int, bool]] = []
    for source, after in exits_of(regions, region):
        before, position = source, after
        edge = after
        left = False
        while position != NONE and program.instrs[position].op in SHUFFLES | {ops.JUMP}:
            before = position
            left |= program.instrs[position].op == ops.POP_EXCEPT
            position = edge = program.successors(position)[0]
        copy = _name_cleanup_end(program, position)
        if copy is None or copy[0] != wanted[0]:
            return
        edits.append((before, edge, copy[1], left))
    resumed: list[tuple[Region, int]] = []
    for inner in withs:
        if not regions.inside(inner.resume, region.index):
            copy = _name_cleanup_end(program, inner.resume)
            if copy is not None and copy[0] == wanted[0]:
                resumed.append((inner, copy[1]))
    for source, old, new, left in edits:
        redirect(program, source, old, new)
        _note_end(program, new, left, shared)
    for inner, new in resumed:
        inner.resume = new
    regions.bound_names.add(wanted[0])
    regions.dissolve(region)
