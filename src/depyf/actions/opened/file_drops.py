"""What a precompile artefact does not check, and what it serves alone: each with its line, in words, and with a call.

Input: the parts of a file and its code.  Output: lines of Markdown.  The file does not say which line needed a guard
that it left out: the line is that of the entry function which first reads what the guard is on.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from depyf.actions.opened.file_guards import guard_records
from depyf.actions.opened.opened_code import OpenedCode
from depyf.actions.opened.opened_pages import coded
from depyf.decompiler.bytecode import ops
from depyf.decompiler.bytecode.codeunit import CodeUnit
from depyf.decompiler.bytecode.lower import lower
from depyf.errors import BytecodeError
from depyf.run.guards.broken_guards import BrokenGuards, Way, other_value
from depyf.run.guards.guard_kind import called, tree_of
from depyf.run.guards.guarded_path import ATTRIBUTE, CODE, ITEM, Path, path_of
from depyf.run.guards.served_values import wanted_values
from depyf.run.records import CodeRecord, CompileKey, EntryRecord, FunctionRecord, GuardRecord
from depyf.sources.files.saved_drops import Dropped
from depyf.sources.files.saved_parts import SavedParts
from depyf.sources.reports.guards.guard_text import PLAIN_READER

ENTRY_CODE = ("frames.code", "frames.0.code")
"""Where the code of the function lies that is called."""
_UNKNOWN_ID, _SOME_ID = "<id>", "1000000"
_PARTS = " ; "
_ATTRIBUTES, _NAMES = (ops.LOAD_ATTR, ops.LOAD_METHOD), (ops.LOAD_GLOBAL, ops.LOAD_FAST, ops.LOAD_DEREF)
_RISKY = "risky: the variants that were captured differ by it, or the program chooses what it is on"
_ALIKE = "it held for every call of the capture, so it was left out"
_PLAIN = "no file can store it"
_CODES = ("CLOSURE_MATCH", "FUNCTION_MATCH")
"""Guards on a function by its code: torch has no text of the first."""
_CODE = "__code__"
_MOST = 200
_VARARGS, _VARKEYWORDS = 0x04, 0x08


def drops_lines(parts: SavedParts, codes: Sequence[OpenedCode]) -> list[str]:
    """The section of ``index.md`` on guards that the file leaves out; [] for none."""
    if not parts.drops:
        return []
    entry = next((one.unit for one in codes if one.place in ENTRY_CODE and one.unit is not None), None)
    asked = _Asked(parts, entry)
    lines: list[str] = []
    if parts.drops.dropped:
        risky = sum(one.risky for one in parts.drops.dropped)
        lines += ["", "## Guards left out", ""]
        lines.append(
            f"No call is asked them ({len(parts.drops.dropped)}, {risky} of them risky): a call that would fail one "
            "runs code that was made for another."
        )
        lines.append("")
        told = [(one, found) for one in parts.drops.dropped if (found := asked.dropped(one)) or one.risky]
        told.sort(key=lambda pair: not pair[0].risky)
        lines += [line for _, found in told[:_MOST] for line in found]
        lines += [f"- and {len(told) - _MOST} more"] if len(told) > _MOST else []
        rest = len(parts.drops.dropped) - len(told)
        lines += [f"- and {rest} on modules, functions and state that the program does not change"] if rest else []
    if parts.drops.fixed:
        lines += ["", "## Served for these values alone", ""]
        lines.append("No variant takes another value of these; a call with one raises `PrecompileError`.")
        lines.append("")
        lines += [line for name in parts.drops.fixed[:_MOST] for line in asked.fixed(name)]
    return lines


class _Asked:
    """The entry function, as the words on guards want it."""

    def __init__(self, parts: SavedParts, unit: CodeUnit | None) -> None:
        self._parts, self._unit = parts, unit
        self._kept = [record for guard in parts.guards for record in guard_records(guard)]
        self._lines = dict(_first_reads(unit)) if unit is not None else {}
        self._entry = EntryRecord(CompileKey(0, "0/0"), None, tuple(self._kept), "event")
        self._function = FunctionRecord((0, "0"), code_of_unit(unit), (self._entry,)) if unit is not None else None
        self._broken = BrokenGuards(self._function, self._entry) if self._function is not None else None

    def dropped(self, one: Dropped) -> list[str]:
        """[] where only a library would change what it is on."""
        own = _path_of_text(one.source)
        texts = [text for text in one.code.split(_PARTS) if text]
        if not texts and one.kind in _CODES and own is not None:
            texts = [f"___check_obj_id({_written(own)}.{_CODE}, {_SOME_ID}), type=<class 'code'>"]
        records = [_record(one.kind, text) for text in texts]
        ways = [way for record in records for way in self._ways(record)]
        if not ways and not one.risky:
            return []
        said = " and ".join(dict.fromkeys(self._said(record) for record in records)) or f"{one.kind} of {one.source}"
        note = _RISKY if one.risky else _ALIKE if one.alike else _PLAIN
        lines = [f"- {coded(said)}{self._at(own)} ({one.kind}); {note}"]
        return [*lines, *(f"  - runs all the same: {coded(way.text)}" for way in ways[:1])]

    def fixed(self, name: str) -> Iterator[str]:
        own = [guard for guard in self._parts.guards if guard.subject == name and guard.checks]
        wanted = [
            (self._said(record), value)
            for record in self._kept
            for of, value in wanted_values(record.expression)
            if of == name
        ]
        said = " or ".join(dict.fromkeys(said for said, _ in wanted)) or name
        other = other_value([value for _, value in wanted])
        way = self._call_with(name, other) if other else Way()
        line = next((f" at {coded(guard.line)}" for guard in own if guard.line), "")
        yield f"- {coded(said)}{line or self._at(_path_of_text(name))}"
        if way.call:
            yield f"  - raises: {coded(way.call)}"

    def _call_with(self, name: str, value: str) -> Way:
        """The call of the function with another argument of that name; none where it is a variable of another frame."""
        code = self._function.code if self._function is not None else None
        if code is None or self._broken is None or name not in (*code.posonly, *code.args, *code.kwonly):
            return Way()
        return self._broken.changed(Path("L", name, ()), value)

    def _said(self, record: GuardRecord) -> str:
        identity = _identity(record)
        if identity is not None and identity.steps[-1:] == ((ATTRIBUTE, _CODE),):
            return f"{_owner(identity).text} has the code of the capture"
        if identity is not None:
            return f"{identity.text} is the object of the capture"
        return self._broken.said(record) if self._broken is not None else record.expression

    def _ways(self, record: GuardRecord) -> tuple[Way, ...]:
        if self._broken is None:
            return ()
        found = self._broken.ways(record)
        identity = _identity(record)
        if not found and identity is not None and not identity.name.startswith("__"):
            if not any(key in CODE for _, key in identity.steps):
                return (self._broken.changed(identity, "another"),)
        return found

    def _at(self, path: Path | None) -> str:
        line = None if path is None else self._lines.get(_last_read(path))
        return f" at {coded(f'{self._unit.filename}:{line}')}" if line is not None and self._unit is not None else ""


def code_of_unit(unit: CodeUnit) -> CodeRecord:
    """The record of a code object in a file: its names, parameters and place."""
    names, last = unit.varnames, unit.argcount
    end = last + unit.kwonlyargcount
    rest = names[end] if unit.flags & _VARARGS and end < len(names) else None
    at = end + (rest is not None)
    return CodeRecord(
        name=unit.name, qualname=unit.qualname, filename=unit.filename, line=unit.firstlineno,
        posonly=names[: unit.posonlyargcount], args=names[unit.posonlyargcount : last], kwonly=names[last:end],
        varargs=rest, varkw=names[at] if unit.flags & _VARKEYWORDS and at < len(names) else None,
        freevars=unit.freevars,
    )  # fmt: skip


def _record(kind: str, text: str) -> GuardRecord:
    return PLAIN_READER.left_out(kind, text.replace(_UNKNOWN_ID, _SOME_ID), "", None, "")


def _path(record: GuardRecord) -> Path | None:
    """What a guard is on: the first value that it names."""
    tree = tree_of(record.expression)
    nodes = ast.walk(tree) if tree is not None else ()
    return next((path for node in nodes if isinstance(node, ast.expr) and (path := path_of(node)) is not None), None)


def _path_of_text(source: str) -> Path | None:
    """``self.act`` and ``G['CFG'].width``, as torch's summary names them."""
    for text in (source, f"L[{source.partition('.')[0]!r}]{source[len(source.partition('.')[0]) :]}"):
        tree = tree_of(text)
        path = path_of(tree) if isinstance(tree, ast.expr) else None
        if path is not None:
            return path
    return None


