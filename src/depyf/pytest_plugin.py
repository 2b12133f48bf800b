"""pytest: markers and fixtures over ``depyf.testing``; loaded by pytest itself where depyf is installed.

    @pytest.mark.no_graph_breaks          the test fails if a graph breaks while its body runs
    @pytest.mark.no_recompiles            ... if a compiled function is compiled again
    @pytest.mark.graph_count(2)           ... unless exactly two graphs are captured

The fixtures ``no_graph_breaks`` and ``no_recompiles`` do the same for a test that asks for them.  torch is imported
only when a test with one of these runs.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import ExitStack
from typing import Any

import pytest

MARKERS = {
    "no_graph_breaks": "no_graph_breaks: fail if torch.compile breaks a graph while the test runs (depyf)",
    "no_recompiles": "no_recompiles: fail if torch.compile compiles a function again while the test runs (depyf)",
    "graph_count": "graph_count(n): fail unless torch.compile captures exactly n graphs while the test runs (depyf)",
}


def pytest_configure(config: pytest.Config) -> None:
    for line in MARKERS.values():
        config.addinivalue_line("markers", line)


@pytest.fixture
def no_graph_breaks() -> None:
    """The test fails if torch.compile breaks a graph while its body runs."""


@pytest.fixture
def no_recompiles() -> None:
    """The test fails if torch.compile compiles a function again while its body runs."""


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, Any]:
    """The assertions stand around the body, not around the fixtures: what these compile is not part of the test."""
    wanted = {name for name in MARKERS if item.get_closest_marker(name) is not None}
    wanted |= {"no_graph_breaks", "no_recompiles"} & set(getattr(item, "fixturenames", ()))
    if not wanted:
        return (yield)
    from depyf import testing
    from depyf.errors import DepyfError

    entered = passed = False
    try:
        with ExitStack() as stack:
            if "no_graph_breaks" in wanted:
                stack.enter_context(testing.assert_no_graph_breaks())
            if "no_recompiles" in wanted:
                stack.enter_context(testing.assert_no_recompiles())
            if "graph_count" in wanted:
                stack.enter_context(testing.assert_graph_count(_count(item)))
            entered = True
            result = yield
            passed = True
            return result
    except (AssertionError, DepyfError) as error:
        if entered and not passed:  # the test's own
            raise
        message = str(error)
    pytest.fail(message, pytrace=False)  # the traceback would show nothing but us


def _count(item: pytest.Item) -> int:
    marker = item.get_closest_marker("graph_count")
    given = marker.args if marker is not None else ()
    if len(given) != 1 or not isinstance(given[0], int):
        pytest.fail("graph_count takes one number, as in @pytest.mark.graph_count(2)", pytrace=False)
    return given[0]
