"""Runs the page of a function compiled ahead of time where that checks its guards, so that breakpoints there are hit.

Input: live functions, each with what runs its page.  torch's dispatch is not asked when such a function is called: its
``guard_check`` is Python, and asks ``check`` of the guard manager.  An attribute of that object, in the place of the
method, takes torch's answer, runs the page on the same locals, and gives the answer.  ``stop`` takes it away.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from depyf.sources.live.pure_access import attribute

_METHOD = "check"
Follow = Callable[[dict[str, Any], bool], None]
"""Runs a page on the locals of a call, for which the guards hold or not."""


class FollowedAhead:
    """What is set for one ``depyf.debug()``."""

    def __init__(self) -> None:
        self._set: list[tuple[Any, Callable[[Any], Any]]] = []
        self._inside: set[int] = set()
        """The threads that run a page: a call at the prompt of the debugger there is not followed."""

    def add(self, function: Any, follow: Follow) -> None:
        """Follow the calls of ``function``; what ``follow`` raises goes on into the program."""
        manager = attribute(attribute(function, "_artifacts"), "guard_manager")
        own = getattr(type(manager), _METHOD, None)
        if own is None or _METHOD in vars(manager):
            return

        def check(L: dict[str, Any]) -> Any:
            answer, thread = own(manager, L), threading.get_ident()
            if thread not in self._inside:
                self._inside.add(thread)
                try:
                    follow(L, bool(answer))
                finally:
                    self._inside.discard(thread)
            return answer

        setattr(manager, _METHOD, check)
        self._set.append((manager, check))

    def stop(self) -> None:
        """The guard managers are as they were."""
        for manager, check in self._set:
            if vars(manager).get(_METHOD) is check:
                delattr(manager, _METHOD)
        self._set.clear()
