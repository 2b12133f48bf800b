"""Runs the page of a function compiled ahead of time where that checks its guards, so that breakpoints there are hit.

Input: guard managers, each with what runs its page.  A call of such a function does not come to torch's dispatch: it
asks ``check`` of the manager in Python (of a loaded artefact, of the first of several).  An attribute of that object,
in the place of the method, runs the page on the same locals, then gives torch's answer.  ``stop`` takes it away.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

_METHOD = "check"
Follow = Callable[[dict[str, Any]], None]
"""Runs a page on the locals of a call."""


class FollowedAhead:
    """The guard checks replaced during one ``depyf.debug()``."""

    def __init__(self) -> None:
        self._set: list[tuple[Any, Callable[[Any], Any]]] = []
        self._inside: set[int] = set()
        """The threads that run a page: a call at the prompt of the debugger there is not followed."""

    def add(self, manager: Any, follow: Follow) -> None:
        """Call ``follow`` before each guard check of ``manager``.  Its exceptions reach the program."""
        own = getattr(type(manager), _METHOD, None)
        if own is None or _METHOD in vars(manager):
            return

        def check(L: dict[str, Any]) -> Any:
            thread = threading.get_ident()
            if thread not in self._inside:
                self._inside.add(thread)
                try:
                    follow(L)
                finally:
                    self._inside.discard(thread)
            return own(manager, L)

        setattr(manager, _METHOD, check)
        self._set.append((manager, check))

    def stop(self) -> None:
        """Restore the guard managers."""
        for manager, check in self._set:
            if vars(manager).get(_METHOD) is check:
                delattr(manager, _METHOD)
        self._set.clear()
