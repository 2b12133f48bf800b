"""A disassembly that never prints the contents of constants.

Dynamo puts live objects into ``co_consts``: modules, whole globals dictionaries, the user's own objects.  Their
``repr`` would run the user's code, and differs in every run; here each is shown as the name of its type.
"""

from __future__ import annotations

import types
from typing import Any

from depyf.decompiler.bytecode.host.listing import Listed, listing

_LITERALS = (type(None), bool, int, float, complex, str, bytes, type(Ellipsis))


def disassembly(code: types.CodeType, part: Listed | None = None) -> str:
    """The instructions of ``code`` itself, or a part of them, not of the code nested in it, in the columns of
    ``dis``."""
    return listing(code, _shown, part)


def _shown(const: Any) -> str:
    """``const`` as it is written; the items of a set in an order that is the same in every process."""
    if type(const) in _LITERALS:
        return repr(const)
    if type(const) is tuple:
        return f"({', '.join(map(_shown, const))}{',' if len(const) == 1 else ''})"
    if type(const) is frozenset:
        return f"frozenset({{{', '.join(sorted(map(_shown, const)))}}})"
    if type(const) is types.CodeType:
        return f"<code {const.co_name}, line {const.co_firstlineno}>"
    if type(const) is types.ModuleType:
        return f"<module {const.__name__}>"
    return f"<{type(const).__name__} object>"
