"""Warn when torch compiles inside ``depyf.debug()``: that code is not in the dump, so its breakpoints cannot be hit.

Input: torch's calls of a bytecode hook, once per frame it compiles.  Output: a note on standard error, once per
function; nothing about the compilation changes.
"""

from __future__ import annotations

import types
from typing import Any

from depyf.safety.guarded import guarded, say


class CompiledInside:
    """The notes of one ``depyf.debug()``, from ``start`` to ``stop``."""

    def __init__(self) -> None:
        self._hook: Any = None
        self._told: list[types.CodeType] = []

    def start(self) -> None:
        from torch._dynamo.convert_frame import register_bytecode_hook

        self._hook = register_bytecode_hook(self._tell)

    def stop(self) -> None:
        if self._hook is not None:
            self._hook.remove()
            self._hook = None
        self._told.clear()

    @guarded("what torch compiles now")
    def _tell(self, code: types.CodeType, made: types.CodeType) -> None:
        if any(code is told for told in self._told):
            return
        self._told.append(code)
        say(
            f"depyf: torch compiles {code.co_name} ({code.co_filename}:{code.co_firstlineno}) now, "
            "because nothing that it compiled before fits this call: breakpoints in the dump do not stop in the new "
            "code. The guard that fails is on the page "
            "full_code_for_*.py; a level, as in depyf.debug(level='graph'), writes what it compiles"
        )
