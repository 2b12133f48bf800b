"""A copy of a program in which some files are others: everything else in it is a link to what there is.

Input: the folder of a script, and texts of files below it.  Output: a folder of ours.  What is made in it is no file of
the program's folder; what is there already is written to as ever.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from depyf.run.places.place import Place


@dataclass(frozen=True, slots=True)
class Mirror:
    """``root`` is the program's folder, ``copy`` what stands for it."""

    root: Path
    copy: Path

    def original(self, filename: str) -> str:
        """The program's file for one of the copy."""
        try:
            return str(self.root / Path(filename).relative_to(self.copy))
        except ValueError:
            return filename

    def place(self, place: Place) -> Place:
        return Place(self.original(place.filename), place.line, place.function, place.text)


def mirrored(root: Path, copy: Path, texts: Mapping[str, str]) -> Mirror:
    """Make ``copy``: folders with one of ``texts`` in them are folders, these files are files, the rest are links."""
    files = {Path(path): text for path, text in texts.items()}
    real = {parent for path in files for parent in path.parents if parent == root or root in parent.parents}
    real.add(root)
    for folder in sorted(real):
        here = copy / folder.relative_to(root)
        here.mkdir(parents=True, exist_ok=True)
        for entry in os.scandir(folder):
            path = Path(entry.path)
            if path not in real and path not in files and entry.name != "__pycache__":
                (here / entry.name).symlink_to(path)
    for path, text in files.items():
        (copy / path.relative_to(root)).write_text(text, encoding="utf-8", newline="")
    return Mirror(root, copy)
