"""Lowered code under construction: resolved targets, dead code still in."""

from __future__ import annotations

from typing import Any

from depyf.decompiler.bytecode.codeunit import CodeUnit
from depyf.decompiler.bytecode.decode import Raw
from depyf.decompiler.bytecode.ops import Handler
from depyf.errors import BytecodeError


class Draft:
    """Columns with one entry per version-free instruction.

    ``source[i]`` is the raw instruction that ``i`` came from, ``targets[i]`` an index into the same columns or -1,
    ``handler[i]`` indexes ``handlers`` or is -1; ``wrapped`` tells, by raw instruction, where a generator's wrapper is.
    ``loops`` has a raw SEND and the depth of its loop's handler, ``split`` the instructions of ``Protection.split`` and
    the handlers of those before.
    """

    __slots__ = ("args", "handler", "handlers", "loops", "ops", "raw", "source", "split", "targets", "unit", "wrapped")

    def __init__(self, unit: CodeUnit, raw: Raw) -> None:
        self.unit = unit
        self.raw = raw
        self.ops: list[str] = []
        self.args: list[Any] = []
        self.targets: list[int] = []
        self.source: list[int] = []
        self.handler: list[int] = []
        self.handlers: list[Handler] = []
        self.wrapped = bytearray()
        self.loops: list[tuple[int, int]] = []
        self.split: list[tuple[int, int]] = []

    def error(self, i: int, reason: str) -> BytecodeError:
        where = f"{self.raw.names[self.source[i]]} at offset {self.raw.offsets[self.source[i]]}"
        return BytecodeError(f"{self.unit.qualname}: {where}: {reason}")
