"""The error that an edited file causes, at its line."""

from __future__ import annotations

from depyf.errors import DepyfError
from depyf.safety.escape import printable


class EditError(DepyfError):
    """``FILE:LINE: what is wrong``."""

    def __init__(self, path: object, line: int, reason: str) -> None:
        self.path = str(path)
        self.line = line
        super().__init__(f"{printable(str(path))}:{line}: {reason}")
