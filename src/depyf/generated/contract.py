"""What a program promises about the code it writes, where nobody can see it from the code alone."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class GeneratorContract:
    """Every promise that a proof makes use of is named in its verdict.  Globals are given by how their names begin.

    ``stable`` globals are installed by the program and never rebound.  Of these, the attributes of ``fixed`` ones and the
    items of ``tables`` are never rebound while the code runs; a call of one of ``graphs`` gives a list or tuple that
    nobody changes; a call of one of ``closure_factories`` with cells only makes a function.  ``profiler_enter`` and ``profiler_exit`` are attributes
    of fixed globals, functions that keep a profiler's books: they change nothing that the program can see.
    ``pure_calls`` are such attributes too: functions that only read; ``readers`` read where they are given one argument
    (``type``).  ``variables`` are locals of the outermost code that
    the program added for itself: nothing looks them up by name (None: it says nothing about locals).  ``reads_first`` says that what is read before the first
    operation of another kind has been read by the program just before the code runs: it may be read in any order.
    ``unordered`` says that the order in which a set of constants gives its elements does not matter.  ``plain_keys`` says
    that the keys of a dict, or the elements of a set, that is made of more than a compiler takes at once are
    distinct, and that hashing and comparing them changes nothing.
    Code that is called as in ``resumed`` (how names begin) is the rest of a function that was cut in two.  Control never gets to a ``raise None``
    there that only stands after what a ``with`` suppressed; nothing looks up ``tracing_flags`` by name; parameters called as in ``boxed_parameters`` are lists, with lists in them, which only
    such code has: taking the last item off is one step, and nothing sees how long they live.  What such code is handed
    on in the middle of a display or a string it alone has.  ``display_only`` says that it is only shown, never run.
    ``signatures`` gives the parameter names of stable functions; they only choose names.
    """

    stable: tuple[str, ...] = ()
    fixed: tuple[str, ...] = ()
    tables: tuple[str, ...] = ()
    graphs: tuple[str, ...] = ()
    closure_factories: tuple[str, ...] = ()
    profiler_enter: tuple[str, ...] = ()
    profiler_exit: tuple[str, ...] = ()
    pure_calls: tuple[str, ...] = ()
    readers: tuple[str, ...] = ()
    reads_first: bool = False
    unordered: bool = False
    plain_keys: bool = False
    resumed: tuple[str, ...] = ()
    tracing_flags: tuple[str, ...] = ()
    boxed_parameters: tuple[str, ...] = ()
    display_only: bool = False
    variables: frozenset[str] | None = None
    signatures: tuple[tuple[str, tuple[str, ...]], ...] = ()


NO_CONTRACT = GeneratorContract()

READ_LOCALS = frozenset({"locals", "vars", "dir", "eval", "exec"})
"""Builtins that show or use the local variables of their caller."""


def looks_up_locals(names: Iterable[str], consts: Iterable[object]) -> bool:
    """Whether code that loads these global names and constants may ask for local variables by name."""
    return not READ_LOCALS.isdisjoint(names) or any(type(c) is str and c in READ_LOCALS for c in consts)
