"""Assertions for tests of code under ``torch.compile``: graph breaks, recompilations, number of graphs.

    with depyf.testing.assert_no_graph_breaks():
        compiled(x)

Each is a context manager that raises AssertionError when its block ends, with the user's line and the cause; an exception
of the block itself goes through.  They only listen: results, caches and compiled code are torch's own.  As pytest
markers and fixtures: ``depyf.pytest_plugin``.  Importing this does not import torch.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from depyf.dump.records import BreakRecord, RecompileRecord
    from depyf.dynamo.asking.watch import Seen

__all__ = ["assert_graph_count", "assert_no_graph_breaks", "assert_no_recompiles"]


@contextmanager
def assert_no_graph_breaks() -> Iterator[None]:
    """Fail if Dynamo breaks a graph, or gives a function up, while the block runs.

    Only what is compiled inside the block can be seen: a function that was compiled before does not break again.
    """
    with _watched() as seen:
        yield
    found = [(one, item) for one in seen for item in one.breaks]
    if found:
        raise AssertionError(_numbered("graph break", [_break(one, item) for one, item in found]))


@contextmanager
def assert_no_recompiles() -> Iterator[None]:
    """Fail if a function that has a cache entry is compiled again while the block runs.

    A first compilation is allowed; to allow none at all, use ``assert_graph_count(0)``.
    """
    with _watched() as seen:
        yield
    found = [_recompile(one) for one in seen if one.recompiles]
    if found:
        raise AssertionError(_numbered("recompilation", found))


@contextmanager
def assert_graph_count(count: int) -> Iterator[None]:
    """Fail unless Dynamo captures exactly ``count`` graphs while the block runs."""
    with _watched() as seen:
        yield
    found = sum(one.graphs for one in seen)
    if found != count:
        lines = [f"expected {_counted(count, 'graph')}, torch.compile captured {found}"]
        lines += [
            f"  {one.compile_id}: {_counted(one.graphs, 'graph')} in {one.function} ({one.place})" for one in seen
        ]
        lines += ["  " + line for one in seen for item in one.breaks for line in _break(one, item)]
        raise AssertionError("\n".join(lines))


@contextmanager
def _watched() -> Iterator[list[Seen]]:
    """Listen during the block; the list is filled when it ends without an exception."""
    from depyf.dynamo.asking.watch import Watch
    from depyf.dynamo.require import require_torch

    require_torch()
    watch = Watch()
    seen: list[Seen] = []
    watch.start()
    try:
        yield seen
    finally:
        watch.stop()
    seen += watch.compilations()


def _break(seen: Seen, item: BreakRecord) -> list[str]:
    place = item.caller or item.place
    where = f"{place.filename}:{place.line}" if place is not None else seen.place
    lines = [f"{where} in {seen.function} [{seen.compile_id}]", f"  cause: {item.cause or item.reason}"]
    if item.caller is not None and item.place is not None:
        lines.append(f"  there, in {item.place.filename}:{item.place.line}")
    if item.skipped:
        lines.append("  the whole function runs as ordinary Python")
    if item.cut:
        lines.append("  the rest of the function runs as ordinary Python")
    if item.reason and item.reason != item.cause:
        lines.append(f"  torch: {item.reason}")
    return lines + [f"  hint:  {hint}" for hint in item.hints if "report an issue" not in hint]


def _recompile(seen: Seen) -> list[str]:
    lines = [f"{seen.function} ({seen.place}) [{seen.compile_id}]"]
    for reason in seen.recompiles:
        lines += _reason(reason)
    return lines


def _reason(reason: RecompileRecord) -> list[str]:
    from depyf.dump.records import values_beside

    lines = [f"  {reason.entry} did not fit: {reason.guard}"]
    values = values_beside(reason.guard, reason.expected, reason.actual)
    if values.startswith("; expected"):
        lines.append(f"    expected {reason.expected}, actual {reason.actual or 'another value'}")
    elif values:  # torch's own words have the rest
        lines.append(f"    {values.lstrip(', ')}")
    if reason.place is not None:
        lines.append(f"    because of {reason.place}" + (f": {reason.place.text}" if reason.place.text else ""))
    if reason.advice:
        lines.append(f"    advice: {reason.advice}")
    return lines


def _numbered(what: str, items: list[list[str]]) -> str:
    lines = [f"{_counted(len(items), what)}:"]
    for number, (first, *rest) in enumerate(items, 1):
        lines += [f"  {number}. {first}", *("   " + line for line in rest)]
    return "\n".join(lines)


def _counted(number: int, what: str) -> str:
    return f"{number} {what}" + ("" if number == 1 else "s")
