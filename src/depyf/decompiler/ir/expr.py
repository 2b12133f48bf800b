"""Expressions: what the symbolic stack holds, and what the printer prints.

Every node is frozen.  ``eq=False`` keeps identity semantics: a node used twice means "the same value", not "an equal
text", and that is how a chained comparison or an augmented assignment is told from its long form.
"""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, Any

from depyf.decompiler.ir.node import node

if TYPE_CHECKING:
    from depyf.decompiler.bytecode.codeunit import CodeUnit
    from depyf.decompiler.ir.stmt import Stmt


class Expr:
    """Base of all expressions."""

    __slots__ = ()


@node(frozen=True, slots=True, eq=False)
class Const(Expr):
    """A constant; may be any live object in generated code, a tuple or frozenset of constants, or Ellipsis."""

    value: Any


@node(frozen=True, slots=True, eq=False)
class Name(Expr):
    """A variable the bytecode names; ``scope`` is "fast", "cell", "global" or "name" (module and class bodies)."""

    id: str
    scope: str


class Purpose(IntEnum):
    """What a temporary is for; those of one purpose are told apart by a number.  The order is that of
    ``number_temporaries``."""

    SLOT = 0
    """The value of a stack position that crosses statements; any temporary, once a body's are numbered."""
    SPILL = 1
    """A value that a statement before it must not change."""
    FLAG = 2
    """Which way a block was left, where no statement can say it."""
    DISPATCH = 3
    """Which head of a loop, or which of several exits, is meant."""
    ENTRY = 4
    """Which entry of a ``try`` is meant."""
    SUBJECT = 5
    """The subject of a ``match``."""
    MORE = 6
    """Whether an iterator that is a value had another item."""
    CAUGHT = 7
    """The exception that the handler of a region caught."""
    GENERATED = 8
    """A value that generated code hands on, or a variable of its generator."""
    HOISTED = 9
    """A part of a statement that is evaluated before it."""

    __hash__ = int.__hash__  # that of an Enum is its name's, which differs in each process


TempKey = tuple[int, int]
"""The purpose and the number of a temporary."""


@node(frozen=True, slots=True, eq=False)
class Temp(Expr):
    """A variable that the decompiler adds, printed as ``<temp_prefix><number>`` once its body is numbered."""

    number: int
    purpose: Purpose = Purpose.SLOT

    @property
    def key(self) -> TempKey:
        """What tells it from all others of its function; orders them by purpose."""
        return self.purpose, self.number

    @property
    def suffix(self) -> str:
        """The end of its name.  Before the body is numbered (``depyf passes``) two purposes may share a number."""
        return str(self.number) if self.purpose is Purpose.SLOT else f"{self.purpose.name.lower()}_{self.number}"


@node(frozen=True, slots=True, eq=False)
class NestedTemp(Expr):
    """A temporary of a nested function whose body is finished; passes over the enclosing function leave it alone."""

    number: int

    @property
    def suffix(self) -> str:
        return str(self.number)


@node(frozen=True, slots=True, eq=False)
class Taken(Expr):
    """``(temp, temp := None)[0]``: the value of a temporary, which holds it no longer."""

    temp: Temp | NestedTemp


@node(frozen=True, slots=True, eq=False)
class Attr(Expr):
    value: Expr
    name: str


@node(frozen=True, slots=True, eq=False)
class Sub(Expr):
    value: Expr
    key: Expr


@node(frozen=True, slots=True, eq=False)
class SliceOf(Expr):
    """``lower:upper:step``; ``step`` is None for the two-argument form.  Outside a subscript it is a slice() object."""

    lower: Expr
    upper: Expr
    step: Expr | None


@node(frozen=True, slots=True, eq=False)
class Bin(Expr):
    """``left op right``; in-place operators (``+=``) only occur as the value of the assignment they become."""

    op: str
    left: Expr
    right: Expr


@node(frozen=True, slots=True, eq=False)
class Un(Expr):
    """``op`` is "-", "+", "~" or "not"."""

    op: str
    operand: Expr


@node(frozen=True, slots=True, eq=False)
class Cmp(Expr):
    """``left ops[0] rights[0] ops[1] rights[1] ...``; the ops include "is", "is not", "in" and "not in".

    ``turned`` marks the opposite of what the instruction says: the test was negated.
    """

    left: Expr
    ops: tuple[str, ...]
    rights: tuple[Expr, ...]
    turned: bool = False


