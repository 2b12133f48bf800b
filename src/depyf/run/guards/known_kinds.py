"""All kinds of guards, and what they say of one: the loops over ``KINDS``.

Input: torch's text of a guard, or its expression.  Output: expressions, ``Difference`` records, words, advice.  A kind
is a module of ``run/guards/kinds/`` with an object ``KIND``: it is found there, and named nowhere else.
"""

from __future__ import annotations

import ast
import functools
import importlib
import pkgutil
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from depyf.run.advice.advice import AdviceUse
from depyf.run.guards import kinds as kinds_package
from depyf.run.guards.difference import UNKNOWN, Difference, GuardSide
from depyf.run.guards.guard_kind import (
    GuardFact,
    GuardKind,
    Look,
    MissingError,
    PrintedGuard,
    UnknownValueError,
    spelled,
    tree_of,
)
from depyf.run.places.place import Place
from depyf.run.records import GuardRecord, RecompileRecord


def _found() -> Iterator[GuardKind]:
    for module in pkgutil.iter_modules(kinds_package.__path__):
        if not module.name.endswith("_guard"):
            continue
        kind = importlib.import_module(f"{kinds_package.__name__}.{module.name}").KIND
        assert isinstance(kind, GuardKind)
        yield kind


KINDS: tuple[GuardKind, ...] = tuple(sorted(_found(), key=lambda kind: (kind.order, kind.name)))
"""The more precise ones first; the last one fits every guard."""
UNKNOWN_KIND = KINDS[-1].name
_BY_NAME = {kind.name: kind for kind in KINDS}


def _all(of: Callable[[GuardKind], Iterable[str]]) -> frozenset[str]:
    return frozenset(name for kind in KINDS for name in of(kind))


FUNCTIONS: tuple[Callable[..., object], ...] = tuple(function for kind in KINDS for function in kind.functions)
CHECKS = _all(lambda kind: kind.checks)
ASKING = _all(lambda kind: kind.asking)
SAYS_ALL = _all(lambda kind: kind.says_all)
BY_CLASS = _all(lambda kind: kind.by_class)
READS_SIZES = _all(lambda kind: kind.reads_sizes)
ASKS_ATTRIBUTES = _all(lambda kind: kind.asks_attributes)
UNSAID = _all(lambda kind: kind.unsaid)
QUOTES = _all(lambda kind: kind.quotes)
SEVERAL = _all(lambda kind: kind.several)
PART_ONLY = _all(lambda kind: kind.part_only)
CONTENTS = _all(lambda kind: kind.contents)
OF_PROCESS = _all(lambda kind: kind.of_process)
HOOKED_CHECKS = _all(lambda kind: kind.hooked)
FROZEN_CHECKS = _all(lambda kind: kind.frozen)
"""What ``GuardKind`` says of each, of all kinds together."""
_OF_CHECK = {check: kind for kind in KINDS for check in kind.checks}


def joined(records: list[GuardRecord]) -> list[GuardRecord]:
    """The guards of an entry as a reader counts them."""
    for kind in KINDS:
        records = kind.joined(records)
    return records


def with_handle(check: str, operands: list[str], handle: str) -> list[str]:
    """The arguments of a ``check`` on a page, with torch's own guard (``handle``) among them."""
    return _OF_CHECK[check].with_handle(check, operands, handle)


def kind_of(difference: Difference) -> GuardKind:
    """The kind that made a difference; the last one for a kind that this depyf does not know."""
    return _BY_NAME.get(difference.kind, KINDS[-1])


@functools.lru_cache(maxsize=4096)
def kinds_of(expression: str) -> tuple[GuardKind, ...]:
    """The kinds that an expression is of, the most precise first."""
    tree = tree_of(expression)
    return () if tree is None else tuple(kind for kind in KINDS if kind.fits(tree))


def printed(guard: PrintedGuard) -> Iterator[str]:
    """torch's text of a guard as an expression, as each kind would have it."""
    for kind in KINDS:
        yield from kind.printed(guard)


def plain(expression: str) -> str:
    """The expression as a person would say it: ``same_value(a, b)`` is ``a == b``."""
    return _of_check(expression, lambda kind, tree: kind.plain(tree)) or expression.strip()


def brief(expression: str) -> str:
    """A guard in one line without rarely needed parts, such as ``x: Tensor float32[None, 3]``; "" where ``plain`` is as
    short."""
    return _of_check(expression, lambda kind, tree: kind.brief(tree)) or ""


def is_machinery(expression: str) -> bool:
    """Whether a guard follows from how torch finds values, not from what the program does with them."""
    return bool(_of_check(expression, lambda kind, tree: kind.is_machinery(tree)))


def surroundings(expression: str) -> list[str]:
    """The state of torch that a call needs, as keywords of an exported package's ``Call``."""
    return _of_check(expression, lambda kind, tree: kind.surroundings(tree)) or []


_Said = TypeVar("_Said")


