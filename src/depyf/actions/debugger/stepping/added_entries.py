"""The precompile entries of one ``depyf.debug()``: torch asks those of a code object before it looks for what it
compiled.

Input: a code object of the program, a question, and the code that runs where the answer is yes.  Entries are asked in
the order in which they are added.  Output invariant: code with entries of the program's own gets none, and ``close``
leaves none of ours.

torch holds no lock while it looks through the entries of a code object, so none may be taken out while another thread
asks one. ``asked`` and ``answered`` mark that time; nothing that could switch threads may come between ``answered`` and
the end of the question.
"""

from __future__ import annotations

import threading
import time
import types
from collections.abc import Callable
from typing import Any

from depyf.safety.guarded import say
from depyf.sources.live.caches.loaded_entries import ADDED

Question = Callable[[dict[str, Any]], bool]
"""torch's question about a call; its argument: the locals of the frame."""
_PATIENCE = 5.0
"""Seconds that ``close`` waits for another thread that is inside a dispatcher."""


class AddedEntries:
    """The precompile entries of one block, between ``open`` and ``close``."""

    def __init__(self) -> None:
        self.inside: dict[int, types.CodeType] = {}
        """Thread -> the code whose entries are asked there.  torch holds the lock of an entry meanwhile."""
        self._codes: list[types.CodeType] = []
        self._runs: list[types.CodeType] = []
        """torch keeps no reference to the code it is running."""
        self._reset: Callable[[types.CodeType], None] | None = None

    def open(self) -> bool:
        """Whether this torch has such entries (2.9 and later)."""
        try:
            from torch._C._dynamo.eval_frame import _reset_precompile_entries
        except ImportError:
            return False
        self._reset = _reset_precompile_entries
        return True

    def takes(self, code: types.CodeType) -> bool:
        """Whether entries may be added to ``code``: it has none of the program or of an outer block."""
        from torch._C._dynamo.eval_frame import _debug_get_precompile_entries

        return any(known is code for known in self._codes) or not _debug_get_precompile_entries(code)

    def add(self, code: types.CodeType, question: Question, runs: types.CodeType) -> None:
        """Add an entry to ``code``: where ``question`` is answered with yes, ``runs`` runs.  It must have the
        parameters, cells and free variables of ``code``."""
        from torch._C._dynamo.eval_frame import _load_precompile_entry

        if not any(known is code for known in self._codes):
            self._codes.append(code)
        self._runs.append(runs)
        _load_precompile_entry(code, _asking(question), runs)

    def asked(self, code: types.CodeType) -> None:
        self.inside[threading.get_ident()] = code

    def answered(self) -> None:
        self.inside.pop(threading.get_ident(), None)

    def close(self) -> None:
        until = time.monotonic() + _PATIENCE
        for code in self._codes:
            while self._occupied(code) and time.monotonic() < until:
                time.sleep(0.01)
            if self._occupied(code):  # its entry is in use: it stays, and does nothing
                say(f"depyf: a thread still stands in the dispatcher of {code.co_name}")
            elif self._reset is not None:
                self._reset(code)
        self._codes.clear()

    def _occupied(self, code: types.CodeType) -> bool:
        return any(other is code for other in list(self.inside.values()))


def _asking(question: Question) -> Any:
    """A guard manager whose only guard is ``question``."""
    from torch._C._dynamo.guards import RootGuardManager
    from torch._dynamo.guards import GuardManagerWrapper

    root = RootGuardManager()
    add: Callable[..., None] = root.add_lambda_guard
    try:
        add(question, ["depyf.debug()"], None)
    except TypeError:  # older torch has no third parameter
        add(question, ["depyf.debug()"])
    made: Any = GuardManagerWrapper(root)
    setattr(made, ADDED, True)
    return made
