"""Every host from 3.10 to 3.15 writes the same text, with the same verdicts, for the bytecode of every version."""

from __future__ import annotations

import os
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from needs import available, need

ROOT = Path(__file__).resolve().parent.parent
MODULES = ("contextlib", "ntpath", "asyncio/tasks", "dataclasses", "argparse")
COMPILE = """
import os, py_compile, sys, sysconfig
for name in sys.argv[2:]:
    path = os.path.join(sysconfig.get_paths()["stdlib"], name + ".py")
    py_compile.compile(path, os.path.join(sys.argv[1], os.path.basename(name) + ".pyc"), doraise=True)
"""
DECOMPILE = """
import os, sys
sys.path.insert(0, sys.argv[1])
import depyf
from depyf.decompiler.verify.recompiling.interpreters import register
for path in os.environ["INTERPRETERS"].split(os.pathsep):
    register(path)
for path in sys.argv[2:]:
    result = depyf.decompile_pyc(path)
    print(path, result.source, *(f"{v.status.value} {v.reason}" for v in result.verdicts), sep=chr(10))
"""


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """One module of each version."""
    found = []
    for number, (version, python) in enumerate(available().items()):
        folder = tmp_path_factory.mktemp(version)
        names = (MODULES[number % len(MODULES)],)
        subprocess.run([python, "-I", "-c", COMPILE, folder, *names], check=True, timeout=600)
        found += sorted(folder.glob("*.pyc"))
    assert found
    return found


@cache
def written(python: Path, files: tuple[Path, ...], seed: str) -> str:
    done = subprocess.run(
        [python, "-c", DECOMPILE, ROOT / "src", *files],
        env={
            **os.environ,
            "PYTHONHASHSEED": seed,
            "PYTHONDONTWRITEBYTECODE": "1",
            # the running one may be in no place where the others look for it
            "INTERPRETERS": os.pathsep.join(map(str, available().values())),
        },
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("host", ["3.10", "3.11", "3.12", "3.13", "3.14", "3.15"])
def test_the_host_makes_no_difference(host: str, files: list[Path]) -> None:
    python = need(host)
    reference = written(Path(sys.executable), tuple(files), "1")
    assert "UNVERIFIED" not in reference and "FAILED" not in reference
    assert written(python, tuple(files), "2") == reference
