"""What ``depyf attach`` runs in the process that it asks: this text, in a namespace that goes with it.

Input: the file to answer into; the asker removes it where it no longer waits.  Output: plain data, as Python prints it.
Nothing is imported, no module and no setting is changed, nothing is kept, and nothing is raised: what the process has
not loaded is not there.  Dynamo is told to leave the frames of this text alone while they run.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    import types
    from collections.abc import Callable, Iterator
    from typing import Any

FORMAT = 1
_MOST_FRAMES = 400
_MOST_TEXT = 1 << 24
"""Characters of guards."""


def answer(path: str, loaded: dict[str, Any], own: str = "") -> None:
    """Write what is asked to ``path``, whole or not at all; ``loaded``: the modules of the process; ``own``: the file
    of this text, which goes where nobody waits any more."""
    eval_frame = _eval_frame(loaded)
    set_callback = getattr(eval_frame, "set_eval_frame", None)
    before = set_callback(None) if set_callback is not None else None
    try:
        _write(path, loaded, own)
    except OSError:  # who asked has no answer then
        pass
    finally:
        if set_callback is not None:
            set_callback(before)


def _write(path: str, loaded: dict[str, Any], own: str) -> None:
    system = loaded["os"]
    if not system.path.exists(path):
        if own:
            system.unlink(own)
            system.rmdir(system.path.dirname(own))
        return
    try:
        text = repr(_facts(loaded))
    except Exception as error:  # torch is in a state, or of a kind, that is not known here
        text = repr({"format": FORMAT, "problem": type(error).__name__ + ": " + str(error)[:400]})
    with open(path + ".part", "w", encoding="utf-8", errors="backslashreplace") as file:
        file.write(text)
    system.replace(path + ".part", path)


def _eval_frame(loaded: dict[str, Any]) -> Any:
    """The part of torch that calls Dynamo, and keeps its cache."""
    return loaded.get("torch._C._dynamo.eval_frame") or _attribute(loaded.get("torch._C"), "_dynamo", "eval_frame")


def _attribute(found: Any, *names: str) -> Any:
    for name in names:
        found = getattr(found, name, None)
    return found


def _facts(loaded: dict[str, Any]) -> dict[str, Any]:
    system, torch = loaded["sys"], loaded.get("torch")
    convert = loaded.get("torch._dynamo.convert_frame")
    codes = [code for one in list(_attribute(convert, "input_codes", "seen") or ()) if (code := one()) is not None]
    return {
        "format": FORMAT,
        "pid": loaded["os"].getpid(),
        "python": system.version.split()[0],
        "torch": str(getattr(torch, "__version__", "")),
        "now": loaded["time"].time() if "time" in loaded else 0.0,
        "functions": _functions(codes, loaded),
        "compiling": list(_compiling(convert, loaded)),
        "done": list(_done(loaded)),
    }


def _functions(codes: list[types.CodeType], loaded: dict[str, Any]) -> list[dict[str, Any]]:
    """The functions with entries in torch's cache, and those."""
    entries_of: Any = getattr(_eval_frame(loaded), "_debug_get_cache_entry_list", None)
    found, left = [], _MOST_TEXT
    for code in codes if entries_of is not None else ():
        entries = []
        for entry in entries_of(code):
            manager = getattr(entry, "guard_manager", None)
            deleted = type(manager).__name__.startswith("Deleted")
            text = str(manager) if left > 0 and manager is not None and not deleted else ""
            left -= len(text)
            entries.append({"id": str(getattr(entry, "compile_id", "")), "guards": text})
        if entries:
            found.append({**_of_code(code), "entries": entries})
    return found


def _of_code(code: types.CodeType) -> dict[str, Any]:
    return {
        "name": str(getattr(code, "co_qualname", code.co_name)),
        "file": str(code.co_filename),
        "line": code.co_firstlineno,
    }


