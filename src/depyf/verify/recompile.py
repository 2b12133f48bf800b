"""Compile decompiled text with the Python version that wrote the original, and find the code object that was asked for.

Input: source text, a version, and the path of names from the module to the code object.  Output: ``Recompiled``; with
the running interpreter's own version it holds the live code object too.  The source is never executed.
"""

from __future__ import annotations

import ast
import contextlib
import re
import sys
import types
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from depyf.bytecode.codeunit import CodeUnit
from depyf.bytecode.set_order import filling_order
from depyf.bytecode.unmarshal import loads
from depyf.errors import BytecodeError, DepyfError
from depyf.verify.worker import SET, WorkerError, worker_for


class RecompileError(DepyfError):
    """The text does not compile, or the code object is not in it; ``lineno`` is set for a syntax error."""

    def __init__(self, message: str, lineno: int | None = None) -> None:
        self.lineno = lineno
        super().__init__(message)


@dataclass(frozen=True, slots=True)
class Recompiled:
    """The code object at the end of the path, and the one of the whole text; ``code`` only from this interpreter."""

    unit: CodeUnit
    module: CodeUnit
    code: types.CodeType | None = field(default=None, repr=False)


def recompile(
    text: str,
    version: tuple[int, int],
    path: tuple[str, ...] = (),
    *,
    flags: int = 0,
    optimize: int = 0,
    filename: str = "<depyf>",
    mode: str = "exec",
) -> Recompiled:
    """Compile ``text`` and follow ``path`` into it.

    ``flags`` are compiler flags (``__future__``); none is inherited from the caller.  ``mode`` is that of ``compile``;
    with "single" there may be several statements.  Raises ``RecompileError``.
    """
    if sys.version_info[:2] == version and sys.implementation.name == "cpython":
        code = compile_here(text, filename, flags, optimize, mode)
        found = dig(code, path)
        unit = CodeUnit.from_code(code)
        return Recompiled(dig_unit(unit, path), unit, found)
    try:
        unit = loads(worker_for(version).compile(text, flags, optimize, mode, sets=True), version)
    except (WorkerError, BytecodeError) as error:
        line = re.search(r"SyntaxError.*line (\d+)", str(error), re.DOTALL)
        raise RecompileError(str(error), int(line.group(1)) if line else None) from None
    if not isinstance(unit, CodeUnit):
        raise RecompileError("the other interpreter did not answer with a code object")
    unit = _with_sets(unit)
    return Recompiled(dig_unit(unit, path), unit)


def _with_sets(value: Any) -> Any:
    """What a worker's answer holds, with the sets that tuples stand for in it."""
    if type(value) is tuple and value[:1] == (SET,):
        return frozenset(filling_order(value[1:]) or value[1:])
    parts = value.consts if type(value) is CodeUnit else value if type(value) is tuple else ()
    new = tuple(map(_with_sets, parts))
    if all(one is other for one, other in zip(new, parts)):
        return value
    return replace(value, consts=new) if type(value) is CodeUnit else new


_IGNORED = [("ignore", None, category, None, 0) for category in (SyntaxWarning, DeprecationWarning)]


@contextlib.contextmanager
def compiler_warnings_ignored() -> Iterator[None]:
    """Inside, the compiler warns of nothing.

    Not ``warnings.catch_warnings``: that makes Python forget which warnings of the program were shown before, so that it
    shows them once more.
    """
    found: Any = getattr(warnings, "_get_filters", None)  # 3.14: those of the context
    filters: Any = found() if found is not None else warnings.filters
    filters[:0] = _IGNORED
    try:
        yield
    finally:
        for ignored in _IGNORED:
            if ignored in filters:
                filters.remove(ignored)


def compile_here(
    text: str, filename: str = "<depyf>", flags: int = 0, optimize: int = 0, mode: str = "exec"
) -> types.CodeType:
    """``compile`` without inherited flags and without warnings; every failure is a ``RecompileError``."""
    try:
        with compiler_warnings_ignored():
            source: Any = text
            if mode == "single":
                tree = compile(text, filename, "exec", flags | ast.PyCF_ONLY_AST, True)
                source = ast.Interactive(tree.body)
            code = compile(source, filename, mode, flags, True, optimize)
    except (SyntaxError, ValueError, OverflowError, RecursionError, MemoryError, SystemError) as error:
        lineno = error.lineno if isinstance(error, SyntaxError) else None
        raise RecompileError(f"{type(error).__name__}: {error}", lineno) from None
    assert isinstance(code, types.CodeType)
    return code


def dig(code: types.CodeType, path: tuple[str, ...]) -> types.CodeType:
    """The first code object of each name in turn."""
    for name in path:
        inner = next((item for item in code.co_consts if type(item) is types.CodeType and item.co_name == name), None)
        if inner is None:
            raise RecompileError(f"{code.co_name} holds no code object {name}")
        code = inner
    return code


def dig_unit(unit: CodeUnit, path: tuple[str, ...]) -> CodeUnit:
    """``dig`` for code units."""
    for name in path:
        inner = next((item for item in unit.consts if type(item) is CodeUnit and item.name == name), None)
        if inner is None:
            raise RecompileError(f"{unit.name} holds no code object {name}")
        unit = inner
    return unit
