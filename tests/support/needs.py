"""The interpreters that tests ask for.  Where one is not on this machine the test is skipped, and the reason names it;
with ``DEPYF_REQUIRE_PYTHONS=1`` (``.ci/run`` sets it) the test fails instead.

What was asked for is noted: the last line of a run says which interpreters were tested (``tests/conftest.py``).
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import NoReturn

import pytest

import interpreters
from interpreters import VERSIONS

HOST = f"{sys.version_info[0]}.{sys.version_info[1]}"
REQUIRE = "DEPYF_REQUIRE_PYTHONS"
used = {HOST}
"""The versions that tests of this process ran on."""


def need(version: str | tuple[int, int]) -> Path:
    """The interpreter of ``version``; the test that asks is skipped, or fails, where there is none."""
    name = version if isinstance(version, str) else f"{version[0]}.{version[1]}"
    python = interpreters.find(name)
    if python is None:
        missing(f"Python {name}")
    used.add(name)
    return python


def available() -> dict[str, Path]:
    """Every interpreter of this machine, for a test of all of them together; at least the running one."""
    found = interpreters.found()
    lacking = [version for version in VERSIONS if version not in found]
    if lacking and required():
        missing(f"Python {', '.join(lacking)}")
    used.update(found)
    return found


def required() -> bool:
    """Whether a missing interpreter is a failure."""
    return os.environ.get(REQUIRE, "") not in ("", "0")


def missing(what: str) -> NoReturn:
    reason = f"no {what} on this machine (make pythons)"
    if required():
        pytest.fail(f"{reason}, and {REQUIRE} is set", pytrace=False)
    pytest.skip(reason)


def summary(tested: set[str]) -> str:
    """One line: the versions that were tested, those that are here and were not asked for, and those that are missing."""
    found = interpreters.found()
    parts = [f"tested {' '.join(version for version in VERSIONS if version in tested)}"]
    if idle := [version for version in VERSIONS if version in found and version not in tested]:
        parts.append(f"not asked for: {' '.join(idle)}")
    if lacking := [version for version in VERSIONS if version not in found]:
        parts.append(f"not on this machine: {' '.join(lacking)} (make pythons)")
    return "interpreters: " + "; ".join(parts)
