"""Turn what the user typed into code units.

``FILE`` is a ``.pyc`` (read, never executed) or a ``.py`` (compiled, never executed).  ``module:qualname`` is the only
form that runs code: it imports the module.  ``FILE:QUALNAME`` picks one function or class of a file.
"""

from __future__ import annotations

import argparse
import importlib
import inspect
import os
import sys
import types
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from depyf.bytecode.codeunit import CodeUnit
from depyf.bytecode.files.archives import is_archive, members
from depyf.bytecode.files.cache_names import parse, text_names
from depyf.bytecode.files.opening import FileReading, Opened, as_version, open_code
from depyf.cli.outcome import ExitStatus, Outcome
from depyf.cli.output import complain
from depyf.errors import BytecodeError, DepyfError
from depyf.safety.escape import file_name


class InputError(DepyfError):
    """The user named something that cannot be read."""


@dataclass(frozen=True, slots=True)
class Job:
    """One thing to decompile; ``data`` holds standard input, or what is in an archive."""

    target: str
    relative: str
    order: int
    data: bytes | None = None
    version: tuple[int, int] | None = None
    """Of ``data`` that is bare marshal data."""


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
            elif os.path.isfile(text) and is_archive(text):
                found, bad = _in_archive(text, order)
                jobs += found
                unreadable += bad
            else:
                check_exists(text)
                jobs.append(Job(text, output_name(text), order))
        except (InputError, BytecodeError, OSError) as error:
            unreadable.append(Outcome(text, "", order, ExitStatus.UNREADABLE, error=str(error)))
    return jobs, unreadable


def below(folder: Path) -> Iterator[tuple[Path, str]]:
    """Every ``.pyc`` below a folder, sorted, with the name its text gets: ``__pycache__/x.cpython-311.pyc`` is ``x.py``."""
    paths = sorted(path for path in folder.rglob("*.pyc") if path.is_file())
    return zip(paths, text_names([path.relative_to(folder).parts for path in paths], list(map(_head, paths))))


def _head(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(4)
    except OSError:
        return b""


def _in_archive(path: str, order: int) -> tuple[list[Job], list[Outcome]]:
    """Jobs for what is in an archive, and outcomes for what cannot be unpacked."""
    found = members(path)
    names = text_names([one.parts for one in found], [one.data[:4] for one in found])
    jobs: list[Job] = []
    bad: list[Outcome] = []
    for number, (member, name) in enumerate(zip(found, names)):
        target = f"{path}:{member.name}"
        if member.error:
            bad.append(Outcome(target, "", order + number, ExitStatus.UNREADABLE, error=member.error))
        else:
            jobs.append(Job(target, name, order + number, member.data, member.version))
    return jobs, bad


def output_name(target: str) -> str:
    """The file name for one target on the command line."""
    if os.path.isfile(target):
        path = Path(target)
        return file_name(parse(path.parts[-2:]).stem if path.suffix == ".pyc" else path.stem, ".py")
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


def find_unit(target: str, version: str | None = None) -> CodeUnit:
    """The code a target names; raises InputError or BytecodeError.  Says how it was read, where that is in doubt."""
    opened = find_code(target, version=version)
    if opened.problem:
        complain(opened.note())
    return opened.unit


def find_code(target: str, data: bytes | None = None, version: str | None = None) -> Opened:
    """The code a target names, or what is in ``data``, and how it was read; raises InputError or BytecodeError."""
    if data is not None:
        return open_code(data, version, name=target)
    check_exists(target)
    if os.path.isfile(target):
        return open_file(target, version)
    head, _, qualname = target.rpartition(":")
    if os.path.isfile(head):
        return picked(open_file(head, version), qualname, head)
    return Opened((FileReading(CodeUnit.from_code(code_of_object(head, qualname)), 0),))


def open_file(path: str, version: str | None = None) -> Opened:
    """The code of a ``.py`` file, which is compiled, or of any other, which is read."""
    if not path.endswith(".py"):
        try:
            return open_code(Path(path).read_bytes(), version, name=os.path.basename(path))
        except OSError as error:
            raise InputError(f"cannot read {path}: {error.strerror}") from error
        except BytecodeError as error:
            raise InputError(str(error)) from error
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            code = compile(Path(path).read_bytes(), path, "exec", dont_inherit=True)
            return Opened((FileReading(CodeUnit.from_code(code), 0),))
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from error
    except (SyntaxError, ValueError, OverflowError, RecursionError, MemoryError) as error:
        raise InputError(f"{path} does not compile: {error or type(error).__name__}") from error


def part_of(target: str, version: str | None = None) -> tuple[CodeUnit, CodeUnit] | None:
    """The code of the file in ``FILE:QUALNAME`` and that of the part; None for other targets, and where the version is in doubt."""
    head, colon, qualname = target.rpartition(":")
    if not colon or os.path.exists(target) or not os.path.isfile(head):
        return None
    opened = open_file(head, version)
    if len(opened.readings) > 1 or opened.problem:
        return None
    return opened.unit, pick(opened.unit, qualname, head)


def picked(opened: Opened, qualname: str, where: str) -> Opened:
    """The readings of a file with what has this qualified name in the place of all."""
    readings = [one._replace(unit=pick(one.unit, qualname, where)) for one in opened.readings]
    return opened._replace(readings=tuple(readings), data=b"")


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


def add_version_option(parser: argparse.ArgumentParser) -> None:
    """``--version X.Y`` of the commands that read bytecode."""
    parser.add_argument(
        "--version",
        type=_version,
        metavar="X.Y",
        help="the CPython that wrote a file whose header does not say so (default: found by trying)",
    )


def _version(text: str) -> str:
    try:
        as_version(text)
    except BytecodeError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    return text
