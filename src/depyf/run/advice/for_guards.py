"""Advice for a failed guard that needs more facts than the guard has: what became of the value's symbol.

Input: what the guard is about, by torch's name.  Output: the advice, the best first.  What a guard alone says is in its
kind (``run/guards/kinds/``).
"""

from __future__ import annotations

import linecache

from depyf.run.advice.advice import AdviceUse
from depyf.run.advice.registry import use
from depyf.run.advice.source_names import named
from depyf.run.installed_files import library_file
from depyf.run.places.place import Place

Uses = tuple[AdviceUse, ...]
NO_LINE = "that"
"""In the place of a line that is not known."""


def for_specialised(name: str, where: Place | None) -> Uses:
    """``name`` began as a symbol, and the line ``where`` needed its value; None where that is not known."""
    if where is None:
        return (use("needed-value", name=name, line=NO_LINE),)
    text = where.text or linecache.getline(where.filename, where.line).strip()
    line = f"{library_file(where.filename)}:{where.line}" + (f" `{text}`" if text else "")
    return (use("needed-value", name=name, line=line),)


def for_unrolled(source: str) -> Uses:
    """Several entries want one value each of the number ``source``."""
    return (use("fixed-value", name=named(source)),)


def for_number_operand(name: str) -> Uses:
    """An operator takes the float ``name`` as a Python number: a tensor in its place would be an input."""
    return (use("tensor-in-module" if "." in name else "number-as-tensor", name=name),)
