"""The interpreters that tests ask for.  Where one is not on this machine the test is skipped, and the reason names it;
with ``DEPYF_REQUIRE_PYTHONS=1`` (``.ci/run`` sets it) the test fails instead.  The same for the browser and Node, with
``DEPYF_REQUIRE_BROWSER=1``.

What was asked for is noted: the last line of a run says which interpreters were tested (``tests/conftest.py``).
"""

from __future__ import annotations

import os
import re
import sys
from collections import Counter
from pathlib import Path
from typing import NoReturn

import pytest

from tools.env import browser, interpreters
from tools.env.interpreters import VERSIONS

HOST = f"{sys.version_info[0]}.{sys.version_info[1]}"
REQUIRE = "DEPYF_REQUIRE_PYTHONS"
REQUIRE_BROWSER = "DEPYF_REQUIRE_BROWSER"
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


def another() -> str:
    """A version that is here beside the running one; the test that asks is skipped, or fails, where there is none."""
    others = [version for version in available() if version != HOST]
    return others[0] if others else missing("other Python")


def available() -> dict[str, Path]:
    """Every interpreter of this machine, for a test of all of them together; at least the running one."""
    found = interpreters.found()
    lacking = [version for version in VERSIONS if version not in found]
    if lacking and required():
        missing(f"Python {', '.join(lacking)}")
    used.update(found)
    return found


def need_program(name: str) -> Path:
    """``"chromium"`` or ``"node"``; the test that asks is skipped, or fails, where there is none."""
    program = browser.PROGRAMS[name]
    found = program.find()
    if found is None:
        missing(program.title, "make browser", REQUIRE_BROWSER)
    return found


def required(variable: str = REQUIRE) -> bool:
    """Whether what is missing is a failure."""
    return os.environ.get(variable, "") not in ("", "0")


def missing(what: str, command: str = "make pythons", variable: str = REQUIRE) -> NoReturn:
    reason = f"no {what} on this machine ({command})"
    if required(variable):
        pytest.fail(f"{reason}, and {variable} is set", pytrace=False)
    pytest.skip(reason)


def lacking_program(reason: str) -> str:
    """``Chromium`` where that is the program for want of which a test was skipped; else nothing."""
    found = re.search(r"no (\w+) on this machine \(make browser\)", reason)
    return found[1] if found else ""


def summary_of_programs(skipped: Counter[str]) -> str:
    """One line for the programs that were missing, with the number of tests skipped for it; empty where none was."""
    parts = [f"{title} ({count} skipped)" for title, count in sorted(skipped.items())]
    return f"not on this machine: {', '.join(parts)} (make browser)" if parts else ""


def summary(tested: set[str]) -> str:
    """One line: the versions that were tested, those that are here and were not asked for, and those that are missing."""
    found = interpreters.found()
    parts = [f"tested {' '.join(version for version in VERSIONS if version in tested)}"]
    if idle := [version for version in VERSIONS if version in found and version not in tested]:
        parts.append(f"not asked for: {' '.join(idle)}")
    if lacking := [version for version in VERSIONS if version not in found]:
        parts.append(f"not on this machine: {' '.join(lacking)} (make pythons)")
    return "interpreters: " + "; ".join(parts)
