"""``make torch-matrix``: the integration tests (``tests/torch``) on each supported torch, each in an environment of its own.

python tools/torch_matrix.py [VERSION...] [--keep] [--tests PATH...] [--folder FOLDER]

An environment is made below FOLDER (default ``.torch-matrix``, ignored by git), from the ordinary package index: CUDA
wheels, about 5 GB, which run on CPU machines.  It is removed after its run unless ``--keep``; one that is there is used.
The table goes to standard output and ``FOLDER/results.json``; logs are beside it.  Exit status 0: every test passed.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "tools")]
from interpreters import find

MATRIX = {
    "2.6": ("3.10",), "2.8": ("3.12", "3.11"), "2.10": ("3.13",), "2.13": ("3.11",), "2.14": ("3.14", "3.13"), "2.15": ("3.15", "3.13"),
}  # fmt: skip
"""torch -> Pythons it supports, the first one found is used; between them every host version that torch has wheels for."""
PACKAGES = (
    "numpy", "pytest>=8", "hypothesis>=6.100", "rich>=13", "transformers>=4.50", "debugpy>=1.8", "pexpect>=4.9", "ipdb>=0.13",
)  # fmt: skip


def interpreter(version: str) -> str | None:
    """A CPython of this version on the PATH, under pyenv, or among those that corpus and tests use."""
    names = [shutil.which(f"python{version}")]
    root = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    names += [str(path) for path in sorted(root.glob(f"versions/{version}.*/bin/python{version}"))]
    found = find(version)
    names.append(None if found is None else str(found))
    for name in filter(None, names):
        done = subprocess.run([name, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"], capture_output=True, text=True)  # fmt: skip
        if done.stdout.strip() == version:
            return name
    return None


def environment(folder: Path, torch: str, log: Path) -> Path | None:
    """The interpreter of an environment with this torch; None where it cannot be made."""
    python = folder / f"torch-{torch}" / "bin" / "python"
    if python.exists() and subprocess.run([python, "-c", "import torch"], capture_output=True).returncode == 0:
        return python
    base = next(filter(None, map(interpreter, MATRIX[torch])), None)
    if base is None:
        log.write_text(f"no Python {' or '.join(MATRIX[torch])} found\n")
        return None
    with log.open("w") as out:

        def did(*command: str) -> bool:
            return subprocess.run(command, stdout=out, stderr=subprocess.STDOUT).returncode == 0

        if not did(base, "-m", "venv", "--clear", "--without-pip", str(python.parents[1])):
            return None
        if subprocess.run([python, "-c", ""], capture_output=True).returncode != 0:
            wrap(base, python)
        packages = subprocess.run([python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"], capture_output=True, text=True).stdout.strip()  # fmt: skip
        # pip from outside: Debian's Pythons come without ensurepip
        made = (
            packages
            and did(sys.executable, "-m", "pip", "install", "-q", "--target", packages, "pip", "setuptools")
            and did(str(python), "-m", "pip", "install", "-q", f"torch=={torch}.*")
            and did(str(python), "-m", "pip", "install", "-q", *PACKAGES)
        )
    return python if made else None


def wrap(base: str, python: Path) -> None:
    """Make ``python`` start where a link to the executable does not: ``base`` is a script that runs it with a C library of
    its own (``--argv0 "PATH"`` is what it then takes for its name)."""
    real = python.parent / os.readlink(python) if python.is_symlink() else python
    real.unlink()
    real.write_text(re.sub(r'--argv0 "[^"]*"', f'--argv0 "{real}"', Path(base).read_text()))
    real.chmod(0o755)


def run_tests(python: Path, tests: list[str], folder: Path, torch: str) -> dict[str, Any]:
    """Counts, names of what failed, and seconds."""
    report = folder / f"torch-{torch}.xml"
    report.unlink(missing_ok=True)
    env = dict(os.environ) | {
        "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT / "tools")]),
        "TORCHINDUCTOR_CACHE_DIR": str(folder / f"inductor-{torch}"),
        "HF_HUB_OFFLINE": "1",
        # processes that only compile would each import torch; on a busy machine threads of OpenMP wait for one another
        "TORCHINDUCTOR_COMPILE_THREADS": "1",
        "OMP_NUM_THREADS": "1",
        # a Python that was unpacked somewhere has its multiarch headers beside it
        "CPLUS_INCLUDE_PATH": str(Path(headers(python)).parent),
    }
    # torch and its own dependencies warn about each other's versions: not what is tested here
    command = [str(python), "-m", "pytest", *tests, "-q", "--tb=short", "-p", "no:cacheprovider", f"--junitxml={report}",
               "-o", "filterwarnings=", "--show-capture=no"]  # fmt: skip
    started = time.time()
    with (folder / f"torch-{torch}.log").open("w") as out:
        subprocess.run(command, cwd=ROOT, env=env, stdout=out, stderr=subprocess.STDOUT)
    result: dict[str, Any] = {"seconds": round(time.time() - started)}
    try:
        cases = list(ElementTree.parse(report).getroot().iter("testcase"))
    except (OSError, ElementTree.ParseError):
        return result | {"error": f"pytest did not finish: see torch-{torch}.log"}
    failed = [f"{c.get('classname')}::{c.get('name')}" for c in cases if c.find("failure") is not None or c.find("error") is not None]  # fmt: skip
    skipped = {f"{c.get('name')}": str(s.get("message")) for c in cases if (s := c.find("skipped")) is not None}
    return result | {"passed": len(cases) - len(failed) - len(skipped), "failed": failed, "skipped": skipped}


def headers(python: Path) -> str:
    command = [python, "-c", "import sysconfig; print(sysconfig.get_path('include'))"]
    return subprocess.run(command, capture_output=True, text=True).stdout.strip()


def version_of(python: Path) -> str:
    done = subprocess.run([python, "-c", "import sys, torch; print(torch.__version__, sys.version.split()[0])"], capture_output=True, text=True)  # fmt: skip
    return done.stdout.strip() or "?"


def table(results: dict[str, dict[str, Any]]) -> str:
    lines = [f"{'torch':22} {'Python':8} {'passed':>6} {'failed':>6} {'skipped':>7} {'seconds':>8}"]
    for torch, found in results.items():
        if "error" in found:
            lines.append(f"{found.get('version', torch):31} {found['error']}")
            continue
        name, _, python = found["version"].partition(" ")
        lines.append(
            f"{name:22} {python:8} {found['passed']:6} {len(found['failed']):6} {len(found['skipped']):7} {found['seconds']:8}"
        )
    for torch, found in results.items():
        lines += [f"{torch}: failed {name}" for name in found.get("failed", ())]
        lines += [f"{torch}: skipped {name}: {why}" for name, why in found.get("skipped", {}).items()]
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("versions", nargs="*", metavar="VERSION", help=f"of {', '.join(MATRIX)} (default: all)")
    parser.add_argument("--keep", action="store_true", help="do not remove the environments")
    parser.add_argument("--folder", type=Path, default=ROOT / ".torch-matrix")
    parser.add_argument("--tests", nargs="+", default=["tests/torch"])
    options = parser.parse_args()
    versions = options.versions or list(MATRIX)
    unknown = [version for version in versions if version not in MATRIX]
    if unknown:
        parser.error(f"not in the matrix: {', '.join(unknown)}")
    folder: Path = options.folder.absolute()
    folder.mkdir(parents=True, exist_ok=True)
    results: dict[str, dict[str, Any]] = {}
    for number, torch in enumerate(versions, 1):
        print(f"[{number}/{len(versions)}] torch {torch}", file=sys.stderr, flush=True)
        log = folder / f"torch-{torch}.install.log"
        python = environment(folder, torch, log)
        if python is None:
            tail = re.sub(r"\s+", " ", log.read_text().strip()[-200:]) if log.exists() else ""
            results[torch] = {"error": f"no environment: {tail}"}
        else:
            results[torch] = {"version": version_of(python)} | run_tests(python, options.tests, folder, torch)
            if not options.keep:
                shutil.rmtree(folder / f"torch-{torch}", ignore_errors=True)
        shutil.rmtree(folder / f"inductor-{torch}", ignore_errors=True)
        print(table({torch: results[torch]}), file=sys.stderr, flush=True)
    (folder / "results.json").write_text(json.dumps(results, indent=1) + "\n")
    print(table(results))
    return 0 if all("error" not in found and not found["failed"] for found in results.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
