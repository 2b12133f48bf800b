"""Drives the lowering of one code object: raw instructions to version-free ones.

Input: a ``CodeUnit`` of any supported version.  Output: ``Lowered``; every instruction is reachable, targets and
handlers are instruction indices, and the stack depth is the same on every path to an instruction.  Malformed bytecode
is a ``BytecodeError`` that names the offset.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from depyf.decompiler.bytecode import lasti, ops, prologue, suspended
from depyf.decompiler.bytecode.blockstack import assign_handlers
from depyf.decompiler.bytecode.codeunit import CodeUnit
from depyf.decompiler.bytecode.decode import Raw, decode, reached
from depyf.decompiler.bytecode.draft import Draft
from depyf.decompiler.bytecode.exception_table import GENERATORS, entries, protect
from depyf.decompiler.bytecode.ops import Handler, Instr
from depyf.decompiler.bytecode.restore import mark_restores
from depyf.decompiler.bytecode.stack import check_depths
from depyf.decompiler.bytecode.tables.kept_instructions import lines_in_front
from depyf.decompiler.bytecode.tables.linetables import NO_LOCATIONS, Locations
from depyf.decompiler.bytecode.variables.slots import ambiguous
from depyf.decompiler.bytecode.versions import spec_for
from depyf.decompiler.bytecode.versions.spec import PSEUDO, Context, Out, VersionSpec
from depyf.decompiler.bytecode.versions.truth import IDLE
from depyf.errors import BytecodeError


class Lowered(NamedTuple):
    """``instrs[i].target`` and ``handlers[k].target`` index into ``instrs``; ``instrs[i].handler`` into ``handlers``.

    ``depths[i]`` is how many values are on the stack before ``instrs[i]``.  ``leaks`` says that a generator of 3.12 or
    later lacks its wrapper somewhere: ``StopIteration`` leaves it unchanged, which no source can express.
    ``starts_late`` says that something comes before RESUME (3.11+): the frame is in no traceback until then.  ``split``
    are the instructions of ``exception_table.Protection.split``, -1 for one that is not there by itself, each with the
    other handler.
    """

    unit: CodeUnit
    instrs: tuple[Instr, ...]
    handlers: tuple[Handler, ...]
    depths: tuple[int, ...]
    leaks: bool = False
    starts_late: bool = False
    split: tuple[tuple[int, Handler | None], ...] = ()
    locations: Locations = NO_LOCATIONS
    """The location table of ``unit``, from 3.11 on."""
    in_front: Mapping[int, int] = MappingProxyType({})
    """See ``nops.lines_in_front``."""


def lower(unit: CodeUnit) -> Lowered:
    """The version-free form of ``unit``, whose instructions name variables: each name must mean one slot
    (``told_apart``)."""
    twice = ambiguous(unit)
    if twice is not None:
        raise BytecodeError(f"{unit.qualname}: two of its variables are called {twice!r}")
    spec = spec_for(unit.version)
    raw = decode(unit, spec)
    try:
        return _lower(unit, raw, spec)
    except BytecodeError:
        if raw.inside is not None:
            raise
        live = reached(unit, spec)
        if len(live.opcodes) == len(raw.opcodes):
            raise
    return _lower(unit, live, spec)  # what is wrong may be what nothing reaches


def lowered_once(known: dict[int, Lowered], unit: CodeUnit) -> Lowered:
    """The lowered form of ``unit``, from ``known`` or put there, by its id."""
    found = known.get(id(unit))
    if found is None:
        found = known[id(unit)] = lower(unit)
    return found


def _lower(unit: CodeUnit, raw: Raw, spec: VersionSpec) -> Lowered:
    in_front = lines_in_front(raw)
    if spec.prepare is not None:
        raw = spec.prepare(raw, spec)
    if not raw.opcodes:
        raise BytecodeError(f"{unit.qualname}: no instructions")
    if unit.version >= prologue.SINCE:
        prologue.check(raw)
    if unit.exctable:
        raw.jumped_to.update(entries(raw))
    out, start = _apply_rules(unit, raw, spec)
    draft = _resolve(unit, raw, out, start, spec)
    if unit.flags & GENERATORS and spec.wraps_generators and ops.INTRINSIC in draft.ops:
        _leave_to_wrapper(draft)
    depths = assign_handlers(draft) if spec.block_stack else check_depths(draft)
    suspended.check_depths(draft, depths, spec.send_slots)
    if ops.LOAD_FAST_CLEAR in draft.ops:
        mark_restores(draft, depths)
    lowered = _finish(draft, depths, in_front)
    if unit.flags & GENERATORS:
        suspended.check_awaits(lowered)
    if unit.exctable:
        lasti.check(lowered, spec.opnames)
    return lowered


def _apply_rules(unit: CodeUnit, raw: Raw, spec: VersionSpec) -> tuple[list[Out], list[int]]:
    """Expand every raw instruction; ``start[i]`` is where raw ``i`` begins, -1 inside a collapsed loop."""
    cx = Context(unit, raw)
    out = cx.out
    rules = spec.rules
    args = raw.args
    start: list[int] = []
    i = 0
    try:
        for i, opcode in enumerate(raw.opcodes):
            if i < cx.skip:
                start.append(-1)
                continue
            start.append(len(out))
            rule = rules[opcode]
            if rule is not None:
                rule(cx, i, args[i])
    except IndexError:
        raise cx.error(i, f"argument {args[i]} is out of range") from None
    return out, start


def _resolve(unit: CodeUnit, raw: Raw, out: list[Out], start: list[int], spec: VersionSpec) -> Draft:
    """Raw targets to output indices, handlers attached."""
    draft = Draft(unit, raw)
    if not out:
        raise BytecodeError(f"{unit.qualname}: no instructions")
    draft.ops, draft.args, targets, draft.source = map(list, zip(*out))
    last = len(out)
    for i, target in enumerate(targets):
        if target >= 0:
            resolved = start[target] if target < len(start) else last
            if resolved < 0 or resolved >= last:
                raise draft.error(
                    i, f"jumps to offset {raw.offsets[min(target, len(start) - 1)]}, inside another construct"
                )
            targets[i] = resolved
    draft.targets = targets
    protection = protect(raw) if unit.exctable else None
    if unit.flags & GENERATORS and not spec.block_stack:
        suspended.check(draft, protection, spec)
    if protection is not None:
        for handler in protection.handlers:
            entry = start[handler.target]
            if entry < 0 or entry >= last:
                raise BytecodeError(f"{unit.qualname}: exception handler inside another construct")
            draft.handlers.append(handler._replace(target=entry))
        of = protection.of
        draft.wrapped = protection.wrapped
        draft.split = [(index, protection.of[index - 1] if index else -1) for index in protection.split]
        draft.handler = [of[i] for i in draft.source]
        if spec.tests_apart:
            for k, (op, i) in enumerate(zip(draft.ops, draft.source, strict=True)):
                if op == ops.BRANCH and i and draft.ops[k - 1] not in ops.TERMINATORS:
                    before = i - 1
                    while before and raw.names[before] in IDLE:
                        before -= 1
                    draft.handler[k] = of[before]
    else:
        draft.handler = [-1] * last
    return draft


_BETWEEN = (ops.SILENT - {ops.RETURN}) | {ops.LOAD_FAST, ops.LOAD_GLOBAL, ops.LOAD_ATTR, ops.DELETE_FAST, ops.CALL}
_OTHER, _HOLDS, _CAUGHT = 0, 1, 2
"""What a slot holds: no part of the exception, a tuple with it, or the exception itself."""


def _leave_to_wrapper(draft: Draft) -> None:
    """Where an exception leaves a generator, its wrapper makes a RuntimeError of StopIteration: once is enough.

    CALL_INTRINSIC_1 STOPITERATION_ERROR; RERAISE, in the wrapper alone    ->    RERAISE

    What lies between may do anything but look at the exception: nothing else sees that there is another one.
    """
    names, args, targets = draft.ops, draft.args, draft.targets
    for i, op in enumerate(names):
        if op != ops.INTRINSIC or args[i][0] != "STOPITERATION_ERROR" or not draft.wrapped:
            continue
        at, stack, seen = i + 1, [_CAUGHT], {i}  # the uppermost slots; below them lies nothing of the exception
        while at < len(names) and names[at] in _BETWEEN and at not in seen:
            seen.add(at)
            if names[at] not in ops.SILENT and not _only_wrapped(draft, at) or not _move(stack, names[at], args[at]):
                break
            at = targets[at] if names[at] == ops.JUMP else at + 1
        if at < len(names) and names[at] == ops.RERAISE and stack[-1:] == [_CAUGHT] and _only_wrapped(draft, at):
            names[i], args[i], targets[i] = ops.JUMP, None, i + 1


def _only_wrapped(draft: Draft, at: int) -> bool:
    """Whether what is raised at ``at`` goes to the wrapper of the generator."""
    return draft.handler[at] < 0 and bool(draft.wrapped[draft.source[at]])


def _move(stack: list[int], op: str, arg: Any) -> bool:
    """The effect of an operation on ``stack``; false if it looks at the exception."""
    if op == ops.JUMP:
        return True
    count, results = ops.stack_effect(op, arg)
    stack[:0] = [_OTHER] * (count - len(stack))
    if op == ops.SWAP:
        stack[-1], stack[-arg] = stack[-arg], stack[-1]
    elif op == ops.ROT:
        stack.insert(len(stack) - arg, stack.pop())
    elif op == ops.COPY:
        stack.append(stack[-arg])
    else:
        taken = stack[len(stack) - count :]
        if any(taken) and op not in (ops.POP, ops.BUILD_TUPLE):
            return False
        stack[len(stack) - count :] = [_HOLDS if any(taken) else _OTHER] * results
    return True


def _finish(draft: Draft, depths: list[int], in_front: dict[int, int]) -> Lowered:
    """Drop what cannot be reached, renumber, and freeze."""
    raw = draft.raw
    names = draft.ops
    kept = [i for i, depth in enumerate(depths) if depth >= 0 and names[i] not in PSEUDO]
    dense = len(kept) == len(depths)
    position = list(range(len(depths)))
    if not dense:
        following = len(kept)
        for i in range(len(depths) - 1, -1, -1):  # a jump to a dropped pseudo operation leads to what follows it
            if depths[i] >= 0 and names[i] not in PSEUDO:
                following -= 1
            position[i] = following
    numbers: dict[int, int] = {-1: -1}
    handlers: list[Handler] = []
    for i in kept:
        h = draft.handler[i]
        if h not in numbers:
            numbers[h] = len(handlers)
            handlers.append(draft.handlers[h]._replace(target=position[draft.handlers[h].target]))
    lines, offsets = raw.lines, raw.offsets
    if dense:
        rows = zip(draft.ops, draft.args, draft.targets, draft.source, draft.handler)
        instrs = tuple([Instr(op, arg, t, lines[s], offsets[s], numbers[h]) for op, arg, t, s, h in rows])
    else:
        position.append(-1)  # so that target -1 stays -1
        ops_, args, targets, source, handler = draft.ops, draft.args, draft.targets, draft.source, draft.handler
        instrs = tuple(
            [
                Instr(ops_[i], args[i], position[targets[i]], lines[s := source[i]], offsets[s], numbers[handler[i]])
                for i in kept
            ]
        )
    kept_depths = tuple(depths) if dense else tuple([depths[i] for i in kept])
    late = draft.unit.version >= prologue.SINCE and prologue.starts_late(raw)
    split: list[tuple[int, Handler | None]] = []
    if draft.split:
        found = {draft.source[i]: position[i] for i in reversed(kept)}
        for index, number in draft.split:
            other = draft.handlers[number] if number >= 0 else None
            split.append((found.get(index, -1), other and other._replace(target=position[other.target])))
    lowered = Lowered(
        draft.unit,
        instrs,
        tuple(handlers),
        kept_depths,
        starts_late=late,
        split=tuple(split),
        locations=raw.locations,
        in_front=in_front,
    )
    leaking = _leaks(draft, kept)
    if leaking and not leaking.isdisjoint(lasti.live_code(lowered)[0]):
        return lowered._replace(leaks=True)
    return lowered


def _leaks(draft: Draft, kept: list[int]) -> set[int]:
    """The instructions, by their final numbers, at which an exception leaves a generator without its wrapper."""
    raw, wrapped = draft.raw, draft.wrapped
    spec = spec_for(raw.unit.version)
    if not raw.unit.flags & GENERATORS or not spec.wraps_generators:
        return set()
    silent = ops.SILENT | {ops.BRANCH} if spec.tests_apart else ops.SILENT
    started = raw.names.index("RETURN_GENERATOR") if "RETURN_GENERATOR" in raw.names else -1
    found: set[int] = set()
    for place, i in enumerate(kept):
        source = draft.source[i]
        if source > started and draft.handler[i] < 0 and draft.ops[i] not in silent:
            if not wrapped or not wrapped[source]:
                found.add(place)
    return found
