"""The code in a saved file, decompiled and proven as that of a ``.pyc`` is.

Input: the code objects that were found, and the version of Python that wrote them.  Output: a text for each, with what
is proven of it; the reason in the place of a text where there is none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from depyf.decompiler.bytecode.codeunit import CodeUnit
from depyf.decompiler.driver.pipeline import decompile_unit
from depyf.decompiler.verify.verdict import Status
from depyf.errors import DepyfError
from depyf.safety.escape import printable
from depyf.sources.files.saved_code import SavedCodes
from depyf.sources.files.saved_parts import SavedCodeObject
from depyf.sources.live.recognise import saved_code_options, saved_originals

MOST_CODES = 2000
"""Code objects of one file that are decompiled."""


@dataclass(slots=True)
class OpenedCode:
    """The decompiled text of a code object; "" where there is none, and ``status`` has the reason.  Where there is one,
    ``status`` is the weakest verdict on the code object and those nested in it."""

    place: str
    name: str
    text: str
    status: str
    unit: CodeUnit | None = None
    """The code, where it could be read."""
    held_by: str = ""
    """The field of the saved object that has it."""
    proven: bool = False
    """The text is proven to mean the same."""


def opened_codes(found: Sequence[SavedCodeObject], version: tuple[int, int] | None, size: int) -> list[OpenedCode]:
    """Each code object in a file of ``size`` bytes."""
    codes = None if version is None else SavedCodes(version, size)
    units: list[CodeUnit | str] = [_read(one, codes) for one in found[:MOST_CODES]]
    originals = saved_originals(unit for unit in units if isinstance(unit, CodeUnit))
    made = [_opened(one, unit, originals) for one, unit in zip(found, units)]
    made += [
        OpenedCode(one.place, "", "", f"more than {MOST_CODES} in one file", held_by=one.held_by)
        for one in found[MOST_CODES:]
    ]
    return made


def _read(found: SavedCodeObject, codes: SavedCodes | None) -> CodeUnit | str:
    if codes is None:
        return "the file does not say which Python wrote it: --version X.Y does"
    try:
        return codes.read(found.value)
    except DepyfError as error:
        return printable(str(error))


def _opened(found: SavedCodeObject, unit: CodeUnit | str, originals: dict[tuple[object, ...], CodeUnit]) -> OpenedCode:
    if isinstance(unit, str):
        return OpenedCode(found.place, "", "", unit, held_by=found.held_by)
    try:
        made = decompile_unit(unit, saved_code_options(unit, originals))
    except DepyfError as error:
        return OpenedCode(found.place, unit.qualname, "", printable(str(error)), unit, found.held_by)
    weakest = max((verdict.status for verdict in made.verdicts), key=list(Status).index, default=Status.FAILED)
    proven = bool(made.shown) and made.proven
    return OpenedCode(found.place, unit.qualname, made.shown, weakest.value.lower(), unit, found.held_by, proven)
