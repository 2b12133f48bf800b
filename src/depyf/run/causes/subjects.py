"""What a guard that did not hold reads, in the program's words.

Input: the text of a guard as recompilations record it.  Output: a ``Subject``; guards on the same value have the same
one, whatever they expected of it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from depyf.run.advice.source_names import module_names, split_global
from depyf.run.global_names import STACK_VARIABLE
from depyf.run.guards.difference import Difference
from depyf.run.guards.known_kinds import NO_CALL, kind_of, reported_differences
from depyf.safety.unheard import parse

_NUMBER = re.compile(r"\b\d+(?:\.\d+)?(?:e[+-]?\d+)?\b")


@dataclass(frozen=True, slots=True)
class Subject:
    """The value, or the property of one, on which a guard is."""

    name: str
    """What has it: ``x``, ``self.calls``, ``the global MODE``."""
    what: str = ""
    """Which property of it: ``size``, ``dtype``, ``type``; "" for the value itself."""
    index: str = ""
    module: str = ""
    """The path of the module that has it."""

    @property
    def key(self) -> str:
        """What subjects share that are read by one line: of the path to a value only its end counts, so that the
        counters of all layers of a model are one."""
        last = self.name.rpartition(".")[2] if re.fullmatch(r"[\w.]+", self.name) else self.name
        return " ".join(part for part in (last, self.what, self.index) if part)

    def __str__(self) -> str:
        name = in_code(self.name)
        if self.what in ("size", "stride") and self.index:
            return f"{self.what} {self.index} of {name}"
        return f"the {self.what} of {name}" if self.what else name


def in_code(name: str) -> str:
    """``name`` with its expression in backquotes, for a sentence; unchanged where it is no expression."""
    words, expression = split_global(name)
    try:
        parse(expression, mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return name
    return name if "`" in expression else f"{words}`{expression}`"


def subject_of(guard: str) -> Subject:
    """What ``guard`` reads, of which only the text is known."""
    return subject_of_differences(reported_differences(guard, NO_CALL), guard)


def subject_of_differences(differences: tuple[Difference, ...], guard: str) -> Subject:
    """The value that a guard reads; the text of ``guard`` where no guard kind names the value."""
    first = next(iter(differences), None)
    kind = kind_of(first) if first is not None else None
    name = kind.about(first, in_code) if first is not None and kind is not None else ""
    if first is None or kind is None or not name:
        return Subject(_NUMBER.sub("N", guard))
    return Subject(name, kind.aspect(first), first.dimension, module_of(first.source))


def module_of(source: str) -> str:
    """``L['self']._modules['h']._modules['0'].calls`` -> ``h.0``; "" where no module is on the way."""
    return ".".join(module_names(source))


def stack_variables(text: str) -> list[str]:
    """Dynamo's names of values that went over a graph break, as they occur in ``text``."""
    return STACK_VARIABLE.findall(text)
