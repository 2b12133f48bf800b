"""Every task of the sweep in a process of its own: scheduling, resuming, progress.

This process imports torch and the model libraries once and forks for each task, so that a model which crashes the
interpreter, runs away with the memory or never ends costs one line of the results and nothing else.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import resource
import signal
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tools import ROOT
from tools.torch.models.rows import INFERENCE, Row

MEMORY = 12 << 30


@dataclass(frozen=True, slots=True)
class Task:
    row: Row
    mode: str
    backend: str

    @property
    def key(self) -> tuple[str, str, str]:
        return self.row.name, self.mode, self.backend


def tasks(
    rows: Sequence[Row], modes: Sequence[str], backends: Sequence[str], shard: tuple[int, int] = (1, 1)
) -> list[Task]:
    """In the order they run: the cheap backends first, inference before training; shard k of n takes every n-th."""
    found = [
        Task(row, mode, backend)
        for backend in backends
        for mode in modes
        for row in rows
        if mode in row.modes and (row.steps == "forward" or mode == INFERENCE)
    ]
    number, shards = shard
    return found[number - 1 :: shards]


def subset(rows: Sequence[Row], traced: Sequence[str]) -> list[Task]:
    """One task per row, training where the row trains, with aot_eager for the rows in ``traced``: what the tests run."""
    return [Task(row, row.modes[-1], "aot_eager" if row.name in traced else "eager") for row in rows]


def version() -> str:
    """A hash of depyf's source: a result belongs to it."""
    digest = hashlib.sha256()
    for path in sorted((ROOT / "src").rglob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


def earlier(path: Path, wanted: str | None) -> dict[tuple[str, str, str], dict[str, object]]:
    """The results in a file, the last one of each task; of version ``wanted`` only, or of any."""
    found: dict[tuple[str, str, str], dict[str, object]] = {}
    if path.exists():
        for line in path.read_text().splitlines():
            try:
                item = json.loads(line)
                key = (item["model"], item["mode"], item["backend"])
            except (ValueError, KeyError):
                continue  # the line that was being written when a sweep was killed
            if wanted is None or item.get("version") == wanted:
                found[key] = item
    return found


def run_forked(
    task: Task, seconds: float, log: Path, keep: Path | None = None, compare: bool = False
) -> dict[str, object]:
    """The result of one task, whatever happens to the process that runs it."""
    started = time.time()
    receive, send = os.pipe()
    sys.stdout.flush()
    sys.stderr.flush()
    child = os.fork()
    if child == 0:
        _in_child(task, send, log, keep, compare)
    os.close(send)
    timed_out = False
    status = 0
    while True:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            break
        if time.time() - started > seconds:
            timed_out = True
            os.killpg(child, signal.SIGKILL)
            _, status = os.waitpid(child, 0)
            break
        time.sleep(0.05)
    with os.fdopen(receive) as stream:
        text = stream.read() if not timed_out else ""
    try:
        return dict(json.loads(text))
    except ValueError:
        reason = f"more than {seconds:.0f} s" if timed_out else _ended(status)
        return {
            "model": task.row.name, "mode": task.mode, "backend": task.backend, "status": "timeout" if timed_out else "crash",
            "reason": reason, "seconds": round(time.time() - started, 1),
        }  # fmt: skip


def _in_child(task: Task, send: int, log: Path, keep: Path | None, compare: bool) -> None:
    """Never returns.  Everything that is printed goes to ``log``."""
    try:
        os.setpgid(0, 0)
        out = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        for stream in (1, 2):
            os.dup2(out, stream)
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        from tools.torch.models.runner import check

        result = check(task.row, task.mode, task.backend, keep, compare)
        os.write(send, json.dumps(dataclasses.asdict(result)).encode())
        os._exit(0)
    finally:
        os._exit(1)


def _ended(status: int) -> str:
    if os.WIFSIGNALED(status):
        return f"killed by {signal.Signals(os.WTERMSIG(status)).name}"
    return f"the process ended with status {os.waitstatus_to_exitcode(status)}"


def select(rows: Iterable[Row], only: Sequence[str], suites: Sequence[str]) -> list[Row]:
    """Rows whose name contains one of ``only`` (any case), of these suites; everything where nothing is asked for."""
    return [
        row for row in rows
        if (not only or any(part.lower() in row.name.lower() for part in only)) and (not suites or row.suite in suites)
    ]  # fmt: skip
