"""``make torch-matrix``: the integration tests (``tests/torch``) on each supported torch, each in an environment of its own.

python -m tools.torch.torch_matrix [VERSION...] [--keep] [--again | --failed] [--tests PATH...] [--folder FOLDER] [--limit SECONDS]

An environment is made below FOLDER (default ``.torch-matrix``, ignored by git), from the ordinary package index: CUDA
wheels, about 5 GB, which run on CPU machines.  It is removed after its run unless ``--keep``; one that is there is used.
Each test file has a process and a time limit of its own; its result goes to ``FOLDER/results.json`` at once, and a run goes
on where the last one ended (``--again``: from the start; ``--failed``: the files that had a failure).  The table goes to
standard output, the rows of whole runs to ``docs/reference/torch_versions.md`` (``torch_table.py``), logs are in ``FOLDER``.  One run at a time has a folder; what a killed one left running, the next one ends.
``2.13-py3.10`` is a torch on another Python than the one it has in the table below.  Exit status 0: every test passed.
"""

from __future__ import annotations

import argparse
import datetime
import fcntl
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tools import ROOT
from tools.env.environment import wrap
from tools.env.interpreters import find
from tools.env.testsuites import ensure_headers
from tools.torch import torch_table

MATRIX = {
    "2.6": ("3.10",), "2.8": ("3.12", "3.11"), "2.10": ("3.13",), "2.13": ("3.11",), "2.14": ("3.14", "3.13"), "2.15": ("3.15", "3.13"),
}  # fmt: skip
"""torch -> Pythons it supports, the first one found is used; between them every host version that torch has wheels for."""
PACKAGES = (
    "numpy", "jsonschema>=4.18", "pytest>=8", "pytest-xdist>=3", "hypothesis>=6.100", "rich>=13", "transformers>=4.50", "debugpy>=1.8", "pexpect>=4.9", "ipdb>=0.13", "libcst>=1.5",
)  # fmt: skip


