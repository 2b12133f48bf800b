"""``AOTCompiledFunction`` of torch: what ``aot_compile`` returns, and what ``load_compiled_function`` does; and what
``precompile.load`` returns, where that has guards (``precompiled``).

Input: such an object, or the model that calls several.  Output: each compilation as a cache entry, and the function
that it was made of.  Nothing is called.
"""

from __future__ import annotations

import builtins
import gc
import os
import sys
import types
import weakref
from typing import Any

from depyf.run.made import Made
from depyf.sources.live.ahead.precompiled import Dispatch, backend_of_precompiled, dispatch_of
from depyf.sources.live.caches.entries import LiveEntry, variants_of
from depyf.sources.live.pure_access import attribute

_CALLERS = 12
_NAMED: dict[int, tuple[weakref.ref[Any], str, Made]] = {}
"""The address of each function that a recording has seen -> it, and its compile id there."""


def name_ahead(function: Any, compile_id: str, made: Made) -> weakref.ref[Any]:
    """Store the compile id that a recording gives to ``function``; returns a weak reference to it."""
    place, named = id(function), _NAMED

    def gone(reference: weakref.ref[Any]) -> None:
        if place in named and named[place][0] is reference:
            del named[place]

    reference = weakref.ref(function, gone)
    _NAMED[place] = reference, compile_id, made
    return reference


def ahead_alive() -> list[Any]:
    """All functions in this process that were compiled ahead of time."""
    module = sys.modules.get("torch._dynamo.aot_compile")
    kind = attribute(module, "AOTCompiledFunction")
    return [one for one in gc.get_referrers(kind) if type(one) is kind] if isinstance(kind, type) else []


def known_name(function: Any) -> str:
    """The compile id that a recording has given to ``function``; "" for none."""
    return _NAMED[id(function)][1] if id(function) in _NAMED else ""


def name_of_callee(frame: types.FrameType | None) -> str:
    """What a recording calls the function whose graph is at work in ``frame`` or above; "" for none.  An engine gives a
    graph to its backend again when the function is loaded."""
    known = [(reference(), name) for reference, name, _ in list(_NAMED.values())]
    graphs = {id(attribute(attribute(one, "_artifacts"), "compiled_fn", _NAMED)): name for one, name in known}
    for _ in range(_CALLERS if graphs else 0):
        if frame is None:
            break
        own = frame.f_locals.get(frame.f_code.co_varnames[0]) if frame.f_code.co_argcount else None
        if own is not None and id(own) in graphs:
            return graphs[id(own)]
        frame = frame.f_back
    return ""


def ahead_functions(value: Any) -> tuple[Any, ...]:
    """The functions compiled ahead of time that a call of ``value`` tries, in that order."""
    module = sys.modules.get("torch._dynamo.aot_compile")
    if module is None:
        return ()
    if type(value) is attribute(module, "AOTCompiledFunction", ()):
        return (value,)
    if type(value) is attribute(module, "AOTCompiledModel", ()):
        return tuple(attribute(value, "compiled_results") or ())
    return (value,) if dispatch_of(value) is not None else ()


def apart_entries(function: Any, number: int = 0) -> tuple[LiveEntry, ...]:
    """The entries that a call of ``function`` tries, in order.  ``number`` as for ``ahead_entry``."""
    dispatch = dispatch_of(function)
    if dispatch is None:
        return (ahead_entry(function, number),)
    frame = _NAMED[id(function)][1].rpartition("/")[0] if id(function) in _NAMED else "loaded"
    return variants_of(dispatch, frame, backend_of(function))


def ahead_entry(function: Any, number: int = 0) -> LiveEntry:
    """The entry of ``function``.  ``number``: its index among those of a model, used where no recording has named
    it."""
    artifacts = attribute(function, "_artifacts")
    manager = attribute(artifacts, "guard_manager")
    scope = attribute(manager, "global_scope")
    looked_at = scope.get("G") if isinstance(scope, dict) else None
    looked_at = looked_at if isinstance(looked_at, dict) else None
    loaded = looked_at is not None and "__builtins__" not in looked_at  # a scope that was stored, not a module's
    known = (None, f"{'loaded' if loaded else 'ahead'}/{number}", Made.AHEAD_LOADED if loaded else Made.AHEAD)
    _, compile_id, made = _NAMED.get(id(function), known)
    own = attribute(function, "fn")
    return LiveEntry(compile_id, own.__code__, manager, own.__globals__, backend_of(function), made, looked_at)


def backend_of(function: Any) -> str | None:
    """The name of the backend that compiled it; None where torch does not know."""
    found = attribute(attribute(function, "_artifacts"), "backend_name") or backend_of_precompiled(function)
    return found if type(found) is str and found not in ("", "unknown") else None


def known_backend(function: Any) -> str | None:
    """As ``backend_of``, for names in torch's list of backends; None for a backend of the program."""
    import torch

    found = backend_of(function)
    return found if found is not None and found in torch._dynamo.list_backends(()) else None


def checks_guards(function: Any) -> bool:
    """False after ``disable_guard_check()``."""
    return attribute(function, "_guard_check_enabled", True) is not False


def original_of_ahead(function: Any, alive: list[types.FunctionType]) -> types.FunctionType:
    """The original of ``function``: one of ``alive`` with its code.  For a loaded function: the stored code with the
    globals of its module, or the stored globals where the module is not imported."""
    dispatch = dispatch_of(function)
    if dispatch is not None:
        return _original_of_frame(dispatch)
    artifacts = attribute(function, "_artifacts")
    environment = attribute(artifacts, "runtime_env")
    closure = attribute(environment, "closure") or ()
    cells = tuple(map(id, closure))
    same = [one for one in alive if tuple(map(id, one.__closure__ or ())) == cells]
    if same:
        return same[0]
    code = original_code(function)
    scope = _globals_at(code.co_filename) or {"__builtins__": builtins, **attribute(function, "fn").__globals__}
    made = types.FunctionType(code, scope, code.co_name, attribute(environment, "argdefs"), closure or None)
    made.__kwdefaults__ = attribute(environment, "kwdefaults")
    return made


def _original_of_frame(dispatch: Dispatch) -> types.FunctionType:
    """The function of the module where the artefact was made, if it has that code; else one made of what is stored."""
    code = dispatch.code
    own = dispatch.scope.get(code.co_name)
    if type(own) is types.FunctionType and own.__code__ == code:
        return own
    closure = tuple(types.CellType() for _ in code.co_freevars)
    return types.FunctionType(code, dispatch.scope, code.co_name, dispatch.defaults, closure or None)


def _globals_at(filename: str) -> dict[str, Any] | None:
    """The globals of the module in this file."""
    for module in list(sys.modules.values()):
        path = attribute(module, "__file__")
        if type(path) is str and (path == filename or os.path.realpath(path) == os.path.realpath(filename)):
            return vars(module)
    return None


def original_code(function: Any) -> types.CodeType:
    """The program's code object that ``function`` was compiled from.  TypeError where torch keeps none."""
    dispatch = dispatch_of(function)
    if dispatch is not None:
        return dispatch.code
    found = attribute(attribute(function, "_artifacts"), "original_code")
    if not isinstance(found, types.CodeType):
        raise TypeError("this torch keeps no original code of what it compiles ahead of time")
    return found
