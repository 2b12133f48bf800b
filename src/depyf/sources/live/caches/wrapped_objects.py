"""Which cache entries of torch's wrapper are of which object: all wrapped objects of a process share its code.

Input: what is asked about, and cache entries.  Output: the entries that were made for it, or run for it, as they are
now.
"""

from __future__ import annotations

import types
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from depyf.run.causes.folding import listed
from depyf.sources.live.caches.entries import LiveEntry, cache_entries
from depyf.sources.live.guards.ask import fits_variable
from depyf.sources.live.target import Target
from depyf.sources.live.wrapped import call_of, of_wrapper
from depyf.sources.reports.wrapped_calls import WrappedCall

_FEW = 3


@dataclass(frozen=True, slots=True)
class _Wrapped:
    """One of the objects."""

    called: Any
    code: types.CodeType
    backend: Any
    call: WrappedCall

    def has(self, entry: LiveEntry) -> bool:
        """Whether the entry was made for it, or its guards on the object hold for it."""
        own = entry.backend is not None and entry.backend is self.backend
        return own or fits_variable(entry, self.code.co_freevars[0], self.called, self.code)


class WrappedObjects:
    """The objects among ``targets`` that torch calls through its wrapper function."""

    def __init__(self, targets: Sequence[Target], paths: Sequence[str]) -> None:
        self._objects = [
            _Wrapped(called, target.code, target.backend, call_of(called, path))
            for target, path in zip(targets, paths or [""] * len(targets))
            if (called := of_wrapper(target.function)) is not None
        ]

    def entries(self, code: types.CodeType, live: tuple[LiveEntry, ...]) -> tuple[LiveEntry, ...]:
        """The entries in ``live`` of objects among the targets; all where ``code`` is no wrapper."""
        own = [one for one in self._objects if one.code is code]
        return tuple(entry for entry in live if any(one.has(entry) for one in own)) if own else live

    def shared(self, code: types.CodeType) -> bool:
        """Whether ``code`` also has entries of other objects."""
        live = cache_entries(code)
        return len(self.entries(code, live)) < len(live)

    def name(self, code: types.CodeType) -> str:
        """The names of the objects that the wrapper ``code`` calls; "" for other code."""
        return _names([one.call.name for one in self._objects if one.code is code])

    def of(self, code: types.CodeType, entry: LiveEntry | None) -> WrappedCall | None:
        """The object for which ``entry`` was compiled, with all names where several fit; None where none does."""
        own = [one for one in self._objects if one.code is code]
        made = [one for one in own if entry is not None and entry.backend is not None and entry.backend is one.backend]
        fit = made or [one for one in own if entry is None or one.has(entry)]
        if not fit:
            return None
        return WrappedCall(_names([one.call.name for one in fit]), fit[0].call.parameters)


def _names(names: list[str]) -> str:
    """``0 (Block)`` and ``1 (Block)`` -> ``0 and 1 (Block)``."""
    alike: dict[str, list[str]] = {}
    for name in dict.fromkeys(names):
        path, _, kind = name.partition(" (")
        alike.setdefault(kind, []).append(path)
    shown = (
        (listed(paths) if len(paths) <= _FEW else f"{paths[0]} ... {paths[-1]}") + (f" ({kind}" if kind else "")
        for kind, paths in alike.items()
    )
    return listed(list(shown))
