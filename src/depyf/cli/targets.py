"""Turn what the user typed into code units.

``FILE`` is a ``.pyc`` (read, never executed) or a ``.py`` (compiled, never executed).  ``module:qualname`` is the only
form that runs code: it imports the module.  ``FILE:QUALNAME`` picks one function or class of a file.
"""

from __future__ import annotations

import importlib
import inspect
import itertools
import os
import sys
import types
import unicodedata
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from depyf.bytecode.codeunit import CodeUnit
from depyf.cli.outcome import ExitStatus, Outcome
from depyf.errors import BytecodeError, DepyfError
from depyf.safety.escape import file_name


class InputError(DepyfError):
    """The user named something that cannot be read."""


@dataclass(frozen=True, slots=True)
class Job:
    """One thing to decompile; ``data`` holds standard input."""

    target: str
    relative: str
    order: int
    data: bytes | None = None


def resolve(paths: list[str]) -> tuple[list[Job], list[Outcome]]:
    """Jobs for everything the command line names, and outcomes for what cannot be read."""
    jobs: list[Job] = []
    unreadable: list[Outcome] = []
    for text in paths:
        order = len(jobs) + len(unreadable)
        try:
            if text == "-":
                jobs.append(Job("-", "stdin.py", order, sys.stdin.buffer.read() if sys.stdin is not None else b""))
            elif os.path.isdir(text):
                found = [Job(str(path), name, order + i) for i, (path, name) in enumerate(below(Path(text)))]
                if not found:
                    raise InputError(f"no .pyc file below {text}")
                jobs += found
            else:
                check_exists(text)
                jobs.append(Job(text, output_name(text), order))
        except (InputError, OSError) as error:
            unreadable.append(Outcome(text, "", order, ExitStatus.UNREADABLE, error=str(error)))
    return jobs, unreadable


def below(folder: Path) -> Iterator[tuple[Path, str]]:
    """Every ``.pyc`` below a folder, sorted, with the name its text gets: ``__pycache__/x.cpython-311.pyc`` is ``x.py``."""
    paths = sorted(path for path in folder.rglob("*.pyc") if path.is_file())
    taken: set[str] = set()
    for path in paths:
        relative = path.relative_to(folder)
        parent = relative.parent.parent if relative.parent.name == "__pycache__" else relative.parent
        stem = relative.stem.split(".")[0] if relative.parent.name == "__pycache__" else relative.stem
        names = _names(parent, stem, relative.stem)
        name = next(name for name in names if same_file(name) not in taken)
        taken.add(same_file(name))
        yield path, name


def _names(parent: Path, stem: str, tagged: str) -> Iterator[str]:
    """First the name of the module; the same module compiled by two interpreters keeps the tag; a number comes last."""
    folder = Path(*map(file_name, parent.parts))
    yield str(folder / file_name(stem, ".py"))
    yield str(folder / file_name(tagged, ".py"))
    for number in itertools.count(2):
        yield str(folder / file_name(f"{tagged}_{number}", ".py"))


def same_file(name: str) -> str:
    """The same text for names that some file system takes for one."""
    return unicodedata.normalize("NFC", os.path.normpath(name)).casefold()


def output_name(target: str) -> str:
    """The file name for one target on the command line."""
    if os.path.isfile(target):
        path = Path(target)
        stem = path.stem.split(".")[0] if path.parent.name == "__pycache__" else path.stem
        return file_name(stem, ".py")
    return file_name(target.replace(os.sep, ".").replace(":", "."), ".py")


def check_exists(target: str) -> None:
    """Complain early about a target that is neither a file nor looks like ``something:name``."""
    if os.path.isfile(target):
        return
    head, colon, _ = target.rpartition(":")
    if os.path.isdir(target):
        raise InputError(f"{target} is a folder: name a file in it")
    if os.path.exists(target):
        raise InputError(
            f"{target} is neither a file nor a folder: depyf reads no pipes and devices (`-` is standard input)"
        )
    if not colon:
        hint = "; for an importable object write module:qualname" if target.isidentifier() else ""
        raise InputError(f"no such file or folder: {target}{hint}")
    if os.sep in head and not os.path.isfile(head):
        raise InputError(f"no such file: {head}")


def find_unit(target: str, data: bytes | None = None) -> CodeUnit:
    """The code a target names; raises InputError or BytecodeError."""
    if data is not None:
        from depyf.bytecode.files.pyc import unit_of_pyc

        return unit_of_pyc(data)
    check_exists(target)
    if os.path.isfile(target):
        return unit_of_file(target)
    head, _, qualname = target.rpartition(":")
    if os.path.isfile(head):
        return pick(unit_of_file(head), qualname, head)
    return CodeUnit.from_code(code_of_object(head, qualname))


def unit_of_file(path: str) -> CodeUnit:
    if not path.endswith(".py"):
        from depyf.bytecode.files.pyc import read_pyc

        try:
            return read_pyc(path)
        except OSError as error:
            raise InputError(f"cannot read {path}: {error.strerror}") from error
        except BytecodeError as error:
            raise InputError(str(error).removeprefix(f"{path}: ")) from error
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return CodeUnit.from_code(compile(Path(path).read_bytes(), path, "exec", dont_inherit=True))
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from error
    except (SyntaxError, ValueError, OverflowError, RecursionError, MemoryError) as error:
        raise InputError(f"{path} does not compile: {error or type(error).__name__}") from error


def pick(unit: CodeUnit, qualname: str, where: str) -> CodeUnit:
    """The nested unit with this qualified name; before 3.11 code has no such name, so the path of names decides."""
    names = []
    todo: list[tuple[CodeUnit, str]] = [(unit, "")]
    while todo:
        parent, prefix = todo.pop(0)
        for const in parent.consts:
            if isinstance(const, CodeUnit):
                path = f"{prefix}.{const.name}" if prefix else const.name
                if qualname in (path, const.qualname):
                    return const
                names.append(path)
                todo.append((const, path))
    known = ", ".join(name for name in names if "<" not in name)
    raise InputError(f"{where} has no {qualname!r}; it has: {known or 'no functions'}")


def code_of_object(module: str, qualname: str) -> types.CodeType:
    """Import the module and follow the dotted name to something with a code object."""
    try:
        sys.path.insert(0, os.getcwd())
        found: Any = importlib.import_module(module)
    except (Exception, SystemExit) as error:
        raise InputError(f"cannot import {module}: {type(error).__name__}: {error}") from error
    finally:
        sys.path.pop(0)
    for name in qualname.split("."):
        try:
            found = inspect.getattr_static(found, name) if isinstance(found, type) else getattr(found, name)
        except Exception:  # whatever a property raises
            raise InputError(f"{module} has no {qualname!r}") from None
    for attribute in ("fget", "__func__", "__wrapped__"):
        if not hasattr(found, "__code__") and getattr(found, attribute, None) is not None:
            found = getattr(found, attribute)
    code = getattr(found, "__code__", None)
    if not isinstance(code, types.CodeType):
        raise InputError(f"{module}:{qualname} has no bytecode: it is a {type(found).__name__}")
    return code
