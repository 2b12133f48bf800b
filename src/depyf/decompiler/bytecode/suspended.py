"""Checks the suspension points of generators: what the interpreter does there without an instruction (3.11+).

``RESUME`` says whether a delegate is driven, and since 3.13 whether ``close()`` may pass over the handlers;
``YIELD_VALUE`` says the first once more.  An exception that is thrown into a send loop goes to a separate handler since
3.12::

    i: SEND end; YIELD_VALUE !H; RESUME; JUMP_BACKWARD i;        H: CLEANUP_THROW; JUMP end;        end: END_SEND

``DELEGATE`` means all of that.  If one part is missing or different, no compiler wrote the generator, and a
``BytecodeError`` is raised.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from depyf.decompiler.bytecode import ops
from depyf.errors import BytecodeError

if TYPE_CHECKING:
    from depyf.decompiler.bytecode.draft import Draft
    from depyf.decompiler.bytecode.exception_table import Protection
    from depyf.decompiler.bytecode.lower import Lowered
    from depyf.decompiler.bytecode.versions.spec import VersionSpec

_WHERE, _OUTERMOST = 3, 4
"""Bits of the operand of RESUME (3.13+): 2 and 3 in a send loop; no handler of the body protects the yield.

Before, a number above 1 is in a send loop."""
_UNIT = 2
"""Bytes to the next instruction, which the interpreter looks at: not where it has a prefix."""
_STEPS = 1000
"""How far CLEANUP_THROW may lie from the end of its loop; a compiler needs one jump."""


def check(draft: Draft, protection: Protection | None, spec: VersionSpec) -> None:
    """Raise ``BytecodeError`` where something else happens at a yield than ``YIELD`` and ``DELEGATE`` say."""
    raw = draft.raw
    names = raw.names
    for i, name in enumerate(names):
        if name != "YIELD_VALUE":
            continue
        driven = i > 0 and names[i - 1] == "SEND"
        directly = names[i + 1 : i + 2] == ["RESUME"] and raw.offsets[i + 1] == raw.offsets[i] + _UNIT
        resumed_at = raw.args[i + 1] if directly else 0
        if ((resumed_at & _WHERE if spec.close_skips_handlers else resumed_at) > 1) != driven:
            raise _error(draft, i, "the RESUME after it is of another kind")
        handler = protection.of[i] if protection is not None else -1
        # a lambda and the code of a module have no wrapper: the loop's handler is the outermost there
        skips = resumed_at & _OUTERMOST and handler >= 0 and protection is not None and any(protection.wrapped)
        if spec.close_skips_handlers and (raw.args[i] != driven or skips):
            raise _error(draft, i, "it does not say how the generator is left")
        if driven:
            _check_loop(draft, protection, spec, i - 1, handler)


def _check_loop(draft: Draft, protection: Protection | None, spec: VersionSpec, send: int, handler: int) -> None:
    """Check where an exception at the yield after ``send`` leads."""
    raw = draft.raw
    around = protection.of[send] if protection is not None else -1
    if not spec.wraps_generators:
        if handler != around:
            raise _error(draft, send, "exceptions in its loop go another way")
        return
    entry = protection.handlers[handler] if protection is not None and handler >= 0 else None
    at, end = entry.target if entry is not None else -1, raw.targets[send]
    at = _past_nops(draft, at, end)
    if entry is None or at < 0 or raw.names[at] != "CLEANUP_THROW" or entry.pushes != ("exc",):
        raise _error(draft, send, "no CLEANUP_THROW handles the exceptions of its loop")
    if protection is not None and protection.of[at] != around:
        raise _error(draft, send, "exceptions of its delegate go another way")
    if raw.names[end] != "END_SEND" or _past_nops(draft, at + 1, end) != end:
        raise _error(draft, send, "its CLEANUP_THROW does not lead to its end")
    draft.loops.append((send, entry.depth))


def _past_nops(draft: Draft, at: int, end: int) -> int:
    """The first instruction from ``at`` on that does something; -1 where there is none."""
    raw = draft.raw
    for _ in range(_STEPS):
        if not 0 <= at < len(raw.names):
            return -1
        if at == end or raw.names[at] != "NOP" and not raw.names[at].startswith("JUMP_"):
            return at
        at = at + 1 if raw.names[at] == "NOP" else raw.targets[at]
    return -1


def check_depths(draft: Draft, depths: list[int], slots: int) -> None:
    """Raise where the handler of a send loop does not find the loop's ``slots`` at the top of the stack."""
    if not draft.loops:
        return
    first = {source: i for i, source in reversed(list(enumerate(draft.source)))}
    for send, depth in draft.loops:
        i = first.get(send, -1)
        if i >= 0 and depths[i] >= 0 and depths[i] + slots != depth:
            raise draft.error(i, f"its CLEANUP_THROW is {depth} values deep, and not {depths[i] + slots}")


def _error(draft: Draft, at: int, reason: str) -> BytecodeError:
    raw = draft.raw
    return BytecodeError(f"{raw.unit.qualname}: {raw.names[at]} at offset {raw.offsets[at]}: {reason}")


_MAKES = {ops.GET_AWAITABLE: "await", ops.GET_YIELD_FROM_ITER: "yield from"}
_BETWEEN = (ops.SILENT - {ops.RETURN}) | {ops.LOAD_FAST, ops.LOAD_DEREF, ops.LOAD_GLOBAL, ops.LOAD_NAME}


def check_awaits(lowered: Lowered) -> None:
    """Raise ``BytecodeError`` where other code runs after what an ``await`` or ``yield from`` begins with, and before
    the rest."""
    instrs = lowered.instrs
    for start, instr in enumerate(instrs):
        if instr.op not in _MAKES:
            continue
        at, seen = start + 1, {start}
        while at < len(instrs) and instrs[at].op in _BETWEEN and at not in seen:
            seen.add(at)
            at = instrs[at].target if instrs[at].op == ops.JUMP else at + 1
        if at < len(instrs) and instrs[at].op == ops.CALL and instrs[at].arg is not None:
            where = f"{lowered.unit.qualname}: {instr.op} at offset {instr.offset}"
            raise BytecodeError(f"{where}: something is called before its {_MAKES[instr.op]} goes on, as in no source")
