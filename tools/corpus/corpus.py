"""Decompile every code object of a standard library and print a table of verdicts (``make corpus``).

    python -m tools.corpus.corpus --version 3.11                     all of 3.11's Lib, tests included
    python -m tools.corpus.corpus --version 3.11 --limit 100         a sample of 100 files, evenly spread
    python -m tools.corpus.corpus --version 3.11 --only json --save  some modules, decompiled text kept
    python -m tools.corpus.corpus --mode function                    each function alone instead of whole modules
    python -m tools.corpus.corpus --optimize 2 --no-lines            as with -OO, and without line numbers
    python -m tools.corpus.corpus --path .venv/lib/.../numpy         another tree than the standard library; may be repeated
    python -m tools.corpus.corpus --control                          and how much of it ast.unparse brings back

``--control`` compiles the text of ``ast.unparse(ast.parse(source))`` as well, compares it with the original by the same
``verify/identical.py``, and prints its IDENTICAL share beside ours: what is lost there, no decompiler can be asked for.
A version unparses its own files; 3.8 cannot, so the host does it for 3.8.

Code of the host's own version is compiled here; code of another version is read from ``.pyc`` files that its own
interpreter writes once into ``corpus_out/pyc``.

The column "invented" counts the functions whose text shows a name of ours: a temporary, a flag, a dispatch variable
(``tools/corpus/invented.py``), "fallback" the code objects that the last resort shows: of code from a compiler, each is a fault.
"internal" counts internal errors in one way to write a function, whether another way worked.

Written to ``corpus_out/<name>/``: ``files.jsonl`` (one record a file, with the functions that show an invented name;
``--resume`` skips the files it lists) and ``failures.jsonl`` (file, qualname, status, reason, instructions) for
``tools/corpus/triage.py``; for EQUIVALENT code the reason is the first instruction that differs.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import signal
import subprocess
import sys
import time
import types
import warnings
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tools import ROOT
from tools.corpus import control, invented
from tools.env import interpreters, testsuites

HOST = f"{sys.version_info[0]}.{sys.version_info[1]}"
OUT = ROOT / "corpus_out"
COLUMNS = ("IDENTICAL", "EQUIVALENT", "UNVERIFIED", "failed", "WRONG")
LABELS = {"FAILED": "failed"}
PYC_WRITER = """
import os, py_compile, sys, warnings
warnings.simplefilter("ignore")
root, out, level = sys.argv[1:4]
for name in sys.stdin.read().splitlines():
    target = os.path.join(out, name + "c")
    if not os.path.exists(target):
        try:
            py_compile.compile(os.path.join(root, name), target, name, doraise=True, optimize=int(level))
        except Exception:
            pass
"""


class OutOfTime(BaseException):
    """Raised by the alarm; not an Exception, so that no handler of depyf swallows it."""


@dataclass(frozen=True)
class Job:
    """One file: ``pyc`` is set where it is read instead of compiled here; ``control`` is that of the unparsed text.

    ``lines`` is false where the code is to be read as if it had no line numbers.
    """

    root: str
    name: str
    pyc: str | None
    mode: str
    time_limit: int
    save_to: str | None
    control: str | None = None
    lines: bool = True


def sources(root: Path) -> Iterator[str]:
    """Relative names of the Python files below ``root``, sorted, without site-packages and caches."""
    for folder, folders, files in os.walk(root):
        folders[:] = sorted(d for d in folders if d not in ("site-packages", "dist-packages", "__pycache__"))
        for file in sorted(files):
            if file.endswith(".py"):
                yield str(Path(folder, file).relative_to(root))


def select(names: list[str], only: str | None, limit: int | None) -> list[str]:
    if only:
        names = [name for name in names if only in name]
    if limit and limit < len(names):
        names = [names[i * len(names) // limit] for i in range(limit)]
    return names


def write_pycs(version: str, root: Path, names: list[str], out: Path, optimize: int = 0) -> None:
    python = interpreters.find(version)
    if python is None:
        raise SystemExit(f"corpus: no Python {version} on this machine")
    missing = [name for name in names if not (out / (name + "c")).exists()]
    if missing:
        out.mkdir(parents=True, exist_ok=True)
        subprocess.run(
            [python, "-c", PYC_WRITER, root, out, str(optimize)], input="\n".join(missing), text=True, check=True
        )


def load(job: Job) -> Any:
    """The module's CodeUnit; None where it is not code that this version compiles."""
    from depyf.decompiler.bytecode.codeunit import CodeUnit

    if job.pyc is not None:
        from depyf.decompiler.bytecode.files.pyc import read_pyc

        if not os.path.exists(job.pyc):
            return None
        return read_pyc(job.pyc) if job.lines else without_lines(read_pyc(job.pyc))
    try:
        return CodeUnit.from_code(compile(Path(job.root, job.name).read_bytes(), job.name, "exec", dont_inherit=True))
    except (SyntaxError, ValueError, UnicodeDecodeError, RecursionError):
        return None


