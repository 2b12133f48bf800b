"""Assertions for tests of code under ``torch.compile``: graph breaks, recompilations, number of graphs.

    with depyf.testing.assert_no_graph_breaks():
        compiled(x)

Each but ``assert_compiled_equals_python`` is a context manager that raises AssertionError when its block ends, with the
user's line and the cause, or where it could not listen; an exception of the block itself goes through.  They only
listen: results, caches and compiled code are torch's own.  They raise DepyfError where torch is missing.  As pytest
markers and fixtures: ``depyf.pytest_plugin``.  Importing this does not import torch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from types import CodeType
from typing import TYPE_CHECKING, Any

from depyf.run.advice.registry import sentence
from depyf.safety.guarded import Door
from depyf.safety.source_lines import source_line

if TYPE_CHECKING:
    from depyf.actions.asking.earlier_breaks import EarlierBreaks
    from depyf.actions.asking.watch import Seen, Watch
    from depyf.run.records import BreakRecord, RecompileRecord

__all__ = ["assert_compiled_equals_python", "assert_graph_count", "assert_no_graph_breaks", "assert_no_recompiles"]


def assert_no_graph_breaks(*, called_in: CodeType | None = None) -> AbstractContextManager[None]:
    """Fail if Dynamo breaks a graph, or gives a function up, while the block runs, or if a function is called that was
    compiled before, and whose graph breaks.

    Of a function that was given up before the block nothing is heard: it runs as if it was never compiled.
    ``called_in``: a function that is running, of which the failure names the lines, too.
    """
    return _asserted(lambda seen: _breaks(seen, called_in), before=True)


def assert_no_recompiles(*, called_in: CodeType | None = None) -> AbstractContextManager[None]:
    """Fail if a function that has a cache entry is compiled again while the block runs.

    A first compilation is allowed; to allow none at all, use ``assert_graph_count(0)``.
    """
    return _asserted(lambda seen: _recompiles(seen, called_in))


def assert_graph_count(count: int, *, called_in: CodeType | None = None) -> AbstractContextManager[None]:
    """Fail unless Dynamo captures exactly ``count`` graphs while the block runs."""
    return _asserted(lambda seen: _other_count(seen, count, called_in))


def assert_compiled_equals_python(
    fn: Callable[..., Any], *args: Any, rtol: float | None = None, atol: float | None = None, **kwargs: Any
) -> None:
    """Fail unless compiled ``fn(*args, **kwargs)`` does what Python does, as ``depyf.compare`` checks it.

    The call leaves nothing behind.  It fails, too, where nothing was compiled, and where the two could not be compared.
    """
    from depyf.api import compare

    result = compare(fn, *args, rtol=rtol, atol=atol, **kwargs)
    if not result:
        raise AssertionError(str(result))


@contextmanager
def _asserted(check: Callable[[tuple[Seen, ...]], str], before: bool = False) -> Iterator[None]:
    """Listen during the block; fail with what ``check`` says of it, if it says anything.  ``before``: hear of what was
    compiled before, too.

    What cannot be listened to, or not be read, fails, too: a test that asserts nothing would pass.
    """
    from depyf.sources.live.require import require_torch

    require_torch()
    problems: list[str] = []
    watch: Watch | None = None
    earlier: EarlierBreaks | None = None
    with Door("depyf could not listen", problems.append):
        from depyf.actions.asking.earlier_breaks import EarlierBreaks
        from depyf.actions.asking.watch import Watch

        watch = Watch()
        watch.start()
        if before:
            earlier = EarlierBreaks()
            earlier.start()
    try:
        yield
    finally:
        with Door("depyf could not end listening", problems.append):
            if earlier is not None:
                earlier.stop()
            if watch is not None:
                watch.stop()
    message = ""
    with Door("depyf could not read what it heard", problems.append):
        if watch is not None:
            message = check((*watch.compilations(), *(earlier.found() if earlier is not None else ())))
    if problems:
        raise AssertionError(f"nothing can be asserted: {problems[0]}")
    if message:
        raise AssertionError(message)


def _breaks(seen: tuple[Seen, ...], code: CodeType | None) -> str:
    met = {item.identity: _break(one, item, code) for one in reversed(seen) for item in reversed(one.breaks)}
    return _numbered("graph break", list(reversed(met.values())))


def _recompiles(seen: tuple[Seen, ...], code: CodeType | None) -> str:
    return _numbered("recompilation", [_recompile(one, code) for one in seen if one.recompiles])


def _called_at(seen: Seen, code: CodeType | None) -> list[str]:
    """The line of the function ``code`` that was running when torch compiled; [] where none was."""
    if code is None:
        return []
    for frame in reversed(seen.frames):
        if frame.filename == code.co_filename and frame.name == code.co_name:
            text = source_line(frame.filename, frame.line)
            return [f"  called in {frame.filename}:{frame.line}{f': {text}' if text else ''}"]
    return []


def _other_count(seen: tuple[Seen, ...], count: int, code: CodeType | None) -> str:
    found = sum(one.graphs for one in seen)
    if found == count:
        return ""
    lines = [f"expected {_counted(count, 'graph')}, torch.compile captured {found}"]
    if found < count:
        lines.append("  what was compiled before the block is not compiled again; torch.compiler.reset() forgets it")
    for one in seen:
        lines.append(f"  {one.compile_id}: {_counted(one.graphs, 'graph')} in {one.function} ({one.place})")
        lines += ["  " + line for line in _called_at(one, code)]
    lines += ["  " + line for one in seen for item in one.breaks for line in _break(one, item, code)]
    return "\n".join(lines)


def _break(seen: Seen, item: BreakRecord, code: CodeType | None) -> list[str]:
    place = item.caller or item.place
    where = f"{place.filename}:{place.line}" if place is not None else seen.place
    lines = [f"{where} in {seen.function} [{seen.compile_id}]", f"  cause: {item.cause or item.reason}"]
    lines += _called_at(seen, code)
    if item.caller is not None and item.place is not None:
        lines.append(f"  there, in {item.place.filename}:{item.place.line}")
    if item.skipped:
        lines.append("  the whole function runs as ordinary Python")
    if item.cut:
        lines.append("  the rest of the function runs as ordinary Python")
    if item.reason and item.reason != item.cause:
        lines.append(f"  torch: {item.reason}")
    return lines + [f"  hint:  {hint}" for hint in item.hints if "report an issue" not in hint]


def _recompile(seen: Seen, code: CodeType | None) -> list[str]:
    lines = [f"{seen.function} ({seen.place}) [{seen.compile_id}]", *_called_at(seen, code)]
    for reason in seen.recompiles:
        lines += _reason(reason)
    return lines


def _reason(reason: RecompileRecord) -> list[str]:
    from depyf.run.guards.difference import beside

    lines = [f"  {reason.entry} did not fit: {reason.guard}"]
    expected, actual = beside(reason.guard, reason.expected, reason.actual)
    if expected:
        lines.append(f"    expected {expected}, actual {actual or 'another value'}")
    elif actual:  # torch's own words have the rest
        lines.append(f"    got {actual}")
    if reason.place is not None:
        lines.append(f"    because of {reason.place}" + (f": {reason.place.text}" if reason.place.text else ""))
    if reason.advice:
        lines.append(f"    advice: {sentence(reason.advice)}")
    return lines


def _numbered(what: str, items: list[list[str]]) -> str:
    """The items below their number; nothing where there are none."""
    if not items:
        return ""
    lines = [f"{_counted(len(items), what)}:"]
    for number, (first, *rest) in enumerate(items, 1):
        lines += [f"  {number}. {first}", *("   " + line for line in rest)]
    return "\n".join(lines)


def _counted(number: int, what: str) -> str:
    return f"{number} {what}" + ("" if number == 1 else "s")
