"""Why a compilation failed, in plain words, and the program's line.

Input: the data of ``compilation_metrics`` of a compilation that failed.  Output: a sentence and a place.  The layouts
of messages differ from release to release: what is not recognised is torch's own first line, with the name of the
error.
"""

from __future__ import annotations

import builtins
import linecache
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from depyf.run.addresses import without_addresses
from depyf.run.advice.source_names import SizeSource, named, size_source
from depyf.run.installed_files import installed
from depyf.run.places.place import Place
from depyf.run.places.stack_text import frames_in
from depyf.run.records import RecompileRecord
from depyf.safety.escape import cut
from depyf.sources.reports.break_stack import TracedFrame
from depyf.sources.reports.library_files import of_libraries

_LONGEST = 300
_CONSTANT = re.compile(
    r"You marked (?P<name>\S+) as dynamic but your code specialized it to be a constant \((?P<value>[^)]*)\)"
)
_INFERRED = re.compile(r"(?P<name>L\[\S+) was inferred to be a constant \((?P<value>[^)]*)\)")
_NARROWED = re.compile(
    r"Not all values of (?P<name>L\[\S+\]|\S+ = L\[\S+\]\S*).* satisfy the generated guard (?P<guard>.+?)\.?$", re.M
)
_BACKEND = re.compile(r"^backend='?(?P<name>[^']+?)'? raised:\s*(?P<error>\S[^\n]*)", re.S)
_FAKE = re.compile(r"got (?P<error>\w+)\((?P<quote>['\"])(?P<said>.*)(?P=quote),?\)\s*$", re.M)
_OWN_GUARD = re.compile(
    r"^Guard failed on the same frame it was created\b[^\n]*?Guard fail reason: \S+: (?P<guard>[^#\n]+?)\s+#", re.M
)
_SIZES = re.compile(r"\w[\w.'\[\]]*\.size\(\)\[\d+\]")
_EXPRESSION = re.compile(
    r"Could not (?:guard on|extract specialized integer from) data-dependent expression (?P<it>.+?) \(unhinted"
)
_MARKED = "marked dynamic (mark_dynamic), and this line needs"
EXPORTED = "dynamic (dynamic_shapes), and the program needs"
"""The same in a call of ``torch.export``."""
_ON_VALUES = "what this line asks depends on the values in a tensor, and those are not known while compiling"
_SAID = {
    "FailOnRecompileLimitHit": (
        "this was compiled as often as recompile_limit allows, and with fullgraph=True one more is an error"
    ),
    "KeyboardInterrupt": "the program was interrupted (KeyboardInterrupt) while torch compiled this",
    "SystemExit": "the program was ended (SystemExit) while torch compiled this",
    "AsPythonConstantNotImplementedError": (
        "this line needs a constant, and the value is known only when the compiled code runs"
    ),
}
"""Errors of torch whose kind says all -> what happened."""
_ERROR = re.compile(r"^(?P<name>[A-Za-z_][\w.]*(?:Error|Exception|Failed))\b:?", re.M)


@dataclass(frozen=True, slots=True)
class ToldFailure:
    """Why a compilation failed."""

    words: str = ""
    """A sentence; "" where it did not fail."""
    place: Place | None = None
    """The innermost line of the program that torch was tracing, or that the message names."""
    on_values: bool = False
    """The line asks for the values in a tensor."""


NO_FAILURE = ToldFailure()


def told_failure(
    data: dict[str, Any], traced: tuple[TracedFrame, ...] = (), outside: str = "", declared: str = _MARKED
) -> ToldFailure:
    """Why a compilation failed, from its metrics.  ``outside``: the result of ``outside_declared``.  ``declared``: the
    words for how a size was declared dynamic."""
    kind, reason = str(data.get("fail_type") or ""), str(data.get("fail_reason") or "")
    if not reason:
        return NO_FAILURE
    words = outside or _words(kind, reason, declared) or _ON_VALUES
    text = without_addresses(cut(" ".join(words.split()), _LONGEST))
    return ToldFailure(text, _place(reason, data, traced), words is _ON_VALUES)


