"""An entry that was made with edited files of a dump, in a block of ``depyf.edited``: what was edited.

Input: the edits that the entry was made with.  Output: sentences.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from depyf.errors import DepyfError
from depyf.run.causes.folding import counted
from depyf.run.files.reading import read_file
from depyf.run.places.where import Where, where_is
from depyf.sources.live.texts_in_force import EditInForce

_MOST = 4
"""So many lines of a file are shown."""


def why_edited(entry: str, edits: Sequence[EditInForce]) -> tuple[str, ...]:
    """Sentences that name the edited files of ``entry``, and how to compare each with the original."""
    files = counted(len(edits), "edited file")
    causes = [f"the layer is the edit: entry {entry} was compiled with {files} of a dump"]
    for edit in edits:
        causes += _lines(edit)
    folder = str(Path(edits[0].path).parent)
    return (*causes, f"depyf.compare(..., edited={folder!r}) compares each edited file with the original")


def _lines(edit: EditInForce) -> Iterator[str]:
    path = Path(edit.path)
    try:
        text = read_file(path.parent, path.name).splitlines()
    except DepyfError:
        text = []
    for line in edit.lines[:_MOST]:
        said = text[line - 1].strip() if line <= len(text) else ""
        yield f"{path}:{line}" + (f": {said}" if said else "")
    found = _where(edit)
    if found is not None:
        at = f" from {found.user_file}:{found.user_line}: {found.user_code}" if found.user_file else ""
        yield f"  {found.stage}{at}"


def _where(edit: EditInForce) -> Where | None:
    """What the first edited line is in; its line of the program is that of the next line above that has one."""
    first = None
    for line in range(edit.lines[0] if edit.lines else 0, 0, -1):
        try:
            found = where_is(edit.path, line)
        except DepyfError:
            return None
        if found.user_file:
            return found
        first = first or found
    return first
