"""Where the symbols of a compilation were made, and which line made one a constant again.

Input: the ``SymbolRecord`` list of a compilation.  Output: ``SymbolPlaces``, by what the program calls the value.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from depyf.run.advice.source_names import named
from depyf.run.places.place import Place
from depyf.run.records import SymbolRecord


@dataclass(frozen=True, slots=True)
class SymbolPlaces:
    """The source lines of the symbols of one compilation, by the program's name of the value."""

    met: Mapping[str, Place | None]
    """Where it became a symbol."""
    fixed: Mapping[str, Place]
    """The line that made it a constant again."""


NO_SYMBOLS = SymbolPlaces(MappingProxyType({}), MappingProxyType({}))


def places_of(symbols: Iterable[SymbolRecord]) -> SymbolPlaces:
    """The source lines of ``symbols``.  Of several symbols with the same name, the first one is used."""
    met: dict[str, Place | None] = {}
    fixed: dict[str, Place] = {}
    for symbol in symbols:
        name = named(symbol.source)
        met.setdefault(name, symbol.place)
        if symbol.became and symbol.where is not None:
            fixed.setdefault(name, symbol.where)
    return SymbolPlaces(met, fixed)
