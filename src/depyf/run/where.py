"""From a line of a dumped file back to the compilation and to the user's line.

Input: a frame that stands in a file of a dump, or a file and a line.  Output: a ``Where``.  Everything is read from the
dump (the manifest and the comments in the file), so it works in any process and after the fact.
"""

from __future__ import annotations

import ast
import functools
import os
import re
import sys
import types
from dataclasses import dataclass
from pathlib import Path

from depyf.errors import DepyfError
from depyf.run.compile_stages import BY_NAME
from depyf.run.files.file_record import FileRecord
from depyf.run.files.reading import MANIFEST, DumpError, read_file, read_manifest
from depyf.run.global_names import resumed
from depyf.run.graphs.program_comments import place_in
from depyf.run.records import Place
from depyf.run.two_places import place_in_dump
from depyf.safety.source_lines import source_line

_GUARD_PLACE = re.compile(r"# (?P<file>/?\S+):(?P<line>\d+) in (?P<function>\S+?): (?P<code>.*)$")
_SHORT_PLACE = re.compile(r"  # (?P<file>[^\s:]+):(?P<line>\d+)(?:, .*)?$")
NO_PLACE = "No stacktrace found for following nodes"
"""What torch writes where it does not know the lines of the program."""
_STATE = re.compile(r"^\s+# (?:state of torch|relations between sizes)$")
_SECTION = re.compile(r"^# (?:resume )?function (?P<function>\S+), (?P<file>.+):(?P<line>\d+)$")
_OF_ENTRY = re.compile(r"^def (?:guards|__transformed_code)_(?P<slug>\w+?)(?:_for_\w+)?\(")
_INNER_CLASS = re.compile(r"(?P<indent> +)class (?P<name>\w+)\(")
_KERNEL_HEAD = re.compile(r"^\S+ Kernel (?P<name>\w+), called in (?P<wrapper>\S+)\.$")
_GRAPH_FILE = re.compile(r"__compiled_fn_(?P<slug>\w+)\.(?P<stage>[A-Za-z_]+?)[._]\d+\.py$")
_GRAPH_HEAD = re.compile(r"# Compile id (?P<id>\S+?)[:,]")
_HEAD = re.compile(r"^# (?P<function>.+) \((?P<file>.+):(?P<line>\d+)\), compile id ")


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
    """The same for line ``line`` of ``file``; DepyfError where that is no file of a dump."""
    entry = manifest_entry(file)
    if entry is None:
        raise DepyfError(f"{file} is not a file of a depyf dump (no {MANIFEST} beside it lists it)")
    lines = _lines(Path(file).parent, Path(file).name)
    user_file, user_line, function, code = user_place(*calling_line(file, lines, line))
    stage = entry.stage or entry.kind
    return Where(
        file, line, entry.compile_id or entry_of_guards(lines, line),
        (BY_NAME[stage].short if stage in BY_NAME else "") or stage, assigned_name(lines, line),
        user_file, user_line, function, code or source_line(user_file, user_line),
    )  # fmt: skip


def calling_line(file: str, lines: list[str], line: int) -> tuple[list[str], int]:
    """For a line of a kernel's own file, the wrapper that calls it, and where; any other line as it is."""
    head = _KERNEL_HEAD.match(lines[0].rstrip()) if lines else None
    if head is None:
        return lines, line
    wrapper = _lines(Path(file).parent, head["wrapper"])
    call = re.compile(rf"\b{head['name']}(?:\.run)?\(")
    return wrapper, next((n for n, text in enumerate(wrapper, 1) if call.search(text) and "def " not in text), 0)


def _lines(folder: Path, name: str) -> list[str]:
    """The lines of a file of a dump; none where it cannot be read."""
    try:
        return read_file(folder, name).splitlines()
    except DumpError:
        return []


