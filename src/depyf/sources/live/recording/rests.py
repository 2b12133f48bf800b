"""The resume functions of one function, each shown up to the next.

After a graph break torch makes a function of all that is left, so that N breaks leave N copies of the rest.  Here each
instruction is shown once, in the last resume function that comes to it; those before it go on there by reference.

Input: the live code of resume functions that continue one function.  Output: for each a ``Share``; the work for all of
them together grows with the size of the function, not with its square.
"""

from __future__ import annotations

import re
import types
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from depyf.decompiler.bytecode.host.assemble import NOWHERE, positions_of
from depyf.decompiler.bytecode.host.excerpt import Mark, Walk, ends, jump_target, shortened, steps, walk
from depyf.decompiler.bytecode.host.listing import Listed
from depyf.decompiler.bytecode.tables.written_lines import Position
from depyf.decompiler.emit.comments import remark, source_lines
from depyf.run.global_names import goes_on_name

Function = tuple[int, str]


@dataclass(frozen=True, slots=True)
class Reference:
    """The place where a text continues: at the start of ``function`` or inside it, at the program's ``line``."""

    function: Function
    at_start: bool
    line: int | None
    stack: tuple[bool, ...] = ()
    """The slots on top of the stack then: whether each holds a value, which is handed on."""


@dataclass(frozen=True, slots=True)
class Share:
    """The part of a resume function that its page shows."""

    walked: Walk
    references: Mapping[int, Reference]
    """Offset in the code -> where it goes on instead."""
    position: Callable[[int], Position]

    def code(self) -> types.CodeType:
        """Code that ends in a mark for each reference.  BytecodeError where it cannot be assembled."""
        marks = {at: Mark(_MARK.format(number), found.stack) for number, (at, found) in enumerate(self._ordered())}
        return shortened(self.walked, marks, self.position)

    def with_references(self, source: str, called: Callable[[Function], str]) -> str:
        """``source``, the text of ``code()``, with each mark replaced by a call.  ``called``: the name of a function's
        text."""
        for number, (_, found) in enumerate(self._ordered()):
            source = _replaced(source, number, found, called(found.function))
        return source

    @property
    def goes_on(self) -> tuple[int, ...]:
        """The program's lines at which the text continues in the middle of another text."""
        found = (one.line for _, one in self._ordered() if not one.at_start)
        return tuple(dict.fromkeys(line for line in found if line is not None))

    def part(self, file: Callable[[Function], str]) -> Listed:
        """The instructions to list.  ``file``: the name of the file that lists another function."""
        notes = {at: f"and so on, as in {file(found.function)}" for at, found in self.references.items()}
        return Listed(self.walked.ops.keys(), notes, lambda offset: self.position(offset)[0])

    def _ordered(self) -> list[tuple[int, Reference]]:
        return sorted(self.references.items())


def shares(family: Mapping[Function, types.CodeType]) -> dict[Function, Share]:
    """The part to show of each resume function of one function, where several end with the same code; {} where none
    do."""
    members = [member for function, code in family.items() if (member := _member(function, code)) is not None]
    if len(members) < 2:
        return {}
    length = min(len(member.raw) - member.body for member in members)
    groups: dict[bytes, list[_Member]] = {}
    for member in members:  # torch copies the instructions; only their arguments may differ
        groups.setdefault(member.raw[len(member.raw) - length :: 2], []).append(member)
    found: dict[Function, Share] = {}
    for group in groups.values():
        found.update(_shared_out(group, length))
    return found


