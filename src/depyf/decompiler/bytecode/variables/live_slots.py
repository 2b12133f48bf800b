"""The slots of a live code object (3.11+), where its names do not tell them: ``co_varnames`` and the other tuples are
made anew each time, without the places of what is in them."""

from __future__ import annotations

import marshal
import sys
import types
from typing import Any

from depyf.decompiler.bytecode.variables.slots import Slots


def live_slots(code: types.CodeType) -> Slots:
    """The slots with their kinds; nothing where they are what the names say (``slots_of``)."""
    names, cells, free = code.co_varnames, code.co_cellvars, code.co_freevars
    if not cells and not free:
        return ()
    own = frozenset(names)
    expected = (*names, *[name for name in cells if name not in own], *free) if cells else names + free
    if len(own) == len(names) and len(set(cells)) == len(cells) and _are(code, expected):
        return ()
    return _written(code)


def _are(code: Any, expected: tuple[str, ...]) -> bool:
    """Whether these are the names of all slots."""
    name_of = code._varname_from_oparg
    try:
        for at, name in enumerate(expected):
            if name_of(at) != name:
                return False
        name_of(len(expected))
    except IndexError:
        return True
    return False


def _written(code: types.CodeType) -> Slots:
    """What marshal writes.  Code with constants that it cannot write was made by ``replace``, which makes slots as
    names say."""
    from depyf.decompiler.bytecode.codeunit import CodeUnit
    from depyf.decompiler.bytecode.files.unmarshal import loads

    try:
        data = marshal.dumps(code)
    except ValueError:
        return ()
    unit = loads(data, sys.version_info[:2])
    return unit.slots if isinstance(unit, CodeUnit) else ()
