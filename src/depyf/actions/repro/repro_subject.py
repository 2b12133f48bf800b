"""What a dump holds of one compilation that a bug report needs.

Input: a folder that anybody may have written, and a compile id.  Output: its captured graph, the inputs that were
recorded, and the error, of the compilation or of a call.  Raises ``ReproError`` where there is no such compilation, or
no graph of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from depyf.actions.scripts.dumped_graphs import CompiledGraph, GalleryError, read_dump
from depyf.errors import DepyfError
from depyf.run.compile_stages import CAPTURED
from depyf.run.files.reading import DumpError, Manifest, rank_folders, read_manifest
from depyf.run.recorded.recorded_inputs import Recorded, read_recorded
from depyf.run.records import CompileKey
from depyf.run.run import Run
from depyf.run.store.loading import load
from depyf.safety.escape import one_line, printable

_SHOWN = 12


class ReproError(DepyfError):
    """There is nothing to write a script of, or it cannot be written."""


@dataclass(frozen=True, slots=True)
class ReproSubject:
    """One captured graph.  ``first``: its inputs when it was compiled; ``failed``: those of a call that raised;
    ``error``: why it was not compiled."""

    graph: CompiledGraph
    first: Recorded | None
    failed: Recorded | None
    error: str
    python: str


def read_subject(folder: Path, compile_id: str, number: int = 0) -> ReproSubject:
    """The captured graph of a compilation.  ``compile_id`` as torch writes it (``0/1``), or as file names have it
    (``0_1``, ``0_1r1`` after a reset); ``number``: which of several graphs.  ReproError where there is none, or more
    than one."""
    try:
        manifest = read_manifest(folder)
    except DumpError as error:
        ranks = ", ".join(path.name for path in rank_folders(folder).values())
        raise ReproError(f"{error}; name one of {ranks}" if ranks else str(error)) from error
    try:
        run = load(folder)
        wanted, error_text = _wanted(run, manifest, compile_id)
    except DumpError as error:
        raise ReproError(str(error)) from error
    try:
        graphs = [graph for graph in read_dump(folder) if _key(graph) == wanted]
    except GalleryError as error:
        raise ReproError(f"{error}{error_text and ': ' + error_text}") from error
    if not graphs:
        why = error_text or "there was nothing to compile in it, or it was compiled before the recording"
        raise ReproError(f"{wanted.label} has no captured graph: {printable(why)}")
    if not 0 <= number < len(graphs):
        raise ReproError(
            f"{wanted.label} has {len(graphs)} captured graph{'s' * (len(graphs) > 1)}: there is no --graph {number}"
        )
    graph = graphs[number]
    start = graph.stages[CAPTURED].name.removesuffix(".py")
    try:
        first, failed = (
            read_recorded(folder, name) if (name := f"{start}.{end}") in manifest.names else None
            for end in ("safetensors", "failed.safetensors")
        )
    except DumpError as error:
        raise ReproError(str(error)) from error
    return ReproSubject(graph, first, failed, error_text, run.python_version)


def _key(graph: CompiledGraph) -> CompileKey:
    return CompileKey(graph.generation, graph.compile_id)


def _wanted(run: Run, manifest: Manifest, compile_id: str) -> tuple[CompileKey, str]:
    """The compilation, and why it failed."""
    keys = {entry.key: one_line(entry.failed) for function in run.functions for entry in function.entries}
    for file in manifest.files:
        if file.kind == "graph":
            keys.setdefault(CompileKey(file.generation, file.compile_id or ""), "")
    text = compile_id.strip().strip("[]")
    for key, failed in keys.items():
        if text in ((key.text,) if not key.generation else ()) or text == key.slug:
            return key, failed
    known = [key.text if not key.generation else key.slug for key in sorted(keys, key=lambda key: key.order)]
    shown = ", ".join(map(printable, known[:_SHOWN])) + (", ..." if len(known) > _SHOWN else "")
    raise ReproError(f"{printable(compile_id)} is no compile id in {manifest.folder}; there are {shown or 'none'}")
