"""Symbolic values: small integers for the objects of a run, shared by both sides of a proof.

Two places hold the same integer exactly when the proof knows that they hold the same object.  What is known about a
value beyond its identity is its description, ``Values.desc[value]``:

``None``                     nothing, an unknown object
``("const", object)``        a constant; interned type-aware, so ``0.0`` and ``-0.0``, ``1`` and ``True`` differ
``("op", tag, values)``      the result of a pure operation on values, interned; equal operands give equal results
``("type", name)``           an unknown object of a known exact type, or known to be an iterator
``("mark", name)``           not an object: NULL, an unbound variable, an interpreter's bookkeeping slot
``("maybe",)``               an unknown object or nothing at all: a variable that may be unbound
``("maybe", "nothing")``    the same, but no object that could be missed: None or a number at most
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from depyf.decompiler.bytecode.codeunit import CodeUnit
from depyf.decompiler.bytecode.tables.set_order import compared, is_ordered
from depyf.safety.depth import any_depth, spend

if TYPE_CHECKING:
    from depyf.decompiler.verify.walk.promised import Promised

Desc = tuple[Any, ...]

_LETTERS_A_STEP = 6
"""As a power of two: what is copied by the letters takes little."""
SCALARS = frozenset({int, str, bytes, bool, type(None), type(Ellipsis)})
OUTPUT = "output"
"""Tag of an item of what a compiled graph returned (``promised``): unlike a tuple of parts, one object."""
TEXT = "text"
"""The type of what a format or a conversion gives: a string, if perhaps of a subclass."""
BOOL_TAGS = frozenset({"is", "not", "mapping?", "sequence?"}) | {
    "has __enter__",
    "has __exit__",
    "has __aenter__",
    "has __aexit__",
}


def const_key(value: Any, ordered: bool = True, known: dict[int, tuple[Any, ...]] | None = None) -> tuple[Any, ...]:
    """A hashable key that is equal exactly for constants no program can tell apart (object identity aside).

    Sets that iterate otherwise are others, where a program can tell (``set_order``), unless ``ordered`` is false.
    ``known`` are the keys of parts of ``value``, by id, that it may hold several times.
    """
    kind = type(value)
    if kind in SCALARS:
        return (kind, value)
    if kind is float:
        return (kind, struct.pack("<d", value))
    if kind is complex:
        return (kind, struct.pack("<dd", value.real, value.imag))
    if kind is tuple or kind is frozenset or kind is slice:
        known = {} if known is None else known
        found = known.get(id(value))
        if found is None:
            found = known[id(value)] = _key_of_parts(kind, value, ordered, known)
        return found
    return ("object", id(value))


@any_depth
def _key_of_parts(kind: type, value: Any, ordered: bool, known: dict[int, tuple[Any, ...]]) -> tuple[Any, ...]:
    if kind is slice:
        return (kind, const_key(value.start), const_key(value.stop), const_key(value.step))
    keys = [const_key(item, ordered, known) for item in value]
    return (kind, tuple(keys) if kind is tuple or ordered and is_ordered(value) else frozenset(keys))


def searched_key(value: frozenset[Any]) -> tuple[Any, ...]:
    """``const_key`` of a set that is only searched: nothing sees its order but items that hash alike, which are
    compared in turn.

    With text in it their order is another in each process, which ``SEED_NOTE`` names.
    """
    orders = [tuple(map(const_key, items)) for items in compared(value)] if is_ordered(value) else ()
    return ("searched", frozenset(map(const_key, value)), *orders)


class Values:
    """The values of one proof."""

    def __init__(self, null_above: bool = False, loose: Iterable[frozenset[Any]] = ()) -> None:
        """``loose``: constant sets that may iterate in another order on the other side."""
        self.null_above = null_above
        """Whether the NULL of a call lies above the callable (3.13+) or below it."""
        self.desc: list[Desc | None] = []
        self._interned: dict[tuple[Any, ...], int] = {}
        self._keep: list[Any] = []
        self._tuples: dict[tuple[int, bool], int] = {}
        self._exceptions: dict[int, int] = {}
        self.promised: Promised | None = None
        self.loose = frozenset(const_key(value, False) for value in loose)
        self.shuffles = False
        """Whether such a set is there, where its order may count."""
        self.tracked = 0  # how many elements of a fresh container are followed; set by the proof
        self.null = self.new(("mark", "NULL"))
        self.method = self.new(
            ("mark", "method")
        )  # the second slot a method load leaves, whatever it holds at run time
        self.unbound = self.new(("mark", "unbound"))
        self.lasti = self.new(("mark", "lasti"))
        self.outer_exc = self.new(("mark", "outer exception"))  # what the frame's caller is handling
        self.none = self.const(None)
        self.true = self.const(True)
        self.false = self.const(False)

    def new(self, desc: Desc | None = None) -> int:
        """A value equal to no other one."""
        self.desc.append(desc)
        return len(self.desc) - 1

    def typed(self, name: str) -> int:
        return self.new(("type", name))

    def exception(self, value: int) -> int:
        """The exception that ``value`` turned out to be."""
        found = self._exceptions.get(value)
        if found is None:
            found = self._exceptions[value] = self.typed("exception")
        return found

    def const(self, value: Any) -> int:
        """The value of a constant."""
        ordered = not self._is_loose(value)
        self.shuffles = self.shuffles or not ordered
        return self._constant(value, ordered)

    def searched(self, value: frozenset[Any]) -> int:
        """The value of a constant set that is only searched."""
        if self._is_loose(value):
            self.shuffles = self.shuffles or bool(compared(value))
            return self._constant(value, False)
        key = searched_key(value)
        found = self._interned.get(key)
        if found is None:
            self._keep.append(value)
            found = self._interned[key] = self.new(("const", value))
        return found

    def _is_loose(self, value: Any) -> bool:
        return bool(self.loose) and type(value) is frozenset and const_key(value, False) in self.loose

    def _constant(self, value: Any, ordered: bool) -> int:
        """The value of a constant tuple is found by the values of its items, so that shared parts are visited once."""
        if type(value) is tuple:
            known = self._tuples.get((id(value), ordered))
            return self._constant_tuple(value, ordered) if known is None else known
        key = const_key(value, ordered)
        found = self._interned.get(key)
        if found is None:
            self._keep.append(value)  # keys by id must stay unique
            found = self._interned[key] = self.new(("const", value))
        return found

    @any_depth
    def _constant_tuple(self, value: tuple[Any, ...], ordered: bool) -> int:
        spend(len(value))
        self._keep.append(value)
        found = self._of_items(tuple([self._constant(item, ordered) for item in value]), value)
        self._tuples[id(value), ordered] = found
        return found

    def _of_items(self, items: tuple[int, ...], value: tuple[Any, ...]) -> int:
        """The constant tuple of these constants, which is ``value``."""
        key = (tuple, items)
        found = self._interned.get(key)
        if found is None:
            found = self._interned[key] = self.new(("const", value))
        return found

    def made_of(self, tag: str, items: tuple[int, ...]) -> int:
        """The value that a step makes of these parts."""
        if tag == "not":
            return self.negated(items[0])
        if tag == "tuple":
            return self.tuple_of(items)
        if tag == "str":
            return self._text_of(self.joined(items))
        if tag == "slice":
            return self.slice_of(items)
        if tag == "is":
            return self.identity(items[0], items[1])
        return self.op(tag, items)

    def op(self, tag: str, elements: tuple[Any, ...]) -> int:
        key = ("op", tag, elements)
        found = self._interned.get(key)
        if found is None:
            found = self._interned[key] = self.new(key)
        return found

    def output_of(self, value: int) -> int:
        """The graph's result that ``value`` was read from; -1 for any other value."""
        known = self.desc[value]
        found: int = known[2][0] if known is not None and known[0:2] == ("op", OUTPUT) else -1
        return found

    def tuple_of(self, elements: tuple[int, ...]) -> int:
        """A tuple; constant when its elements are."""
        found = self.constants(elements)
        if found is not None:
            return self._of_items(elements, tuple(found))
        return self.op("tuple", elements)

    def slice_of(self, elements: tuple[int, ...]) -> int:
        found = self.constants(elements)
        if found is not None:
            return self.const(slice(*found))
        if len(elements) == 2:
            elements = (*elements, self.none)
        return self.op("slice", elements)

    def string_of(self, parts: tuple[int, ...]) -> int:
        """The concatenation of strings, which is a plain one; of a single plain string it is that object."""
        return parts[0] if len(parts) == 1 and self.is_string(parts[0]) else self._text_of(self.joined(parts))

    def _text_of(self, merged: tuple[int, ...]) -> int:
        return merged[0] if len(merged) == 1 and self.is_constant(merged[0]) else self.op("str", merged)

    def is_string(self, value: int) -> bool:
        """Whether the value is known to be a plain string."""
        known = self.desc[value]
        if known is None:
            return False
        return known[0:2] in (("type", "str"), ("op", "str")) or known[0] == "const" and type(known[1]) is str

    def is_text(self, value: int) -> bool:
        """Whether the value is known to be a string, if perhaps of a subclass: ``__format__``, ``__str__`` and
        ``__repr__`` may give such a one, which another ``__format__`` formats."""
        return self.desc[value] == ("type", TEXT) or self.is_string(value)

    def joined(self, parts: tuple[int, ...]) -> tuple[int, ...]:
        """The parts of a concatenation: neighbouring constants are joined, nested concatenations flattened."""
        flat: list[int] = []
        desc = self.desc
        for part in parts:
            known = desc[part]
            if known is not None and known[0] == "op" and known[1] == "str":
                flat.extend(known[2])
            else:
                flat.append(part)
        merged: list[int] = []
        text = ""
        for part in flat:
            known = desc[part]
            if known is not None and known[0] == "const" and type(known[1]) is str:
                text += known[1]
                spend(len(text) >> _LETTERS_A_STEP)
                continue
            if text:
                merged.append(self.const(text))
                text = ""
            merged.append(part)
        if text or not merged:
            merged.append(self.const(text))
        return tuple(merged)

    def constants(self, values: tuple[int, ...]) -> list[Any] | None:
        """The objects that ``values`` denote if every one is a plain constant (code objects are not)."""
        found = []
        desc = self.desc
        for value in values:
            known = desc[value]
            if known is None or known[0] != "const" or type(known[1]) is CodeUnit:
                return None
            found.append(known[1])
        return found

    def negated(self, value: int) -> int:
        """``not`` of a value known to be a bool."""
        if value == self.true:
            return self.false
        if value == self.false:
            return self.true
        known = self.desc[value]
        if known is not None and known[0] == "op" and known[1] == "not":
            inner: int = known[2][0]
            return inner
        return self.op("not", (value,))

    def identity(self, left: int, right: int) -> int:
        """``left is right`` as a value."""
        desc, desc_r = self.desc[left], self.desc[right]
        if left == right:
            if not _has_unknown_identity(desc):
                return self.true
        elif desc is not None and desc_r is not None and desc[0] == desc_r[0] == "const":
            if type(desc[1]) is not type(desc_r[1]) or type(desc[1]) is bool:
                return self.false
        return self.op("is", (left, right) if left < right else (right, left))

    def is_bool(self, value: int) -> bool:
        known = self.desc[value]
        if known is None:
            return False
        if known[0] == "type":
            return bool(known[1] == "bool")
        return known[0] == "op" and known[1] in BOOL_TAGS

    def is_constant(self, value: int) -> bool:
        """Whether the value is that of a literal."""
        known = self.desc[value]
        return known is not None and known[0] == "const"

    def truth(self, value: int) -> bool | None:
        """The truth of a value where it is known without running anything."""
        known = self.desc[value]
        if known is None:
            return None
        if known[0] == "const":
            constant = known[1]
            if type(constant) in FOLDABLE or type(constant) in (tuple, frozenset, type(None), type(Ellipsis)):
                return bool(constant)
            return None
        if known[0] == "op" and known[1] == "tuple":
            return bool(known[2])
        return None

    def never_none(self, value: int) -> bool:
        """Whether the value is surely not None (a constant None is handled by the caller)."""
        known = self.desc[value]
        if known is None:
            return False
        return known[0] in ("const", "type") or (known[0] == "op" and known[1] != OUTPUT)

    def fold(self, op: str, arg: str, operands: tuple[int, ...]) -> int | None:
        """The constant an operator gives on plain constants, if it gives one without an error, the same in every
        version.

        It is computed here, whatever version the code is of, so only what all of them compute alike.
        """
        found = self.constants(operands)
        if found is None or any(type(item) not in FOLDABLE for item in found):
            return None
        function = FOLDS.get((op, arg))
        if function is None or not _small(arg, found) or _warns(op, arg, found) or _own_to_a_version(op, arg, found):
            return None
        try:
            result = function(*found)
        except (ArithmeticError, TypeError, ValueError):
            return None
        return self.const(result) if result == result and not (arg == "**" and type(result) is float) else None


