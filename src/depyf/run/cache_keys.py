"""The keys that torch looks up in its compile caches, and what makes two of them differ.

torch makes a key of many parts: the graph, its inputs, its settings, its own version.  It reports each with a hash
(``torch/_inductor/codecache.py``, ``FxGraphHashDetails.debug_lines``); a short value is kept as it is, of a long one
the hash.  Most keys of a run share most parts, so a line of ``run.jsonl`` has what differs from the line before.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from depyf.run.addresses import without_addresses
from depyf.run.records import CompileKey

GRAPH = "gm"
"""The part that is the graph itself."""
_PART = re.compile(r"\[(\w{8,80})\] ([^\n:]{1,200}): ?(.*)", re.DOTALL)
_LONGEST = 160
"""Characters of a value that is kept as it is."""
_HASH = 12
"""Characters of a hash that are kept."""
_MOST = 5000
"""Parts of one key."""


@dataclass(frozen=True, slots=True)
class CacheKey:
    """One question to a cache, and the answer."""

    key: CompileKey
    cache: str
    status: str
    """``hit``, ``miss``, ``bypass``."""
    digest: str
    parts: tuple[tuple[str, str], ...]
    """Name -> value, or ``#`` and the beginning of its hash."""


@dataclass(frozen=True, slots=True)
class CacheKeyLine:
    """The line of a key: without the parts that are those of the line before."""

    asked: CacheKey
    gone: tuple[str, ...] = ()
    """Names of parts that only the line before has."""


@dataclass(frozen=True, slots=True)
class OtherPart:
    """A part of two keys that differs; "" where a key lacks it."""

    name: str
    first: str
    second: str

    @property
    def words(self) -> str:
        """The part and both values, where torch prints them in short."""
        if any(value.startswith("#") for value in (self.first, self.second)):
            return self.name
        return f"{self.name} {self.first or '(none)'} -> {self.second or '(none)'}"


def key_in(key: CompileKey, cache: str, status: str, payload: str) -> CacheKey | None:
    """The key in the payload of torch's event; None where it tells no parts."""
    try:
        data = json.loads(payload)
    except ValueError:
        return None
    told = data.get("components") if isinstance(data, dict) else None
    if not isinstance(told, list) or not told:
        return None
    parts = {name: value for name, value in map(_part, told[:_MOST]) if name}
    return CacheKey(key, cache, status, str(data.get("key", ""))[:80], tuple(sorted(parts.items()))) if parts else None


def _part(text: object) -> tuple[str, str]:
    found = _PART.fullmatch(text) if isinstance(text, str) else None
    if found is None:
        return "", ""
    digest, name, value = found.groups()
    short = len(value) <= _LONGEST and value.isprintable() and without_addresses(value) == value
    return sys.intern(name), sys.intern(value if short and not value.startswith("#") else f"#{digest[:_HASH]}")


def key_lines(keys: Iterable[CacheKey]) -> Iterator[CacheKeyLine]:
    """The lines of the keys of a run, in their order."""
    before: dict[str, str] = {}
    for asked in keys:
        parts = dict(asked.parts)
        own = tuple((name, value) for name, value in asked.parts if before.get(name) != value)
        gone = tuple(name for name in before if name not in parts)
        yield CacheKeyLine(CacheKey(asked.key, asked.cache, asked.status, asked.digest, own), gone)
        before = parts


def keys_of(lines: Iterable[CacheKeyLine]) -> Iterator[CacheKey]:
    """The keys that ``key_lines`` made lines of."""
    parts: dict[str, str] = {}
    for line in lines:
        parts = {name: value for name, value in parts.items() if name not in line.gone} | dict(line.asked.parts)
        asked = line.asked
        yield CacheKey(asked.key, asked.cache, asked.status, asked.digest, tuple(sorted(parts.items())))


def other_parts(first: CacheKey, second: CacheKey) -> tuple[OtherPart, ...]:
    """What differs between two keys, by name."""
    one, two = dict(first.parts), dict(second.parts)
    names = sorted({*one, *two})
    return tuple(
        OtherPart(name, one.get(name, ""), two.get(name, "")) for name in names if one.get(name) != two.get(name)
    )


def missed_for(
    first: Sequence[CacheKey], second: Sequence[CacheKey]
) -> Iterator[tuple[CacheKey, tuple[OtherPart, ...]]]:
    """The keys of ``second`` that torch did not find, each with what differs from the nearest key of ``first`` for the
    same graph.  A key that is in ``first`` was looked up elsewhere, and one of another graph is another question."""
    known = {asked.digest for asked in first}
    for asked in second:
        graph = dict(asked.parts).get(GRAPH)
        alike = [one for one in first if one.cache == asked.cache and dict(one.parts).get(GRAPH) == graph]
        if asked.status == "miss" and alike and asked.digest not in known:
            yield asked, min((other_parts(one, asked) for one in alike), key=len)
