"""What a dump can still ask the process that made it: the guard managers of the cache entries.

Only weak references are kept, so a dump keeps no compiled code alive.  In any other process, and for entries that
are gone, ``LiveGuard.check`` says so instead of guessing.
"""

from __future__ import annotations

import os
import types
import weakref
from typing import Any

from depyf.errors import DepyfError

_CODES: dict[tuple[str, str], weakref.ref[types.CodeType]] = {}


def remember(directory: str, compile_id: str, code: types.CodeType) -> None:
    """Make the cache entry ``compile_id`` of ``code`` reachable from the files in ``directory``."""
    _CODES[os.path.realpath(directory), compile_id] = weakref.ref(code)


def forget(directory: str) -> None:
    """Drop what is known of ``directory`` (it is being written anew)."""
    root = os.path.realpath(directory)
    for key in [key for key in _CODES if key[0] == root]:
        del _CODES[key]


class LiveGuard:
    """The guards of one cache entry, evaluated by torch's own guard manager."""

    def __init__(self, directory: str, compile_id: str) -> None:
        self.directory = directory
        self.compile_id = compile_id

    def check(self, L: dict[str, Any]) -> bool:
        """Would torch choose this entry for the locals ``L``?  DepyfError where the entry is not alive here."""
        return bool(self._manager().check(L))

    def explain(self, L: dict[str, Any]) -> str:
        """The first guard that fails for ``L``, in torch's words; "" where all hold."""
        info = self._manager().check_verbose(L)
        return "" if info.result else "; ".join(str(part) for part in info.verbose_code_parts)

    def _manager(self) -> Any:
        from depyf.dynamo.entries import cache_entries

        reference = _CODES.get((os.path.realpath(self.directory), self.compile_id))
        code = reference() if reference is not None else None
        for entry in cache_entries(code) if code is not None else ():
            if entry.compile_id == self.compile_id:
                return entry.manager
        raise DepyfError(
            f"cache entry {self.compile_id} is not alive in this process: guards can only be evaluated by the process "
            "that compiled, while the compiled function exists; read the expressions in guards_* instead"
        )


def live_guard(file: str, compile_id: str) -> LiveGuard:
    """The guard of ``compile_id`` as dumped next to ``file``; called by ``full_code_for_*`` files."""
    return LiveGuard(os.path.dirname(os.path.abspath(file)), compile_id)
