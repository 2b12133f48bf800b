"""Compiles decompiled text with the Python version that wrote the original, and finds the requested code object.

Input: source text, a version, and the path of names from the module to the code object.  Output: ``Recompiled``; with
the running interpreter's own version it holds the live code object too.  The source is never executed.
"""

from __future__ import annotations

import ast
import marshal
import re
import sys
import threading
import types
from dataclasses import dataclass, field, replace
from typing import Any

from depyf.decompiler.bytecode.codeunit import CodeUnit, nested_codes, nested_units
from depyf.decompiler.bytecode.files.unmarshal import loads
from depyf.decompiler.bytecode.tables.set_order import filling_order
from depyf.decompiler.verify.recompiling.worker import SET, WorkerError, own_worker, worker_for
from depyf.errors import BytecodeError, DepyfError
from depyf.safety.depth import any_depth
from depyf.safety.silent import silent
from depyf.safety.unheard import spelled_out, warns


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
    except WorkerError as error:
        raise _refused_there(error) from None
    except BytecodeError as unread:
        raise RecompileError(str(unread)) from None
    if not isinstance(unit, CodeUnit):
        raise RecompileError("the other interpreter did not answer with a code object")
    unit = _with_sets(unit)
    return Recompiled(dig_unit(unit, path), unit)


def _with_sets(value: Any) -> Any:
    """What a worker's answer holds, with the tuples that encode sets turned back into sets."""
    if type(value) is tuple and value[:1] == (SET,):
        return frozenset(filling_order(value[1:]) or value[1:])
    is_code = isinstance(value, types.CodeType)
    parts = value.co_consts if is_code else value.consts if type(value) is CodeUnit else value
    if type(parts) is not tuple:
        return value
    new = _all_with_sets(parts)
    if all(one is other for one, other in zip(new, parts)):
        return value
    return value.replace(co_consts=new) if is_code else replace(value, consts=new) if type(value) is CodeUnit else new


@any_depth
def _all_with_sets(parts: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple([_with_sets(part) for part in parts])


def compile_here(text: str, filename: str, flags: int, optimize: int, mode: str) -> types.CodeType:
    """``compile`` without inherited flags; every failure is a ``RecompileError``.

    It is done by the worker process of this version where the compiler might warn, for the program around us would hear
    it, and where the text might nest too deeply for the stack: that of the main thread is known to be large.
    """
    # not current_thread(), which makes an object, and a number, for depyf's thread
    worker = None if threading.get_ident() == threading.main_thread().ident else own_worker()
    source = _unheard(text, filename, flags, mode) if worker is None else None
    if source is not None:
        try:
            return _code(compile(source, filename, mode, flags, True, optimize))
        except (RecursionError, MemoryError):
            pass
        except (SyntaxError, ValueError, OverflowError, SystemError) as refusal:
            raise _refused(refusal) from None
    worker = worker or own_worker()
    if worker is None:
        raise RecompileError(
            "no Python of this version to compile the text with in another process: sys.executable is none that starts"
        )
    try:
        return _code(_with_sets(marshal.loads(worker.compile(text, flags, optimize, mode, filename, sets=True))))
    except WorkerError as error:
        raise _refused_there(error) from None


def _unheard(text: str, filename: str, flags: int, mode: str) -> str | ast.Module | ast.Interactive | None:
    """``text``, or its tree, to compile here; None where the compiler might warn, or cannot go so deep."""
    if spelled_out(text) != text:
        return None
    if mode != "single" and silent(text):
        return text
    try:
        tree = compile(text, filename, "exec", flags | ast.PyCF_ONLY_AST, True)
    except (RecursionError, MemoryError):
        return None
    except (SyntaxError, ValueError, OverflowError, SystemError) as error:
        raise _refused(error) from None
    assert isinstance(tree, ast.Module)
    if warns(tree):
        return None
    return ast.Interactive(tree.body) if mode == "single" else tree if mode == "exec" else text


def _code(code: Any) -> types.CodeType:
    assert isinstance(code, types.CodeType)
    return code


def _refused(error: Exception) -> RecompileError:
    if isinstance(error, SyntaxError) and error.lineno:
        return RecompileError(f"{type(error).__name__}: {error.msg}", error.lineno)
    return RecompileError(f"{type(error).__name__}: {error}")


def _refused_there(error: WorkerError) -> RecompileError:
    """As ``_refused``, of what another process said."""
    found = re.fullmatch(r"(.*) \(line (\d+)\)", str(error), re.DOTALL)
    return RecompileError(found[1], int(found[2])) if found else RecompileError(str(error))


def dig(code: types.CodeType, path: tuple[str, ...]) -> types.CodeType:
    """The first code object of each name in turn."""
    for name in path:
        inner = next((item for item in nested_codes(code) if item.co_name == name), None)
        if inner is None:
            raise RecompileError(f"{code.co_name} holds no code object {name}")
        code = inner
    return code


def dig_unit(unit: CodeUnit, path: tuple[str, ...]) -> CodeUnit:
    """``dig`` for code units."""
    for name in path:
        inner = next((item for item in nested_units(unit) if item.name == name), None)
        if inner is None:
            raise RecompileError(f"{unit.name} holds no code object {name}")
        unit = inner
    return unit