def without_lines(unit: Any) -> Any:
    """The unit with the line tables of all its code objects emptied, as some tools leave them."""
    from depyf.decompiler.bytecode.codeunit import CodeUnit

    consts = tuple(without_lines(item) if isinstance(item, CodeUnit) else item for item in unit.consts)
    return replace(unit, linetable=b"", consts=consts)


def children(unit: Any) -> list[Any]:
    from depyf.decompiler.bytecode.codeunit import CodeUnit

    return [const for const in unit.consts if isinstance(const, CodeUnit)]


def family(unit: Any) -> Iterator[Any]:
    """The unit and all code nested in it."""
    yield unit
    for child in children(unit):
        yield from family(child)


def starting_points(unit: Any, mode: str) -> list[Any]:
    """What is decompiled at once: the module, or each function whose parents are only classes and the module."""
    if mode == "module":
        return [unit]
    optimized = 0x1
    if unit.flags & optimized and not unit.name.startswith("<"):
        return [unit]
    return [point for child in children(unit) for point in starting_points(child, mode)]


def instructions_in(unit: Any) -> int:
    from depyf.decompiler.bytecode.lower import lower

    try:
        return len(lower(unit).instrs)
    except Exception:
        return len(unit.code) // 2


def describe(error: BaseException) -> str:
    """The error with the innermost place in our own code, so that equal causes group together."""
    where = ""
    trace = error.__traceback__
    while trace is not None:
        name = trace.tb_frame.f_code.co_filename
        if "depyf" in name:
            where = f" @{Path(name).name}:{trace.tb_frame.f_code.co_name}"
        trace = trace.tb_next
    return f"{type(error).__name__}: {str(error)[:300]}{where}"


