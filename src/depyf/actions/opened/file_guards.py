"""The guards of a saved file as records, and in words: as those of a run are read.

Input: a guard that ``parts_of`` found.  Output: one record for each of its checks, and a line of text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from depyf.run.guards.known_kinds import brief, plain
from depyf.run.guards.program_words import in_program
from depyf.run.records import GuardRecord
from depyf.sources.files.saved_parts import DRIVER, SavedGuard
from depyf.sources.reports.guards.guard_text import PLAIN_READER


def guard_records(guard: SavedGuard, read: Callable[..., GuardRecord] = PLAIN_READER.left_out) -> Iterator[GuardRecord]:
    """The records of a guard in a file, each of its checks read as what torch prints; none for what is no guard of
    Dynamo."""
    if guard.kind in ("guards_expr", DRIVER):
        return
    for check in guard.checks:
        text = check.partition("  # ")[0].rstrip()
        kind = "EQUALS_MATCH" if guard.kind == "CONSTANT_MATCH" and " == " in text else guard.kind
        kind = "TYPE_MATCH" if text.startswith("___check_type_id(") else kind
        yield read(kind, text, "", None, "")


def in_words(kind: str, check: str) -> str:
    """A check of a guard of this kind with the names of the program: ``type_is(self, 'Net')``."""
    found = next(guard_records(SavedGuard(kind, "", (check,))), None)
    if found is None or not found.expression:
        return check
    return brief(found.expression) or in_program(plain(found.expression))
