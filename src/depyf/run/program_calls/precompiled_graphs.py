"""Graphs that ``torch.compiler.precompile`` captured or loaded: no function is compiled in their place."""

from __future__ import annotations

from dataclasses import dataclass

from depyf.run.places.place import Place
from depyf.run.records import CompileKey


@dataclass(frozen=True, slots=True)
class PrecompiledGraph:
    """One graph, traced by make_fx: it has no guards, its driver looks at each call."""

    key: CompileKey
    """torch has no compile id for it: the name is depyf's."""
    backend: str
    loaded: bool
    """It was read from a file, and not captured here."""
    function: str = ""
    """What was traced; "" where it was loaded: that is not stored."""
    place: Place | None = None
    checks: tuple[str, ...] = ()
    """What a call must have."""
    file: str = ""
    """Where it was written."""