def _of_check(expression: str, say: Callable[[GuardKind, ast.expr], _Said]) -> _Said | None:
    """What the kind of the check says that an expression calls; None where it calls none."""
    kind = _OF_CHECK.get(expression.strip().partition("(")[0])
    tree = tree_of(expression) if kind is not None else None
    return say(kind, tree) if kind is not None and tree is not None else None


@functools.lru_cache(maxsize=4096)
def facts_in(expression: str) -> tuple[GuardFact, ...]:
    """What a guard says about the values of the calls that it lets pass."""
    tree = tree_of(expression)
    return () if tree is None else tuple(fact for kind in kinds_of(expression)[:1] for fact in kind.facts(tree))


def differences_of(tree: ast.expr, look: Look, holds: bool) -> tuple[Difference, ...]:
    """The differences between what the guard ``tree`` wants and the call that ``look`` reads."""
    for kind in kinds_of(spelled(tree)):
        try:
            found = kind.differences(tree, look, holds)
        except MissingError as missing:
            return (kind.difference(tree, look, GuardSide(str(missing), missing=True)),)
        except UnknownValueError:
            return (kind.difference(tree, look, UNKNOWN),)
        if found:
            return found
    return ()


def reported_differences(text: str, look: Look) -> tuple[Difference, ...]:
    """The differences in what torch says of a failed guard, in a message or as an expression."""
    for kind in KINDS:
        found = kind.reported(text, look)
        if found is not None:
            return found
    tree = tree_of(text)
    return differences_of(tree, look, holds=False) if tree is not None else ()


class _NoCall:
    """The values of a call of which nothing is known."""

    def value(self, node: ast.expr) -> object:
        raise UnknownValueError

    def side(self, value: object) -> GuardSide:
        return UNKNOWN

    def class_name(self, value: object) -> str:
        return ""

    def roles(self, source: str) -> tuple[str, ...]:
        return ()

    def ask(self, name: str, *arguments: object, **named: object) -> object:
        raise UnknownValueError


NO_CALL: Look = _NoCall()


def guard_text(text: str, differences: tuple[Difference, ...]) -> str:
    """How a guard that failed is shown; ``text`` is torch's, or an expression."""
    return kind_of(differences[0]).guard_text(text, differences) if differences else text


def stated(differences: tuple[Difference, ...]) -> tuple[str, str]:
    """The wanted and the found values, worded to be read without the guard."""
    sides = [kind_of(one).stated(one) for one in differences]
    wanted, found = (list(filter(None, side)) for side in zip(*sides)) if sides else ([], [])
    return ", ".join(wanted), ", ".join(found)


def values(differences: tuple[Difference, ...]) -> tuple[str, str]:
    """The wanted and the found values, worded to stand beside the guard."""
    sides = [kind_of(one).values(one) for one in differences]
    wanted, found = (list(filter(None, side)) for side in zip(*sides)) if sides else ([], [])
    return ", ".join(wanted), ", ".join(found)


def subject(differences: tuple[Difference, ...]) -> str:
    """What differs, as ``depyf.why`` prints it: ``x differs``."""
    return kind_of(differences[0]).subject(differences[0]) if differences else "a guard fails"


def differing(differences: tuple[Difference, ...]) -> str:
    """The name of the value that differs; ``subject`` where that says more."""
    return (kind_of(differences[0]).differing(differences[0]) if differences else "") or subject(differences)


def advice(differences: tuple[Difference, ...], place: Place | None = None) -> tuple[AdviceUse, ...]:
    """What would make one compilation serve both, the best first; () where no rule is known.  ``place``: the line of
    the program that the guard comes from."""
    return kind_of(differences[0]).advise(differences, place) if differences else ()


def sentence(differences: tuple[Difference, ...], placed: bool, shown: Callable[[str], str]) -> str:
    """Why code was compiled again, where the values alone do not say it; ``placed``: a line of the program asked for
    the guard; ``shown`` writes the name of a value into a sentence."""
    return kind_of(differences[0]).told(differences, placed, shown) if differences else ""


def fixed(differences: tuple[Difference, ...]) -> tuple[str, str] | None:
    """The one number or size that the entry is for, by torch's name; None for what is of another class or kind."""
    return kind_of(differences[0]).fixed(differences[0]) if len(differences) == 1 else None


def recompile_record(
    entry: str, guard: str, place: Place | None, differences: tuple[Difference, ...]
) -> RecompileRecord:
    """Why the earlier ``entry`` did not fit; ``guard``: torch's words, or an expression."""
    wanted, found = values(differences)
    shown = guard_text(guard, differences)
    return RecompileRecord(entry, shown, place, wanted, found, advice(differences, place), differences)


def differences_in(record: RecompileRecord) -> tuple[Difference, ...]:
    """The differences in ``record``.  For a record of an older dump, which stores none, they are read from its
    guard."""
    return record.differences or reported_differences(record.guard, NO_CALL)