def _identity(record: GuardRecord) -> Path | None:
    """What must be one object, where a guard asks for that."""
    tree = tree_of(record.expression)
    return _path(record) if tree is not None and called(tree) == "same_object" else None


def _owner(path: Path) -> Path:
    return Path(path.mapping, path.name, path.steps[:-1])


def _written(path: Path) -> str:
    """As torch's guards spell it."""
    steps = "".join(f"[{key!r}]" if kind == ITEM else f".{key}" for kind, key in path.steps)
    return f"{path.mapping}[{path.name!r}]{steps}"


Read = tuple[bool, str]
"""Whether an attribute is read, and its name."""


def _last_read(path: Path) -> Read:
    """How code reads the end of a path."""
    names = [str(key) for kind, key in path.steps if kind == ATTRIBUTE]
    return (True, names[-1]) if names else (False, path.name)


def _first_reads(unit: CodeUnit) -> Iterator[tuple[Read, int]]:
    """What the code reads, each with the first line that does; the later lines come first."""
    try:
        instructions = lower(unit).instrs
    except BytecodeError:
        return
    for one in sorted(instructions, key=lambda one: -(one.line or 0)):
        if type(one.arg) is str and one.line is not None and one.op in (*_ATTRIBUTES, *_NAMES):
            yield (one.op in _ATTRIBUTES, one.arg), one.line
