"""What the texts of a dump call its functions, entries and graphs.

Input: records.  Output: names, in an order in which those of another record are its counterparts.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from depyf.run.files.layout import original_file
from depyf.run.global_names import graph_name, transformed_name
from depyf.run.records import EntryRecord, FunctionRecord
from depyf.safety.escape import safe_name
from depyf.views.pages.full_code import caller_name, frame_name, guard_name, guards_name, original_name, other_names


def names_of_function(function: FunctionRecord) -> tuple[str, ...]:
    """The names of a function on its pages, its own name first."""
    last = function.code.qualname.rpartition(".")[2]
    file = original_file(function.function, function.code).partition(".")[0]
    own = (safe_name(last), frame_name(function), file, caller_name(function), original_name(function))
    return (*own, *other_names(function))


def names_of_entry(function: FunctionRecord, entry: EntryRecord) -> tuple[str, ...]:
    """The names of an entry, its code and its graphs on the pages."""
    own = (guard_name(entry), guards_name(entry), transformed_name(entry.key, function.code.name))
    made = entry.transformed
    graphs = (graph_name(entry.key), *(made.graphs if made is not None else ()))
    return (*own, *graphs, *(made.resumes if made is not None else ()))


@dataclass(frozen=True, slots=True)
class AskingNames:
    """The names by which a page calls torch's guards."""

    live: frozenset[str] = frozenset()
    """What stands for a function or an entry in the process that compiled."""
    guards: frozenset[str] = frozenset()
    """The functions that have the guards of an entry."""


def asking_names(functions: Iterable[FunctionRecord]) -> AskingNames:
    """The names by which the pages of these functions call torch's guards."""
    known = tuple(functions)
    entries = [entry for function in known for entry in function.entries]
    return AskingNames(
        frozenset([*map(frame_name, known), *map(guard_name, entries)]), frozenset(map(guards_name, entries))
    )
