"""Markers: nodes that stand in the place of an expression and are no value of the program.

Lifting makes them, ``structure/`` and ``idioms/`` consume them.  A marker lies on the stack (``LoopIterator``), is the
test of a branch (``ForTest``), a statement by itself (``WithStart``), or the type of a handler (``ManagerClause``).
Only ``CommonConstant`` is ever printed.

The set is closed: ``AnyMarker`` names all of them, and ``place_of`` is checked to know each.  As with other nodes,
identity counts: the two ends of a loop hold the same ``LoopIterator``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NoReturn, TypeAlias, cast

from depyf.decompiler.ir.expr import Comp, Expr, Invoke, TypeParam
from depyf.decompiler.ir.node import node
from depyf.decompiler.ir.stmt import Pattern


class Marker(Expr):
    """Base of all markers."""

    __slots__ = ()


class Unfinished(Marker):
    """An operation that the next instruction completes: its operands are still to be evaluated."""

    __slots__ = ()


# Stack slots


@node(frozen=True, slots=True, eq=False)
class NullSlot(Marker):
    """A slot that a call or a loop takes and that holds nothing."""


@node(frozen=True, slots=True, eq=False)
class Caught(Marker):
    """The exception that a handler caught; in plain lifting, that of ``region``."""

    region: int | None = None


@node(frozen=True, slots=True, eq=False)
class CaughtType(Marker):
    """The type of the caught exception (up to 3.10)."""


@node(frozen=True, slots=True, eq=False)
class CaughtTraceback(Marker):
    """The traceback of the caught exception (up to 3.10)."""


@node(frozen=True, slots=True, eq=False)
class HandledBefore(Marker):
    """What was being handled when the exception was caught."""


@node(frozen=True, slots=True, eq=False)
class LastInstruction(Marker):
    """The instruction that raised, for the traceback (3.11+)."""


@node(frozen=True, slots=True, eq=False)
class SavedLocal(Marker):
    """The value of a local that an inlined comprehension borrows (3.12+)."""

    name: str


@node(frozen=True, slots=True, eq=False)
class LoopIterator(Marker):
    """The iterator over ``value`` that a loop after this block takes its items from."""

    value: Expr
    is_async: bool


@node(frozen=True, slots=True, eq=False)
class LoopItem(Marker):
    """The item of the loop whose test is block ``head``."""

    head: int


@node(frozen=True, slots=True, eq=False)
class Accumulator(Marker):
    """The container that a comprehension fills; ``kind`` is "list", "set" or "dict"."""

    kind: str


@node(frozen=True, slots=True, eq=False)
class ManagerExit(Marker):
    """The bound ``__exit__`` or ``__aexit__`` of a context manager."""

    manager: Expr
    is_async: bool


@node(frozen=True, slots=True, eq=False)
class Entered(Marker):
    """What ``__enter__`` returned."""

    exit: ManagerExit


@node(frozen=True, slots=True, eq=False)
class MatchSubject(Marker):
    """The subject of a ``match``, from its first case to the body that is taken."""

    value: Expr


@node(frozen=True, slots=True, eq=False)
class BuildClass(Marker):
    """``__build_class__``."""


@node(frozen=True, slots=True, eq=False)
class LocalsDict(Marker):
    """The namespace of a class body."""


@node(frozen=True, slots=True, eq=False)
class CommonConstant(Marker):
    """A builtin that is loaded without a look at the globals, such as AssertionError."""

    name: str


@node(frozen=True, slots=True, eq=False)
class ImportedModule(Marker):
    """The result of an import statement; ``parts`` says that it is ``from m import a``, not ``import m``.

    ``stored`` are the names imported so far, with what they are bound to where that differs.
    """

    name: str
    parts: bool
    stored: list[tuple[str, str | None]]
    level: int
    lazy: bool


@node(frozen=True, slots=True, eq=False)
class ImportedName(Marker):
    """A name imported from a module, or a submodule of ``import a.b as c``."""

    module: ImportedModule | ImportedName
    name: str

    def origin(self) -> ImportedModule:
        """The module that the import names."""
        module = self.module
        while isinstance(module, ImportedName):
            module = module.module
        return module


@node(frozen=True, slots=True, eq=False)
class GenericBase(Marker):
    """``Generic[...]``, the base that type parameters imply."""


@node(frozen=True, slots=True, eq=False)
class AliasValue(Marker):
    """The value of a ``type`` statement."""

    params: tuple[TypeParam, ...]
    value: Expr


@node(frozen=True, slots=True, eq=False)
class GenericClass(Marker):
    """A class with type parameters, as the call that builds it."""

    params: tuple[TypeParam, ...]
    call: Invoke


# Operations to be completed


@node(frozen=True, slots=True, eq=False)
class ToAwait(Unfinished):
    """The awaitable of an ``await``."""

    value: Expr


@node(frozen=True, slots=True, eq=False)
class CompToAwait(Unfinished):
    """The coroutine of an asynchronous comprehension, which the compiler awaits (up to 3.11)."""

    comp: Comp


@node(frozen=True, slots=True, eq=False)
class ToDelegate(Unfinished):
    """The iterable of a ``yield from``."""

    value: Expr


@node(frozen=True, slots=True, eq=False)
class Conversion(Unfinished):
    """A converted value that is to be formatted; ``kind`` and ``percent`` as in ``Fmt``."""

    kind: str
    value: Expr
    percent: bool | None


@node(frozen=True, slots=True, eq=False)
class Intrinsic(Unfinished):
    """A call into the interpreter that serves type parameters and that no rule read."""

    name: str
    values: tuple[Expr, ...]


@node(frozen=True, slots=True, eq=False)
class ExceptTest(Unfinished):
    """Whether the caught exception is of a type: the test of an ``except``, or with ``star`` of an ``except*``."""

    type: Expr
    star: bool


# Tests


@node(frozen=True, slots=True, eq=False)
class ForTest(Marker):
    """Whether an iterator has another item: the head of a ``for``."""

    iterator: Expr


@dataclass(frozen=True, slots=True, eq=False)
class Case:
    """Argument of ``MATCH_CASE``: ``first`` takes the subject from the stack, ``last`` drops it.

    A test on ``guard_line`` after the last case is its guard.
    """

    pattern: Pattern
    first: bool
    last: bool
    line: int | None
    guard_line: int | None = None


@node(frozen=True, slots=True, eq=False)
class CaseTest(Marker):
    """Whether a pattern matches; as a statement, a pattern that always does."""

    subject: MatchSubject
    case: Case


# Statements


@node(frozen=True, slots=True, eq=False)
class IteratorStart(Marker):
    """Here the iterator of the loop that follows is made."""

    iterator: LoopIterator


@node(frozen=True, slots=True, eq=False)
class WithStart(Marker):
    """Here the manager of the ``with`` that follows is entered."""

    exit: ManagerExit


@node(frozen=True, slots=True, eq=False)
class MatchStart(Marker):
    """Here the subject of the ``match`` that follows is evaluated."""

    subject: MatchSubject


@node(frozen=True, slots=True, eq=False)
class Collect(Marker):
    """Adds an element to the result of a comprehension; ``key`` is None but in a dict, and there for ``**value``."""

    key: Expr | None
    value: Expr


@node(frozen=True, slots=True, eq=False)
class FoldedGenerator(Marker):
    """The generator expression that the whole body of its code is."""

    comp: Comp


@node(frozen=True, slots=True, eq=False)
class WrittenJump(Marker):
    """A jump that is left in the code: a ``continue``."""


@node(frozen=True, slots=True, eq=False)
class Reraise(Marker):
    """Raises the handled exception again."""


@node(frozen=True, slots=True, eq=False)
class FinallyEnd(Marker):
    """The end of the body of a ``finally``."""


@node(frozen=True, slots=True, eq=False)
class ClauseEnd(Marker):
    """The end of an ``except`` clause; ``unbinds``: what unbinds its name is shared with another path."""

    unbinds: bool


@node(frozen=True, slots=True, eq=False)
class AnnotationReached(Marker):
    """Notes that a conditional annotation was reached (3.14+)."""

    index: int


@node(frozen=True, slots=True, eq=False)
class AnnotationsSetUp(Marker):
    """Here the compiler prepares for annotations."""


# Types of handlers


@node(frozen=True, slots=True, eq=False)
class ManagerClause(Marker):
    """The handler of a ``with``, in the place of the type of a clause."""


AnyMarker: TypeAlias = (
    NullSlot | Caught | CaughtType | CaughtTraceback | HandledBefore | LastInstruction | SavedLocal |
    LoopIterator | LoopItem | Accumulator | ManagerExit | Entered | MatchSubject | BuildClass | LocalsDict |
    CommonConstant | ImportedModule | ImportedName | GenericBase | AliasValue | GenericClass | ToAwait |
    CompToAwait | ToDelegate | Conversion | Intrinsic | ExceptTest | ForTest | CaseTest | IteratorStart |
    WithStart | MatchStart | Collect | FoldedGenerator | WrittenJump | Reraise | FinallyEnd | ClauseEnd |
    AnnotationReached | AnnotationsSetUp | ManagerClause
)  # fmt: skip
"""Every marker that there is."""


def place_of(marker: Marker) -> str:
    """Where a marker belongs, for messages about one that is elsewhere."""
    return _place(cast("AnyMarker", marker))


def _place(marker: AnyMarker) -> str:
    if isinstance(marker, (NullSlot, Caught, CaughtType, CaughtTraceback, HandledBefore, LastInstruction, SavedLocal)):
        return "stack slot"
    if isinstance(marker, (LoopIterator, LoopItem, Accumulator, ManagerExit, Entered, MatchSubject)):
        return "stack slot"
    if isinstance(marker, (BuildClass, LocalsDict, CommonConstant, ImportedModule, ImportedName)):
        return "constant of the interpreter"
    if isinstance(marker, (GenericBase, AliasValue, GenericClass)):
        return "part of a definition"
    if isinstance(marker, (ToAwait, CompToAwait, ToDelegate, Conversion, Intrinsic)):
        return "operation"
    if isinstance(marker, (ExceptTest, ForTest, CaseTest)):
        return "test"
    if isinstance(marker, (IteratorStart, WithStart, MatchStart, Collect, FoldedGenerator, WrittenJump, Reraise)):
        return "statement"
    if isinstance(marker, (FinallyEnd, ClauseEnd, AnnotationReached, AnnotationsSetUp)):
        return "statement"
    if isinstance(marker, ManagerClause):
        return "clause"
    raise _unknown(marker)


def _unknown(marker: NoReturn) -> AssertionError:
    """As ``typing.assert_never`` (3.11+): the type checker refuses a call of this that can be reached."""
    return AssertionError(f"no marker: {marker!r}")
