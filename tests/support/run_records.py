"""Records of a run with what a test is about."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from depyf.run.places.place import Place
from depyf.run.records import BreakRecord, CodeRecord, CompileKey, EntryRecord, FunctionRecord


def place(text: str) -> Place | None:
    """Of ``/p/m.py:3``."""
    filename, _, line = text.rpartition(":")
    return Place(filename, int(line)) if line.isdigit() else None


def entry(compile_id: str = "0/0", **more: object) -> EntryRecord:
    """One that was compiled."""
    return replace(EntryRecord(CompileKey(0, compile_id), None, (), "live"), **more)  # type: ignore[arg-type]


def function(
    name: str, at: str, *entries: EntryRecord, source: str = "", resume_of: str | None = None
) -> FunctionRecord:
    where = place(at) or Place(at.rpartition(":")[0] or at, 0)
    last = name.rpartition(".")[2]
    code = CodeRecord(last, name, where.filename, where.line, (), (), (), None, None, (), source)
    number = entries[0].key.function if entries else (0, "")
    return FunctionRecord(number, code, entries, None if resume_of is None else (number[0], resume_of))


def broken(at: str, cause: str = "c") -> BreakRecord:
    return BreakRecord("", place(at), "reason", cause, "", (), "", skipped=False)


def functions_of(folder: Path) -> tuple[FunctionRecord, ...]:
    """Those of a dump."""
    from depyf.run.store.loading import load

    return load(folder).functions
