"""The edited files whose text runs now in the place of Dynamo's code: what is recorded of it is EDITED, never proven."""

from __future__ import annotations

import types

EDITED = "EDITED"
"""The verdict."""
_paths: dict[str, int] = {}
"""File -> how many blocks use it."""


def put_in_force(path: str) -> None:
    _paths[path] = _paths.get(path, 0) + 1


def take_out_of_force(path: str) -> None:
    if _paths.get(path, 0) > 1:
        _paths[path] -= 1
    else:
        _paths.pop(path, None)


def edited_by(made: types.CodeType) -> str:
    """Why nothing is proven of ``made``: it is the text of an edited file; "" for code of Dynamo's."""
    return f"{EDITED}: this is the text of {made.co_filename}" if made.co_filename in _paths else ""
