"""Which guards of an entry are on the user's values, and each of them on one line.

Input: guards.  Output: guards, and text.
"""

from __future__ import annotations

import re

from depyf.run.guards import known_kinds
from depyf.run.guards.program_words import in_program
from depyf.run.records import GuardRecord
from depyf.safety.escape import cut
from depyf.sources.live.guards.ask import user_place

_OF_TORCH = re.compile(r"__import_(?:_\(')?torch|\.__dict__$")
"""Guards on modules of torch, and on the way to a value."""


def brief(expression: str) -> str:
    """A guard on one line: a tensor as ``x: Tensor float32[None, 3]``, anything else as Python with the names of the
    program, as ``n == 2``."""
    return known_kinds.brief(expression) or cut(in_program(known_kinds.plain(expression)), 110)


def split_guards(guards: tuple[GuardRecord, ...]) -> tuple[list[GuardRecord], int]:
    """The guards on the program's values, and the number of other guards."""
    about = [guard for guard in guards if user_place(guard) and not _is_machinery(guard.expression)]
    return about, len(guards) - len(about)


def _is_machinery(expression: str) -> bool:
    return known_kinds.is_machinery(expression) or _OF_TORCH.search(expression) is not None
