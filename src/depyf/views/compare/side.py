"""One of two dumps that are compared: what its files say in the terms of the second.

Input: a dump, and how its functions are paired with the other's.  Output: texts that are the same on both sides where
the files mean the same.  A page of depyf is made again from its run, without places, compile ids and names. A page that
is not what the run gives was edited, or an earlier depyf wrote it: it is compared as it stands.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from depyf.run.files.layout import original_file
from depyf.run.records import FunctionRecord
from depyf.run.run import Run
from depyf.views.compare.meaning import code_meaning, meaning
from depyf.views.compare.page_names import AskingNames, asking_names
from depyf.views.compare.pairing import Pairing
from depyf.views.compare.program_folder import from_folder
from depyf.views.compare.translated import translated
from depyf.views.pages.function_pages import original_page, source_of
from depyf.views.pages.memory import memory_page
from depyf.views.pages.run_data import RunFindings
from depyf.views.pages.shapes import shapes_page

_SUMMARIES: dict[str, Callable[[RunFindings], str]] = {"shapes": shapes_page, "memory": memory_page}
"""Kind of a page of the whole run -> what makes it."""


@dataclass(frozen=True)
class ComparedSide:
    """One of the two dumps, with what is needed to compare its texts.  ``pairs``: None for the second dump, whose names
    are used for both."""

    run: Run
    functions: Sequence[FunctionRecord]
    folders: tuple[str, str]
    """Of the program: on this side, and on the second."""
    pairs: Pairing | None
    normal: Callable[[str], str]
    """What takes out of a text what may differ anyway."""

    def meaning(self, name: str, kind: str, home: str, text: Callable[[], str]) -> str:
        """The text of the file ``name``, normalised for the comparison.  ``home``: the program's file that it is
        about."""
        again = self._made_again(name, kind, text)
        found = self.normal(text() if again is None else again)
        for folder in dict.fromkeys(self.folders):
            found = from_folder(found, folder)
        found = meaning(name, found, self._asking)
        has_names = name.endswith(".py") or (again is not None and kind == "original_code")
        return self.pairs.rename(found, home) if self.pairs is not None and has_names else found

    def _made_again(self, name: str, kind: str, text: Callable[[], str]) -> str | None:
        """The page without what has no meaning; None for a file that is not a page of depyf, or not what the run
        gives."""
        if kind in _SUMMARIES:
            make = _SUMMARIES[kind]
            return make(self._translated) if make(RunFindings(self.run)) == text() else None
        function = self._originals.get(name) if kind == "original_code" else None
        if function is None or original_page(function) != text():
            return None
        source = source_of(function.code)
        return source if function.resume_of is None else code_meaning(source)

    @functools.cached_property
    def _translated(self) -> RunFindings:
        return RunFindings(self.run if self.pairs is None else translated(self.run, self.pairs, self.folders))

    @functools.cached_property
    def _originals(self) -> dict[str, FunctionRecord]:
        return {original_file(function.function, function.code): function for function in self.functions}

    @functools.cached_property
    def _asking(self) -> AskingNames:
        return asking_names(self.functions)