@node(frozen=True, slots=True, eq=False)
class BoolOf(Expr):
    """``op`` is "and" or "or"; at least two values, none of them a BoolOf of the same op in last place.

    ``apart`` marks an operand of another one whose value is tested once more: it keeps its parentheses.  ``below``
    marks one of the same operator that stands on a later line: it may be the test of an ``if`` inside the ``if``.
    ``written`` says that the source has this operator, not the other one with the operands negated.  ``deeper`` are the
    operands (by number) on later lines, and how many steps deeper a separate ``if`` there would be under
    "and": 0 if none would.
    """

    op: str
    values: tuple[Expr, ...]
    apart: bool = False
    below: bool = False
    written: bool = False
    deeper: tuple[tuple[int, int], ...] = ()


@node(frozen=True, slots=True, eq=False)
class Cond(Expr):
    test: Expr
    body: Expr
    orelse: Expr


@node(frozen=True, slots=True, eq=False)
class Star(Expr):
    value: Expr


@node(frozen=True, slots=True, eq=False)
class Invoke(Expr):
    """A call; ``keywords`` holds (name, value), with name None for ``**value``."""

    func: Expr
    args: tuple[Expr, ...]
    keywords: tuple[tuple[str | None, Expr], ...] = ()


@node(frozen=True, slots=True, eq=False)
class Display(Expr):
    """``kind`` is "tuple", "list" or "set"; elements may be Star.

    While lifting 3.8 it may be "arguments", a tuple made for a call, which its CALL_EX takes apart.
    """

    kind: str
    elts: tuple[Expr, ...]


@node(frozen=True, slots=True, eq=False)
class DictOf(Expr):
    """Items in order; a None key means ``**value``.  ``call`` says, while lifting, that they are keyword arguments."""

    items: tuple[tuple[Expr | None, Expr], ...]
    call: bool = False


@node(frozen=True, slots=True, eq=False)
class Fmt(Expr):
    """``{value!conversion:spec}`` of an f-string or t-string; ``text`` is the t-string's source text of the value.

    ``percent`` says whether it was written as a field of ``"%s" % (value,)``, None where that is not known.
    """

    value: Expr
    conversion: str
    spec: Expr | None
    text: str | None = None
    percent: bool | None = None


@node(frozen=True, slots=True, eq=False)
class FStr(Expr):
    """An f-string (or t-string): literal parts are ``str``, the others Fmt.  A bare Fmt is such a string too."""

    parts: tuple[str | Fmt, ...]
    template: bool = False


@node(frozen=True, slots=True, eq=False)
class Func(Expr):
    """A function object: nested code with the values bound to it when it was made.

    ``defaults`` are those of the last positional parameters.  ``annotations`` are (parameter or "return", value)
    where they are evaluated at once; ``annotate`` is the body of a 3.14 ``__annotate__`` as such pairs.  ``body`` is
    the decompiled body.  ``type_params`` are PEP 695 parameters.
    """

    unit: CodeUnit
    body: tuple[Stmt, ...]
    defaults: tuple[Expr, ...] = ()
    kwdefaults: tuple[tuple[str, Expr], ...] = ()
    annotations: tuple[tuple[str, Expr], ...] = ()
    type_params: tuple[TypeParam, ...] = ()


@node(frozen=True, slots=True, eq=False)
class TypeParam(Expr):
    """``kind`` is "TypeVar", "ParamSpec" or "TypeVarTuple"."""

    kind: str
    name: str
    bound: Expr | None = None
    default: Expr | None = None


@node(frozen=True, slots=True, eq=False)
class Generator(Expr):
    """One ``for target in iter if ...`` of a comprehension."""

    target: Expr
    iter: Expr
    ifs: tuple[Expr, ...]
    is_async: bool = False


@node(frozen=True, slots=True, eq=False)
class Comp(Expr):
    """``kind`` is "list", "set", "dict" or "generator"; ``elt`` is the value (for a dict ``key: elt``).

    From 3.15 on ``elt`` may be a Star; a dict without a key has ``**elt``.  ``unit`` is the code of one that is nested
    code, ``cleared`` are the variables that one which is part of the code around it borrows (3.12+).  ``coroutine``
    says that it is still to be awaited, which the compiler does by itself (up to 3.11).
    """

    kind: str
    elt: Expr
    key: Expr | None
    generators: tuple[Generator, ...]
    unit: CodeUnit | None = None
    cleared: tuple[str, ...] = ()
    coroutine: bool = False


@node(frozen=True, slots=True, eq=False)
class AwaitOf(Expr):
    value: Expr


@node(frozen=True, slots=True, eq=False)
class YieldOf(Expr):
    """``yield value``; a None constant prints as a bare ``yield``."""

    value: Expr


@node(frozen=True, slots=True, eq=False)
class YieldFrom(Expr):
    value: Expr


@node(frozen=True, slots=True, eq=False)
class Walrus(Expr):
    target: Name | Temp
    value: Expr


@node(frozen=True, slots=True, eq=False)
class CellOf(Expr):
    """The cell object of a variable itself, not its value (Dynamo passes these to resume functions)."""

    id: str
