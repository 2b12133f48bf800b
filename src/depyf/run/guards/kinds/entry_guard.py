"""What is asked of a whole entry: which backend made it, and whether it did not fit at all.

BACKEND_MATCH failure: torch.compile detected different backend callables. ...
"""

from __future__ import annotations

import re
from collections.abc import Callable

from depyf.run.advice.registry import use
from depyf.run.guards.difference import Difference, GuardSide
from depyf.run.guards.guard_kind import GuardKind, Look, Uses
from depyf.run.places.place import Place

_BACKEND = re.compile(
    r"^BACKEND_MATCH failure: torch\.compile detected different backend callables\."
    r"(?: Cached backend: (?P<cached>.*?)\. New backend: (?P<new>.*?)\. If this is unexpected.*)?",
    re.S,
)
_AGAIN = re.compile(r"^Unexpected recompilation\b")
BACKEND, FITS = "backend", "fits"


class EntryGuard(GuardKind):
    name = "entry"

    def reported(self, text: str, look: Look) -> tuple[Difference, ...] | None:
        match = _BACKEND.match(text)
        if match is not None or text.startswith("BACKEND_MATCH"):
            wanted, found = (match["cached"] or "", match["new"] or "") if match is not None else ("", "")
            return (Difference(self.name, "", BACKEND, wanted=GuardSide(wanted), found=GuardSide(found)),)
        if _AGAIN.match(text):
            return (Difference(self.name, "", FITS, found=GuardSide("every guard holds when it is asked again")),)
        return None

    def guard_text(self, text: str, differences: tuple[Difference, ...]) -> str:
        return "the backend is the same" if differences[0].what == BACKEND else "every guard holds"

    def about(self, difference: Difference, shown: Callable[[str], str]) -> str:
        return "the backend" if difference.what == BACKEND else "the entry"

    def aspect(self, difference: Difference) -> str:
        return ""

    def sentence(self, difference: Difference, placed: bool, shown: Callable[[str], str]) -> str:
        if difference.what == BACKEND:
            return "the function is passed to torch.compile again, and has another backend"
        return "an entry did not fit, and fits when it is asked again"

    def advice(self, difference: Difference, place: Place | None) -> Uses:
        return (use("compile-once" if difference.what == BACKEND else "call-before-threads"),)


KIND = EntryGuard()
