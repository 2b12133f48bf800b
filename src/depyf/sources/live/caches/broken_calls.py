"""Which entries that end at a graph break run while a block lasts, although they were compiled before.

Input: torch's cache.  Output: the code objects whose rest after a break was called.  Invariants: the program's calls
run no Python of ours; afterwards the globals of torch are as they were.

How: after a break the code of an entry calls a global that torch made.  Meanwhile that is a cache of the standard
library that holds nothing: written in C, it counts the calls.
"""

from __future__ import annotations

import functools
import types
from dataclasses import dataclass
from typing import Any

from depyf.sources.live.caches.entries import cache_entries
from depyf.sources.live.caches.seen_code import codes_seen
from depyf.sources.live.resume import origin, resume_globals

_counting = functools.lru_cache(maxsize=0)


@dataclass(frozen=True, slots=True)
class _Watched:
    """A global of torch's, and the functions whose entries call it."""

    scope: dict[str, Any]
    name: str
    before: Any
    counter: Any
    codes: list[types.CodeType]


class BrokenCalls:
    """Notes which resume functions are called between ``start`` and ``stop``."""

    def __init__(self) -> None:
        self._watched: dict[tuple[int, str], _Watched] = {}

    def start(self) -> None:
        for code in codes_seen():
            for entry in cache_entries(code):
                for name in resume_globals(entry.code.co_names):
                    self._watch(entry.globals, name, origin(code) or code)

    def stop(self) -> tuple[types.CodeType, ...]:
        """The functions that ran up to a graph break, in the order in which torch compiled them; the globals are
        restored."""
        watched, self._watched = list(self._watched.values()), {}
        found: dict[int, types.CodeType] = {}
        for one in watched:
            if one.scope.get(one.name) is one.counter:
                one.scope[one.name] = one.before
            if one.counter.cache_info().misses:
                found |= {id(code): code for code in one.codes}
        return tuple(found.values())

    def _watch(self, scope: dict[str, Any] | None, name: str, code: types.CodeType) -> None:
        key = id(scope), name
        if key in self._watched:
            self._watched[key].codes.append(code)
            return
        before = None if scope is None else dict.get(scope, name)
        if scope is not None and type(before) is types.FunctionType:
            counter = scope[name] = _counting(before)
            self._watched[key] = _Watched(scope, name, before, counter, [code])