def _compiling(convert: Any, loaded: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """What each thread is compiling, told by the frames of torch that convert one; what the main thread compiles
    without one (the backward), by torch's own mark."""
    compiles = _attribute(convert, "_compile", "__code__")
    tracer = _attribute(loaded.get("torch._dynamo.symbolic_convert"), "InstructionTranslatorBase", "run")
    steps = getattr(tracer, "__code__", None)
    threads = loaded.get("threading")
    names = {number: str(thread.name) for number, thread in dict(getattr(threads, "_active", None) or {}).items()}
    main = _attribute(threads, "_main_thread", "ident")
    here = loaded["sys"]._getframe()
    for number, top in loaded["sys"]._current_frames().items():
        frame = top
        while frame is not None and frame.f_globals is here.f_globals:
            frame = frame.f_back  # of this text itself
        stack: list[tuple[str, int, str]] = []
        traced: list[tuple[str, int, str] | None] = []
        begun, inner = None, 0
        while frame is not None:
            if frame.f_code is compiles and begun is None:
                begun, inner = frame, len(stack)
            elif frame.f_code is steps and begun is None:
                traced.append(_traced(frame))
            if len(stack) < _MOST_FRAMES and str(frame.f_globals.get("__name__")).partition(".")[0] != "depyf":
                stack.append((str(frame.f_code.co_filename), frame.f_lineno or 0, str(frame.f_code.co_name)))
            frame = frame.f_back
        told = _begun(begun) if begun is not None else _backward(loaded) if number == main else None
        if told is not None:
            yield {
                **told,
                "thread": names.get(number, str(number)),
                "traced": [one for one in reversed(traced) if one is not None],
                "stack": stack[::-1],
                "inner": inner if begun is not None else len(stack),
            }


def _begun(frame: types.FrameType) -> dict[str, Any]:
    """What the frame of torch that compiles says."""
    own = frame.f_locals
    code, context = own.get("code"), own.get("metrics_context")
    since = getattr(context, "_start_time_ns", 0) if getattr(context, "_level", 0) else 0
    return {"id": str(own.get("compile_id", "")), "since": since / 1e9, **(_of_code(code) if code is not None else {})}


def _backward(loaded: dict[str, Any]) -> dict[str, Any] | None:
    """What the main thread compiles where torch converts no frame."""
    current: Callable[[], Any] | None = _attribute(loaded.get("torch._guards"), "CompileContext", "current_compile_id")
    metrics: Callable[[], Any] | None = getattr(loaded.get("torch._dynamo.utils"), "get_metrics_context", None)
    compile_id = current() if current is not None else None
    context = metrics() if metrics is not None and compile_id is not None else None
    if compile_id is None or not getattr(context, "_level", 1):
        return None
    return {"id": str(compile_id), "since": getattr(context, "_start_time_ns", 0) / 1e9, "outside": True}


def _traced(frame: types.FrameType) -> tuple[str, int, str] | None:
    """The line of the program that Dynamo looks at."""
    tracer = frame.f_locals.get("self")
    code = getattr(tracer, "f_code", None)
    if code is None:
        return None
    line = getattr(tracer, "lineno", 0)
    return str(code.co_filename), line if type(line) is int and line > 0 else code.co_firstlineno, str(code.co_name)


def _done(loaded: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The compilations that torch remembers: its last ones."""
    kept = getattr(loaded.get("torch._dynamo.utils"), "_compilation_metrics", None)
    for metrics in list(kept or ()):
        if getattr(metrics, "compile_id", None):
            yield {
                "id": str(metrics.compile_id),
                **{
                    field: value if type(value) in (int, float) else str(value or "")
                    for field in (
                        "co_name", "co_filename", "co_firstlineno", "entire_frame_compile_time_s", "recompile_reason",
                        "fail_type", "fail_reason",
                    )
                    for value in (getattr(metrics, field, None),)
                },
            }  # fmt: skip
