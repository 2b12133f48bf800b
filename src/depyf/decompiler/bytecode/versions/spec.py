"""The description of one CPython version that the decoder and the lowering work from.

A rule turns one raw instruction into zero or more version-free ones: it appends ``(op, arg, target, i)`` to
``cx.out``, where ``target`` is a *raw* instruction index (or -1) and ``i`` the index of the raw instruction.  A rule of
None drops the instruction; jumps to it reach the next one that is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from depyf.decompiler.bytecode import ops, prologue
from depyf.decompiler.bytecode.buried import Buried
from depyf.decompiler.bytecode.exception_table import entries
from depyf.errors import BytecodeError

if TYPE_CHECKING:
    from depyf.decompiler.bytecode.codeunit import CodeUnit
    from depyf.decompiler.bytecode.decode import Raw

INVALID = "INVALID"
"""Pseudo operation for what must never be reached; its argument is the reason.  The stack check raises it."""

SETUP = "SETUP"
POP_BLOCK = "POP_BLOCK"
MARK = "MARK"
UNMARK = "UNMARK"
PSEUDO = frozenset({SETUP, POP_BLOCK, MARK, UNMARK})
"""Pseudo operations of 3.8-3.10, see ``blockstack``; SETUP's argument is how many slots on top its block leaves out."""

Rule = Callable[["Context", int, int], None]
Prepare = Callable[["Raw", "VersionSpec"], "Raw"]
Out = tuple[str, Any, int, int]


class Table(Protocol):
    """The shape of a generated module in ``versions/data``."""

    VERSION: tuple[int, int]
    OPCODES: dict[int, str]
    CACHES: dict[str, int]
    JREL: tuple[str, ...]
    JABS: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class VersionSpec:
    """Decoding tables, indexed by opcode, and lowering rules of one version.

    ``jumps`` holds None for no jump, 0 for an absolute one, 1 for forward and -1 for backward. ``prepare`` rewrites the
    raw instructions before the rules see them. ``block_stack`` says that exception handlers come from SETUP_*
    instructions rather than from a table. ``tests_apart`` says that a branch itself never raises: the instruction
    before it made the bool. ``wraps_generators`` says that the compiler puts a handler around a generator which turns
    StopIteration into an error. ``close_skips_handlers`` says that marks at a yield tell ``close()`` whether to raise
    there. ``send_slots`` is how many slots a send loop has besides what is sent.
    """

    version: tuple[int, int]
    opnames: tuple[str | None, ...]
    caches: tuple[int, ...]
    jumps: tuple[int | None, ...]
    rules: tuple[Rule | None, ...]
    extended_arg: int
    jump_scale: int
    block_stack: bool
    tests_apart: bool
    wraps_generators: bool
    close_skips_handlers: bool
    send_slots: int
    pseudo: Mapping[str, int]
    prepare: Prepare | None = None

    def __str__(self) -> str:
        return f"CPython {self.version[0]}.{self.version[1]}"


class Context:
    """State of lowering one code object; rules read the inputs and append to ``out``.

    A rule that consumed the raw instructions up to ``k`` sets ``skip`` to ``k``.
    """

    __slots__ = (
        "buried",
        "consts",
        "is_cell",
        "localsplus",
        "names",
        "out",
        "prologue",
        "raw",
        "skip",
        "unit",
        "varnames",
    )

    def __init__(self, unit: CodeUnit, raw: Raw) -> None:
        self.unit = unit
        self.raw = raw
        self.out: list[Out] = []
        self.consts = unit.consts
        self.names = unit.names
        self.skip = 0
        self.buried: Buried | None = None
        self.varnames = unit.varnames
        if unit.version >= (3, 11):
            # One array since 3.11; a cell that is also a local (an argument) has no second slot.
            own = set(unit.varnames)
            self.localsplus = unit.varnames + tuple(n for n in unit.cellvars if n not in own) + unit.freevars
        else:
            self.localsplus = unit.cellvars + unit.freevars
        # By slot, not by name: an inlined comprehension may borrow a slot named like a free variable.
        own_cells = frozenset(unit.cellvars)
        self.is_cell = [k >= len(unit.varnames) or name in own_cells for k, name in enumerate(self.localsplus)]
        self.prologue = prologue.length(raw)

    def emit(self, op: str, arg: Any, i: int) -> None:
        self.out.append((op, arg, -1, i))

    def take_const(self, i: int, looped: bool = False) -> Any:
        """Remove the LOAD_CONST emitted just before raw instruction ``i`` and return its value.

        Sound because nothing jumps between the two (but the loop that starts at ``i``, for ``looped``); what jumps to
        the LOAD_CONST now reaches ``i`` itself.
        """
        out = self.out
        if not out or out[-1][0] != "LOAD_CONST" or out[-1][3] != i - 1 or (i in self.raw.jumped_to and not looped):
            return self._earlier_const(i)
        return out.pop()[1]

    def _earlier_const(self, i: int) -> Any:
        """The constant on top of the stack where code that a program wrote does something else between loading it and
        raw instruction ``i``: it stays where it is and is dropped here."""
        if self.buried is None:
            self.buried = Buried(self.raw, entries(self.raw) if self.unit.exctable else ())
        found = self.buried.on_top(self.out, i)
        if found < 0:
            raise self.error(i, "it does not follow the constant it needs")
        self.emit(ops.POP, None, i)
        return self.out[found][1]

    def error(self, i: int, reason: str) -> BytecodeError:
        raw = self.raw
        return BytecodeError(f"{self.unit.qualname}: {raw.names[i]} at offset {raw.offsets[i]}: {reason}")


def build_spec(
    table: Table, rules: Mapping[str, Rule | None], pseudo: tuple[str, ...] = (), prepare: Prepare | None = None
) -> VersionSpec:
    """The spec of the version that ``table`` describes; an opcode without a rule is an error where it is reached.

    ``pseudo`` names instructions that only our own passes write; they get the numbers from 256 on.
    """
    opnames: list[str | None] = [None] * 256
    caches = [0] * 256
    jumps: list[int | None] = [None] * 256
    by_opcode: list[Rule | None] = [None] * 256
    forward, absolute = frozenset(table.JREL), frozenset(table.JABS)
    extended_arg = -1
    for opcode, name in table.OPCODES.items():
        opnames[opcode] = name
        caches[opcode] = 2 * table.CACHES.get(name, 0)
        if name == "EXTENDED_ARG":
            extended_arg = opcode
        if name == "END_ASYNC_FOR":  # 3.14+: the argument only serves monitoring
            pass
        elif name in absolute:
            jumps[opcode] = 0
        elif name in forward:
            jumps[opcode] = -1 if "BACKWARD" in name else 1
        by_opcode[opcode] = rules.get(name, _unknown)
    return VersionSpec(
        version=table.VERSION,
        opnames=tuple(opnames),
        caches=tuple(caches),
        jumps=tuple(jumps),
        rules=(*by_opcode, *(rules[name] for name in pseudo)),
        extended_arg=extended_arg,
        jump_scale=2 if table.VERSION >= (3, 10) else 1,
        pseudo={name: 256 + k for k, name in enumerate(pseudo)},
        prepare=prepare,
        block_stack=table.VERSION < (3, 11),
        tests_apart=table.VERSION >= (3, 13),
        wraps_generators=table.VERSION >= (3, 12),
        close_skips_handlers=table.VERSION >= (3, 13),
        send_slots=2 if table.VERSION >= (3, 15) else 1,
    )


def _unknown(cx: Context, i: int, arg: int) -> None:
    cx.out.append((INVALID, "this instruction has no meaning here", -1, i))
