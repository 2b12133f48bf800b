"""The claim of one call that is compiled apart: what the backend was given, beside the entry that torch made.

Input: the function with its arguments, and a way to its cache entries.  Output: a ``DynamoClaim``.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

from depyf.actions.claims.dynamo_claim import DynamoClaim, dynamo_claim
from depyf.sources.live.caches.entries import LiveEntry
from depyf.sources.live.guards.guard_tree import live_guards
from depyf.sources.live.target import Target


class JudgedClaim:
    """Collects the captured graphs of one compilation, and makes the claim while its entry is alive."""

    def __init__(
        self,
        target: Target | None,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        entries: Callable[[], tuple[LiveEntry, ...]],
        own: LiveEntry | None = None,
        filtered: bool = False,
    ) -> None:
        """``own``: the entry of the program for this call, if it has one: its guards let calls in.  ``filtered``: a
        filter leaves out guards of the entry that the program will make."""
        self.claim: DynamoClaim | None = None
        self._call = target, args, kwargs
        self._entries = entries
        self._own, self._filtered = own, filtered
        self._graphs: list[Any] = []

    def backend(self, inner: Callable[..., Any]) -> Callable[..., Any]:
        """A backend that keeps each graph and then calls ``inner`` with it."""

        def kept(gm: Any, inputs: Any) -> Any:
            self._graphs.append(gm)
            return inner(gm, inputs)

        return kept

    def judge(self) -> None:
        """Make the claim.  Call it when the state before the call is restored and the entry is still alive."""
        target, args, kwargs = self._call
        entries = self._entries()
        if target is None or not entries:
            return
        if len(self._graphs) != 1 or len(entries) != 1:
            self.claim = DynamoClaim(False, f"the call has {len(self._graphs)} graphs")
            return
        guards: list[str] = []
        with contextlib.suppress(Exception):  # then the guards are assumed to look at nothing
            asked = self._own or (None if self._filtered else entries[0])
            guards = [guard.record.expression for guard in live_guards(asked)] if asked is not None else []
        with contextlib.suppress(TypeError):
            given = target.bind(args, kwargs).arguments
            entry = entries[0]
            self.claim = dynamo_claim(target.function, given, entry.code, entry.scope, self._graphs[0], guards)
        self._graphs.clear()