def decompile(unit: Any, texts: list[str], fallbacks: list[str]) -> list[dict[str, Any]]:
    """One record for each code object of ``unit``, nested ones included."""
    from depyf.decompiler.driver.pipeline import decompile_unit

    sizes = {inner.qualname: len(inner.code) // 2 for inner in family(unit)}
    try:
        result = decompile_unit(unit)
    except Exception as error:
        lost = [(inner.qualname, "UNVERIFIED", "no text: the code around it failed") for inner in family(unit)]
        found = [(unit.qualname, "failed", describe(error)), *lost[1:]]
    else:
        texts.append(result.source)
        fallbacks += result.fallbacks
        found = [
            (v.qualname, LABELS.get(v.status.value, v.status.value), v.difference or v.reason) for v in result.verdicts
        ]
        missing = sum(1 for _ in family(unit)) - len(found)
        found += [(unit.qualname, "UNVERIFIED", "no verdict given")] * missing
    return [
        {"qualname": qualname, "status": status, "reason": reason, "n": sizes.get(qualname, 0)}
        for qualname, status, reason in found
    ]


def run_job(job: Job) -> dict[str, Any]:
    """Decompile one file; never raises."""

    def alarm(_signal: int, _frame: types.FrameType | None) -> None:
        raise OutOfTime

    sys.setrecursionlimit(20000)
    # CPU time, so that what else the machine does decides nothing; and a little patience for a process that hangs
    signal.signal(signal.SIGPROF, alarm)
    signal.signal(signal.SIGALRM, alarm)
    record: dict[str, Any] = {"file": job.name, "skipped": False, "codes": 0, "instrs": 0, "cpu": 0.0, "records": []}
    unit = None
    texts: list[str] = []
    fallbacks: list[str] = []
    records: list[dict[str, Any]] = []
    from depyf.decompiler.driver import decompilation

    internal: list[str] = []
    decompilation.on_internal_error = lambda unit, error: internal.append(f"{unit.qualname}: {describe(error)}")
    started = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        signal.setitimer(signal.ITIMER_PROF, job.time_limit)
        signal.alarm(10 * job.time_limit)
        try:
            unit = load(job)
            if unit is None:
                return record | {"skipped": True}
            started = time.process_time()
            for point in starting_points(unit, job.mode):
                records += decompile(point, texts, fallbacks)
        except OutOfTime:
            records.append({"qualname": "<file>", "status": "failed", "reason": "time limit", "n": 0})
        except Exception as error:
            records.append({"qualname": "<file>", "status": "failed", "reason": describe(error), "n": 0})
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
            signal.alarm(0)
        record["cpu"] = time.process_time() - started
        if unit is not None:
            points = starting_points(unit, job.mode)
            record["instrs"] = sum(instructions_in(u) for point in points for u in family(point))
            record["codes"] = sum(1 for point in points for _ in family(point))
            if job.control is not None:
                record["control"] = control.identical_units(unit, Path(job.control))
            # what a time limit cut off counts as failed
            cut = record["codes"] - len(records)
            records += [{"qualname": "<not reached>", "status": "failed", "reason": "time limit", "n": 0}] * cut
    shown = [found.qualname for text in texts for found in invented.invented(text)]
    if job.save_to and texts:
        target = Path(job.save_to, job.name)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text("\n\n".join(texts))
    counts = dict.fromkeys(COLUMNS, 0)
    for item in records:
        counts[item["status"]] += 1
    return (
        record
        | counts
        | {"internal": internal, "invented": shown, "fallback": fallbacks}
        | {"records": [r for r in records if r["status"] != "IDENTICAL"]}
    )


def results(jobs: list[Job], processes: int) -> Iterator[dict[str, Any]]:
    """Run the jobs; a worker that dies (memory, a crash of the interpreter) costs its own file only."""
    if processes == 1:
        yield from map(run_job, jobs)
        return
    todo = list(reversed(jobs))
    context = multiprocessing.get_context("fork")
    while todo:
        with ProcessPoolExecutor(processes, mp_context=context) as pool:
            running: dict[Future[dict[str, Any]], Job] = {}
            try:
                while todo or running:
                    while todo and len(running) < processes:
                        job = todo.pop()
                        running[pool.submit(run_job, job)] = job
                    done, _ = wait(running, return_when=FIRST_COMPLETED)
                    for future in done:
                        result = future.result()
                        del running[future]
                        yield result
            except BrokenProcessPool:
                # every job in flight is lost with the pool: run each alone to find the guilty one
                for job in running.values():
                    yield run_alone(job)


def run_alone(job: Job) -> dict[str, Any]:
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("fork")) as pool:
        try:
            return pool.submit(run_job, job).result()
        except BrokenProcessPool:
            failure = {"qualname": "<file>", "status": "failed", "reason": "the worker process died", "n": 0}
            counts = dict.fromkeys(COLUMNS, 0) | {"failed": 1}
            return {
                "file": job.name,
                "skipped": False,
                "codes": 1,
                "instrs": 0,
                "cpu": 0.0,
                "internal": [],
                "invented": [],
                "fallback": [],
                "records": [failure],
            } | counts


@dataclass
class Totals:
    """The sums of one table row."""

    name: str
    files: int = 0
    skipped: int = 0
    clean: int = 0
    codes: int = 0
    instrs: int = 0
    cpu: float = 0.0
    internal: int = 0
    invented: int = 0
    fallback: int = 0
    control: int | None = None
    counts: dict[str, int] | None = None

    def add(self, result: dict[str, Any]) -> None:
        if result["skipped"]:
            self.skipped += 1
            return
        self.counts = self.counts or dict.fromkeys(COLUMNS, 0)
        for column in COLUMNS:
            self.counts[column] += result[column]
        self.files += 1
        self.clean += result["IDENTICAL"] + result["EQUIVALENT"] == result["codes"]
        self.codes += result["codes"]
        self.instrs += result["instrs"]
        self.cpu += result["cpu"]
        self.internal += len(result["internal"])
        self.invented += len(result["invented"])
        self.fallback += len(result["fallback"])
        if "control" in result:
            self.control = (self.control or 0) + result["control"]

    def row(self) -> list[str]:
        counts = self.counts or dict.fromkeys(COLUMNS, 0)
        proven = counts["IDENTICAL"] + counts["EQUIVALENT"]
        pace = f"{self.cpu / self.instrs * 1e5:.2f}" if self.instrs else "-"

        def share(part: int | None) -> str:
            return f"{part / self.codes * 100:.2f}%" if self.codes and part is not None else "-"

        same, at_best = share(counts["IDENTICAL"]), share(self.control)
        files = f"{self.clean}/{self.files}"
        return [
            self.name,
            files,
            str(self.codes),
            *(str(counts[c]) for c in COLUMNS),
            share(proven),
            same,
            at_best,
            str(self.internal),
            str(self.invented),
            str(self.fallback),
            pace,
        ]


