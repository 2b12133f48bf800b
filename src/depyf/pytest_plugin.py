"""pytest: markers and fixtures over ``depyf.testing``; loaded by pytest itself where depyf is installed.

    @pytest.mark.no_graph_breaks          the test fails if a graph breaks while its body runs
    @pytest.mark.no_recompiles            ... if a compiled function is compiled again
    @pytest.mark.graph_count(2)           ... unless exactly two graphs are captured

The fixtures ``no_graph_breaks`` and ``no_recompiles`` do the same for a test that asks for them.  With ``reset=True``
in a marker, ``--depyf-reset`` or ``depyf_reset = true`` in pytest's settings, such a test begins with
``torch._dynamo.reset()``: what earlier tests compiled, or what torch gave up in them, hides nothing.  torch is imported
only when a test with one of these runs.
"""

from __future__ import annotations

import os
import sys
import types
from collections.abc import Generator
from contextlib import ExitStack
from typing import Any

import pytest

MARKERS = {
    "no_graph_breaks": "no_graph_breaks(reset=False): fail if torch.compile breaks a graph while the test runs (depyf)",
    "no_recompiles": "no_recompiles(reset=False): fail if torch.compile compiles a function again while the test runs "
    "(depyf)",
    "graph_count": "graph_count(n, reset=False): fail unless torch.compile captures exactly n graphs while the test "
    "runs (depyf)",
}
_RESET = "depyf_reset"


def pytest_addoption(parser: pytest.Parser) -> None:
    text = "tests with a marker of depyf begin with torch._dynamo.reset()"
    parser.addini(_RESET, text, type="bool", default=False)
    parser.getgroup("depyf").addoption("--depyf-reset", action="store_true", default=False, help=text)


def pytest_configure(config: pytest.Config) -> None:
    for line in MARKERS.values():
        config.addinivalue_line("markers", line)


@pytest.fixture
def no_graph_breaks() -> None:
    """The test fails if torch.compile breaks a graph while its body runs."""


@pytest.fixture
def no_recompiles() -> None:
    """The test fails if torch.compile compiles a function again while its body runs."""


def _wanted(item: pytest.Item) -> set[str]:
    wanted = {name for name in MARKERS if item.get_closest_marker(name) is not None}
    return wanted | {"no_graph_breaks", "no_recompiles"} & set(getattr(item, "fixturenames", ()))


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Reset torch's compiled code before a test, if the user asks for it."""
    wanted = _wanted(item)
    markers = [marker for name in wanted if (marker := item.get_closest_marker(name)) is not None]
    asked = item.config.getoption("--depyf-reset") or item.config.getini(_RESET)
    if wanted and (asked or any(marker.kwargs.get("reset") for marker in markers)):
        dynamo = sys.modules.get("torch._dynamo")
        if dynamo is not None:  # else nothing was compiled
            dynamo.reset()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, Any]:
    """The assertions stand around the body, not around the fixtures: what these compile is not part of the test."""
    wanted = _wanted(item)
    if not wanted:
        return (yield)
    from depyf import testing
    from depyf.errors import DepyfError

    code = _code(item)
    entered = passed = False
    try:
        with ExitStack() as stack:
            if "no_graph_breaks" in wanted:
                stack.enter_context(testing.assert_no_graph_breaks(called_in=code))
            if "no_recompiles" in wanted:
                stack.enter_context(testing.assert_no_recompiles(called_in=code))
            if "graph_count" in wanted:
                stack.enter_context(testing.assert_graph_count(_count(item), called_in=code))
            entered = True
            result = yield
            passed = True
            return result
    except (AssertionError, DepyfError) as error:
        if entered and not passed:  # the test's own
            raise
        message = str(error)
    item.user_properties.append(("depyf", message.partition("\n")[0].rstrip(":")))  # JUnit has it as a property
    pytest.fail(f"{_place(item, code)}{message}", pytrace=False)  # the traceback would show nothing but us


def _code(item: pytest.Item) -> types.CodeType | None:
    """The code of the test's function, below its decorators."""
    function = getattr(item, "obj", None)
    function = getattr(function, "__func__", function)
    for _ in range(100):
        inner = getattr(function, "__wrapped__", None)
        if inner is None:
            break
        function = inner
    code = getattr(function, "__code__", None)
    return code if isinstance(code, types.CodeType) else None


def _place(item: pytest.Item, code: types.CodeType | None) -> str:
    """The line of the test, as pytest and editors write it."""
    if code is None:
        return ""
    try:
        name = os.path.relpath(code.co_filename, item.config.invocation_params.dir)
    except ValueError:  # another drive
        name = code.co_filename
    return f"{name}:{code.co_firstlineno}: {item.name}: "


def _count(item: pytest.Item) -> int:
    marker = item.get_closest_marker("graph_count")
    given = marker.args if marker is not None else ()
    if len(given) != 1 or not isinstance(given[0], int):
        pytest.fail("graph_count takes one number, as in @pytest.mark.graph_count(2)", pytrace=False)
    return given[0]
