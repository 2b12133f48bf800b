"""What an advice is: plain data.

Input: nothing.  Output invariant: an advice is named by its id wherever it is kept (records, manifest, JSON); its text
is made from the values of the case.  Nothing here knows torch.
"""

from __future__ import annotations

import enum
import re
from dataclasses import dataclass


class SwitchKind(enum.Enum):
    """How an advice is followed without an edit at the line it is about."""

    CONFIG = "config"
    """An option of torch is set."""
    ADD = "add"
    """A function is added to an option of torch that is a set."""
    MARK = "mark"
    """A dimension of a tensor is marked before the first call."""
    LIMIT = "limit"
    """An option of torch that is a number is raised."""
    COMPILING = "compiling"
    """An option of torch is set back before each compilation: ``torch.compile`` sets it."""


@dataclass(frozen=True, slots=True)
class Switch:
    """An option below ``torch._dynamo.config`` with its value, or a function that marks a dimension."""

    kind: SwitchKind
    name: str
    value: str = ""
    """What the option is set to, as Python; the name of the value of the case that is added to it."""


class Frees(enum.Enum):
    """What may change without another compilation, where an advice is followed."""

    VALUE = "value"
    """The value that the guard is on."""
    SYMBOL = "symbol"
    """The same in the first entry and in those made after it changed, but for the sizes 0 and 1, of which torch makes
    no symbol."""
    SYMBOL_WHEN_CHANGED = "symbol when changed"
    """The same, after it changed once."""
    SYMBOLS = "symbols"
    """All values that could be symbols."""
    SYMBOLS_WHEN_CHANGED = "symbols when changed"
    """The same, after they changed once."""
    UNASKED = "unasked"
    """The value that the guard is on, if the program asks nothing about it."""
    NOTHING = "nothing"


@dataclass(frozen=True, slots=True)
class Advice:
    """One advice; ``text``, ``changes`` and ``costs`` are filled with the values of a case."""

    id: str
    about: str
    """What it applies to."""
    text: str
    changes: str
    """What is different when it is followed."""
    costs: str = ""
    """What may be worse then."""
    switch: Switch | None = None
    """Where it needs no edit of the code that is compiled."""
    changes_results: bool = False
    """Whether the program may compute something else then."""
    remedy: bool = True
    """False: an explanation.  What happened is needed, and there is nothing to change."""
    frees: Frees = Frees.VALUE
    """Of an advice on a recompilation."""
    one_cause: bool = False
    """Whether it is one cause in the whole program, whichever functions and lines meet it."""

    @property
    def names(self) -> tuple[str, ...]:
        """The values that its text is filled with."""
        return tuple(dict.fromkeys(_FIELD.findall(self.text)))


_FIELD = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True, slots=True)
class AdviceUse:
    """A way out: the id of an advice, and the values that fill its text."""

    id: str
    values: tuple[tuple[str, str], ...] = ()

    def value(self, name: str) -> str:
        """The value of that name; "" where the case has none."""
        return next((value for known, value in self.values if known == name), "")


def filled(text: str, use: AdviceUse) -> str:
    """``text`` with the values of ``use``; values are put in as they are, braces in them mean nothing."""
    return _FIELD.sub(lambda field: use.value(field[1]), text)
