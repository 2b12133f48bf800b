"""Read marshal data of any CPython 3.8-3.15, whatever interpreter this runs on, without executing anything.

Input: bytes and the version that wrote them.  Output: plain objects, code objects as ``CodeUnit``.  Hostile input is a
``BytecodeError`` with the offset: every size is checked against the bytes that remain, nesting is limited (and takes
nothing of the interpreter's stack), and so is the size of the data once its references are written out, and how many
constants have one hash: printing, hashing or comparing the result takes time in proportion to the file.
"""

from __future__ import annotations

import builtins
import contextlib
import struct
import types
from collections.abc import Callable, Generator
from dataclasses import replace
from typing import Any

from depyf.decompiler.bytecode.codeunit import CodeUnit
from depyf.decompiler.bytecode.qualnames import with_qualnames
from depyf.decompiler.bytecode.variables.slots import CELL, FREE, LOCAL, slots_of
from depyf.errors import BytecodeError

_MAX_DEPTH = 2000
"""Objects inside each other, as CPython reads and writes them."""
_ROOM, _FACTOR = 1 << 20, 20
"""How large the data may be once its references are written out: so much, and so much for each byte of the file.

No file of the standard library, of any version, comes to more than 3 for each byte."""
_ITEM = 8
"""The size of an object besides its text."""
_ALIKE = 60
"""The maximum number of constants with one hash in one set or dict; compilers stay far below it."""
_FLAG_REF = 0x80

_KINDS = LOCAL | CELL | FREE

_DOUBLE = struct.Struct("<d")
_COMPLEX = struct.Struct("<dd")

_PENDING = object()  # a reference to it is an immutable container that is not finished yet
_NULL = object()  # ends a dict
_LATER = object()  # a container has been begun: it is sent to the generator that yields
Reading = Generator[None, Any, Any]
"""A container that is being read: it yields for each container in it, and is sent that; its value is what it
returns."""


def loads(data: bytes, version: tuple[int, int]) -> Any:
    """The object that ``marshal.dumps`` of ``version`` wrote; what follows it is ignored."""
    reader = _Reader(data, version)
    try:
        return reader.read()
    except (struct.error, IndexError):
        raise reader.error("the data ends early") from None


