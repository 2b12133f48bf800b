"""The grammar of the target version: the only file of ``emit/`` that compares versions.

``unit.version`` decides which texts are legal; every question the printer has about that is a field here, named after
the construct.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from depyf.decompiler.bytecode.codeunit import CO_FUTURE_ANNOTATIONS, CO_OPTIMIZED, CodeUnit

CO_FUTURE_BARRY_AS_FLUFL = 0x400000

FUTURES = ((CO_FUTURE_ANNOTATIONS, "annotations"), (CO_FUTURE_BARRY_AS_FLUFL, "barry_as_FLUFL"))
"""The ``__future__`` features that still change what compiles, with the flag each leaves on a code object."""


@dataclass(frozen=True, slots=True)
class Grammar:
    """What the target's parser takes and does."""

    nested_quotes: bool
    """3.12: an f-string may reuse its own quotes and hold backslashes inside braces."""
    paren_with: bool
    """3.10: parentheses around the items of a ``with``."""
    star_index: bool
    """3.11: ``x[*a]``."""
    star_for: bool
    """3.9: an unparenthesised star in the iterable of a ``for``."""
    clean_docstrings: bool
    """3.13: the compiler removes the indentation of docstrings."""
    inlined_comprehensions: bool
    """3.12: list, set and dict comprehensions share the frame (and cells) of their function."""
    flufl_in_text: bool
    """3.14: ``from __future__ import barry_as_FLUFL`` in a text makes ``<>`` of its ``!=``; before, only a flag of
    ``compile`` does."""
    mixed_complex: bool
    """3.14: a real operand of complex arithmetic has no imaginary part that the signs of zeros could show."""


@cache
def grammar_of(version: tuple[int, int]) -> Grammar:
    return Grammar(
        nested_quotes=version >= (3, 12),
        paren_with=version >= (3, 10),
        star_index=version >= (3, 11),
        star_for=version >= (3, 9),
        clean_docstrings=version >= (3, 13),
        inlined_comprehensions=version >= (3, 12),
        flufl_in_text=version >= (3, 14),
        mixed_complex=version >= (3, 14),
    )


def docstring_of(unit: CodeUnit) -> str | None:
    """The docstring of a function's code object; modules and classes assign theirs in a statement."""
    if not unit.flags & CO_OPTIMIZED or unit.name.startswith("<"):
        return None
    return unit.docstring


def future_features(flags: int) -> tuple[str, ...]:
    """The ``from __future__`` features a code object was compiled under."""
    return tuple(name for flag, name in FUTURES if flags & flag)
