"""Local choices of the decompiler, and the order in which the proof makes it try them."""

from __future__ import annotations

from dataclasses import dataclass, replace

from depyf.generated.contract import NO_PROMISES, Promises


@dataclass(frozen=True, slots=True)
class Choices:
    """How one code object is decompiled; the defaults are what compilers write.

    ``idioms`` off is the safe fallback: no copies are undone, nothing is folded, everything shared is spilled; with
    ``loops`` off an iterator is moreover a value like any other, and each ``FOR_ITER`` a step of it.
    With ``clauses`` off, too, the tests of ``except`` and ``case`` and the exit of a manager are values.
    ``wide_folds`` off keeps tests on different source lines apart (``if a:`` / ``if b:`` rather than ``a and b``).
    ``finally_`` off shows a ``finally`` as ``except: ...; raise`` with its copies.  ``generated`` evaluates containers
    that never leave the function while lifting, and writes assignments rather than walruses;
    ``tidy`` moves values to where they are used as far as ``promises`` allow; ``held`` keeps a value that nothing reads
    until the branch behind it has been taken, as the stack did.  ``turns`` copies the rest of the first turn of a loop that
    is entered in its middle.
    """

    idioms: bool = True
    loops: bool = True
    clauses: bool = True
    wide_folds: bool = True
    finally_: bool = True
    generated: bool = False
    promises: Promises = NO_PROMISES
    tidy: bool = False
    held: bool = False
    turns: bool = False


LADDER = (
    Choices(),
    Choices(wide_folds=False),
    Choices(finally_=False),
    Choices(idioms=False, finally_=False),
    Choices(idioms=False, finally_=False, loops=False),
    Choices(idioms=False, finally_=False, loops=False, clauses=False),
)
"""Tried in this order until the proof holds."""


def ladder(generated: bool, promises: Promises) -> tuple[Choices, ...]:
    """The choices to try for one decompilation."""
    if not generated:
        turns = (Choices(turns=True),) if promises.resumed else ()
        return tuple(replace(choices, promises=promises) for choices in (*turns, *LADDER))
    first = Choices(generated=True, promises=promises)
    tidy = replace(first, tidy=True)
    preferred = (tidy, replace(tidy, held=True)) if promises.variables is not None else ()
    # whatever is tried: the proof reads resume functions without torch's books
    books = Promises(
        resumed=promises.resumed,
        marks=promises.marks,
        lists=promises.lists,
        shown_only=promises.shown_only,
        plain_keys=promises.plain_keys,
    )
    return (*preferred, first, *(replace(choices, promises=books) for choices in LADDER))
