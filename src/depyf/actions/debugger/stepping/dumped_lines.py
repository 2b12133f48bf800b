"""Inside ``depyf.debug()`` what was compiled runs with the lines of the dump, so that breakpoints there are hit.

Input: the code objects for which torch has entries with text of depyf.  torch's entries cannot get other code; so each
gets a precompile entry beside it, which runs the same instructions with the file and lines of the dump where torch
would have run the entry.  Which one that is (``chosen``) is found out once for a call, before these are asked.
"""

from __future__ import annotations

import threading
import types
from typing import Any

from depyf.actions.debugger.stepping.added_entries import AddedEntries, Question
from depyf.actions.debugger.stepping.choice import chosen
from depyf.run.places.two_places import dumped, lines_in_dump
from depyf.safety.guarded import Door
from depyf.sources.live.caches.entries import cache_entries


class DumpedLines:
    """The entries of one block that run with the lines of the dump."""

    def __init__(self, entries: AddedEntries) -> None:
        self._entries = entries
        self._choice: dict[int, types.CodeType | None] = {}
        """Thread -> the code of the entry; there while the entries of a code object are asked."""
        self._open = True

    def prepare(self, code: types.CodeType) -> list[tuple[types.CodeType, types.CodeType]]:
        """For each entry of ``code`` that runs depyf's text: its code object, and the same with the lines of the
        dump."""
        running = [entry.code for entry in cache_entries(code)]
        return [(one, dumped(one, lines)) for one in running if (lines := lines_in_dump(one)) is not None]

    def add(self, code: types.CodeType, prepared: list[tuple[types.CodeType, types.CodeType]]) -> None:
        """Add an entry for each prepared pair.  Call ``choose`` before torch evaluates them."""
        for number, (running, runs) in enumerate(prepared, 1):
            self._entries.add(code, self._answer(running, number == len(prepared)), runs)

    def choose(self, code: types.CodeType, L: dict[str, Any]) -> None:
        """Find out which entry torch would run for a call of ``code`` with the locals ``L``."""
        found = None
        if self._open:
            with Door("depyf: a call cannot be shown in the dump"):
                found = chosen(code, cache_entries(code), L)
        self._choice[threading.get_ident()] = None if found is None else found.code

    def close(self) -> None:
        """Let torch run its own entries from now on."""
        self._open = False

    def _answer(self, running: types.CodeType, last: bool) -> Question:
        def answer(L: dict[str, Any]) -> bool:
            thread = threading.get_ident()
            if thread not in self._choice:
                return False
            yes = self._choice[thread] is running
            if yes or last:
                del self._choice[thread]
                self._entries.answered()
            return yes

        return answer
