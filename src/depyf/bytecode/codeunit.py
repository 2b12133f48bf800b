"""A frozen, host-independent view of one code object, live or read from a ``.pyc``."""

from __future__ import annotations

import types
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True, eq=False)
class CodeUnit:
    """What a code object says, whatever interpreter wrote it.

    ``version`` is ``(major, minor)`` of the writer.  ``consts`` holds nested code objects as ``CodeUnit``; every
    other constant is the live object (Dynamo puts dtypes, functions and modules there).  ``exctable`` is empty
    before 3.11.  ``lines`` maps a byte offset to a source line for every instruction that has one.
    """

    version: tuple[int, int]
    name: str
    qualname: str
    filename: str
    firstlineno: int
    argcount: int
    posonlyargcount: int
    kwonlyargcount: int
    nlocals: int
    stacksize: int
    flags: int
    code: bytes
    consts: tuple[Any, ...]
    names: tuple[str, ...]
    varnames: tuple[str, ...]
    cellvars: tuple[str, ...]
    freevars: tuple[str, ...]
    linetable: bytes
    exctable: bytes
    live: types.CodeType | None = field(default=None, repr=False)
    """The code object of the running interpreter this was made from, if it was."""

    @property
    def params(self) -> tuple[str, ...]:
        """Parameter names in signature order, ``*args`` and ``**kwargs`` included."""
        count = self.argcount + self.kwonlyargcount + bool(self.flags & CO_VARARGS) + bool(self.flags & CO_VARKEYWORDS)
        return self.varnames[:count]


CO_OPTIMIZED = 0x1
CO_NEWLOCALS = 0x2
CO_VARARGS = 0x4
CO_VARKEYWORDS = 0x8
CO_NESTED = 0x10
CO_GENERATOR = 0x20
CO_COROUTINE = 0x80
CO_ITERABLE_COROUTINE = 0x100
CO_ASYNC_GENERATOR = 0x200
CO_FUTURE_ANNOTATIONS = 0x1000000
