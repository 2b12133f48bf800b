"""The error of an edited file in what torch's compilers raise: where they wrapped it, and what a C++ compiler said of a
kernel."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from depyf.actions.edit.edit_error import EditError
from depyf.actions.edit.edited_file import EditedFile

_SAID = re.compile(r"^(?P<path>[^\s:][^:\n]*):(?P<line>\d+):(?:\d+:)? (?:fatal )?error: (?P<what>.*)$", re.M)
"""As GCC and Clang say it."""
_KERNELS = "kernel_source"
_DEEPEST = 32
"""Wrappings that are looked through."""


def edit_error_in(error: BaseException, files: list[EditedFile], failed: Callable[[str], None]) -> EditError | None:
    """The error at a line of an edited file that ``error`` stands for; None where it is of something else.

    ``files``: what is edited in what was compiled.  ``failed`` is told of a file that torch wrote for a kernel and that
    could not be built.
    """
    found: BaseException | None = error
    for _ in range(_DEEPEST):
        if found is None or isinstance(found, EditError):
            return found
        built = _of_build(str(found), [file for file in files if file.kind == _KERNELS], failed)
        if built is not None:
            return built
        found = found.__cause__ or found.__context__ or getattr(found, "inner_exception", None)
    return None


def _of_build(said: str, kernels: list[EditedFile], failed: Callable[[str], None]) -> EditError | None:
    """What a C++ compiler said of a file that has the text of one of ``kernels``, at the line of the kernel's own
    file."""
    for match in _SAID.finditer(said):
        try:
            lines = Path(match["path"]).read_text(encoding="utf-8").split("\n")
        except (OSError, ValueError):
            continue
        for file in kernels:
            line = _line_in(file.text.split("\n"), lines, int(match["line"]))
            if line:
                failed(match["path"])
                return EditError(file.path, line, f"the kernel does not compile: {match['what']}")
    return None


def _line_in(text: list[str], built: list[str], line: int) -> int:
    """The line of ``text`` that is line ``line`` of ``built``, which has the text somewhere; 0 where it has not."""
    stripped = [part.strip() for part in text]
    while stripped and not stripped[-1]:
        stripped.pop()
    first = next((number for number, part in enumerate(stripped) if part), 0)
    wanted = stripped[first:]
    for start in range(len(built) - len(wanted) + 1) if wanted else ():
        if all(one == other.strip() for one, other in zip(wanted, built[start:])):
            found = line - start + first
            return found if first < found <= len(stripped) else 0
    return 0
