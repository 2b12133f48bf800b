"""The line of each ``break``, which tells the ``else`` of a ``try`` from the end of its body.

Input: lifted blocks, before the empty ones are skipped.  The line is that of what drops the iterator, of the jump, or
of the ``NOP`` where a jump to the next instruction stood (3.11+).
"""

from __future__ import annotations

from depyf.decompiler.bytecode import ops
from depyf.decompiler.bytecode.tables.kept_instructions import after_dead_jumps
from depyf.decompiler.cfg.program import NONE, Program
from depyf.decompiler.ir.markers import CaseTest
from depyf.decompiler.lift.lifted_block import Lifted

_STEPS = 3
"""A ``break`` is at most: a jump out of the ``try``, dropping the iterator, and the jump itself."""


def note_break_lines(program: Program, blocks: dict[int, Lifted]) -> None:
    """Note on each block the lines of what it leaves by (edits ``blocks``)."""
    _note_directly_reached(program, blocks)
    for block in blocks.values():
        for side, name in enumerate(block.succs):
            after = blocks[name]
            if after.iterators and not after.stmts and after.cond is None and len(after.succs) == 1 and after.code:
                line = _own_line(program, after.code[0])
                if line is not None:
                    block.breaks_at[side] = line
            elif len(block.succs) == 1 and block.code:
                line = _line(program, block.code[-1])
                if line is not None:
                    block.breaks_at[side] = line
            elif side == 0 and block.code and isinstance(block.cond, CaseTest):
                at = program.next[block.code[-1]]
                if at != NONE and program.instrs[at].op == ops.POP:
                    at = program.next[at]  # the subject
                if at != NONE and program.instrs[at].op == ops.JUMP and program.jump[at] > at:
                    line = _own_line(program, at)
                    if line is not None:
                        block.breaks_at[side] = line


def _note_directly_reached(program: Program, blocks: dict[int, Lifted]) -> None:
    """Note which blocks no jump leads to, nor anything that is left of one: no ``break`` goes there."""
    jumps = [i for i, instr in enumerate(program.instrs) if instr.op == ops.JUMP]
    if not any(0 <= program.instrs[i].target <= i for i in jumps):
        return
    jumped = {program.jump[i] for i in jumps if not _skips(program, i)}
    jumped |= after_dead_jumps(program.unit, tuple(program.instrs))
    for block in blocks.values():
        at = block.id
        here = block.code[:1] == [at] and at not in jumped
        block.direct = here and program.line[at] is not None and program.line_in_front(at) is None


def _skips(program: Program, at: int) -> bool:
    """Whether a jump forward is the end of a ``try`` or of an arm: it has the line of the statement before it."""
    before = at - 1
    falls = at > 0 and program.next[before] == at and program.instrs[before].op != ops.BRANCH
    return falls and program.jump[at] > at and program.line[before] == program.line[at]


def _line(program: Program, last: int) -> int | None:
    """The line of a ``break`` after the last instruction of a block, if it has left one."""
    at = program.next[last]
    for _ in range(_STEPS):
        if at == NONE:
            return None
        if program.instrs[at].op not in (ops.JUMP, ops.POP):
            break
        line = _own_line(program, at)
        if line is not None:
            return line if line != program.line[last] else None
        at = program.successors(at)[0]
    line = program.line_in_front(at)
    return line if line != program.line[at] else None


def _own_line(program: Program, at: int) -> int | None:
    """The line of an instruction that the source has as ``break``; after clean-up code it has the line of that."""
    if program.place(at) is not None:
        return program.line[at] if program.leaving_word(at) == "break" else None
    return program.line[at] if program.line[at] != program.line[at - 1] else None
