"""From a line of a dumped file back to the compilation and to the user's line.

Input: a frame that stands in a file of a dump, or a file and a line.  Output: a ``Where``.  Everything is read from the
dump, so it works in any process and after the fact: for a page of ours its table in the manifest tells, for what torch
printed its own comments.  A line that was changed or added since it was written has no place.
"""

from __future__ import annotations

import ast
import functools
import os
import sys
import types
from dataclasses import dataclass
from pathlib import Path

from depyf.errors import DepyfError
from depyf.run.compile_stages import BY_NAME
from depyf.run.files.checksums import line_as_it_is, line_as_written
from depyf.run.files.file_record import FileRecord
from depyf.run.files.layout import OF_CODE, file_by_name
from depyf.run.files.line_table import NO_ORIGIN, LineOrigin
from depyf.run.files.reading import MANIFEST, DumpError, read_file, read_manifest
from depyf.run.global_names import resumed
from depyf.run.graphs.program_comments import place_of_line
from depyf.run.places.place import Place
from depyf.run.places.two_places import place_in_dump
from depyf.safety.source_lines import source_line
from depyf.safety.unheard import parse


@dataclass(frozen=True, slots=True)
class Where:
    """A place in the dump, and the line of the user's program that it came from."""

    file: str
    """The dumped file, absolute."""
    line: int
    compile_id: str
    """torch's, such as ``0/1``; "" for a file that belongs to no single compilation."""
    stage: str
    """In words: captured graph, forward graph of AOTAutograd, ..."""
    node: str
    """The name that the line assigns: in a graph, the node; "" where it assigns none."""
    user_file: str
    user_line: int
    """0, with ``user_file`` "", where the dump does not say which line of the user it was."""
    user_function: str
    user_code: str

    def __str__(self) -> str:
        node = f", node {self.node}" if self.node else ""
        compile_id = f"compile id {self.compile_id}, " if self.compile_id else ""
        lines = [f"{self.file}:{self.line}", f"  {compile_id}{self.stage}{node}"]
        if self.user_file:
            function = f" in {self.user_function}" if self.user_function else ""
            lines.append(f"  from {self.user_file}:{self.user_line}{function}: {self.user_code}")
        else:
            lines.append("  no line of your program is recorded for it")
        return "\n".join(lines)

    def __repr__(self) -> str:
        return str(self)  # what a debugger's prompt shows


def where(frame: types.FrameType | None = None) -> Where:
    """Where the innermost frame that runs a dumped file stands; call it at a debugger's prompt.  What torch compiled
    runs a dumped file, too, where it has the lines of the program: outside of ``depyf.debug()``.

    ``frame``: look from this frame outwards instead of from the caller's.  Where nothing of the stack runs a dumped
    file, the exception that is being handled tells, or the last uncaught one: this is what a debugger shows after the
    fact. DepyfError where none of these does.
    """
    here = frame if frame is not None else sys._getframe(1)
    outer: types.FrameType | None = here
    while outer is not None:
        found = _in_dump(outer.f_code, outer.f_lineno, outer.f_lasti)
        if found is not None:
            return where_is(*found)
        outer = outer.f_back
    failed = _failed_at() if frame is None else None
    if failed is not None:
        return where_is(*failed)
    raise DepyfError(
        "depyf.where(): no frame here runs a file of a dump; stop at a breakpoint in one "
        "(inside `with depyf.debug():`), or pass the frame"
    )


def _failed_at() -> tuple[str, int] | None:
    """The innermost line of a dumped file that the exception at hand came through."""
    error = sys.exc_info()[1]
    seen: list[BaseException] = []
    while error is not None and all(error is not other for other in seen):
        found = _innermost(error.__traceback__)
        if found is not None:
            return found
        seen.append(error)
        error = error.__context__  # pdb comes to most of what is typed by way of an exception of its own
    return _innermost(getattr(sys, "last_traceback", None))


def _innermost(traceback: types.TracebackType | None) -> tuple[str, int] | None:
    found = None
    while traceback is not None:
        found = _in_dump(traceback.tb_frame.f_code, traceback.tb_lineno, traceback.tb_lasti) or found
        traceback = traceback.tb_next
    return found


