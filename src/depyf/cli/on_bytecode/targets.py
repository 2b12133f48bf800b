"""Turn what the user typed into code units.

``FILE`` is a ``.pyc`` (read, never executed) or a ``.py`` (compiled, never executed).  ``module:qualname`` is the only
form that runs code: it imports the module.  ``FILE:QUALNAME`` picks one function or class of a file, ``ARCHIVE:MEMBER``
one file of an archive, ``ARCHIVE:MEMBER:QUALNAME`` both.
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

from depyf.cli.exit_status import ExitStatus
from depyf.cli.input_errors import InputError
from depyf.cli.outcome import Outcome
from depyf.cli.output import complain
from depyf.decompiler.bytecode.codeunit import CodeUnit
from depyf.decompiler.bytecode.files.archives import Member, is_archive, members
from depyf.decompiler.bytecode.files.cache_names import parse, text_names
from depyf.decompiler.bytecode.files.opening import FileReading, Opened, as_version, open_code, open_marshal
from depyf.errors import BytecodeError
from depyf.safety.escape import file_name

_NAMED = 10
"""How many members of an archive are named where there is none of the name that was asked for."""


@dataclass(frozen=True, slots=True)
class Job:
    """One thing to decompile; ``data`` holds standard input, or what is in an archive."""

    target: str
    relative: str
    order: int
    data: bytes | None = None
    version: tuple[int, int] | None = None
    """Of ``data`` that is bare marshal data."""
    part: str = ""
    """The qualified name of what is meant, of all that is in ``data``."""


def resolve(paths: list[str]) -> tuple[list[Job], list[Outcome]]:
    """The jobs for all paths on the command line, and outcomes for those that cannot be read.  InputError for a folder
    without ``.pyc`` files."""
    jobs: list[Job] = []
    unreadable: list[Outcome] = []
    for text in paths:
        order = len(jobs) + len(unreadable)
        try:
            if text == "-":
                data = sys.stdin.buffer.read() if sys.stdin is not None else b""
                if is_archive(data):
                    found, bad = _in_archive(text, order, data)
                    jobs += found
                    unreadable += bad
                else:
                    jobs.append(Job("-", "stdin.py", order, data))
            elif os.path.isdir(text):
                found = [Job(str(path), name, order + i) for i, (path, name) in enumerate(below(Path(text)))]
                if not found:
                    raise InputError("no .pyc file is below it")
                jobs += found
            elif os.path.isfile(text) and is_archive(text):
                found, bad = _in_archive(text, order)
                jobs += found
                unreadable += bad
            elif (inside := _in_named_archive(text)) is not None:
                member, part = _member(*inside)
                name = output_name(text) if part else text_names([member.parts], [member.data[:4]])[0]
                jobs.append(Job(text, name, order, member.data, member.version, part))
            else:
                if problem := problem_of(text):
                    raise InputError(problem)
                jobs.append(Job(text, output_name(text), order))
        except (InputError, BytecodeError, OSError) as error:
            unreadable.append(Outcome(text, "", order, ExitStatus.UNREADABLE, error=str(error)))
    return jobs, unreadable


def below(folder: Path) -> Iterator[tuple[Path, str]]:
    """Every ``.pyc`` below a folder, sorted, with the name its text gets: ``__pycache__/x.cpython-311.pyc`` is
    ``x.py``."""
    paths = sorted(path for path in folder.rglob("*.pyc") if path.is_file())
    return zip(paths, text_names([path.relative_to(folder).parts for path in paths], list(map(_head, paths))))


def _head(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(4)
    except OSError:
        return b""


def _in_named_archive(target: str) -> tuple[str, str] | None:
    """The archive in ``ARCHIVE:MEMBER``, and what follows; None for other targets."""
    for at, character in enumerate(target):
        if character == ":" and os.path.isfile(target[:at]) and is_archive(target[:at]):
            return target[:at], target[at + 1 :]
    return None


def _member(path: str, name: str) -> tuple[Member, str]:
    """The member of this name, and the qualified name that may follow it.  Raises InputError, BytecodeError."""
    found = {"/".join(member.parts): member for member in members(path)}
    head, colon, part = name.rpartition(":")
    for wanted, rest in ((name, ""), (head, part)) if colon else ((name, ""),):
        member = found.get("/".join(Member(wanted).parts))
        if member is not None:
            if member.error:
                raise InputError(member.error)
            return member, rest
    known = ", ".join(list(found)[:_NAMED]) + (f" and {len(found) - _NAMED} more" if len(found) > _NAMED else "")
    raise InputError(f"{path} has no {name!r}; it has: {known}")


def _in_archive(path: str, order: int, data: bytes | None = None) -> tuple[list[Job], list[Outcome]]:
    """Jobs for what is in an archive, which may have been read, and outcomes for what cannot be unpacked."""
    found = members(path if data is None else data)
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
    """InputError for a target that is neither a file nor of the form ``something:name``, with a hint."""
    if problem := problem_of(target):
        raise InputError(f"{target}: {problem}")


def problem_of(target: str) -> str:
    """Why a target is neither a file nor of the form ``something:name``; "" if it is."""
    if os.path.isfile(target):
        return ""
    head, colon, _ = target.rpartition(":")
    if os.path.isdir(target):
        return "it is a folder: name a file in it"
    if os.path.exists(target):
        return "it is neither a file nor a folder: depyf reads no pipes and devices (`-` is standard input)"
    if not colon:
        hint = "; for an importable object write module:qualname" if target.isidentifier() else ""
        return f"there is no such file or folder{hint}"
    return f"there is no file {head}" if os.sep in head and not os.path.isfile(head) else ""


def find_unit(target: str, version: str | None = None) -> CodeUnit:
    """The code that a target names.  A remark says how it was read, where that is in doubt.  InputError or
    BytecodeError where it cannot be read."""
    opened = find_code(target, version=version)
    if opened.problem:
        complain(opened.note())
    return opened.unit


def find_code(target: str, data: bytes | None = None, version: str | None = None) -> Opened:
    """The code that a target names, or that ``data`` holds, and how it was read.  InputError or BytecodeError where it
    cannot be read."""
    if data is not None:
        return open_code(data, version, name=target)
    inside = None if os.path.exists(target) else _in_named_archive(target)
    if inside is not None:
        member, part = _member(*inside)
        return open_member(member.data, member.version, part, target, version)
    check_exists(target)
    if os.path.isfile(target):
        return open_file(target, version)
    head, _, qualname = target.rpartition(":")
    if os.path.isfile(head):
        return picked(open_file(head, version), qualname, head)
    return Opened((FileReading(CodeUnit.from_code(code_of_object(head, qualname)), 0),))


def open_member(data: bytes, written_by: tuple[int, int] | None, part: str, target: str, version: str | None) -> Opened:
    """The code of a member of an archive, or of ``part`` of it; ``written_by`` is set for bare marshal data."""
    opened = (
        open_code(data, version, name=target) if written_by is None else open_marshal(data, written_by, name=target)
    )
    return picked(opened, part, target.removesuffix(f":{part}")) if part else opened


def open_file(path: str, version: str | None = None) -> Opened:
    """The code of a ``.py`` file, which is compiled, or of a file with bytecode.  InputError where it cannot be read or
    compiled."""
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


def part_of(job: Job, version: str | None = None) -> tuple[CodeUnit, CodeUnit] | None:
    """The code of the file in ``FILE:QUALNAME`` and that of the part.  None for other targets, and where the Python
    version is in doubt."""
    head, colon, qualname = job.target.rpartition(":")
    if job.data is not None and job.part:
        opened, qualname = open_member(job.data, job.version, "", job.target, version), job.part
    elif job.data is not None or not colon or os.path.exists(job.target) or not os.path.isfile(head):
        return None
    else:
        opened = open_file(head, version)
    if len(opened.readings) > 1 or opened.problem:
        return None
    return opened.unit, pick(opened.unit, qualname, head)


def picked(opened: Opened, qualname: str, where: str) -> Opened:
    """The readings of a file, restricted to the nested code ``qualname``.  InputError where there is none."""
    readings = [one._replace(unit=pick(one.unit, qualname, where)) for one in opened.readings]
    return opened._replace(readings=tuple(readings), data=b"")


def pick(unit: CodeUnit, qualname: str, where: str) -> CodeUnit:
    """The nested unit with this qualified name; before Python 3.11 the path of names is compared.  InputError for
    none."""
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
    """The code object of ``module:qualname``; this imports the module.  InputError where there is none."""
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