def _has_unknown_identity(desc: Desc | None) -> bool:
    """Whether a value is a constant, or made of parts, whose identity its value does not determine."""
    return desc is not None and (
        (desc[0] == "const" and desc[1] is not None and type(desc[1]) not in (bool, type(Ellipsis)))
        or (desc[0] == "op" and desc[1] not in ("cell", "common", "locals"))
    )


FOLDABLE = frozenset({int, float, complex, str, bytes, bool})

FOLDS: dict[tuple[str, str], Callable[..., Any]] = {
    ("BINARY", "+"): lambda a, b: a + b,
    ("BINARY", "-"): lambda a, b: a - b,
    ("BINARY", "*"): lambda a, b: a * b,
    ("BINARY", "/"): lambda a, b: a / b,
    ("BINARY", "//"): lambda a, b: a // b,
    ("BINARY", "%"): lambda a, b: a % b,
    ("BINARY", "**"): lambda a, b: a**b,
    ("BINARY", "<<"): lambda a, b: a << b,
    ("BINARY", ">>"): lambda a, b: a >> b,
    ("BINARY", "&"): lambda a, b: a & b,
    ("BINARY", "|"): lambda a, b: a | b,
    ("BINARY", "^"): lambda a, b: a ^ b,
    ("UNARY", "-"): lambda a: -a,
    ("UNARY", "+"): lambda a: +a,
    ("UNARY", "~"): lambda a: ~a,
    ("COMPARE", "<"): lambda a, b: a < b,
    ("COMPARE", "<="): lambda a, b: a <= b,
    ("COMPARE", ">"): lambda a, b: a > b,
    ("COMPARE", ">="): lambda a, b: a >= b,
    ("COMPARE", "=="): lambda a, b: a == b,
    ("COMPARE", "!="): lambda a, b: a != b,
}


