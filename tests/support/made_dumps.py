"""Dumps made by hand, for what reads them: of records, by the writers of depyf; of a manifest, as an earlier depyf wrote it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from depyf.run.files.writer import DumpWriter
from depyf.run.places.place import Place
from depyf.run.records import CallerRecord, CodeRecord, CompileKey, EntryRecord, FunctionRecord
from depyf.run.run import Run, TimesRecord
from depyf.views.dump.whole_dump import write_pages


def made_dump(folder: Path, manifest: dict[str, Any], **files: Any) -> Path:
    """Write a dump with this manifest and these files: ``name__json=value`` is JSON, ``name__py="..."`` a text."""
    folder.mkdir(parents=True, exist_ok=True)
    listed = list(manifest.get("files", ()))
    known = {item["file"] for item in listed}
    for spelled, content in files.items():
        name = spelled if "." in spelled else ".".join(spelled.rsplit("__", 1))
        (folder / name).write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
        if name not in known:
            listed.append({"file": name, "kind": "timings" if name == "timings.json" else "made"})
    page = {"format": 1, "torch": "2.13.0", "python": "3.11", "functions": [], **manifest, "files": listed}
    (folder / "manifest.json").write_text(json.dumps(page), encoding="utf-8")
    return folder


def entry(compile_id: str, **told: Any) -> dict[str, Any]:
    """A compilation of a manifest that went well, but for what is ``told``."""
    return {"compile_id": compile_id, "compiled": True, "failed": "", "graph_breaks": [], **told}


def refused(entry: str, guard: str, at: str = "", expected: str = "", actual: str = "") -> dict[str, Any]:
    """Why an entry did not fit."""
    return {"entry": entry, "guard": guard, "at": at, "expected": expected, "actual": actual, "advice": []}


def run_dump(folder: Path, *functions: FunctionRecord, seconds: dict[str, float] | None = None, **more: Any) -> Path:
    """The dump of a run that has finished, by the writers of depyf; ``seconds``: by compile id; ``more``: fields of the run."""
    folder.mkdir(parents=True, exist_ok=True)
    times = tuple(
        TimesRecord(CompileKey(0, key), (("entire_frame_compile_time", spent),))
        for key, spent in (seconds or {}).items()
    )
    run = replace(Run("2.13.0", "3.11", functions, times=times, finished=True), **more)
    notes: list[str] = []
    _, whole = write_pages(run, DumpWriter.open(folder), notes.append)
    assert whole and not notes
    return folder


def function(number: str, name: str, line: int, *entries: EntryRecord, **more: Any) -> FunctionRecord:
    """A function of ``a.py``; ``number``: of its frame."""
    code = CodeRecord(name.rpartition(".")[2], name, "a.py", line, (), ("x", "n"), (), None, None, ())
    return replace(FunctionRecord((0, number), code, entries), **more)


def compilation(key: str, **more: Any) -> EntryRecord:
    """One that went well, but for what ``more`` says."""
    return replace(EntryRecord(CompileKey(0, key), None, (), "live"), **more)


def caller(line: int, text: str = "", number: str = "") -> CallerRecord:
    """A line of ``a.py`` that called; ``number``: of the frame, where Dynamo saw it."""
    return CallerRecord(Place("a.py", line, "f", text), (0, number) if number else None)
