"""The exception table of CPython 3.11+: which handler protects each raw instruction.

Input: a decoded code object.  Output: ``Protection``, the handlers in table order with raw targets, and for every raw
instruction the number of its handler or -1.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from depyf.decompiler.bytecode.ops import Handler
from depyf.errors import BytecodeError

if TYPE_CHECKING:
    from depyf.decompiler.bytecode.decode import Raw


class Protection(NamedTuple):
    """``handlers[k].target`` is a raw instruction index; ``of[i]`` is the handler of raw instruction ``i`` or -1.

    ``wrapped[i]`` is 1 where only the wrapper of a generator protects ``i``: every generator of that version has it.
    ``split`` are the raw instructions that may call a Python function and have another handler than the one before.
    What such a function raises goes where the one before sends it (3.13+).
    """

    handlers: list[Handler]
    of: list[int]
    wrapped: bytearray
    split: list[int]


PUSHES = (("exc",), ("lasti", "exc"))


def table_entries(table: bytes) -> list[tuple[int, int, int, int, bool]]:
    """``(start, end, target, depth, lasti)`` of each entry, in bytes."""
    values: list[int] = []
    value = 0
    open_ = False
    for byte in table:
        value = value << 6 | byte & 63
        open_ = bool(byte & 64)
        if value >> 32:
            raise BytecodeError("malformed exception table: number too large")
        if not open_:
            values.append(value)
            value = 0
    if open_ or len(values) % 4:
        raise BytecodeError(f"malformed exception table: {len(table)} bytes end inside an entry")
    entries: list[tuple[int, int, int, int, bool]] = []
    for k in range(0, len(values), 4):
        start, length, target, packed = values[k : k + 4]
        if entries and start * 2 < entries[-1][1]:
            raise BytecodeError("malformed exception table: its entries are not in order")  # the interpreter halves it
        entries.append((start * 2, (start + length) * 2, target * 2, packed >> 1, bool(packed & 1)))
    return entries


def entry_at(table: bytes, offset: int) -> tuple[int, int, int, int, bool] | None:
    """The entry that protects the instruction at ``offset``, as ``table_entries`` gives it; found by halving."""
    low, high = 0, len(table)
    while low < high:
        at = (low + high) // 2
        while at > low and not table[at] & 128:
            at -= 1
        end = at + 1
        while end < len(table) and not table[end] & 128:
            end += 1
        (found,) = table_entries(table[at:end])
        if found[0] <= offset < found[1]:
            return found
        low, high = (low, at) if offset < found[0] else (end, high)
    return None


def entries(raw: Raw) -> set[int]:
    """The raw instructions that exceptions go to."""
    return {raw.index_at.get(target, -1) for _, _, target, _, _ in table_entries(raw.unit.exctable)}


def protect(raw: Raw) -> Protection:
    """Read ``co_exceptiontable``."""
    handlers: list[Handler] = []
    of = [-1] * len(raw.offsets)
    wrapped = bytearray(len(of))
    numbers: dict[Handler, int] = {}
    offsets = raw.offsets
    free = list(range(len(of) + 1))
    """Instruction -> the next one without a handler, itself or one further on: each is given one once."""
    table = table_entries(raw.unit.exctable)
    for start, end, target, depth, lasti in table:
        raw_target = raw.index_at.get(target)
        if raw_target is None and raw.inside is not None:
            continue  # nothing that raises can be reached there
        if raw_target is None:
            raise BytecodeError(f"{raw.unit.qualname}: exception handler at offset {target} is no instruction")
        if start >= len(raw.unit.code) or raw.cuts(start) or raw.cuts(end):
            # where in an instruction an exception is raised depends on the version and on how it was specialised
            raise BytecodeError(
                f"{raw.unit.qualname}: exception handler at offset {target} protects parts of an instruction"
            )
        handler = Handler(raw_target, depth, PUSHES[lasti])
        wraps = lasti and _wraps_generator(raw, raw_target) and depth == _made_on(raw)
        if wraps and start <= target < end:
            raise BytecodeError(f"{raw.unit.qualname}: exception handler at offset {target} protects itself")
        if wraps:
            number = -1
        else:
            number = numbers.setdefault(handler, len(handlers))
            if number == len(handlers):
                handlers.append(handler)
        index, stop = _next(free, bisect_left(offsets, start)), bisect_left(offsets, end)
        while index < stop:
            of[index], wrapped[index] = number, wraps
            free[index] = index + 1
            index = _next(free, index)
    return Protection(handlers, of, wrapped, _split_calls(raw, table) if raw.unit.version >= _LATE else [])


def _split_calls(raw: Raw, table: list[tuple[int, int, int, int, bool]]) -> list[int]:
    """See ``Protection.split``."""
    begins = {start: (target, depth, lasti) for start, end, target, depth, lasti in table if start < end}
    ends = {end: (target, depth, lasti) for start, end, target, depth, lasti in table if start < end}
    found = []
    for place in sorted({*begins, *ends}):
        index = raw.index_at.get(place, -1)
        if index >= 0 and raw.names[index] in _CALLING and begins.get(place) != ends.get(place):
            if raw.inside is not None and place - _UNIT not in raw.inside and place - _UNIT not in raw.index_at:
                raise BytecodeError(
                    f"{raw.unit.qualname}: {raw.names[index]} at offset {place} stands behind what is never reached"
                )
            found.append(index)
    return found


def _next(free: list[int], index: int) -> int:
    """Where ``free`` leads from ``index``; paths are compressed on the way (union-find)."""
    found = index
    while free[found] != found:
        found = free[found]
    while free[index] != found:
        free[index], index = found, free[index]
    return found


def _wraps_generator(raw: Raw, target: int) -> bool:
    """Is this the handler 3.12+ puts around a whole generator body, StopIteration to RuntimeError?"""
    names = raw.names
    if not raw.unit.flags & GENERATORS:
        return False
    steps = [target]
    for expected in ("CALL_INTRINSIC_1", "RERAISE"):
        while len(steps) < _NOISE and names[steps[-1]] in ("NOP", "JUMP_FORWARD"):
            at = steps[-1]
            steps.append(raw.targets[at] if raw.targets[at] >= 0 else at + 1)
            if steps[-1] >= len(names):
                return False
        at = steps[-1]
        if names[at] != expected or raw.args[at] != (1 if expected == "RERAISE" else _STOPITERATION_ERROR):
            return False
        steps.append(min(at + 1, len(names) - 1))
    return True


def _made_on(raw: Raw) -> int:
    """The number of values on the stack where the generator is made: one for the iterator of a generator expression
    (3.15), else none."""
    before = raw.names[: raw.names.index("RETURN_GENERATOR")] if "RETURN_GENERATOR" in raw.names else ()
    return sum(name.startswith("LOAD_FAST") or name == "GET_ITER" for name in before)


_LATE = (3, 13)
_UNIT = 2
_CALLING = frozenset(
    {"CALL", "CALL_KW", "CALL_FUNCTION_EX", "FOR_ITER", "SEND", "LOAD_ATTR", "BINARY_SUBSCR", "BINARY_OP", "COMPARE_OP"}
)
"""Operations that may run a Python function in a frame of its own: since 3.13 its exceptions go to the handler of the
instruction before."""

GENERATORS = 0x20 | 0x80 | 0x200
"""Flags of generators, coroutines and asynchronous generators."""


_NOISE = 1000
"""The maximum number of idle instructions between the two instructions of such a handler."""
_STOPITERATION_ERROR = 3  # the intrinsic's number in every version that has it


def table_of(entries: Iterable[tuple[int, int, int, int, bool]]) -> bytes:
    """The exception table with these entries, as ``table_entries`` reads them."""
    out = bytearray()
    for start, end, target, depth, lasti in entries:
        entry = b"".join(map(_big_varint, (start // 2, (end - start) // 2, target // 2, depth << 1 | lasti)))
        out += bytes((entry[0] | 128,)) + entry[1:]
    return bytes(out)


def _big_varint(value: int) -> bytes:
    """Six bits a byte, highest first; bit 6 says that more follow."""
    out = [value & 63]
    while value := value >> 6:
        out.append(64 | value & 63)
    return bytes(reversed(out))