class _Reader:
    """One pass over the bytes.  ``refs`` and ``weights`` are parallel: objects, and how large each is written out."""

    __slots__ = ("alike", "data", "expanded", "most", "open", "position", "refs", "seen", "version", "weights")

    def __init__(self, data: bytes, version: tuple[int, int]) -> None:
        self.data = data
        self.version = version
        self.position = 0
        self.open: list[tuple[Reading, int, int]] = []
        """The containers around ``position``, each with its number as a reference and ``expanded`` where it begins."""
        self.expanded = 0
        self.most = _ROOM + _FACTOR * len(data)
        self.alike: dict[int, list[Any]] = {}
        self.seen: dict[int, tuple[Any, ...]] = {}
        self.refs: list[Any] = []
        self.weights: list[int] = []

    def error(self, reason: str) -> BytecodeError:
        return BytecodeError(f"bad marshal data at offset {self.position}: {reason}")

    # Primitives

    def take(self, count: int) -> bytes:
        start = self.position
        end = start + count
        if count < 0 or end > len(self.data):
            raise self.error(f"{count} bytes wanted, {len(self.data) - start} remain")
        self.position = end
        return self.data[start:end]

    def byte(self) -> int:
        value = self.data[self.position]
        self.position += 1
        return value

    def long(self) -> int:
        return int.from_bytes(self.take(4), "little", signed=True)

    def size(self, unit: int = 1) -> int:
        """A count of items that take at least ``unit`` bytes each."""
        count = self.long()
        if count < 0 or count * unit > len(self.data) - self.position:
            raise self.error(f"impossible size {count}, {len(self.data) - self.position} bytes remain")
        return count

    # Objects

    def read(self) -> Any:
        """The object that the data holds."""
        value = self.next()
        while self.open:
            reading, slot, before = self.open[-1]
            try:
                reading.send(None if value is _LATER else value)
                value = _LATER
            except StopIteration as done:
                value = done.value
                self.open.pop()
                if slot >= 0:
                    self.refs[slot] = value
                    self.weights[slot] = self.expanded - before
        return value

    def next(self) -> Any:
        """The next object, or ``_LATER`` where it is a container, which is begun."""
        value = self.next_or_null()
        if value is _NULL:
            raise self.error("NULL where an object must be")
        return value

    def next_or_null(self) -> Any:
        if len(self.open) >= _MAX_DEPTH:
            raise self.error("too deeply nested")
        start = self.position
        code = self.byte()
        kind = code & 0x7F
        if kind == _REF:
            return self.reference()
        begin = _CONTAINERS.get(kind)
        if begin is not None:
            return self.begin(begin, bool(code & _FLAG_REF))
        method = _READERS.get(kind)
        if method is None:
            self.position -= 1
            raise self.error(f"unknown type {bytes((kind,))!r}")
        value = method(self)
        weight = _ITEM + self.position - start
        self.grow(weight)
        if code & _FLAG_REF:
            self.refs.append(value)
            self.weights.append(weight)
        return value

    def begin(self, method: Callable[[_Reader, int], Reading], is_ref: bool) -> Any:
        """Start a container; it gets its number among the references before its items do."""
        slot = -1
        if is_ref:
            slot = len(self.refs)
            self.refs.append(_PENDING)
            self.weights.append(_ITEM)
        self.open.append((method(self, slot), slot, self.expanded))
        self.grow(_ITEM)
        return _LATER

    def grow(self, weight: int) -> None:
        self.expanded += weight
        if self.expanded > self.most:
            raise self.error(
                f"its references expand too far: to more than {self.most} bytes, from a file of {len(self.data)}"
            )

    def reference(self) -> Any:
        index = self.long()
        if not 0 <= index < len(self.refs):
            raise self.error(f"reference to object {index} of {len(self.refs)}")
        value = self.refs[index]
        if value is _PENDING:
            raise self.error(f"object {index} refers to itself")
        self.grow(self.weights[index])
        return value

    def items(self, count: int) -> Reading:
        found = []
        for _ in range(count):
            item = self.next()
            found.append((yield) if item is _LATER else item)
        return found

    def spread(self, values: list[Any], what: str) -> None:
        """Check values that are about to be hashed: many with the same hash would take quadratic time."""
        alike: dict[int, list[Any]] = {}
        for value in values:
            try:
                self.apart(value, alike)
            except TypeError:
                raise self.error(f"{type(value).__name__} cannot be {what}") from None

    def apart(self, value: Any, alike: dict[int, list[Any]]) -> None:
        """Remember ``value`` in ``alike`` by its hash; those of strings are the process's secret.  TypeError where it
        has none."""
        if type(value) in _OTHER_HASHES:
            return
        known = alike.setdefault(hash(value), [])
        if not any(other is value or type(other) is type(value) and other == value for other in known):
            known.append(value)
            if len(known) > _ALIKE:
                raise self.error(
                    f"more than {_ALIKE} constants have the same hash, so that sets of them expand too far"
                )

    def integer(self) -> int:
        """Digits of 15 bits; the sign is the sign of their count."""
        count = self.long()
        digits = abs(count)
        if digits * 2 > len(self.data) - self.position:
            raise self.error(f"impossible size {digits} of an integer")
        if not digits:
            return 0
        bits = []
        for digit in struct.unpack(f"<{digits}H", self.take(2 * digits)):
            if digit > 0x7FFF:
                raise self.error("digit out of range in an integer")
            bits.append(f"{digit:015b}")
        value = int("".join(reversed(bits)), 2)  # linear: base 2 is a shift
        return -value if count < 0 else value

    def text_float(self) -> float:
        text = self.take(self.byte())
        try:
            return float(text)
        except ValueError:
            raise self.error(f"{text!r} is no number") from None

    def text(self) -> str:
        try:
            return self.take(self.size()).decode("utf-8", "surrogatepass")
        except UnicodeDecodeError as error:
            raise self.error(f"invalid UTF-8: {error.reason}") from None

    def tuple_(self, slot: int) -> Reading:
        return tuple((yield from self.items(self.size())))

    def small_tuple(self, slot: int) -> Reading:
        return tuple((yield from self.items(self.byte())))

    def list_(self, slot: int) -> Reading:
        value: list[Any] = []
        if slot >= 0:
            self.refs[slot] = value
        value.extend((yield from self.items(self.size())))
        return value

    def slice_(self, slot: int) -> Reading:
        return slice(*(yield from self.items(3)))

    def pairs(self) -> Generator[None, Any, dict[Any, Any]]:
        keys: list[Any] = []
        values: list[Any] = []
        while True:
            key = self.next_or_null()
            if key is _NULL:
                self.spread(keys, "a key")
                return dict(zip(keys, values))
            keys.append((yield) if key is _LATER else key)
            value = self.next()
            values.append((yield) if value is _LATER else value)

    def dict_(self, slot: int) -> Reading:
        value: dict[Any, Any] = {}
        if slot >= 0:
            self.refs[slot] = value
        value.update((yield from self.pairs()))
        return value

    def frozendict(self, slot: int) -> Reading:
        """3.15; a read-only view where this interpreter has no frozendict."""
        make = getattr(builtins, "frozendict", types.MappingProxyType)
        return make((yield from self.pairs()))

    def set_(self, slot: int) -> Reading:
        value: set[Any] = set()
        if slot >= 0:
            self.refs[slot] = value
        items = yield from self.items(self.size())
        self.spread(items, "in a set")
        value.update(items)
        return value

    def frozenset_(self, slot: int) -> Reading:
        items = yield from self.items(self.size())
        self.spread(items, "in a set")
        return frozenset(items)  # one by one, as the interpreter does: a copy of a set may iterate otherwise

    # Code objects

    def code(self, slot: int) -> Reading:
        unit = yield from self.code_311() if self.version >= (3, 11) else self.code_38()
        self.spread_constants(unit.consts)
        return unit

    def spread_constants(self, consts: tuple[Any, ...]) -> None:
        """``spread`` for the whole file: a compiler looks up each constant among the others, items of tuples too."""
        todo = [consts]
        while todo:
            for value in todo.pop():
                if type(value) in _HASHED:
                    with contextlib.suppress(TypeError):  # slices have no hash before 3.12
                        self.apart(value, self.alike)
                if type(value) is tuple and id(value) not in self.seen:
                    self.seen[id(value)] = value
                    todo.append(value)

    def typed(self, kind: type, what: str) -> Reading:
        value = self.next()
        if value is _LATER:
            value = yield
        if type(value) is not kind:
            raise self.error(f"{what} of a code object is {type(value).__name__}, not {kind.__name__}")
        return value

    def names(self, what: str) -> Generator[None, Any, tuple[str, ...]]:
        found: tuple[Any, ...] = yield from self.typed(tuple, what)
        if not all(type(name) is str for name in found):
            raise self.error(f"{what} of a code object are not all strings")
        return found

    def counts(self, number: int) -> list[int]:
        values = [self.long() for _ in range(number)]
        if min(values) < 0:
            raise self.error("negative number in a code object")
        return values

    def code_38(self) -> Generator[None, Any, CodeUnit]:
        argcount, posonly, kwonly, nlocals, stacksize, flags = self.counts(6)
        code = yield from self.typed(bytes, "bytecode")
        consts = yield from self.typed(tuple, "constants")
        names, varnames = (yield from self.names("names")), (yield from self.names("local names"))
        freevars, cellvars = (yield from self.names("free names")), (yield from self.names("cell names"))
        filename, name = (yield from self.typed(str, "file name")), (yield from self.typed(str, "name"))
        firstlineno = self.long()
        linetable = yield from self.typed(bytes, "line table")
        if nlocals != len(varnames):
            raise self.error(f"{nlocals} locals declared, {len(varnames)} named")
        counts = (argcount, posonly, kwonly, stacksize, flags)
        consts = with_qualnames(code, consts)
        texts = (filename, name, name)
        groups = (names, varnames, cellvars, freevars)
        return self.unit(counts, texts, firstlineno, code, consts, groups, linetable, b"")

    def code_311(self) -> Generator[None, Any, CodeUnit]:
        argcount, posonly, kwonly, stacksize, flags = self.counts(5)
        code = yield from self.typed(bytes, "bytecode")
        consts = yield from self.typed(tuple, "constants")
        names, localsplus = (yield from self.names("names")), (yield from self.names("local names"))
        kinds = yield from self.typed(bytes, "kinds of locals")
        filename, name = (yield from self.typed(str, "file name")), (yield from self.typed(str, "name"))
        qualname = yield from self.typed(str, "qualified name")
        firstlineno = self.long()
        linetable, exctable = (
            (yield from self.typed(bytes, "line table")),
            (yield from self.typed(bytes, "exception table")),
        )
        if len(kinds) != len(localsplus):
            raise self.error(f"{len(localsplus)} locals with {len(kinds)} kinds")
        varnames, cellvars, freevars = (
            tuple(local for local, kind in zip(localsplus, kinds) if kind & bit) for bit in (LOCAL, CELL, FREE)
        )
        counts = (argcount, posonly, kwonly, stacksize, flags)
        groups = (names, varnames, cellvars, freevars)
        unit = self.unit(counts, (filename, name, qualname), firstlineno, code, consts, groups, linetable, exctable)
        own = tuple([(local, kind & _KINDS) for local, kind in zip(localsplus, kinds)])
        return unit if own == slots_of(unit) else replace(unit, slots=own)

    def unit(
        self,
        counts: tuple[int, int, int, int, int],
        texts: tuple[str, str, str],
        firstlineno: int,
        code: bytes,
        consts: tuple[Any, ...],
        groups: tuple[tuple[str, ...], ...],
        linetable: bytes,
        exctable: bytes,
    ) -> CodeUnit:
        argcount, posonly, kwonly, stacksize, flags = counts
        names, varnames, cellvars, freevars = groups
        parameters = argcount + kwonly + bool(flags & 0x4) + bool(flags & 0x8)
        if posonly > argcount or parameters > len(varnames):
            raise self.error(f"{parameters} parameters, {len(varnames)} locals")
        return CodeUnit(
            version=self.version,
            name=texts[1],
            qualname=texts[2],
            filename=texts[0],
            firstlineno=firstlineno,
            argcount=argcount,
            posonlyargcount=posonly,
            kwonlyargcount=kwonly,
            nlocals=len(varnames),
            stacksize=stacksize,
            flags=flags,
            code=code,
            consts=consts,
            names=names,
            varnames=varnames,
            cellvars=cellvars,
            freevars=freevars,
            linetable=linetable,
            exctable=exctable,
        )


