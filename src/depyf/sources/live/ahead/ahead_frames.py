"""What torch compiles ahead of time, or loads, at this moment: told by its frames.

Input: the stack of the thread, looked at while torch reports something.  Output: an ``AheadWork``; None where torch
does neither.  ``aot_compile`` gives the capture a compile id and nothing after it: backend, guards and metrics report
under none, and the bytecode hook is not called (torch 2.10 to 2.15).  Loading a function has no id at all; loading
entries (``caching_precompile``) has one, as if they were compiled.
"""

from __future__ import annotations

import sys
import traceback
import types
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from depyf.run.made import Made
from depyf.sources.live.pure_access import attribute, short_name
from depyf.sources.reports.library_files import of_libraries

_OWN_FILE = "/torch/_dynamo/aot_compile.py"
_PACKAGE = "/torch/_dynamo/package.py"
_DEEPEST = 2000


@dataclass(frozen=True, slots=True)
class AheadWork:
    """One compilation ahead of time, or one function that is loaded.  Holds live objects: keep it only while
    looking."""

    made: Made
    compile_id: str
    """Under which it was captured; "" while it is captured, and for what is loaded."""
    frame: int
    """Tells this work from others as long as it lasts."""
    original: types.CodeType | None
    code: types.CodeType | None
    """What Dynamo made of it; None where that is not there yet."""
    function: Any
    """The ``AOTCompiledFunction``; None where that is not there yet."""
    backend: str
    error: BaseException | None
    """What ends it."""
    called: Any = None
    """The object whose method is compiled; None where it is a function, and for what is loaded."""

    def failure(self) -> dict[str, Any]:
        """The fields of torch's metrics for a failed compilation, which torch leaves out here; {} for one that
        succeeded."""
        if self.error is None:
            return {}
        said: dict[str, Any] = {"fail_type": short_name(type(self.error)), "fail_reason": str(self.error)}
        place = next((line for line in reversed(_stack(self.error)) if not of_libraries(line.filename)), None)
        if place is not None:
            said |= {"fail_user_frame_filename": place.filename, "fail_user_frame_lineno": place.lineno}
        return said


def _stack(error: BaseException) -> list[traceback.FrameSummary]:
    """The lines of the program that torch was tracing, as it keeps them."""
    found = attribute(error, "real_stack")
    return list(found) if isinstance(found, list) else []


def ahead_work() -> AheadWork | None:
    """The compilation ahead of time or the loading in progress in this thread; None for none."""
    if "torch._dynamo.aot_compile" not in sys.modules:
        return None
    frame: types.FrameType | None = sys._getframe(1)
    inner: dict[str, types.FrameType] = {}
    for _ in range(_DEEPEST):
        if frame is None:
            return None
        name = frame.f_code.co_name
        if name in ("aot_compile_fullgraph", "deserialize") and _is_own(frame):
            return _compiled(frame, inner) if name == "aot_compile_fullgraph" else _loaded(frame, inner)
        if name in ("_fullgraph_capture_frame", "__post_init__", "__exit__"):
            inner[name] = frame
        frame = frame.f_back
    return None


def package_work() -> int:
    """A number for AOTInductor's compilation in progress in this thread; 0 for none."""
    frame: types.FrameType | None = sys._getframe(1)
    for _ in range(_DEEPEST):
        if frame is None:
            return 0
        if frame.f_code.co_name == "compile_fx_aot":
            return id(frame)
        frame = frame.f_back
    return 0


@dataclass(frozen=True, slots=True)
class LoadedWork:
    """An entry of a function that torch is loading now."""

    code: types.CodeType
    number: int
    """The first, second, ... entry of the function."""


def loaded_work(event: str) -> LoadedWork | None:
    """The entry that torch loads in this thread while it reports ``event``; None for none."""
    frame: types.FrameType | None = sys._getframe(1)
    for _ in range(_DEEPEST):
        if frame is None:
            return None
        if frame.f_code.co_name == "install" and frame.f_code.co_filename.replace("\\", "/").endswith(_PACKAGE):
            return _entry(frame.f_locals, event)
        frame = frame.f_back
    return None


def _entry(known: Mapping[str, Any], event: str) -> LoadedWork | None:
    """torch loads the graphs of all entries of a function first, then guards and code of one after the other; what its
    variables held for the function before stays in them until then."""
    stored = attribute(known.get("entry"), "guarded_codes")
    stored = stored if isinstance(stored, list) else []
    code, number = _code(known.get("code")), 0
    if event == "dynamo_cpp_guards_str":
        code = _code(known.get("target_code")) or code
        number = next((n for n, one in enumerate(stored) if one is known.get("guarded_code")), 0)
    elif event != "dynamo_start":
        graph = known.get("backend_id")
        names = [attribute(attribute(one, "dynamo_code"), "co_names", ()) for one in stored]
        number = next((n for n, own in enumerate(names) if graph in own), 0)
    return None if code is None else LoadedWork(code, number)


def _is_own(frame: types.FrameType) -> bool:
    return frame.f_code.co_filename.replace("\\", "/").endswith(_OWN_FILE)


def _compiled(frame: types.FrameType, inner: Mapping[str, types.FrameType]) -> AheadWork:
    known = frame.f_locals
    capture = inner.get("_fullgraph_capture_frame")
    traced = capture.f_locals.get("frame") if capture is not None else None
    captured = known.get("graph_capture_output")
    model = known.get("model")
    method = model if type(model) is types.MethodType else None
    given = attribute(known.get("backend_input"), "graph_module")
    ids = attribute(given, "meta")
    found = str(ids.get("dynamo_compile_id") or "") if isinstance(ids, dict) else ""
    return AheadWork(
        Made.AHEAD,
        found,
        id(frame),
        _code(attribute(known.get("fn"), "__code__"))
        or _code(attribute(traced, "code"))
        or _code(attribute(model if method is None else method.__func__, "__code__")),
        _code(attribute(captured, "bytecode")),
        known.get("aot_compiled_fn"),
        str(attribute(known.get("backend"), "compiler_name") or ""),
        _raised(inner),
        None if method is None else method.__self__,
    )


def _loaded(frame: types.FrameType, inner: Mapping[str, types.FrameType]) -> AheadWork:
    begun = inner.get("__post_init__")
    function = begun.f_locals.get("self") if begun is not None else None
    artifacts = attribute(function, "_artifacts")
    return AheadWork(
        Made.AHEAD_LOADED,
        "",
        id(frame),
        _code(attribute(artifacts, "original_code")),
        _code(attribute(attribute(artifacts, "runtime_env"), "bytecode")),
        function,
        str(attribute(artifacts, "backend_name") or ""),
        None,
    )


def _raised(inner: Mapping[str, types.FrameType]) -> BaseException | None:
    """The error with which the block is left in which torch collects metrics."""
    left = inner.get("__exit__")
    error = left.f_locals.get("exc_value") if left is not None else None
    return error if isinstance(error, BaseException) else None


def _code(value: Any) -> types.CodeType | None:
    return value if isinstance(value, types.CodeType) else None
