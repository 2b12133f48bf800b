"""What led torch to an event about shapes, and what its shape environment knew in the end.

Input: nothing.  Output: plain data, but for ``env``; what is not known stays empty.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from depyf.run.places.place import Place


@dataclass(frozen=True, slots=True)
class ShapeQuestion:
    """What made torch ask its shape environment: an operator, a heuristic or the program."""

    env: Any = None
    """The ``ShapeEnv``; None where no frame holds it."""
    operator: str = ""
    """The operation of the program that torch is compiling: ``view``, ``cat``."""
    asker: str = ""
    """The innermost function of torch that is none of the shape environment's: ``torch._refs._broadcast_shapes``."""
    dynamic: str = ""
    """See ``SymbolRecord.dynamic``."""
    place: Place | None = None
    """The program's line, as the operation remembers it."""
    suppressed: bool = False
    """torch makes no guard of the answer."""
    source: str = ""
    """The size or number that it makes a symbol for, where the event does not name it."""


@dataclass(frozen=True, slots=True)
class FinalSymbol:
    """The final range and value of a symbol, when the guards are made."""

    sources: tuple[str, ...]
    range: str
    equals: str
    dynamic: str = ""
    """Why it is a symbol; "" where that was told when it was made, or is not told."""
