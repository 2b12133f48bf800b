"""Local choices of the decompiler, and the order in which the proof makes it try them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Choices:
    """How one code object is decompiled; the defaults are what compilers write.

    ``idioms`` off is the safe fallback: no copies are undone, nothing is folded, everything shared is spilled.
    ``wide_folds`` off keeps tests on different source lines apart (``if a:`` / ``if b:`` rather than ``a and b``).
    ``finally_`` off shows a ``finally`` as ``except: ...; raise`` with its copies.
    """

    idioms: bool = True
    wide_folds: bool = True
    finally_: bool = True


LADDER = (Choices(), Choices(wide_folds=False), Choices(finally_=False), Choices(idioms=False, finally_=False))
"""Tried in this order until the proof holds."""
