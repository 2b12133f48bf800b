"""The files of the program that a log names, as far as they are at hand and as they were.

Input: when the log was written last.  Output: while the block lasts, this process reads lines of ordinary files with
Python source that have not changed since, and of nothing else: a log may name any path.
"""

from __future__ import annotations

import contextlib
import linecache
import os
import stat
import tokenize
from collections.abc import Iterator

_MOST = 1 << 22
"""Bytes of a file of a program."""
_SUFFIXES = (".py", ".pyw", ".pyi")


class ProgramLines:
    """Reads source lines for a log.  ``changed``: the files changed after the log was written, which are not read."""

    def __init__(self, written: float) -> None:
        self._written = written
        self.changed: dict[str, None] = {}
        self.missing: dict[str, None] = {}

    def lines(self, path: str) -> list[str]:
        """The lines of a file; [] where it is not to be read."""
        try:
            if not path.endswith(_SUFFIXES) or not os.path.isabs(path):
                return []
            found = os.stat(path)
            if not stat.S_ISREG(found.st_mode) or found.st_size > _MOST:
                return []
            if self._written and found.st_mtime > self._written:
                self.changed[path] = None
                return []
            with tokenize.open(path) as file:
                return file.read(_MOST).splitlines(keepends=True)
        except (OSError, ValueError, SyntaxError):
            self.missing[path] = None
            return []

    @contextlib.contextmanager
    def shown(self) -> Iterator[None]:
        """While the block lasts, ``linecache`` reads lines in this way."""

        def read(filename: str, module_globals: object = None) -> list[str]:
            lines = self.lines(filename)
            linecache.cache[filename] = (sum(map(len, lines)), None, lines, filename)
            return lines

        before, cached = linecache.updatecache, dict(linecache.cache)
        linecache.cache.clear()
        linecache.updatecache = read
        try:
            yield
        finally:
            linecache.updatecache = before
            linecache.cache.clear()
            linecache.cache.update(cached)
