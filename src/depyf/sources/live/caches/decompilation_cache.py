"""Reuses decompilations: Dynamo often makes the same code again, for repeated layers or other shapes.

Input: code objects that Dynamo made, with their decompilations.  Output: the decompilation of one that differs from an
earlier one only in the names of the graphs and resume functions it calls, in its own name and in where it stands.

Why that is sound: the decompiler and the proof compare these globals by name only and take each as one opaque object
(``GeneratorContract.stable``), so a text and its proof stay valid under a one-to-one renaming.  All else is compared
byte by byte, as ``marshal`` writes it: the instructions, the constants that they name (by value and type), the tables
of lines (relative to the first) and of handlers, the other names; code whose constants it cannot write, and code with
code in it, is never taken for another.
"""

from __future__ import annotations

import marshal
import types
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from depyf.decompiler.bytecode.host.constants_apart import constants_apart
from depyf.decompiler.emit.entry import MAKER
from depyf.decompiler.options import Options
from depyf.run.global_names import GRAPH, RESUME, rename

if TYPE_CHECKING:
    from depyf.decompiler.driver.pipeline import Decompiled

_MOST = 1024
"""The maximum number of remembered decompilations; a program with more of them repeats few."""


@dataclass(frozen=True, slots=True)
class _KnownCode:
    globals: tuple[str, ...]
    line: int
    name: str
    found: Decompiled


_RENAMED = (GRAPH, RESUME, "__nested_resume_at_")
"""The globals in whose names two codes may differ; what Dynamo promises of such a name depends on its beginning."""


def _globals(made: types.CodeType) -> tuple[str, ...]:
    return tuple(name for name in made.co_names if name.startswith(_RENAMED))


def _asked(options: Options, number: dict[str, tuple[str, int]]) -> tuple[Any, ...]:
    """The options, with the globals in them by number."""
    promises = options.promises
    common = replace(options, promises=replace(promises, variables=None, signatures=()), shown=())
    variables = None if promises.variables is None else sorted(promises.variables)
    return repr(common), variables, [(number.get(name, name), names) for name, names in promises.signatures]


class AlikeCodes:
    """A cache of decompilations, for code objects that differ only in generated names and in their place."""

    def __init__(self) -> None:
        self._known: dict[bytes, _KnownCode] = {}

    def key(self, made: types.CodeType, options: Options) -> bytes | None:
        """A key that is equal for code objects that differ only in generated names and in their place; None for code
        that cannot be cached."""
        if made.co_name in made.co_names or any(type(const) is types.CodeType for const in made.co_consts):
            return None
        number = {name: (name.rpartition("_at_")[0] or GRAPH, at) for at, name in enumerate(_globals(made))}
        doc = made.co_consts[0] if made.co_consts and isinstance(made.co_consts[0], str) else None
        tables = made.co_linetable, getattr(made, "co_exceptiontable", b"")
        counts = made.co_argcount, made.co_posonlyargcount, made.co_kwonlyargcount, made.co_nlocals, made.co_flags
        variables = made.co_varnames, made.co_cellvars, made.co_freevars
        try:  # version 2: without references, which depend on more than the value
            return marshal.dumps(
                (
                    *constants_apart(made), [number.get(name, name) for name in made.co_names], doc, tables, counts,
                    variables, _asked(options, number),
                ),
                2,
            )  # fmt: skip
        except ValueError:
            return None

    def keep(self, key: bytes | None, made: types.CodeType, name: str, found: Decompiled) -> None:
        """Remember ``found``, the proven decompilation of ``made`` under the name ``name``."""
        if key is not None and len(self._known) < _MOST and found.code is not None and found.proven:
            self._known[key] = _KnownCode(_globals(made), made.co_firstlineno, name, found)

    def find(self, key: bytes | None, made: types.CodeType, name: str) -> Decompiled | None:
        """The decompilation of ``made`` under the name ``name``, where one of its kind is known."""
        known = self._known.get(key) if key is not None else None
        if known is None or known.found.code is None:
            return None
        renamed = dict(zip(known.globals, _globals(made)))
        taken = {*made.co_names, *made.co_varnames, *made.co_freevars, *made.co_cellvars}
        if not taken.isdisjoint((name, known.name, MAKER + name, MAKER + known.name)):
            return None
        code, shift = known.found.code, made.co_firstlineno - known.line
        changes = {"co_qualname": made.co_qualname} if hasattr(made, "co_qualname") else {}
        lines = known.found.lines
        return replace(
            known.found,
            lines=None if lines is None else replace(lines, filename=made.co_filename, first=made.co_firstlineno),
            source=rename(known.found.source, {**renamed, known.name: name, MAKER + known.name: MAKER + name}),
            linemap=tuple((line, None if user is None else user + shift) for line, user in known.found.linemap),
            verdicts=tuple(
                replace(
                    verdict,
                    qualname=getattr(made, "co_qualname", made.co_name),
                    reason=rename(verdict.reason, renamed),
                    difference="",
                )
                for verdict in known.found.verdicts
            ),
            code=code.replace(
                co_names=tuple(renamed.get(item, item) for item in code.co_names), co_name=made.co_name, **changes
            ),
        )
