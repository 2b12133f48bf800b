"""The entries of a function that torch loaded from its cache of compiled functions (``caching_precompile``).

Input: a code object.  Output: guards and code of each, in the order in which torch asks them, before what it compiles
itself.  torch shows the guards of such an entry and not its code: that is made again of what the package of the
function stores, in the same order.  Nothing is loaded or called.
"""

from __future__ import annotations

import gc
import sys
import types
import weakref
from dataclasses import dataclass
from typing import Any

from depyf.sources.live.pure_access import attribute

ADDED = "_depyf_added"
"""What the guards of our own entries are marked with."""


@dataclass(frozen=True, slots=True)
class LoadedEntry:
    """A cache entry that torch loaded.  Holds live objects: keep it only while looking."""

    compile_id: str
    manager: Any
    code: types.CodeType
    globals: dict[str, Any] | None


@dataclass(slots=True)
class _Loaded:
    """What was found out of a code object."""

    code: weakref.ref[types.CodeType]
    frame: str
    made: tuple[types.CodeType, ...] = ()
    module: str = ""
    looked_for: int = 0
    """For how many entries code was looked for."""


_KNOWN: dict[int, _Loaded] = {}


def name_loaded(code: types.CodeType, compile_id: str) -> None:
    """Give the loaded entries of ``code`` the frame number of ``compile_id``."""
    frame = compile_id.rpartition("/")[0]
    _known(code, frame).frame = frame


def loaded_entries(code: types.CodeType) -> tuple[LoadedEntry, ...]:
    """The loaded entries of ``code``; () where there are none, also in versions of torch without them."""
    found = _managers(code)
    if not found:
        return ()
    known = _known(code, f"cached{len(_KNOWN)}")
    if len(known.made) < len(found) and known.looked_for != len(found):
        known.module, known.made = _stored(code)
        known.looked_for = len(found)
    scope = attribute(sys.modules.get(known.module), "__dict__")
    pairs = zip(found, known.made) if len(known.made) >= len(found) else ()
    return tuple(
        LoadedEntry(f"{known.frame}/{number}", manager, made, scope if type(scope) is dict else None)
        for number, (manager, made) in enumerate(pairs)
    )


def _managers(code: types.CodeType) -> list[Any]:
    """The guards of the entries that torch loaded; those that ``depyf.debug()`` adds are asked for the program only."""
    try:
        from torch._C._dynamo.eval_frame import _debug_get_precompile_entries as get_entries
    except ImportError:
        return []
    managers = [entry.guard_manager for entry in get_entries(code)]
    return [manager for manager in managers if attribute(manager, ADDED) is None]


def hidden_guards(code: types.CodeType) -> tuple[Any, ...]:
    """The guard managers of loaded entries whose code cannot be found."""
    return tuple(_managers(code)[len(loaded_entries(code)) :])


def codes_loaded() -> list[types.CodeType]:
    """The code objects that are known to have such entries, as far as they live."""
    return [code for known in list(_KNOWN.values()) if (code := known.code()) is not None]


def _known(code: types.CodeType, frame: str) -> _Loaded:
    place, all_known = id(code), _KNOWN

    def gone(reference: weakref.ref[types.CodeType]) -> None:
        if place in all_known and all_known[place].code is reference:
            del all_known[place]

    found = _KNOWN.get(place)
    if found is None or found.code() is not code:
        found = _KNOWN[place] = _Loaded(weakref.ref(code, gone), frame)
    return found


def _stored(code: types.CodeType) -> tuple[str, tuple[types.CodeType, ...]]:
    """The module of the function, and what its package stores for it."""
    package = sys.modules.get("torch._dynamo.package")
    kind, serialized = attribute(package, "CompilePackage"), attribute(package, "SerializedCode")
    for one in gc.get_objects() if isinstance(kind, type) else ():
        stored = attribute(one, "_codes") if type(one) is kind else None
        for key, entry in list(stored.items()) if isinstance(stored, dict) else ():
            if key is code or key == code:
                made = tuple(serialized.to_code_object(guarded.dynamo_code) for guarded in entry.guarded_codes)
                return str(entry.python_module), made
    return "", ()
