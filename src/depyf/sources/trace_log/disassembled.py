"""The names that torch's disassembly of a function tells.

Input: the text of ``dis``.  Output: names of globals, in the order of the function's table of names.
"""

from __future__ import annotations

import re

_GLOBAL = re.compile(
    r"^.*? LOAD_(?:GLOBAL|NAME)\s+(?P<number>\d+) \((?:NULL \+ )?(?P<name>[^\W\d]\w*)(?: \+ NULL)?\)", re.M
)


def globals_in(disassembly: str) -> tuple[str, ...]:
    """The names of the globals, each once."""
    found = {match["name"]: int(match["number"][:9]) for match in _GLOBAL.finditer(disassembly)}
    return tuple(sorted(found, key=lambda name: found[name]))
