"""A dump of a log that torch wrote: the pages that ``depyf.prepare_debug`` makes in the process, as far as a log tells.

Input: a log, or a folder of them, and the folder of the dump.  Output: the folders that were written, one for each
rank.  DepyfError where there is no log, or the dump cannot be written.
"""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, replace
from pathlib import Path

from depyf.actions.opened.grouped_ranks import grouped, processes_for
from depyf.actions.opened.logged_code import with_code
from depyf.errors import DepyfError
from depyf.run.causes.folding import counted
from depyf.run.files.layout import graph_file, inputs_file, transformed_file
from depyf.run.files.manifest import indented, remove_old_dump
from depyf.run.files.reading import rank_folders
from depyf.run.files.writer import DumpWriter
from depyf.run.rank_groups import RANKS, RankGroups
from depyf.run.run import Run
from depyf.run.store.codec import plain
from depyf.safety.escape import printable
from depyf.sources.trace_log.log_files import FoundLogs, LogFile, find_logs
from depyf.sources.trace_log.log_runs import LogContents, read_log
from depyf.views.dump.whole_dump import write_pages
from depyf.views.pages.function_pages import transformed_page
from depyf.views.pages.graph_inputs import inputs_page
from depyf.views.pages.graph_page import graph_page

_MOST_NAMED = 5
_HIDDEN = ("__pycache__",)


@dataclass(frozen=True, slots=True)
class OpenedLog:
    """The dumps that were written from one log or folder of logs."""

    folder: Path
    runs: dict[int | None, Run]
    """By rank; None where the log tells none."""
    notes: tuple[str, ...]
    groups: RankGroups | None = None
    """Of a run of several ranks: which of them tell the same, and who was late."""


def write_log_dump(path: Path, out: Path) -> OpenedLog:
    """Write the dump of the log at ``path`` to ``out``; of several runs the latest.  DepyfError where the log cannot be
    read or the dump cannot be written."""
    found = find_logs(path)
    _require_free(out)
    notes = _others(found)
    if len(found.logs) < 2:
        runs = {rank: _write(log, out, Path(), 1, notes) for rank, log in found.logs.items()}
        return OpenedLog(out, runs, notes)
    logs = {rank: log for rank, log in found.logs.items() if rank is not None}
    try:
        with ProcessPoolExecutor(processes_for(len(logs))) as pool:
            groups, shown = grouped(logs, pool)
            if len(shown) < len(logs):
                notes = (*notes, _left_out(groups))
            made = pool.map(
                _write_rank,
                [logs[rank] for rank in shown],
                [out] * len(shown),
                shown,
                [len(logs)] * len(shown),
                [notes if rank == shown[0] else () for rank in shown],
            )
            of_ranks: dict[int | None, Run] = dict(zip(shown, made))
    except BrokenProcessPool as error:
        raise DepyfError(f"{printable(str(path))}: a process that read it was killed: {error}") from error
    if not DumpWriter.open(out).write(RANKS, indented(plain(groups)) + "\n"):
        raise DepyfError(f"{printable(str(out / RANKS))} cannot be written")
    return OpenedLog(out, of_ranks, notes, groups)


def _write_rank(log: LogFile, out: Path, rank: int, ranks: int, notes: tuple[str, ...]) -> Run:
    """In a process of the pool: what goes back is counted only."""
    return replace(_write(log, out, Path(f"rank_{rank}"), ranks, notes), graphs=(), sources=())


def _left_out(groups: RankGroups) -> str:
    shown = sum(group.shown for group in groups.groups)
    of = "each" if shown == len(groups.groups) else f"the {shown} largest"
    many = counted(len(groups.groups), "group")
    return f"{groups.count} ranks are in {many} that tell the same; there is a dump of the first rank of {of}"


def _require_free(out: Path) -> None:
    """An earlier dump is replaced; a folder with anything else in it is not touched."""
    if not out.exists():
        return
    try:
        for folder in (out, *rank_folders(out).values()):
            remove_old_dump(folder)
        if rank_folders(out) and (out / RANKS).is_file() and not (out / RANKS).is_symlink():
            (out / RANKS).unlink()
        for folder in rank_folders(out).values():  # of a run with other ranks
            if not any(folder.iterdir()):
                folder.rmdir()
        left = sorted(
            one.name for one in out.iterdir() if one.name not in _HIDDEN and one not in rank_folders(out).values()
        )
    except OSError as error:
        raise DepyfError(f"{printable(str(out))}: {error.strerror or error}") from error
    if left:
        raise DepyfError(f"{printable(str(out))} holds other files, such as {printable(left[0])}: name another folder")


def _others(found: FoundLogs) -> tuple[str, ...]:
    if not found.others:
        return ()
    named = [f"{printable(log.path.name)} ({log.began:%Y-%m-%d %H:%M:%S})" for log in found.others[-_MOST_NAMED:]]
    rest = f" and {len(found.others) - len(named)} more" if len(found.others) > len(named) else ""
    return (
        f"the log of the latest run is shown; logs of other runs or processes lie beside it: {', '.join(named)}{rest}",
    )


def _write(log: LogFile, out: Path, below: Path, ranks: int, notes: tuple[str, ...]) -> Run:
    contents = read_log(log)
    run = with_code(contents.run, contents.transformed)
    run = replace(run, ranks=ranks, notes=(*notes, *run.notes))
    writer = DumpWriter.open(out, below)
    for graph in run.graphs:
        writer.write(graph_file(graph), graph_page(graph))
        if graph.facts is not None:
            writer.write(inputs_file(graph), inputs_page(graph.facts))
    for name, text in contents.sources.items():
        writer.write(name, text)
    _write_transformed(run, contents, writer)
    with contents.lines():
        run, whole = write_pages(run, writer, lambda text: None)
    if not whole:
        raise DepyfError(f"the dump in {printable(str(out / below))} cannot be written: {'; '.join(writer.problems)}")
    return run


def _write_transformed(run: Run, contents: LogContents, writer: DumpWriter) -> None:
    """torch's disassembly, where the log has it."""
    for function in run.functions:
        for entry in function.entries:
            text = contents.transformed.get(entry.key)
            if entry.transformed is not None and text is not None:
                page = transformed_page(entry.key, function.code, entry.transformed, text)
                writer.write(transformed_file(entry.key, function.code), page.text)
