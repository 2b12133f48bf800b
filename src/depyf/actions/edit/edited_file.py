"""A file of a dump that was edited since it was written."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from pathlib import Path

from depyf.actions.edit.edit_error import EditError
from depyf.run.records import CompileKey
from depyf.safety.unheard import parse


@dataclass(frozen=True, slots=True)
class EditedFile:
    """A file that differs from what the manifest says was written."""

    name: str
    path: Path
    kind: str
    stage: str
    """Of a graph; else ""."""
    keys: tuple[CompileKey, ...]
    made_from: str
    """Checksum of what torch made when it was written, of a kernel that of its wrapper; "" where that is not known."""
    of: str
    """Of a kernel: the file of its wrapper; else ""."""
    text: str
    lines: tuple[int, ...]
    """The lines that were changed, from 1."""

    @property
    def changed(self) -> str:
        count = len(self.lines)
        return f"{count} line" if count == 1 else f"{count} lines"


def python(file: EditedFile) -> ast.Module:
    """The tree of an edited file.  EditError, at its line, where it is no Python."""
    try:
        found: ast.Module = parse(file.text)
    except SyntaxError as error:
        raise EditError(file.path, error.lineno or 1, f"not Python: {error.msg}") from None
    except (ValueError, RecursionError, MemoryError) as error:
        raise EditError(file.path, 1, f"not Python: {error}") from None
    return found
