"""What a guard wanted and what a call had, as data.

Input: nothing.  Output invariant: only strings, numbers and tuples of these, so a record of a run can hold it.  The
words are made by the kind of the guard (``known_kinds.py``).
"""

from __future__ import annotations

from dataclasses import dataclass

from depyf.run.advice.source_names import size_source

MODULE = "attribute of a module"
OPTIMIZER = "state of an optimizer"
OPTION = "option of an optimizer"
RECEIVER = "object of the method"
INNER = "computed before a break"
PARAMETER = "parameter or buffer"
POSITIONAL = "further positional arguments"
KEYWORDS = "further keyword arguments"
STRIDES = "strides that follow from sizes"
LAST_BATCH = "smaller last batch"
LAST_BATCH_OF_TRAINER = "smaller last batch of a Trainer"
"""What a value is to the program, whatever it is called: ``Difference.roles``."""

_LAYOUT = frozenset(("size", "stride", "storage_offset"))
INTEGERS = ("int", "bool")


@dataclass(frozen=True, slots=True)
class GuardSide:
    """One side of a difference: a value, or as much as is known about it."""

    text: str = ""
    """A literal as it is written, another value in a few words; "" where nothing is known."""
    kind: str = ""
    """The name of its class; "" where it is unknown."""
    missing: bool = False
    """There is no such value."""

    @property
    def is_integer(self) -> bool:
        return self.kind == "int" and self.text.lstrip("-").isdigit()


UNKNOWN = GuardSide()


@dataclass(frozen=True, slots=True)
class Difference:
    """One thing in which a call differs from what a guard wants."""

    kind: str
    """The name of the guard's kind."""
    source: str = ""
    """The value that the guard looks at, by torch's name (``L['x']``, ``self.k``); "" for a state of the process."""
    what: str = ""
    """The property of that value: ``size``, ``dtype``, ``type``; "" for the value itself."""
    index: int | None = None
    """Which of several: the dimension of a size."""
    relation: str = "=="
    """How what is found ought to be related to what is wanted."""
    wanted: GuardSide = UNKNOWN
    found: GuardSide = UNKNOWN
    others: tuple[str, ...] = ()
    """Further values that the guard looks at."""
    roles: tuple[str, ...] = ()
    """What the value is to the program."""
    set_by: str = ""
    """The class of the scheduler that sets it in each step, for an option of an optimizer."""
    padded: str = ""
    """How what pads the batches of a loader to their longest sample would pad them to one length."""

    @property
    def dimension(self) -> str:
        return "" if self.index is None else str(self.index)

    @property
    def of_strides(self) -> bool:
        """Whether nothing but strides, and the sizes that they follow from, is compared."""
        return self.what == "stride" or STRIDES in self.roles

    @property
    def of_layout(self) -> bool:
        """Whether a size, a stride or an offset is compared: where there is no tensor there is none of these."""
        return self.what in _LAYOUT or size_source(self.source) is not None

    @property
    def small(self) -> bool:
        """Whether a size or number of 0 or 1 is on one side."""
        return bool({self.wanted.text, self.found.text} & {"0", "1"})


def beside(guard: str, expected: str, actual: str) -> tuple[str, str]:
    """What was expected and found, without what torch's own words for the failed guard say already."""
    told = guard.startswith("tensor '") and ". expected " in guard
    return "" if told else expected, "" if told and ", actual " in guard else actual


def values_beside(guard: str, expected: str, actual: str) -> str:
    """``; expected 3, got 4`` after a guard that failed."""
    expected, actual = beside(guard, expected, actual)
    return (f"; expected {expected}" if expected else "") + (f", got {actual}" if actual else "")