def _warns(op: str, arg: str, found: list[Any]) -> bool:
    """``~True`` and comparisons of text with bytes may warn at run time: they stay observable."""
    if op == "COMPARE":
        return any(type(item) is bytes for item in found) and any(type(item) is not bytes for item in found)
    return arg == "~" and type(found[0]) is bool


def _own_to_a_version(op: str, arg: str, found: list[Any]) -> bool:
    """What is not the same in each version, or on each machine: arithmetic of complex numbers (another one since 3.14,
    with real numbers too), and what the C library computes of floats."""
    if op != "BINARY":
        return False
    kinds = {type(item) for item in found}
    return complex in kinds or float in kinds and arg in ("**", "%", "//")


def _small(arg: str, found: list[Any]) -> bool:
    """Whether folding is cheap: no huge powers, shifts or repetitions."""
    if arg in ("**", "<<"):
        return all(type(item) in (float, complex, bool) or (type(item) is int and abs(item) <= 128) for item in found)
    if arg == "*":
        return all(not isinstance(item, (str, bytes)) for item in found) and _bits(found)
    if arg == "%":
        return all(not isinstance(item, (str, bytes)) for item in found)
    return _bits(found)


def _bits(found: list[Any]) -> bool:
    return all(type(item) is not int or item.bit_length() <= 4096 for item in found)
