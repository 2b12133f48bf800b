"""What a call computes, as terms: tensors are uninterpreted, all else is known.

Output: a ``TermTrace``: the operations on tensors in the order in which they are made.  An operation is a callable of
torch or of Python, or the name of a method, with its operands.  The same operations on the same operands in the same
order do the same, whatever they are: also where they write to a tensor or draw random numbers.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

Key = tuple[Any, ...]
"""What can be compared: of equal keys, what they are of is the same."""


_FIRST_PART = 10_000_000
"""The number of the first term that is a part of another one."""
_OF_VALUES = ("Tensor", "Generator")
"""Of torch, and no constants: which one it is may be another matter in the next call."""


class NotTriedError(Exception):
    """Code that the comparison does not model; the message names it."""

    line = ""
    """Where the program has it: ``m.py:7``."""


class NoAttributeError(NotTriedError):
    """An attribute that is not there: an AttributeError, which the evaluation follows for ``hasattr`` and ``getattr``
    alone."""


@dataclass(eq=False, slots=True)
class Term:
    """A symbolic value: a tensor, or another result of an operation."""

    number: int
    shown: str
    example: Any = None
    """A value with the same type, sizes, dtype and device: the tensor itself, or torch's fake one."""

    def __repr__(self) -> str:
        return self.shown


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation of a trace, with its operands and its result."""

    of: Any
    """The callable, or the name of a method."""
    operands: Key
    result: Term
    line: str = ""
    """Where the program has it: ``m.py:7``."""

    @property
    def key(self) -> Key:
        return (self.of if isinstance(self.of, str) else id(self.of), self.operands)

    @property
    def name(self) -> str:
        return self.of if isinstance(self.of, str) else getattr(self.of, "__name__", type(self.of).__name__)


@dataclass(slots=True)
class Leaves:
    """The input tensors of both sides.  A tensor has one term, by its identity, wherever it was found."""

    terms: dict[int, Term] = field(default_factory=dict)
    held: list[Any] = field(default_factory=list)

    def term(self, tensor: Any, shown: str) -> Term:
        found = self.terms.get(id(tensor))
        if found is None:
            found = self.terms[id(tensor)] = Term(-1 - len(self.terms), shown, tensor)
            self.held.append(tensor)  # an address is a name while it lives
        return found


def key_of(value: Any, unknown: Callable[[Any], Key] | None = None) -> Key:
    """A key that is equal for equal values of the same type.  ``unknown`` may give the key of other objects.
    NotTriedError where a part of ``value`` has no key."""
    kind = type(value)
    if kind is Term:
        return ("term", value.number)
    if kind in (bool, int, str, bytes, type(None), type(...)):
        return (kind.__name__, value)
    if kind in (float, complex):
        return (kind.__name__, repr(value))  # -0.0 is not 0.0, and nan is itself
    if kind is slice:
        return ("slice", *(key_of(part, unknown) for part in (value.start, value.stop, value.step)))
    if isinstance(value, list):  # torch.fx has its own, which may not be written
        return ("list", *(key_of(one, unknown) for one in list.__iter__(value)))
    if kind is tuple or kind.__name__ == "Size":
        return ("tuple", *(key_of(one, unknown) for one in tuple.__iter__(value)))
    if isinstance(value, dict):
        items = dict.items(value)
        return ("dict", *((key_of(name, unknown), key_of(one, unknown)) for name, one in items))
    if kind.__module__ in ("torch", "torch._C") and kind.__name__ not in _OF_VALUES or isinstance(value, type):
        return ("object", id(value))
    if unknown is not None:
        return unknown(value)
    raise NotTriedError(f"an operand that is a {kind.__name__}")


class TermTrace:
    """The operations of one side, in order."""

    def __init__(self) -> None:
        self.operations: list[Operation] = []
        self.parts: dict[tuple[int, int], Term] = {}
        """(an operation with several results, position) -> that result."""

    def part(self, of: Any, args: Any) -> Term | None:
        """The term of one result of an operation with several results (``getitem``), which counts as no operation.
        None for any other call."""
        if of is not operator.getitem or len(args) != 2 or type(args[0]) is not Term or type(args[1]) is not int:
            return None
        whole, position = args
        if type(whole.example) not in (tuple, list) or not -len(whole.example) <= position < len(whole.example):
            return None
        key = (whole.number, position % len(whole.example))
        if key not in self.parts:
            self.parts[key] = Term(_FIRST_PART + len(self.parts), f"{whole}[{key[1]}]", whole.example[key[1]])
        return self.parts[key]

    def made(self, of: Any, args: Any, kwargs: Mapping[str, Any], line: str = "", example: Any = None) -> Term:
        """Append an operation; returns its result."""
        if (part := self.part(of, args)) is not None:
            return part
        operands = (key_of(tuple(args)), *((name, key_of(kwargs[name])) for name in sorted(kwargs)))
        result = Term(len(self.operations), f"value {len(self.operations)}", example)
        self.operations.append(Operation(of, operands, result, line))
        return result


class TraceBeside(TermTrace):
    """A trace that is made beside one that is known: each operation is looked for in that, in its order.

    Where it is the next one, its result is the same term.  One that the other side has not is kept apart: it must have
    no effect, and nothing may use it.
    """

    def __init__(self, known: TermTrace) -> None:
        super().__init__()
        self.known = known
        self.next = 0
        self.alone: list[Operation] = []

    def made(self, of: Any, args: Any, kwargs: Mapping[str, Any], line: str = "", example: Any = None) -> Term:
        if (part := self.known.part(of, args)) is not None:
            return part
        operands = (key_of(tuple(args)), *((name, key_of(kwargs[name])) for name in sorted(kwargs)))
        wanted = self.known.operations[self.next] if self.next < len(self.known.operations) else None
        mine = Operation(of, operands, Term(1_000_000 + len(self.alone), f"the value of line {line}", example), line)
        if wanted is not None and wanted.key == mine.key:
            self.next += 1
            return wanted.result
        self.alone.append(mine)
        return mine.result

    @property
    def missing(self) -> Operation | None:
        """The next operation of the other side that this side lacks; None for none."""
        return self.known.operations[self.next] if self.next < len(self.known.operations) else None
