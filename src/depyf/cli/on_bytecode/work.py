"""Decompile jobs, in parallel where there are several; every failure becomes an outcome."""

from __future__ import annotations

import contextlib
import multiprocessing
import signal
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool

from depyf.cli.exit_status import ExitStatus
from depyf.cli.input_errors import InputError
from depyf.cli.on_bytecode.live_target import live_outcome
from depyf.cli.on_bytecode.targets import Job, find_code, open_member, part_of
from depyf.cli.outcome import Outcome
from depyf.decompiler.driver.opened_files import decompile_opened
from depyf.decompiler.driver.part_of_file import decompile_part
from depyf.decompiler.options import Options
from depyf.decompiler.verify.verdict import Status
from depyf.errors import BytecodeError, DepyfError


def decompile_one(job: Job, python: str | None, version: str | None = None) -> Outcome:
    """Decompile one input.  Never raises: an error of depyf in one file must not affect the others."""
    live = live_outcome(job, python)
    if live is not None:
        return live
    try:
        if job.data is not None and (job.version is not None or job.part):
            opened = open_member(job.data, job.version, job.part, job.target, version)
        else:
            opened = find_code(job.target, job.data, version)
    except (InputError, BytecodeError, OSError) as error:
        return Outcome(job.target, job.relative, job.order, ExitStatus.UNREADABLE, error=str(error))
    except MemoryError:
        return Outcome(
            job.target, job.relative, job.order, ExitStatus.UNREADABLE, error="it takes more memory than there is"
        )
    try:
        part = part_of(job, version)
        shown = decompile_part(*part, Options(python=python)) if part is not None else None
        result, unit = (shown, opened.unit) if shown is not None else decompile_opened(opened, Options(python=python))
    except DepyfError as error:
        return Outcome(job.target, job.relative, job.order, ExitStatus.FAILED, opened.unit.version, error=str(error))
    except Exception as error:
        message = f"internal error, please report it: {type(error).__name__}: {error}"
        return Outcome(job.target, job.relative, job.order, ExitStatus.FAILED, opened.unit.version, error=message)
    status = ExitStatus.PROVEN if result.proven else ExitStatus.UNPROVEN
    if any(verdict.status is Status.FAILED for verdict in result.verdicts):
        status = ExitStatus.FAILED
    verdicts = tuple(result.verdicts)
    return Outcome(
        job.target, job.relative, job.order, status, unit.version, result.shown, verdicts, note=result.note or None
    )


def decompile_all(jobs: list[Job], processes: int, python: str | None, version: str | None = None) -> Iterator[Outcome]:
    """Outcomes in the order in which they are ready."""
    if processes == 1 or len(jobs) <= 1:
        for job in jobs:
            yield decompile_one(job, python, version)
        return
    with ProcessPoolExecutor(min(processes, len(jobs)), initializer=_ignore_interrupts) as pool, _ended(pool):
        with _interrupts_wait():
            futures = {pool.submit(decompile_one, job, python, version): job for job in jobs}
        for future in as_completed(futures):
            job = futures[future]
            try:
                yield future.result()
            except BrokenProcessPool:
                message = "the worker process died (out of memory?); try this file alone"
                yield Outcome(job.target, job.relative, job.order, ExitStatus.FAILED, error=message)


def _ignore_interrupts() -> None:
    """In a worker: Ctrl-C goes to all processes of a terminal, and the one that started this ends it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


@contextlib.contextmanager
def _interrupts_wait() -> Iterator[None]:
    """Ctrl-C is held until the workers are started: they inherit that, so none is hit before it ignores the signal."""
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextlib.contextmanager
def _ended(pool: ProcessPoolExecutor) -> Iterator[None]:
    """Where the work is given up, the workers do not go on to the end of it."""
    before = set(multiprocessing.active_children())
    try:
        yield
    except BaseException:
        for worker in set(multiprocessing.active_children()) - before:
            worker.terminate()
        # waiting is for the pool's own thread: at the end of the process another one wakes it, and fails if it is just
        # ending
        pool.shutdown(wait=True, cancel_futures=True)
        raise