HEADER = [
    "version",
    "proven files",
    "code objects",
    *COLUMNS,
    "proven",
    "identical",
    "control",
    "internal",
    "invented",
    "fallback",
    "CPU s/100k instrs",
]


def print_table(rows: list[list[str]]) -> None:
    widths = [max(len(row[i]) for row in [HEADER, *rows]) for i in range(len(HEADER))]
    for row in [HEADER, *rows]:
        print("  ".join(cell.rjust(width) for cell, width in zip(row, widths)))


def sweep(version: str, path: str | None, options: argparse.Namespace) -> Totals:
    if path:
        root, name = Path(path).resolve(), f"{version}-{Path(path).name}"
    else:
        python = interpreters.find(version)
        if python is None:
            raise SystemExit(f"corpus: no Python {version} on this machine")
        root, name = interpreters.stdlib_of(python), version
    whole = bool(options.path) or testsuites.ensure(version, root)
    if options.mode != "module":
        name += "-" + options.mode
    names = select(list(sources(root)), options.only, options.limit)
    if options.optimize:
        name += f"-O{options.optimize}"
    if options.no_lines:
        name += "-nolines"
    stem = f"{version}-{root.name}" if path else version
    pycs = OUT / "pyc" / (f"{stem}-O{options.optimize}" if options.optimize else stem)
    foreign = version != HOST or options.pyc or options.optimize or options.no_lines
    if foreign:
        write_pycs(version, root, names, pycs, options.optimize)
    controls = OUT / "control" / pycs.name
    if options.control:
        control.unparse(version, root, names, controls / "text")
        write_pycs(version, controls / "text", names, controls / "pyc")
    folder = OUT / (f"{options.name}-{name}" if options.name else name)
    folder.mkdir(parents=True, exist_ok=True)
    totals = Totals(name if whole else f"{name} without Lib/test")
    done: set[str] = set()
    if options.resume and (folder / "files.jsonl").exists():
        for line in (folder / "files.jsonl").read_text().splitlines():
            result = json.loads(line)
            if result["file"] in names:
                done.add(result["file"])
                totals.add(result)
    save_to = str(folder / "src") if options.save else None
    jobs = [
        Job(
            str(root),
            n,
            str(pycs / (n + "c")) if foreign else None,
            options.mode,
            options.time_limit,
            save_to,
            str(controls / "pyc" / (n + "c")) if options.control else None,
            not options.no_lines,
        )
        for n in names
        if n not in done
    ]
    how = "a" if options.resume else "w"
    with open(folder / "files.jsonl", how) as per_file, open(folder / "failures.jsonl", how) as failures:
        for number, result in enumerate(results(jobs, options.processes), 1):
            totals.add(result)
            for item in result.pop("records"):
                failures.write(json.dumps({"file": result["file"]} | item) + "\n")
            per_file.write(json.dumps(result) + "\n")
            per_file.flush()
            failures.flush()
            if sys.stderr.isatty() or number % 100 == 0:
                print(f"\r{totals.name}: {number}/{len(jobs)} files", end="", file=sys.stderr, flush=True)
    print(f"\r{totals.name}: {len(jobs)} files done, details in {folder}", file=sys.stderr)
    return totals


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--version", action="append", help="a version, or 'all' (default: the host's)")
    parser.add_argument("--limit", type=int, help="this many files, evenly spread")
    parser.add_argument("--only", help="files whose path contains this")
    parser.add_argument("--mode", choices=["module", "function"], default="module")
    parser.add_argument("--path", action="append", help="another tree of Python files (each gives a row)")
    parser.add_argument("--pyc", action="store_true", help="go through .pyc files for the host's version too")
    parser.add_argument("--optimize", type=int, choices=[0, 1, 2], default=0, help="compiled as with -O or -OO")
    parser.add_argument("--no-lines", action="store_true", help="with the line numbers taken out of the code")
    parser.add_argument("--control", action="store_true", help="print the IDENTICAL share of ast.unparse's text too")
    parser.add_argument("--name", help="name of the run's folder in corpus_out")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--time-limit", type=int, default=60, help="CPU seconds a file may take")
    parser.add_argument("--resume", action="store_true")
    parser.add_argument("--save", action="store_true", help="keep the decompiled text")
    options = parser.parse_args()
    versions = options.version or [HOST]
    if versions == ["all"]:
        versions = [version for version in interpreters.VERSIONS if interpreters.find(version)]
    rows = [sweep(version, path, options) for version in versions for path in options.path or [None]]
    print_table([totals.row() for totals in rows])
    bad = sum((totals.counts or {}).get("WRONG", 0) + (totals.counts or {}).get("failed", 0) for totals in rows)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
