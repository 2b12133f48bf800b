"""Random control-flow graphs through the whole pipeline: proven, and run with the same trace as the original.

A few hundred here; ``make fuzz N=100000`` is the sweep.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import assembler
import fuzz
import randomcfg
from needs import need

BATCH = 25


def test_programs_without_end_are_told_apart() -> None:
    def f(t, a, b, c, items):  # type: ignore[no-untyped-def]
        items += iter(items)

    assert fuzz.judge(f.__code__).startswith(fuzz.NOT_COMPARED)


@pytest.mark.skipif(sys.version_info[:2] not in assembler.SUPPORTED, reason="the assembler writes 3.11 to 3.14")
@pytest.mark.parametrize("batch", range(12))
def test_random_programs(batch: int) -> None:
    seeds = range(batch * BATCH, (batch + 1) * BATCH)
    assert [(seed, reason) for seed in seeds if (reason := fuzz.check(seed))] == []


# one of each kind of failure that the sweeps found, most of them at the last resort (plain lifting)
KEPT = (4, 6, 9, 17, 25, 33, 37, 38, 44, 99, 101, 129, 228, 244, 318, 432, 858, 1835)
KEPT_WILD = (100814, 101412, 101909, 100002, 100005, 100018, 100022, 100044, 100079, 100097, 100011, 100108)

KEPT_HOSTILE = (
    200007,
    200096,
    200151,
    201033,
    201087,
    201283,
    200041,
    200054,
    200119,
    200166,
    200254,
    200283,
    200293,
    200349,
    200393,
    200480,
)


KEPT_RUNG_OF_VALUES = (
    210013, 210090, 210240, 210524, 210584, 220070, 220149, 220674, 221061, 221351,
)  # fmt: skip
"""Managers entered in no shape of a ``with``, dicts of other blocks, flags set before a manager raises when it is left."""

KEPT_MUTANTS = (
    400000, 400005, 400010, 400011, 400051, 400054, 400073, 400091, 400100, 400116, 400139, 400145, 400178, 400206, 400211,
    400469, 450007, 450558, 450028, 450132, 450399, 450575,
)  # fmt: skip


KEPT_RANGES = (
    300003, 300005, 300009, 300010, 300020, 300027, 300036, 300059, 300068, 300069, 300073, 300078, 300080, 300082, 300084,
)  # fmt: skip


@pytest.mark.skipif(sys.version_info[:2] != (3, 11), reason="the numbers are those of the programs on 3.11")
@pytest.mark.parametrize("seed", KEPT + KEPT_WILD + KEPT_HOSTILE + KEPT_RUNG_OF_VALUES + KEPT_RANGES + KEPT_MUTANTS)
def test_kept_programs(seed: int) -> None:
    assert fuzz.check(seed) == ""
    assert sys.exc_info() == (None, None, None), "the program left an exception handled in this process"


@pytest.mark.skipif(sys.version_info[:2] not in ((3, 11), (3, 13)), reason="written for 3.11 and 3.13")
@pytest.mark.filterwarnings("ignore::SyntaxWarning")
def test_goto_programs() -> None:
    assert [(seed, reason) for seed in range(40) if (reason := fuzz.judge(fuzz.KINDS["gotos"](seed)))] == []


KEPT_OF_KINDS = (
    ("ranges", 3002603),
    ("ranges", 3003239),
    ("ranges", 3003571),
    ("ranges", 5003843),
    ("hostile", 8000566),
    ("gotos", 1011),
    ("gotos", 1041),
    ("gotos", 500013),
    ("gotos", 500016),
    ("gotos", 2045),
    ("gotos", 3281),
    ("gotos", 610664),
    ("gotos", 610087),
    ("ranges", 8002899),
    ("ranges", 12048213),
    ("gotos", 12003539),
    ("gotos", 630691),
    ("mutants", 13020407),
    ("ranges", 12085333),
    ("ranges", 1130039353),
    ("ranges", 1130061378),
)
"""Items of a list that go when it is made, a list in a slot when an exception is caught, a range without the record around it;
regions whose parents change with each other, a slice of slices without end in a variable that is tested; a dict is not None after others have seen it;
handlers inside others that lose their record, round after round; a slot below a handler with a mark on one path and a value on another."""


@pytest.mark.skipif(sys.version_info[:2] != (3, 11), reason="the numbers are those of the programs on 3.11")
@pytest.mark.parametrize(("kind", "seed"), KEPT_OF_KINDS)
def test_kept_programs_of_kinds(kind: str, seed: int) -> None:
    assert fuzz.judge(fuzz.KINDS[kind](seed)) == ""


@pytest.mark.skipif(sys.version_info[:2] not in assembler.SUPPORTED, reason="the assembler writes 3.11 to 3.14")
@pytest.mark.parametrize("batch", range(4))
@pytest.mark.filterwarnings("ignore::SyntaxWarning")
def test_wild_programs(batch: int) -> None:
    first = randomcfg.WILD + batch * BATCH
    assert [(seed, reason) for seed in range(first, first + BATCH) if (reason := fuzz.check(seed))] == []


def test_random_programs_of_313() -> None:
    python = need("3.13")
    command = [python, str(Path(fuzz.__file__)), "--count", "200", "--processes", "1"]
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


KEPT_313 = (
    *[("gotos", seed) for seed in (4048, 4175, 4296, 600163, 620419, 620603, 620937, 621216, 12037879)],
    ("hostile", 1500018927),
)
"""Operators on decided booleans, tests of identity with objects just made, a matched object in the slot of a handler; constant tuples and slices at joins;
a dict that is updated in a ``try`` by the result of a call."""


def test_kept_programs_of_313() -> None:
    python = need("3.13")
    program = f"import fuzz\nfor kind, n in {KEPT_313}:\n    print(n, fuzz.judge(fuzz.KINDS[kind](n)) or 'passes')"
    tools = str(Path(fuzz.__file__).parent)
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "PYTHONPATH": tools}
    done = subprocess.run(
        [python, "-W", "ignore", "-c", program], capture_output=True, text=True, env=environment, check=False
    )
    assert done.stdout.splitlines() == [f"{n} passes" for _, n in KEPT_313], done.stdout + done.stderr
