"""Makes the pages of a run whose process was killed, from what it left.

Input: a folder.  Output: the folder with all pages that a run that ends has, as far as the journal tells.  Nothing is
done to a dump that is complete.  DepyfError where the folder holds no run, its process is alive, or it cannot be
written.
"""

from __future__ import annotations

import contextlib
import os
from dataclasses import replace
from pathlib import Path

from depyf.errors import DepyfError
from depyf.run.files.layout import MANIFEST, RUN, graph_file, transformed_file
from depyf.run.files.reading import DumpError, fork_folders, rank_folders, read_file
from depyf.run.files.writer import UNFINISHED, DumpWriter, is_going_on
from depyf.run.records import GraphRecord
from depyf.run.run import Run
from depyf.run.store.loading import load
from depyf.safety.escape import printable
from depyf.views.dump.whole_dump import write_pages


def complete(folder: Path, alive_too: bool = True) -> list[Path]:
    """Make the pages of the run in ``folder``, and of those of its ranks and forked children, where their process made
    none.

    Returns the folders with new pages.  ``alive_too``: a process that is running is an error, and not passed over.
    """
    made = [folder] if _complete(folder, alive_too) else []
    for inner in (*rank_folders(folder).values(), *fork_folders(folder)):
        made += complete(inner, alive_too)
    return made


def _complete(folder: Path, alive_too: bool) -> bool:
    if (folder / MANIFEST).exists() or not (folder / RUN).is_file():
        return False
    shown = printable(str(folder))
    if is_going_on(folder):
        if not alive_too:
            return False
        raise DepyfError(f"{shown}: the process that writes it is running; it makes the pages when it leaves the block")
    run = load(folder)
    run = replace(
        run,
        graphs=tuple(_with_text(graph, folder) for graph in run.graphs),
        notes=(*run.notes, *run.missing),
    )
    writer = DumpWriter.open(folder)
    for name in _own_files(run):
        with contextlib.suppress(DumpError):  # it was not written yet
            writer.adopt(name, read_file(folder, name))
    _, whole = write_pages(run, writer, lambda text: None)
    if not whole:
        raise DumpError(f"the pages of {shown} cannot be written: {'; '.join(writer.problems)}")
    with contextlib.suppress(OSError):
        os.unlink(folder / UNFINISHED)
    return True


def _with_text(graph: GraphRecord, folder: Path) -> GraphRecord:
    try:
        return replace(graph, text=read_file(folder, graph_file(graph)))
    except DumpError:
        return graph


def _own_files(run: Run) -> list[str]:
    """What the run has written before it was killed."""
    names = [*map(graph_file, run.graphs), *(source.file for source in run.sources)]
    for function in run.functions:
        names += [transformed_file(entry.key, function.code) for entry in function.entries if entry.transformed]
    return names
