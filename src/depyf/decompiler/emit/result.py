"""The options of the emit stage, and its result."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from depyf.decompiler.bytecode.codeunit import CodeUnit
from depyf.decompiler.bytecode.lower import Lowered, lower


@dataclass(frozen=True, slots=True)
class EmitOptions:
    """How the text looks; none of this changes what it means.

    ``cells`` says how a cell object itself is written: "closure" gives ``(lambda: x).__closure__[0]``, which runs as it
    stands; "name" gives an identifier listed in ``Emitted.cells``, for a caller that patches the compiled code.
    ``ordered`` are the ids of functions whose local variables a dead statement puts in the order of the bytecode.
    ``lower`` gives the lowered form of a code object, which the caller may have.
    ``shown`` are names that the caller will replace: lines are as long as they are then.
    """

    indent: int = 4
    temp_prefix: str = "__temp_"
    const_prefix: str = "__const_"
    width: int = 100
    cells: str = "closure"
    shown: tuple[tuple[str, str], ...] = ()
    ordered: frozenset[int] = frozenset()
    lower: Callable[[CodeUnit], Lowered] = lower


@dataclass(frozen=True, slots=True)
class Emitted:
    """Source text, and what a caller must know to get from its compilation back to the original code object.

    ``linemap`` pairs every output line that starts a statement with the source line of that statement.  ``renames``
    maps an identifier of the text to the name that it has in the bytecode.  ``consts`` maps an identifier, which
    compiles as a global, to the object that the original holds as a constant; ``cells`` likewise for cell objects;
    ``builtins`` does so for builtins that the original looks up by the same name elsewhere.  ``path`` names the code
    objects that lead from the compiled module to the one that was asked for.  ``labelled`` is true for a debugging dump
    that is no Python.  ``owners`` are the first lines of the stretches of text that belong to one code object, with its
    qualified name.  ``mode`` is the one to compile the text in: "exec", "eval" or "single".  ``features`` are the names
    under which a module's text imports features of ``__future__`` that the original was compiled with, but does not
    import: by a flag of ``compile``.  ``imported`` are the names under which it imports builtins whose own names the
    module binds; ``consts`` has them, too.  ``entries`` are the logical lines of ``text``; ``definitions`` say which of
    them, up to the second number, are the statement that defines a function or class.
    """

    text: str
    linemap: tuple[tuple[int, int | None], ...] = ()
    renames: dict[str, str] = field(default_factory=dict)
    consts: dict[str, Any] = field(default_factory=dict)
    cells: dict[str, str] = field(default_factory=dict)
    path: tuple[str, ...] = ()
    labelled: bool = False
    owners: tuple[tuple[int, str], ...] = ()
    mode: str = "exec"
    features: tuple[str, ...] = ()
    builtins: dict[str, Any] = field(default_factory=dict)
    imported: dict[str, str] = field(default_factory=dict)
    entries: tuple[str, ...] = ()
    definitions: tuple[tuple[CodeUnit, int, int], ...] = ()

    def function_at(self, line: int) -> str:
        """Qualified name of the code object that a line of the text belongs to."""
        return next((name for first, name in reversed(self.owners) if first <= line), "")
