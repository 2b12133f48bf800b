"""Read marshal data of any CPython 3.8-3.15, whatever interpreter this runs on, without executing anything.

Input: bytes and the version that wrote them.  Output: plain objects, code objects as ``CodeUnit``.  Hostile input is a
``BytecodeError`` with the offset: every size is checked against the bytes that remain, nesting is limited, and so is
the expanded size of data that refers to itself again and again (hashing it would take for ever).
"""

from __future__ import annotations

import builtins
import struct
import types
from collections.abc import Callable
from typing import Any

from depyf.bytecode.codeunit import CodeUnit
from depyf.bytecode.qualnames import with_qualnames
from depyf.errors import BytecodeError

_MAX_DEPTH = 400
_MAX_EXPANDED = 20_000_000
_FLAG_REF = 0x80

_LOCAL, _CELL, _FREE = 0x20, 0x40, 0x80  # bits of co_localspluskinds, 3.11+

_DOUBLE = struct.Struct("<d")
_COMPLEX = struct.Struct("<dd")

_PENDING = object()  # a reference to it is an immutable container that is not finished yet
_NULL = object()  # ends a dict


def loads(data: bytes, version: tuple[int, int]) -> Any:
    """The object that ``marshal.dumps`` of ``version`` wrote; what follows it is ignored."""
    reader = _Reader(data, version)
    try:
        return reader.read()
    except RecursionError:
        raise reader.error("too deeply nested for the current stack") from None
    except (struct.error, IndexError):
        raise reader.error("the data ends early") from None