@dataclass(frozen=True)
class _Member:
    """A resume function: its prologue ends before ``body`` and leads to ``start``."""

    function: Function
    code: types.CodeType
    raw: bytes
    body: int
    start: int
    stack: tuple[bool, ...]
    """What the prologue leaves on top of the stack: parameters (True) and NULLs."""

    @cached_property
    def positions(self) -> list[Position]:
        return positions_of(self.code)

    def from_end(self, offset: int) -> int:
        return len(self.raw) - offset

    def at(self, distance: int) -> Position:
        """The place in the source of what begins so far from the end."""
        return self.positions[(len(self.raw) - distance) // 2]


_EFFECTS = {
    "RESUME": (0, 0), "COPY_FREE_VARS": (0, 0), "NOP": (0, 0), "LOAD_CONST": (0, 1), "LOAD_SMALL_INT": (0, 1),
    "STORE_FAST": (1, 0), "POP_TOP": (1, 0), "BINARY_SUBSCR": (2, 1), "BINARY_OP": (2, 1), "STORE_SUBSCR": (3, 0),
}  # fmt: skip
"""How many slots an instruction of a prologue takes, and how many it leaves."""


def _member(function: Function, code: types.CodeType) -> _Member | None:
    """None where ``code`` does not begin as a resume function does: what is on the stack, then a jump."""
    raw = code.co_code
    stack: list[bool] = []
    for op, end in steps(raw, 0):
        target = None if op.name.startswith("SETUP_") else jump_target(op, end)  # a handler's, up to 3.10
        if target is not None:
            return _Member(function, code, raw, end, target, tuple(stack)) if ends(op) and target >= end else None
        if ends(op):
            break
        if op.name.startswith("LOAD_FAST") or op.name == "PUSH_NULL":
            stack.append(op.name != "PUSH_NULL")
        elif op.name in _EFFECTS:
            takes, gives = _EFFECTS[op.name]
            stack = stack[: max(len(stack) - takes, 0)] + [True] * gives
        else:  # a context manager that is entered again: what is below it is no value
            stack = [True] * op.name.startswith("CALL_FUNCTION_EX")
    return None


def _shared_out(group: Iterable[_Member], length: int) -> dict[Function, Share]:
    """The last one has its whole rest, those before it what no later one has; ``length`` bytes at the end are
    common."""
    owners: dict[int, _Member] = {}
    """Distance from the end of the code -> who shows the instruction there."""
    found: dict[Function, Share] = {}
    in_order = sorted(group, key=lambda member: member.from_end(member.start))
    longest = in_order[-1]
    for member in in_order:

        def place(offset: int, of: _Member = member) -> int:
            """The distance of what all of them have; 0 for the prologue."""
            distance = of.from_end(offset)
            return distance if offset >= of.body and distance <= length else 0

        def position(offset: int, place: Callable[[int], int] = place) -> Position:
            return longest.at(distance) if (distance := place(offset)) else NOWHERE

        walked = walk(member.code, lambda offset: place(offset) in owners)
        references = {}
        for offset in walked.cuts:
            owner = owners[place(offset)]
            at_start = owner.from_end(owner.start) == place(offset)
            line = longest.at(place(offset))[0]
            references[offset] = Reference(owner.function, at_start, line, owner.stack if at_start else ())
        found[member.function] = Share(walked, references, position)
        owners.update((distance, member) for offset in walked.unraised if (distance := place(offset)))
    return found


_MARK = "\x01goes on {}\x01"
_WRITTEN = r"""(["'])\\x01goes on {}\\x01\1"""


def _replaced(source: str, number: int, found: Reference, called: str) -> str:
    """``raise (value, mark)`` -> ``return called(value, ...)``."""
    written = re.search(_WRITTEN.format(number), source)
    if written is None:
        return source
    start = source.rfind("raise ", 0, written.start())
    before = source[start + len("raise ") : written.start()]
    end = written.end() + (source[written.end()] == ")" if before.startswith("(") else 0)
    name = called if found.at_start else goes_on_name(found.line)
    where = f"the rest, from line {found.line} on" if found.line is not None else "the rest"
    call = f"return {name}({before.removeprefix('(')}...)"
    lines = source_lines(f"{source[:start]}{call}{source[end:]}")
    at = source[:start].count("\n") + call.count("\n")
    lines[at] = remark(lines[at], where if found.at_start else f"{where}, is in {called}")
    return "\n".join(lines)