_REF = ord("r")
_OTHER_HASHES = frozenset({str, bytes, type(None), bool, type(...), type})
_HASHED = frozenset({int, float, complex, tuple, frozenset, slice})
_READERS: dict[int, Callable[..., Any]] = {
    ord("0"): lambda reader: _NULL,
    ord("N"): lambda reader: None,
    ord("F"): lambda reader: False,
    ord("T"): lambda reader: True,
    ord("S"): lambda reader: StopIteration,
    ord("."): lambda reader: Ellipsis,
    ord("i"): _Reader.long,
    ord("I"): lambda reader: int.from_bytes(reader.take(8), "little", signed=True),
    ord("l"): _Reader.integer,
    ord("f"): _Reader.text_float,
    ord("g"): lambda reader: _DOUBLE.unpack(reader.take(8))[0],
    ord("x"): lambda reader: complex(reader.text_float(), reader.text_float()),
    ord("y"): lambda reader: complex(*_COMPLEX.unpack(reader.take(16))),
    ord("s"): lambda reader: reader.take(reader.size()),
    ord("t"): _Reader.text,
    ord("u"): _Reader.text,
    ord("a"): lambda reader: reader.take(reader.size()).decode("latin-1"),
    ord("A"): lambda reader: reader.take(reader.size()).decode("latin-1"),
    ord("z"): lambda reader: reader.take(reader.byte()).decode("latin-1"),
    ord("Z"): lambda reader: reader.take(reader.byte()).decode("latin-1"),
}
_CONTAINERS: dict[int, Callable[[_Reader, int], Reading]] = {
    ord("("): _Reader.tuple_,
    ord(")"): _Reader.small_tuple,
    ord("["): _Reader.list_,
    ord("{"): _Reader.dict_,
    ord("}"): _Reader.frozendict,
    ord("<"): _Reader.set_,
    ord(">"): _Reader.frozenset_,
    ord("c"): _Reader.code,
    ord(":"): _Reader.slice_,
}
