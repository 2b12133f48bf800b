"""The folder that a forked child of the recorded process writes to, and when its summary is written.

A child inherits torch's caches and our listeners, but its parent's dump belongs to the parent.  What it compiles goes
to ``fork_N`` below that dump, N counting the forks of the parent (the workers of a ``DataLoader`` are the first ones);
a child that compiles nothing leaves nothing.  Children of children nest: ``fork_2/fork_1``.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import ClassVar

from depyf.safety.guarded import guarded

FORK_PREFIX = "fork_"


class Forks:
    """Counts the forks since the first ``watch``, so that each child has its own folder."""

    count: ClassVar[int] = 0
    way: ClassVar[tuple[int, ...]] = ()
    _watching: ClassVar[bool] = False

    @classmethod
    def watch(cls, in_child: Callable[[], None]) -> None:
        """Note that this process has a dump.  ``in_child`` is called in each forked child."""
        cls.way = ()
        if cls._watching or not hasattr(os, "register_at_fork"):
            return
        cls._watching = True

        @guarded("a forked child")
        def forked() -> None:
            cls.way, cls.count = (*cls.way, cls.count), 0
            in_child()

        os.register_at_fork(before=cls._counts, after_in_child=forked)

    @classmethod
    def _counts(cls) -> None:
        cls.count += 1

    @classmethod
    def folder(cls, parent: Path) -> Path:
        """The folder of this child.  ``parent``: the folder of the ancestor process that has a dump."""
        return parent.joinpath(*(f"{FORK_PREFIX}{number}" for number in cls.way))

    @classmethod
    def folders(cls, directory: Path) -> tuple[str, ...]:
        """The folders that children of this process have begun."""
        names = (f"{FORK_PREFIX}{number}" for number in range(1, cls.count + 1))
        return tuple(name for name in names if (directory / name).is_dir())


def at_end_of_worker(call: Callable[[], None]) -> None:
    """Call ``call`` at the end of a forked worker, where ``multiprocessing`` runs no ``atexit`` functions."""
    process = sys.modules.get("multiprocessing.process")
    if process is not None and process.parent_process() is not None:
        from multiprocessing import util

        util.Finalize(None, call, exitpriority=0)
