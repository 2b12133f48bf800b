"""The guarantees of a program about the code it generates, which the code alone does not show."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class GeneratorContract:
    """Every term that a proof makes use of is named in its verdict.  Globals are given by the prefixes of their names.

    ``stable`` globals are installed by the program and never rebound.  Of these, the attributes of ``fixed`` ones and
    the items of ``tables`` are never rebound while the code runs; a call of one of ``graphs`` returns a list or tuple
    that is never mutated; a call of one of ``closure_factories`` with cells only makes a function.  ``profiler_enter``
    and ``profiler_exit`` are attributes of fixed globals, functions that update a profiler's records: they change
    nothing that the program can see.  ``pure_calls`` are such attributes too: functions without side effects;
    ``readers`` have none where they are called with one argument (``type``).  ``variables`` are locals of the outermost
    code that the program added for itself: nothing looks them up by name (None: no guarantee about locals).
    ``reads_first`` says that what is read before the first operation of another kind has been read by the program just
    before the code runs: it may be read in any order.  ``unordered`` says that the order in which a set of constants
    gives its elements does not matter.  ``plain_keys`` says that the keys of a dict, or the elements of a set, that is
    made of more than a compiler takes at once are distinct, and that hashing and comparing them changes nothing.  Code
    whose name has one of the prefixes in ``resumed`` is the rest of a function that was split.  Control never reaches a
    ``raise None`` there that only follows what a ``with`` suppressed; nothing looks up ``tracing_flags`` by name;
    parameters named in ``boxed_parameters`` are lists, perhaps nested, to which only such code has a reference: popping
    the last item is one step, and their lifetime is not observable.  Only such code has a reference to the partial
    display or string that it is passed.  ``display_only`` says that it is only shown, never run.  ``signatures`` gives
    the parameter names of stable functions; they only choose names.
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
