"""A disassembly that never looks into the constants.

Dynamo puts live objects into ``co_consts``: modules, whole globals dictionaries, the user's own objects.  Their
``repr`` would run the user's code, and differs in every run; here each is shown as the name of its type.
"""

from __future__ import annotations

import dis
import types
from typing import Any

_LITERALS = (type(None), bool, int, float, complex, str, bytes, type(Ellipsis))


class _Shown:
    """A stand-in with a fixed ``repr``."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text


def disassembly(code: types.CodeType) -> str:
    """What ``dis`` prints for ``code`` itself, not for the code nested in it."""
    return dis.Bytecode(code.replace(co_consts=tuple(_shown(const) for const in code.co_consts))).dis()


def _shown(const: Any) -> Any:
    if type(const) in _LITERALS or type(const) in (tuple, frozenset) and all(_shown(item) is item for item in const):
        return const
    if isinstance(const, types.CodeType):
        return _Shown(f"<code {const.co_name}, line {const.co_firstlineno}>")
    if isinstance(const, types.ModuleType):
        return _Shown(f"<module {const.__name__}>")
    return _Shown(f"<{type(const).__name__} object>")