def manifest_entry(file: str) -> FileRecord | None:
    """What the manifest beside ``file`` says about it; None where ``file`` is not part of a dump."""
    path = Path(file)
    if not path.name.startswith(("__compiled_fn_", "__transformed_code_", "full_code_for_")):
        return None
    try:
        found = os.stat(path.parent / MANIFEST)
        return _listed(path.parent, found.st_mtime_ns, found.st_size).get(path.name) or _entry_from_name(path)
    except (OSError, ValueError, DumpError):
        return None


@functools.lru_cache(maxsize=4)
def _listed(folder: Path, changed: int, size: int) -> dict[str, FileRecord]:
    """The files of the dump in ``folder``; read once while its manifest is as it is."""
    return {file.name: file for file in read_manifest(folder).files}


def _entry_from_name(path: Path) -> FileRecord | None:
    """For a graph that ``depyf.debug`` wrote after the manifest."""
    named = _GRAPH_FILE.match(path.name)
    if named is None or not path.exists():
        return None
    head = _GRAPH_HEAD.match((_lines(path.parent, path.name) or [""])[0])
    return FileRecord(
        path.name, "graph", named["stage"], compile_id=head["id"] if head else named["slug"].replace("_", "/")
    )


def _of_guard(text: str) -> Place | None:
    found = _GUARD_PLACE.search(text)
    return None if found is None else Place(found["file"], int(found["line"]), found["function"], found["code"])


def user_place(lines: list[str], line: int) -> tuple[str, int, str, str]:
    """(file, line, function, source line) of the user for one line of a dumped file; ("", 0, "", "") if unknown."""
    for number in range(min(line, len(lines)), 0, -1):
        text = lines[number - 1].rstrip()
        found = place_in(text) or _of_guard(text)
        if found is not None:
            rest = resumed(found.function)
            return found.filename, found.line, rest[0] if rest else found.function, found.text
        head = next(filter(None, map(_HEAD.match, lines[:3])), None)
        short = _SHORT_PLACE.search(text)
        if short:
            file = head["file"] if head and head["file"].endswith(short["file"]) else short["file"]
            return file, int(short["line"]), head["function"] if head else "", ""
        if (
            _STATE.match(text) or NO_PLACE in text
        ):  # guards that no line of the program caused; torch does not know either
            break
        if text.lstrip().startswith(("def ", "class ")):
            section = head or next(filter(None, (_SECTION.match(above.rstrip()) for above in lines[number::-1])), None)
            if section and not text.startswith("def guards_"):
                return section["file"], int(section["line"]), section["function"], ""
            call = calling_operator(lines, number)
            return user_place(lines, call) if call else ("", 0, "", "")
    return "", 0, "", ""


def calling_operator(lines: list[str], line: int) -> int:
    """For the ``forward`` of a graph in a graph, which begins at ``line``: where the graph around it fetches it; else
    0."""
    head = next(((n, m) for n in range(line, 0, -1) if (m := _INNER_CLASS.match(lines[n - 1]))), None)
    if head is None or not lines[line - 1].startswith(head[1]["indent"] + "    def "):
        return 0
    fetched = re.compile(rf"{head[1]['indent']}    \S.* = self\.{head[1]['name']}\b")
    return next((n for n in range(head[0] - 1, 0, -1) if fetched.match(lines[n - 1])), 0)


def entry_of_guards(lines: list[str], line: int) -> str:
    """On the page of a dispatcher: the compile id whose guards or code the line belongs to; "" for the dispatcher's
    own."""
    for text in reversed(lines[:line]):
        if text.startswith(("def ", "class ")):
            found = _OF_ENTRY.match(text)
            handle = f"guard_{found['slug']} = live_guard(__file__, '" if found else ""
            named = next((other for other in lines if handle and other.startswith(handle)), "")
            return named[len(handle) :].partition("'")[0]
    return ""


def assigned_name(lines: list[str], line: int) -> str:
    """The first name that the line assigns."""
    if not 0 < line <= len(lines):
        return ""
    try:
        statements = ast.parse(lines[line - 1].strip()).body
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