def outside_declared(data: dict[str, Any], found: Iterable[RecompileRecord]) -> str:
    """The sentence that the call is outside of the declared ``dynamic_shapes``, where torch's own new guard fails; ""
    for other errors.  ``found``: why earlier entries did not fit."""
    failed = _OWN_GUARD.search(str(data.get("fail_reason") or ""))
    if failed is None:
        return ""
    guard = failed["guard"].strip()
    wanted = _SIZES.sub(lambda size: _size(size[0]), guard)
    known = next((one for one in found if one.guard == guard and one.actual and len(one.differences) == 1), None)
    size = _SIZES.search(guard)
    now = f"{_size(size[0])} is {known.actual}: " if known is not None and size is not None else ""
    return f"{now}this call is outside of what dynamic_shapes= declares, {wanted}, and torch raises an error"


def pinned_constant(reason: str) -> tuple[SizeSource, int] | None:
    """The size and its required number in torch's error for a size marked dynamic; None for other errors."""
    found = _CONSTANT.search(reason)
    size = size_source(found["name"]) if found is not None else None
    return (
        (size, int(found["value"])) if found is not None and size is not None and found["value"].isdecimal() else None
    )


def asks_double_backward(message: str) -> bool:
    """Whether torch's error says that compiled code has no backward of its backward (double backward)."""
    return "does not currently support double backward" in message


def _words(kind: str, reason: str, declared: str) -> str:
    """A sentence; "" where the line asks for the values in a tensor."""
    violated = _CONSTANT.search(reason) or _INFERRED.search(reason)
    if violated is not None:
        name = _size(violated["name"])
        return f"{name} is {declared} it to be {violated['value']}"
    narrowed = _NARROWED.search(reason)
    if kind == "ConstraintViolationError" and narrowed is not None:
        name = _size(narrowed["name"].rpartition(" = ")[2])
        guard = re.sub(r"L\['\w+'\]\S*\.size\(\)\[\d+\]", lambda size: _size(size[0]), narrowed["guard"])
        return f"{name} is marked dynamic (mark_dynamic) for all sizes, and the program needs {guard}"
    backend = _BACKEND.match(reason)
    if backend is not None:
        return f"the backend {backend['name'].rpartition('.')[2]} raised {backend['error']}"
    fake = _FAKE.search(reason)
    if fake is not None:
        return f"this operation fails, most likely without torch.compile, too: {fake['error']}: {fake['said']}"
    if kind in _SAID:
        return _SAID[kind]
    expression = _EXPRESSION.search(reason)
    if expression is not None:
        return ""
    if kind == "InternalTorchDynamoError" or isinstance(getattr(builtins, kind, None), type):
        return f"an error inside of torch while it traced this: {_with_kind(kind, reason)}"
    return f"{kind}: {_first(reason)}" if kind and not reason.startswith(kind) else _first(reason)


def _with_kind(kind: str, reason: str) -> str:
    first = _first(reason)
    return first if kind == "InternalTorchDynamoError" or first.startswith(kind) else f"{kind}: {first}"


def _first(reason: str) -> str:
    """The first line that says something."""
    lines = [line.strip() for line in reason.splitlines() if line.strip()]
    first = lines[0] if lines else ""
    return f"{first} {lines[1]}" if first.endswith(":") and len(lines) > 1 else first


def _size(source: str) -> str:
    """``L['x'].size()[0]`` -> ``x.size(0)``."""
    size = size_source(source)
    return named(source) if size is None else f"{named(size.tensor)}.{size.what}({size.index})"


def _place(reason: str, data: dict[str, Any], traced: tuple[TracedFrame, ...]) -> Place | None:
    """The program's line: in the stack that the message shows, else the one that torch names beside it."""
    frames = [*(Place(frame.filename, frame.line, frame.name) for frame in traced), *frames_in(reason)]
    filename, line = data.get("fail_user_frame_filename"), data.get("fail_user_frame_lineno")
    if isinstance(filename, str) and isinstance(line, int):
        frames.insert(0, Place(filename, line))
    own = [place for place in frames if not of_libraries(place.filename)]
    found = next((place for place in reversed(own) if not installed(place.filename)), own[-1] if own else None)
    if found is None:
        return None
    text = linecache.getline(found.filename, found.line).strip()
    return Place(found.filename, found.line, found.function, text)
