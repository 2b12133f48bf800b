"""``depyf show``: records of a log of torch as torch wrote them."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path

from depyf.cli.exit_status import ExitStatus
from depyf.cli.output import complain, tell
from depyf.errors import DepyfError
from depyf.run.records import CompileKey
from depyf.run.trace_events import compile_id_in
from depyf.safety.escape import cut, printable_lines
from depyf.sources.trace_log.log_events import record_name
from depyf.sources.trace_log.log_files import LogFile, find_logs
from depyf.sources.trace_log.log_lines import LogLines, LogRecord

EPILOG = """\
examples:
  depyf show logs                  the compilations of the log, with how many records each has
  depyf show logs 0/1              what torch logged of compilation 0/1: a line for each record
  depyf show logs 812              the record of line 812, whole
  depyf show logs 0/1 --rank 7     the same of another rank

exit status:
  0    there is such a record
  2    the command line is wrong
  4    no log, or no such record
  130  interrupted (Ctrl-C)
"""
_LONGEST = 100


def add_show(parser: argparse.ArgumentParser) -> None:
    """The arguments of ``show``."""
    parser.description = (
        "Show what TORCH_TRACE logged: the records of a compilation with their lines, or the whole record of a "
        "line.  A cause of `depyf report` and `depyf doctor --json` names the lines that it rests on."
    )
    parser.epilog = EPILOG
    parser.add_argument("path", type=Path, metavar="LOGS", help="a log of torch, or a folder of them")
    parser.add_argument("what", nargs="?", default="", metavar="WHAT", help="a compile id (0/1), or a line")
    parser.add_argument("--rank", type=int, metavar="N", help="of this rank (default: the lowest one)")


def run_show(options: argparse.Namespace) -> int:
    """Run ``depyf show``; the parser's epilogue has the exit status."""
    try:
        log = _log(options.path, options.rank)
        found = list(_told(log, options.what))
    except DepyfError as error:
        complain(error)
        return ExitStatus.UNREADABLE
    if not found:
        complain(f"{log.path.name} has no record of {options.what}" if options.what else f"{log.path} has no record")
        return ExitStatus.UNREADABLE
    tell(*found)
    return 0


def _log(path: Path, rank: int | None) -> LogFile:
    logs = find_logs(path).logs
    if rank is None:
        return next(iter(logs.values()))
    if rank not in logs:
        raise DepyfError(f"{path} has no log of rank {rank}")
    return logs[rank]


def _told(log: LogFile, what: str) -> Iterator[str]:
    with log.every_record() as lines:
        if not what:
            yield from _compilations(lines)
        elif what.isdecimal():
            yield from _record(lines, int(what))
        else:
            wanted = CompileKey.text_in(what)
            yield from (_head(record) for record in lines if compile_id_in(record.metadata) == wanted)


def _compilations(lines: LogLines) -> Iterator[str]:
    counts: dict[str, list[int]] = {}
    for record in lines:
        counts.setdefault(compile_id_in(record.metadata), []).append(record.line)
    for compile_id, numbers in counts.items():
        name = compile_id or "of no compilation"
        yield f"{name:<8} {len(numbers)} records, lines {numbers[0]} to {numbers[-1]}"


def _record(lines: LogLines, line: int) -> Iterator[str]:
    """The record that begins in the line, or that the line is part of."""
    found: LogRecord | None = None
    for record in lines:
        if record.line > line:
            break
        found = record
    if found is None:
        return
    yield _head(found)
    yield from json.dumps(found.metadata, indent=1).split("\n")
    if found.payload:
        yield ""
        yield from printable_lines(found.payload).split("\n")


def _head(record: LogRecord) -> str:
    metadata = record.metadata
    kind = record_name(metadata)
    attempt = metadata.get("attempt")
    again = f", attempt {attempt}" if attempt else ""
    data = metadata.get(kind)
    said = f"{len(record.payload)} characters" if record.payload else cut(json.dumps(data), _LONGEST)
    compile_id = compile_id_in(metadata)
    return f"line {record.line:<7} {compile_id:<6} {kind}{again}: {said}"
