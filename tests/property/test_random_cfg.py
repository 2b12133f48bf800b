"""Random control-flow graphs through the whole pipeline: proven, and run with the same trace as the original.

A few hundred here; ``make fuzz N=100000`` is the sweep.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from needs import need
from tools import ROOT
from tools.cases import kept
from tools.env import interpreters
from tools.fuzz import fuzz
from tools.fuzz.bytecode import assembler, randomcfg

BATCH = 25
OTHERS = [
    folder.name
    for folder in sorted(kept.FOLDER.glob("3.*"))
    if interpreters.number(folder.name) != sys.version_info[:2]
]


def test_programs_without_end_are_told_apart() -> None:
    def f(t, a, b, c, items):  # type: ignore[no-untyped-def]
        items += iter(items)

    assert fuzz.judge(f.__code__).startswith(fuzz.NOT_COMPARED)


@pytest.mark.skipif(sys.version_info[:2] not in assembler.SUPPORTED, reason="the assembler writes 3.11 to 3.14")
@pytest.mark.parametrize("batch", range(12))
def test_random_programs(batch: int) -> None:
    seeds = range(batch * BATCH, (batch + 1) * BATCH)
    assert [(seed, reason) for seed in seeds if (reason := fuzz.check(seed))] == []


KEPT = kept.kept(sys.version_info[:2])
"""Programs that failed once, as listings of this version's bytecode (``tools/cases/kept.py``): most of them at the last resort.

One of each kind of failure that the sweeps found.  Managers entered in no shape of a ``with``, dicts of other blocks, flags set
before a manager raises when it is left; items of a list that go when it is made, a list in a slot when an exception is caught, a
range without the record around it; regions whose parents change with each other, a slice of slices without end in a variable that
is tested; a dict is not None after others have seen it; handlers inside others that lose their record, round after round; a slot
below a handler with a mark on one path and a value on another.  Of 3.13: operators on decided booleans, tests of identity with
objects just made, a matched object in the slot of a handler; constant tuples and slices at joins; a dict that is updated in a
``try`` by the result of a call.
"""


@pytest.mark.parametrize("path", KEPT, ids=lambda path: path.stem)
def test_kept_programs(path: Path) -> None:
    assert fuzz.judge(kept.read(path)) == ""
    assert sys.exc_info() == (None, None, None), "the program left an exception handled in this process"


def test_listings_are_read_by_some_version() -> None:
    """Each folder is that of a supported version, and what this one stores, it reads."""
    folders = {tuple(map(int, folder.name.split("."))) for folder in kept.FOLDER.iterdir() if folder.is_dir()}
    assert folders and folders <= {*assembler.SUPPORTED}
    for path in KEPT:
        assert kept.listing(kept.read(path)) == json.loads(path.read_text(encoding="utf-8"))


@pytest.mark.skipif(sys.version_info[:2] not in ((3, 11), (3, 13)), reason="written for 3.11 and 3.13")
@pytest.mark.filterwarnings("ignore::SyntaxWarning")
def test_goto_programs() -> None:
    assert [(seed, reason) for seed in range(40) if (reason := fuzz.judge(fuzz.KINDS["gotos"](seed)))] == []


@pytest.mark.skipif(sys.version_info[:2] not in assembler.SUPPORTED, reason="the assembler writes 3.11 to 3.14")
@pytest.mark.parametrize("batch", range(4))
@pytest.mark.filterwarnings("ignore::SyntaxWarning")
def test_wild_programs(batch: int) -> None:
    first = randomcfg.WILD + batch * BATCH
    assert [(seed, reason) for seed in range(first, first + BATCH) if (reason := fuzz.check(seed))] == []


def test_random_programs_of_313() -> None:
    python = need("3.13")
    command = [python, "-m", "tools.fuzz.fuzz", "--count", "200", "--processes", "1"]
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("version", OTHERS)
def test_kept_programs_of_other_versions(version: str) -> None:
    """In the interpreter that wrote the listings."""
    python = need(version)
    program = "import sys\nfrom tools.cases import kept\nfrom tools.fuzz import fuzz\nfor path in kept.kept(sys.version_info[:2]):\n    print(path.stem, fuzz.judge(kept.read(path)) or 'passes')"
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [python, "-W", "ignore", "-c", program], capture_output=True, text=True, env=environment, check=False
    )
    stored = kept.kept(interpreters.number(version))
    assert done.stdout.splitlines() == [f"{path.stem} passes" for path in stored], done.stdout + done.stderr
