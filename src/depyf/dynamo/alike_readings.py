"""Readings of texts that differ only in names which Dynamo and the dump number, and in where the function stands.

Input: the text of a transformed function, its graphs and resume functions named as the dump names them.  Output: what
``reading.readable_function`` gives for it, which is asked once for all texts that are alike: it takes each of these
names for an opaque one, and the user's lines behind the statements for opaque texts.  Names of other lengths are not
alike: lines are broken by their width.
"""

from __future__ import annotations

import re

from depyf.dynamo.reading import readable_function

_TOLD = re.compile(
    r"\b(__(?:compiled_fn|transformed_code|resume_at|nested_resume_at)_\w+)|(?<=  # )(\S+):(\d+)(?=$|,)", re.MULTILINE
)
_NUMBERED = re.compile(r"\x00(\d+):\d+\x00|\x01(-?\d+)\x01")
_MOST = 1024


class AlikeReadings:
    """The readings of one recording."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], str | None] = {}

    def of(self, text: str, name: str) -> str | None:
        """The reading of the function ``name`` in ``text``; None where it is not understood."""
        if "\0" in text or "\1" in text:
            return readable_function(text, name)
        told = _Told()
        key = told.without(text), told.without(name)
        if key in self._known:
            found = self._known[key]
            return None if found is None else told.back(found)
        reading = readable_function(text, name)
        count = len(told.names)
        kept = None if reading is None else told.without(reading)
        if len(told.names) == count and len(self._known) < _MOST:
            self._known[key] = kept
        return reading


class _Told:
    """The names and lines of one text, by their order and by their distance from the first."""

    def __init__(self) -> None:
        self.names: dict[str, int] = {}
        self.first: int | None = None

    def without(self, text: str) -> str:
        return _TOLD.sub(self._number, text)

    def back(self, text: str) -> str:
        names = list(self.names)
        first = self.first or 0
        return _NUMBERED.sub(lambda m: names[int(m[1])] if m[1] is not None else str(first + int(m[2])), text)

    def _number(self, match: re.Match[str]) -> str:
        name = match[1]
        if name is not None:
            return f"\0{self.names.setdefault(name, len(self.names))}:{len(name)}\0"
        line = int(match[3])
        self.first = line if self.first is None else self.first
        return f"{match[2]}:\1{line - self.first}\1"