def _in_dump(code: types.CodeType, line: int | None, offset: int) -> tuple[str, int] | None:
    """File and line of the dump for a line of ``code``, which may have those of the program; None where it is in no
    dump."""
    file, line = place_in_dump(code, offset) or (code.co_filename, line)
    return None if manifest_entry(file) is None else (file, line or code.co_firstlineno)


def where_is(file: str, line: int) -> Where:
    """The place for line ``line`` of ``file``, a file of a dump.  DepyfError for any other file."""
    entry = manifest_entry(file)
    if entry is None:
        raise DepyfError(f"{file} is not a file of a depyf dump (no {MANIFEST} beside it lists it)")
    text = _text(Path(file).parent, Path(file).name)
    origin = _origin(Path(file).parent, entry, text, line)
    place = origin.place or _NOWHERE
    rest = resumed(place.function) if entry.lines is None else None
    stage = entry.stage or entry.kind
    return Where(
        file, line, entry.compile_id or origin.entry,
        (BY_NAME[stage].short if stage in BY_NAME else "") or stage, assigned_name(text.splitlines(), line),
        place.filename, place.line, rest[0] if rest else place.function,
        place.text or source_line(place.filename, place.line),
    )  # fmt: skip


_NOWHERE = Place("", 0)


def _origin(folder: Path, entry: FileRecord, text: str, line: int) -> LineOrigin:
    """Where a line of a file of the dump comes from."""
    if entry.called_at:  # all of a kernel comes from its call
        return _origin_of_call(folder, entry)
    if entry.lines is not None:
        before, after = line_as_written(text, entry.line_checksums, line)
        known = entry.lines.at(before)
        if before != after:  # it was changed, or put in: no line of the program, but perhaps inside an entry
            return LineOrigin(None, known.entry if entry.lines.at(after).entry == known.entry else "")
        return known
    return LineOrigin(place_of_line(text.splitlines(), line)) if entry.kind in ("graph", "wrapper") else NO_ORIGIN


def _origin_of_call(folder: Path, kernel: FileRecord) -> LineOrigin:
    wrapper = manifest_entry(str(folder / kernel.origin))
    if wrapper is None:
        return NO_ORIGIN
    text = _text(folder, wrapper.name)
    line = line_as_it_is(text, wrapper.line_checksums, kernel.called_at) if wrapper.sha256 else kernel.called_at
    return LineOrigin(place_of_line(text.splitlines(), line))


def _text(folder: Path, name: str) -> str:
    """The text of a file of a dump; "" where it cannot be read."""
    try:
        return read_file(folder, name)
    except DumpError:
        return ""


def manifest_entry(file: str) -> FileRecord | None:
    """What the manifest beside ``file`` says about it; None where ``file`` is not part of a dump."""
    path = Path(file)
    if not path.name.startswith(OF_CODE):
        return None
    try:
        found = os.stat(path.parent / MANIFEST)
        return _listed(path.parent, found.st_mtime_ns, found.st_size).get(path.name) or _unlisted(path)
    except (OSError, ValueError, DumpError):
        return None


@functools.lru_cache(maxsize=4)
def _listed(folder: Path, changed: int, size: int) -> dict[str, FileRecord]:
    """The files of the dump in ``folder``; read once while its manifest is as it is."""
    return {file.name: file for file in read_manifest(folder).files}


def _unlisted(path: Path) -> FileRecord | None:
    """For a graph that is not in the manifest (yet)."""
    found = file_by_name(path.name)
    return found if found is not None and path.exists() else None


def assigned_name(lines: list[str], line: int) -> str:
    """The first name that the line assigns."""
    if not 0 < line <= len(lines):
        return ""
    try:
        statements = parse(lines[line - 1].strip()).body
    except (SyntaxError, ValueError):
        return ""
    for statement in statements[:1]:
        target = statement.targets[0] if isinstance(statement, ast.Assign) else getattr(statement, "target", None)
        value = getattr(statement, "value", None)
        if isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id == "iter":
            return ""  # how the arguments of a boxed graph are taken out of their list: no node
        if isinstance(target, ast.Name):
            return target.id
    return ""