QUIET = ("--tb=short", "-p", "no:cacheprovider", "-o", "filterwarnings=", "--show-capture=no")
"""For pytest: torch and its own dependencies warn about each other's versions, which is not what is tested here."""


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Two runs in one folder would overwrite each other's results.  The lock ends with its process, however that ends."""
    with (folder / "lock").open("a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = (folder / "lock").read_text().split()[:1] or ["?"]
            sys.exit(f"{folder} belongs to another run (process {holder[0]}): wait for it, or name another --folder")
        end_left_behind(folder)
        note(folder, None)
        try:
            yield
        finally:
            note(folder, None)


def note(folder: Path, child: int | None) -> None:
    """Who has the folder, and the group of processes that it started, for a later run that finds them."""
    (folder / "lock").write_text(f"{os.getpid()} {child or ''}\n")


def end_left_behind(folder: Path) -> None:
    """The tests of a run that was killed without a chance to end them."""
    noted = (folder / "lock").read_text().split()
    if len(noted) == 2:
        try:
            command = Path(f"/proc/{noted[1]}/cmdline").read_bytes()
        except OSError:
            return
        if f"--junitxml={folder}".encode() in command:  # the number may be another process's by now
            end_group(int(noted[1]))


def end_group(leader: int) -> None:
    """The process and all that it started."""
    try:
        os.killpg(leader, signal.SIGKILL)
    except ProcessLookupError:
        pass


def release(version: str) -> tuple[str, tuple[str, ...]]:
    """``2.13-py3.10`` taken apart: the torch, and the Pythons that will do."""
    torch, other, python = version.partition("-py")
    return torch, (python,) if other else MATRIX.get(torch, ())


def environment(folder: Path, torch: str, log: Path) -> Path | None:
    """The interpreter of an environment with this torch; None where it cannot be made."""
    python = folder / f"torch-{torch}" / "bin" / "python"
    complete = python.parents[1] / "packages.txt"  # what was installed beside torch
    there = python.exists() and subprocess.run([python, "-c", "import torch"], capture_output=True).returncode == 0
    if there and complete.exists() and complete.read_text().split() == " ".join(PACKAGES).split():
        return python
    number, pythons = release(torch)
    base = next((str(path) for path in map(find, pythons) if path), None)
    if base is None:
        log.write_text(f"no Python {' or '.join(pythons)} found\n")
        return None
    # A machine may pin the torch of its own environment, in a file of pip's too: an empty list of constraints goes before that
    unconstrained = dict(os.environ) | {"PIP_CONSTRAINT": os.devnull}
    with log.open("w") as out:

        def did(*command: str) -> bool:
            return subprocess.run(command, stdout=out, stderr=subprocess.STDOUT, env=unconstrained).returncode == 0

        if there:  # another list of packages, or none was written
            made = did(str(python), "-m", "pip", "install", "-q", *PACKAGES)
            if made:
                complete.write_text("\n".join(PACKAGES))
            return python if made else None
        if not did(base, "-m", "venv", "--clear", "--without-pip", str(python.parents[1])):
            return None
        if subprocess.run([python, "-c", ""], capture_output=True).returncode != 0:
            wrap(Path(base), python)
        packages = subprocess.run([python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"], capture_output=True, text=True).stdout.strip()  # fmt: skip
        # pip from outside: Debian's Pythons come without ensurepip
        made = (
            packages
            and did(sys.executable, "-m", "pip", "install", "-q", "--target", packages, "pip", "setuptools")
            and did(str(python), "-m", "pip", "install", "-q", f"torch=={number}.*")
            and did(str(python), "-m", "pip", "install", "-q", *PACKAGES)
        )
    if made:
        complete.write_text("\n".join(PACKAGES))
    return python if made else None


def test_files(tests: list[str]) -> list[str]:
    """Folders as the test files in them, relative to the repository; files and single tests as they are."""
    found: list[str] = []
    for test in tests:
        path = Path(test) if Path(test).is_absolute() else ROOT / test
        inside = sorted(path.rglob("test_*.py")) if path.is_dir() else []
        found += [file.relative_to(ROOT).as_posix() for file in inside] or [test]
    return found


def settings(python: Path, folder: Path, torch: str) -> dict[str, str]:
    """The variables of a process of tests in this environment."""
    return dict(os.environ) | {
        "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)]),
        "TORCHINDUCTOR_CACHE_DIR": str(folder / f"inductor-{torch}"),
        "HF_HUB_OFFLINE": "1",
        # processes that only compile would each import torch; on a busy machine threads of OpenMP wait for one another
        "TORCHINDUCTOR_COMPILE_THREADS": "1",
        "OMP_NUM_THREADS": "1",
        # a Python that was unpacked somewhere has its multiarch headers beside it
        "CPLUS_INCLUDE_PATH": str(Path(headers(python)).parent),
    }


def run_file(python: Path, test: str, folder: Path, torch: str, limit: float) -> dict[str, Any]:
    """Counts, names of what failed, why tests were skipped, and seconds; ``error`` where pytest did not get to its end."""
    logs = folder / f"torch-{torch}.logs"
    logs.mkdir(exist_ok=True)
    name = re.sub(r"\W+", "_", Path(test).name)
    report = logs / f"{name}.xml"
    report.unlink(missing_ok=True)
    command = [str(python), "-m", "pytest", test, "-q", *QUIET, f"--junitxml={report}"]
    started = time.time()
    with (logs / f"{name}.log").open("w") as out:
        child = subprocess.Popen(
            command,
            cwd=ROOT,
            env=settings(python, folder, torch),
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        note(folder, child.pid)
        try:
            child.wait(limit)
        except subprocess.TimeoutExpired:
            pass
        finally:
            if child.poll() is None:
                end_group(child.pid)
                child.wait()
            note(folder, None)
    result: dict[str, Any] = {
        "seconds": round(time.time() - started),
        "commit": commit(),
        "passed": 0,
        "failed": [],
        "skipped": {},
    }
    try:
        cases = list(ElementTree.parse(report).getroot().iter("testcase"))
    except (OSError, ElementTree.ParseError):
        return result | {"error": f"pytest did not finish (status {child.returncode}): see {logs.name}/{name}.log"}
    failed = [f"{c.get('classname')}::{c.get('name')}" for c in cases if c.find("failure") is not None or c.find("error") is not None]  # fmt: skip
    skipped = {f"{c.get('name')}": str(s.get("message")) for c in cases if (s := c.find("skipped")) is not None}
    return result | {"passed": len(cases) - len(failed) - len(skipped), "failed": failed, "skipped": skipped}


def total(found: dict[str, Any]) -> dict[str, Any]:
    """The files of one torch added up; a file that did not finish counts as a failure."""
    files: dict[str, dict[str, Any]] = found["files"]
    failed = [name for file in files.values() for name in file["failed"]]
    failed += [f"{test}: {file['error']}" for test, file in files.items() if "error" in file]
    return {
        "passed": sum(file["passed"] for file in files.values()),
        "failed": failed,
        "skipped": {name: why for file in files.values() for name, why in file["skipped"].items()},
        "seconds": sum(file["seconds"] for file in files.values()),
        "commits": list(dict.fromkeys(file["commit"] for file in files.values())),
    }


def headers(python: Path) -> str:
    command = [python, "-c", "import sysconfig; print(sysconfig.get_path('include'))"]
    return subprocess.run(command, capture_output=True, text=True).stdout.strip()


def bring_headers(python: Path, torch: str) -> None:
    """``Python.h``, where it is not there and can be had."""
    include = Path(headers(python))
    if not ensure_headers(include.name.removeprefix("python"), include):
        print(f"  {torch}: no Python.h in {include}: Inductor cannot compile C++ here", file=sys.stderr, flush=True)


def version_of(python: Path) -> str:
    done = subprocess.run([python, "-c", "import sys, torch; print(torch.__version__, sys.version.split()[0])"], capture_output=True, text=True)  # fmt: skip
    return done.stdout.strip() or "?"


def commit() -> str:
    """What is tested, for the row that is kept."""
    done = subprocess.run(["git", "describe", "--always", "--dirty"], cwd=ROOT, capture_output=True, text=True)
    return done.stdout.strip() or "?"


def table(results: dict[str, dict[str, Any]]) -> str:
    lines = [f"{'torch':22} {'Python':8} {'passed':>6} {'failed':>6} {'skipped':>7} {'seconds':>8}  commit"]
    details: list[str] = []
    for torch, found in results.items():
        if "error" in found:
            lines.append(f"{torch:31} {found['error']}")
            continue
        name, _, python = found["version"].partition(" ")
        whole = total(found)
        lines.append(
            f"{name:22} {python:8} {whole['passed']:6} {len(whole['failed']):6} {len(whole['skipped']):7} "
            f"{whole['seconds']:8}  {' '.join(whole['commits'])}"
        )
        details += [f"{torch}: failed {name}" for name in whole["failed"]]
        details += [f"{torch}: skipped {name}: {why}" for name, why in whole["skipped"].items()]
    return "\n".join(lines + details)


def run_version(torch: str, tests: list[str], folder: Path, before: dict[str, Any], limit: float, keep: Callable[[dict[str, Any]], None]) -> None:  # fmt: skip
    """Run what ``before`` has no result of; ``keep`` is called with the new state after each file."""
    found: dict[str, Any] = {"version": "?", "files": {}} | before
    found.pop("error", None)
    left = [test for test in tests if test not in found["files"]]
    if left:
        log = folder / f"torch-{torch}.install.log"
        python = environment(folder, torch, log)
        if python is None:
            tail = re.sub(r"\s+", " ", log.read_text().strip()[-200:]) if log.exists() else ""
            keep(found | {"error": f"no environment: {tail}"})
            return
        found["version"] = version_of(python)
        bring_headers(python, torch)
        for test in left:
            done = found["files"][test] = run_file(python, test, folder, torch, limit)
            print(f"  {torch} {test}: {done['passed']} passed, {len(done['failed'])} failed, {len(done['skipped'])} skipped, "
                  f"{done['seconds']} s{'; ' + done['error'] if 'error' in done else ''}", file=sys.stderr, flush=True)  # fmt: skip
            keep(found)
    keep(found)


def run_versions(
    versions: list[str], tests: list[str], folder: Path, options: argparse.Namespace
) -> dict[str, dict[str, Any]]:
    kept = folder / "results.json"
    results: dict[str, dict[str, Any]] = json.loads(kept.read_text()) if kept.exists() else {}

    for number, torch in enumerate(versions, 1):
        print(f"[{number}/{len(versions)}] torch {torch}", file=sys.stderr, flush=True)
        before = results.get(torch, {})
        files = before.get("files", {})
        redo = [t for t in tests if t in files and (options.again or (options.failed and (files[t]["failed"] or "error" in files[t])))]  # fmt: skip
        if redo:
            before = before | {"files": {test: file for test, file in files.items() if test not in redo}}

        def keep(found: dict[str, Any], torch: str = torch) -> None:
            results[torch] = found
            kept.write_text(json.dumps(results, indent=1) + "\n")

        run_version(torch, tests, folder, before, options.limit, keep)
        if not options.keep:
            shutil.rmtree(folder / f"torch-{torch}", ignore_errors=True)
        shutil.rmtree(folder / f"inductor-{torch}", ignore_errors=True)
    return results


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "versions",
        nargs="*",
        metavar="VERSION",
        help=f"of {', '.join(MATRIX)} (default: all), or one of them with -pyX.Y",
    )
    parser.add_argument("--keep", action="store_true", help="do not remove the environments")
    parser.add_argument("--again", action="store_true", help="run what has a result already, too")
    parser.add_argument("--failed", action="store_true", help="run the files again that had a failure")
    parser.add_argument("--folder", type=Path, default=ROOT / ".torch-matrix")
    parser.add_argument("--limit", type=float, default=1800, help="seconds for one test file (default 1800)")
    parser.add_argument("--tests", nargs="+", default=["tests/torch"])
    options = parser.parse_args(arguments)
    versions = options.versions or list(MATRIX)
    unknown = [version for version in versions if release(version)[0] not in MATRIX]
    if unknown:
        parser.error(f"not in the matrix: {', '.join(unknown)}")
    folder: Path = options.folder.absolute()
    folder.mkdir(parents=True, exist_ok=True)
    tests = test_files(options.tests)
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, lambda number, frame: sys.exit(128 + number))  # through every ``finally``
    with alone(folder):
        results = run_versions(versions, tests, folder, options)
    shown = {torch: results[torch] for torch in dict.fromkeys(versions)}
    torch_table.write(dict(
        torch_table.measured(found["version"], total(found), datetime.date.today())
        for torch, found in shown.items()
        if torch in MATRIX and "error" not in found and set(found["files"]) >= set(test_files(["tests/torch"]))
    ))  # fmt: skip
    print(table(shown))
    return 0 if all("error" not in found and not total(found)["failed"] for found in shown.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