class _Reader:
    """One pass over the bytes.  ``refs`` and ``weights`` are parallel: objects, and how much each expands to."""

    __slots__ = ("data", "depth", "expanded", "position", "refs", "version", "weights")

    def __init__(self, data: bytes, version: tuple[int, int]) -> None:
        self.data = data
        self.version = version
        self.position = 0
        self.depth = 0
        self.expanded = 0
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
        """The next object."""
        value = self.read_or_null()
        if value is _NULL:
            raise self.error("NULL where an object must be")
        return value

    def read_or_null(self) -> Any:
        code = self.byte()
        kind = code & 0x7F
        self.expanded += 1
        if kind == _REF:
            return self.reference()
        method = _READERS.get(kind)
        if method is None:
            self.position -= 1
            raise self.error(f"unknown type {bytes((kind,))!r}")
        if self.expanded > _MAX_EXPANDED:
            raise self.error("too many objects")
        if kind in _CONTAINERS:
            if self.depth >= _MAX_DEPTH:
                raise self.error("too deeply nested")
            self.depth += 1
            value = self.container(method, bool(code & _FLAG_REF))
            self.depth -= 1
            return value
        value = method(self)
        if code & _FLAG_REF:
            self.refs.append(value)
            self.weights.append(1)
        return value

    def container(self, method: Callable[..., Any], is_ref: bool) -> Any:
        """Containers take their number among the references before what they hold does."""
        slot = -1
        before = self.expanded
        if is_ref:
            slot = len(self.refs)
            self.refs.append(_PENDING)
            self.weights.append(1)
        value = method(self, slot)
        if slot >= 0:
            self.refs[slot] = value
            self.weights[slot] = self.expanded - before
        return value

    def reference(self) -> Any:
        index = self.long()
        if not 0 <= index < len(self.refs):
            raise self.error(f"reference to object {index} of {len(self.refs)}")
        value = self.refs[index]
        if value is _PENDING:
            raise self.error(f"object {index} refers to itself")
        self.expanded += self.weights[index]
        if self.expanded > _MAX_EXPANDED:
            raise self.error("too many objects once references are expanded")
        return value

    def items(self, count: int) -> list[Any]:
        read = self.read
        return [read() for _ in range(count)]

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

    def tuple_of(self, count: int) -> tuple[Any, ...]:
        return tuple(self.items(count))

    def list_(self, slot: int) -> list[Any]:
        value: list[Any] = []
        if slot >= 0:
            self.refs[slot] = value
        value.extend(self.read() for _ in range(self.size()))
        return value

    def pairs(self, value: dict[Any, Any]) -> dict[Any, Any]:
        while True:
            key = self.read_or_null()
            if key is _NULL:
                return value
            item = self.read()
            try:
                value[key] = item
            except TypeError:
                raise self.error(f"{type(key).__name__} cannot be a key") from None

    def dict_(self, slot: int) -> dict[Any, Any]:
        value: dict[Any, Any] = {}
        if slot >= 0:
            self.refs[slot] = value
        return self.pairs(value)

    def frozendict(self, slot: int) -> Any:
        """3.15; where this interpreter has no frozendict a read-only view stands for it."""
        make = getattr(builtins, "frozendict", types.MappingProxyType)
        return make(self.pairs({}))

    def set_(self, slot: int) -> set[Any]:
        value: set[Any] = set()
        if slot >= 0:
            self.refs[slot] = value
        self.fill(value)
        return value

    def frozenset_(self, slot: int) -> frozenset[Any]:
        return frozenset(self.fill(set()))  # one by one, as the interpreter does: a copy of a set may iterate otherwise

    def fill(self, value: set[Any]) -> list[Any]:
        """Put the items of a set into ``value``; they are returned in the order in which they are written."""
        items = []
        for _ in range(self.size()):
            item = self.read()
            try:
                value.add(item)
            except TypeError:
                raise self.error(f"{type(item).__name__} cannot be in a set") from None
            items.append(item)
        return items

    # Code objects

    def code(self, slot: int) -> CodeUnit:
        return self.code_311() if self.version >= (3, 11) else self.code_38()

    def typed(self, kind: type, what: str) -> Any:
        value = self.read()
        if type(value) is not kind:
            raise self.error(f"{what} of a code object is {type(value).__name__}, not {kind.__name__}")
        return value

    def names(self, what: str) -> tuple[str, ...]:
        value: tuple[str, ...] = self.typed(tuple, what)
        if not all(type(name) is str for name in value):
            raise self.error(f"{what} of a code object are not all strings")
        return value

    def counts(self, number: int) -> list[int]:
        values = [self.long() for _ in range(number)]
        if min(values) < 0:
            raise self.error("negative number in a code object")
        return values

    def code_38(self) -> CodeUnit:
        argcount, posonly, kwonly, nlocals, stacksize, flags = self.counts(6)
        code = self.typed(bytes, "bytecode")
        consts = self.typed(tuple, "constants")
        names, varnames = self.names("names"), self.names("local names")
        freevars, cellvars = self.names("free names"), self.names("cell names")
        filename, name = self.typed(str, "file name"), self.typed(str, "name")
        firstlineno = self.long()
        linetable = self.typed(bytes, "line table")
        if nlocals != len(varnames):
            raise self.error(f"{nlocals} locals declared, {len(varnames)} named")
        counts = (argcount, posonly, kwonly, stacksize, flags)
        consts = with_qualnames(code, consts)
        texts = (filename, name, name)
        groups = (names, varnames, cellvars, freevars)
        return self.unit(counts, texts, firstlineno, code, consts, groups, linetable, b"")

    def code_311(self) -> CodeUnit:
        argcount, posonly, kwonly, stacksize, flags = self.counts(5)
        code = self.typed(bytes, "bytecode")
        consts = self.typed(tuple, "constants")
        names, localsplus = self.names("names"), self.names("local names")
        kinds = self.typed(bytes, "kinds of locals")
        filename, name = self.typed(str, "file name"), self.typed(str, "name")
        qualname = self.typed(str, "qualified name")
        firstlineno = self.long()
        linetable, exctable = self.typed(bytes, "line table"), self.typed(bytes, "exception table")
        if len(kinds) != len(localsplus):
            raise self.error(f"{len(localsplus)} locals with {len(kinds)} kinds")
        varnames, cellvars, freevars = (
            tuple(local for local, kind in zip(localsplus, kinds) if kind & bit) for bit in (_LOCAL, _CELL, _FREE)
        )
        counts = (argcount, posonly, kwonly, stacksize, flags)
        groups = (names, varnames, cellvars, freevars)
        return self.unit(counts, (filename, name, qualname), firstlineno, code, consts, groups, linetable, exctable)

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


def _slice(reader: _Reader, slot: int) -> slice:
    return slice(reader.read(), reader.read(), reader.read())


_REF = ord("r")
_CONTAINERS: frozenset[int] = frozenset(b"()[{}<>c:")
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
    ord("("): lambda reader, slot: reader.tuple_of(reader.size()),
    ord(")"): lambda reader, slot: reader.tuple_of(reader.byte()),
    ord("["): _Reader.list_,
    ord("{"): _Reader.dict_,
    ord("}"): _Reader.frozendict,
    ord("<"): _Reader.set_,
    ord(">"): _Reader.frozenset_,
    ord("c"): _Reader.code,
    ord(":"): _slice,
}
