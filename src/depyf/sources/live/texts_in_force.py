"""The edited files whose text runs now in the place of what torch made: what is recorded of it is EDITED, never
proven."""

from __future__ import annotations

import types
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from depyf.run.compile_stages import WRAPPER

EDITED = "EDITED"
"""The verdict."""
_paths: dict[str, int] = {}
"""File -> how many blocks use it."""

GraphEdited = Callable[[str, str, str], None]
"""Is told the compile id, the stage and the file of each edited graph, wrapper or kernel that is put in."""
_listeners: list[GraphEdited] = []


def listen(heard: GraphEdited) -> Callable[[], None]:
    """Call ``heard`` for each edited graph, in any thread; returns a function that ends this."""
    _listeners.append(heard)

    def end() -> None:
        if heard in _listeners:
            _listeners.remove(heard)

    return end


def tell_of(compile_id: str, stage: str, path: str) -> None:
    """Tell all listeners that the edited file ``path`` is used for this compilation and stage."""
    for heard in _listeners:
        heard(compile_id, stage, path)


def put_in_force(path: str) -> None:
    _paths[path] = _paths.get(path, 0) + 1


def take_out_of_force(path: str) -> None:
    if _paths.get(path, 0) > 1:
        _paths[path] -= 1
    else:
        _paths.pop(path, None)


def edited_by(made: types.CodeType) -> str:
    """Why ``made`` is not proven: it is compiled from an edited file; "" for code of Dynamo."""
    return f"{EDITED}: this is the text of {made.co_filename}" if made.co_filename in _paths else ""


@dataclass(frozen=True, slots=True)
class EditInForce:
    """An edited file that a compilation was made with."""

    path: str
    lines: tuple[int, ...]
    """Those that were changed."""


_edits: dict[str, dict[str, EditInForce]] = {}
"""Compile id -> the edits that it was made with, by file."""


def keep_edit(compile_id: str, edit: EditInForce) -> None:
    """Remember that ``compile_id`` is compiled with ``edit``."""
    _edits.setdefault(compile_id, {})[edit.path] = edit


def forget_edits(paths: Iterable[str]) -> None:
    """Forget the edits of ``paths``, whose block has ended."""
    gone = set(paths)
    for compile_id, edits in list(_edits.items()):
        kept = {path: edit for path, edit in edits.items() if path not in gone}
        if kept:
            _edits[compile_id] = kept
        else:
            del _edits[compile_id]


def edits_of(compile_id: str) -> tuple[EditInForce, ...]:
    """The edits with which an entry of this process was compiled."""
    return tuple(_edits.get(compile_id, {}).values())


def notes_of(used: Iterable[tuple[str, str]], stage: str) -> tuple[str, ...]:
    """The notes for the page of a graph of this stage.  ``used``: stage and path of each edited file of its
    compilation."""
    return tuple(
        f"{EDITED}: what runs here is the text of {path}"
        if stage == own and own != WRAPPER
        else f"{EDITED}: {path} is used in this compilation"
        for own, path in used
    )
