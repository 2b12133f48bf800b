"""Each pass by itself: a listing in, what the pass leaves out (``tests/passes``), the same on every interpreter."""

from __future__ import annotations

from dataclasses import replace

import pytest

from depyf.decompiler.driver.rungs import Rung
from pass_cases import FOLDER, PassCase, artifacts, cases_of, write_cases
from unit_listing import listing

FILES = sorted(FOLDER.glob("*.txt"))
CASES = [case for path in FILES for case in cases_of(path)]
STEPS = sorted({step.name for rung in Rung for step in rung.passes})


def identity(case: PassCase) -> str:
    return f"{case.step}-{case.name}"


@pytest.mark.parametrize("case", CASES, ids=identity)
def test_pass(case: PassCase, request: pytest.FixtureRequest) -> None:
    (found,) = [(before, after) for step, before, after in artifacts(case.unit, case.rung) if step == case.step]
    if request.config.getoption("--update") and found != (case.before, case.after):
        path = FOLDER / f"{case.step}.txt"
        new = replace(case, before=found[0], after=found[1])
        write_cases(path, [new if other.name == case.name else other for other in cases_of(path)])
        return
    assert found == (case.before, case.after)
    assert found[0] != found[1], "the pass has nothing to do here"


@pytest.mark.parametrize("case", CASES, ids=identity)
def test_listing_is_what_is_written(case: PassCase) -> None:
    assert listing(case.unit) + "\n" == case.listing


def test_every_pass_has_a_case() -> None:
    assert [path.stem for path in FILES] == STEPS
    assert all(map(cases_of, FILES))


def test_names_of_cases_are_unique() -> None:
    assert len({(case.step, case.name) for case in CASES}) == len(CASES)
