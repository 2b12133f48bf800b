"""Finds the program's folder, so that dumps of one program in two folders can be compared.

Input: the functions of two runs.  Output: two folders, whose files correspond: ``/a/train.py`` of the one is
``/b/train.py`` of the other.  Files that both runs have at the same place are no evidence.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator

from depyf.run.installed_files import installed
from depyf.run.records import FunctionRecord

PROGRAM = "<program>/"
"""What the paths of the program begin with when they are told from its folder."""


def program_folders(first: Iterable[FunctionRecord], second: Iterable[FunctionRecord]) -> tuple[str, str]:
    """The folder on each side, with a slash at its end: ``/a/`` and ``/b/`` for functions in /a/x/m.py and /b/x/m.py.
    The pair that most files agree on, and ("", "") without any."""
    one, two = set(_files(first)), set(_files(second))
    one, two = one - two, two - one
    votes: Counter[tuple[str, str]] = Counter()
    for mine in one:
        votes.update({_apart(mine, other) for other in two if _name(other) == _name(mine)})
    return min(votes, key=lambda pair: (-votes[pair], pair), default=("", ""))


def from_folder(text: str, folder: str) -> str:
    """``text`` with the paths below ``folder`` made relative to it."""
    if not folder.strip("/"):
        return text
    return re.sub(rf"(?<![\w./-]){re.escape(folder)}", PROGRAM, text)


def _files(functions: Iterable[FunctionRecord]) -> Iterator[str]:
    for function in functions:
        places = (broken.place for entry in function.entries for broken in entry.breaks)
        for path in (function.code.filename, *(place.filename for place in places if place is not None)):
            if path.startswith("/") and not installed(path):
                yield path


def _name(path: str) -> str:
    return path.rpartition("/")[2]


def _apart(one: str, two: str) -> tuple[str, str]:
    """What is left of the two when their common end is taken away."""
    mine, other = one.split("/"), two.split("/")
    while len(mine) > 1 and len(other) > 1 and mine[-1] == other[-1]:
        del mine[-1], other[-1]
    return "/".join(mine) + "/", "/".join(other) + "/"
