"""Code objects as torch saves them (``SerializedCode`` of ``torch/_dynamo/package.py``), as ``CodeUnit``.

Input: an object of ``inert_objects`` with the attributes of a code object, and the version of Python that wrote it.
Constants are numbers, texts and tuples of these; any other is kept as the text of what would make it.  What cannot be
the code of that version, or expands too far, is a ``SavedFileError``: sizes are checked before anything is hashed.
"""

from __future__ import annotations

from typing import NamedTuple

from depyf.decompiler.bytecode.codeunit import CodeUnit
from depyf.decompiler.bytecode.files.bounds import check
from depyf.errors import BytecodeError
from depyf.sources.files.inert_objects import Called, Members, Named, fields
from depyf.sources.files.inert_text import in_short
from depyf.sources.files.pickle_steps import SavedFileError

CLASS = "SerializedCode"
_DEPTH = 60
"""Constants inside each other, nested functions among them; compilers stay far below it."""
_ROOM = 1 << 20
"""How many objects and letters the constants of one code object may come to, written out."""
_ALIKE = 60
"""As for ``.pyc`` files: how many numbers may have one hash."""
_FACTOR, _FILE_ROOM = 4, 1 << 16
"""What all code objects of a file may come to, for each byte of it; without sharing it is less than the file."""
_MOST_COUNT = 1 << 31


class SavedConstant:
    """A constant that only loading would make."""

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text


class _Weighed(NamedTuple):
    value: object
    weight: int


def is_code(value: object) -> bool:
    return isinstance(value, Called) and value.name == CLASS and "co_code" in fields(value)


class SavedCodes:
    """Reads the code objects of a file of ``size`` bytes; they share what they may come to."""

    def __init__(self, version: tuple[int, int], size: int) -> None:
        self._size = size
        self._codes = _CodeReader(version, _FILE_ROOM + _FACTOR * size)

    def read(self, value: object) -> CodeUnit:
        try:
            unit = self._codes.unit(value, 0)
            check(unit, self._size)
        except BytecodeError as error:
            raise SavedFileError(str(error)) from None
        return unit


class _CodeReader:
    """Code objects with those in their constants, each read once; ``left`` is what they may still come to."""

    def __init__(self, version: tuple[int, int], left: int) -> None:
        self.version = version
        self.left = left
        self.known: dict[int, _Weighed] = {}
        self.open: set[int] = set()

    def unit(self, value: object, depth: int) -> CodeUnit:
        found = fields(value)

        def count(name: str) -> int:
            number = found.get(name)
            if type(number) is not int or not 0 <= number < _MOST_COUNT:
                raise SavedFileError(f"saved code: {name} is no number that it can be")
            return number

        def data(name: str) -> bytes:
            content = found.get(name)
            if type(content) is not bytes:
                raise SavedFileError(f"saved code: {name} is not bytes")
            return content

        def text(name: str) -> str:
            content = found.get(name)
            if type(content) is not str:
                raise SavedFileError(f"saved code: {name} is not a text")
            return content

        def names(name: str) -> tuple[str, ...]:
            content = found.get(name)
            if type(content) is not tuple or not all(type(item) is str for item in content):
                raise SavedFileError(f"saved code: {name} are not names")
            return content

        constants = found.get("co_consts")
        if type(constants) is not tuple:
            raise SavedFileError("saved code: co_consts is not a tuple")
        self.left -= 100 + sum(len(part) for part in found.values() if isinstance(part, (bytes, str, tuple)))
        if self.left < 0:
            raise SavedFileError("saved code: what the code objects of the file share expands too far")
        weighed = [self.constant(item, depth + 1) for item in constants]
        if sum(one.weight for one in weighed) > _ROOM:
            raise SavedFileError("saved code: its constants expand too far")
        consts = tuple([one.value for one in weighed])
        _spread([one for one in consts if type(one) in (int, float, complex)])
        varnames, flags = names("co_varnames"), count("co_flags")
        argcount, posonly, kwonly = (count(f"co_{kind}argcount") for kind in ("", "posonly", "kwonly"))
        parameters = argcount + kwonly + bool(flags & 0x4) + bool(flags & 0x8)
        if posonly > argcount or parameters > len(varnames) or count("co_nlocals") != len(varnames):
            raise SavedFileError(f"saved code: {parameters} parameters, {len(varnames)} local names")
        return CodeUnit(
            version=self.version,
            name=text("co_name"),
            qualname=text("co_qualname") if found.get("co_qualname") is not None else text("co_name"),
            filename=text("co_filename"),
            firstlineno=count("co_firstlineno"),
            argcount=argcount,
            posonlyargcount=posonly,
            kwonlyargcount=kwonly,
            nlocals=len(varnames),
            stacksize=count("co_stacksize"),
            flags=flags,
            code=data("co_code"),
            consts=consts,
            names=names("co_names"),
            varnames=varnames,
            cellvars=names("co_cellvars"),
            freevars=names("co_freevars"),
            linetable=data("co_linetable"),
            exctable=data("co_exceptiontable") if found.get("co_exceptiontable") is not None else b"",
        )

    def constant(self, value: object, depth: int) -> _Weighed:
        if value is None or type(value) in (bool, float):
            return _Weighed(value, 1)
        if isinstance(value, (str, bytes)):
            return _Weighed(value, 1 + len(value))
        if isinstance(value, int):
            return _Weighed(value, 1 + value.bit_length() // 3)
        known = self.known.get(id(value))
        if known is not None:
            return known
        if depth > _DEPTH or id(value) in self.open:
            raise SavedFileError("saved code: its constants are too deeply nested")
        self.open.add(id(value))
        made = self.known[id(value)] = self.container(value, depth)
        self.open.discard(id(value))
        if made.weight > _ROOM:
            raise SavedFileError("saved code: its constants expand too far")
        return made

    def container(self, value: object, depth: int) -> _Weighed:
        if is_code(value):
            return _Weighed(self.unit(value, depth), 1)
        if isinstance(value, (tuple, Members)):
            items = value if isinstance(value, tuple) else value.members
            weighed = [self.constant(item, depth + 1) for item in items]
            weight = 1 + sum(one.weight for one in weighed)
            if weight > _ROOM:
                raise SavedFileError("saved code: its constants expand too far")
            values = [one.value for one in weighed]
            if isinstance(value, tuple):
                return _Weighed(tuple(values), weight)
            try:
                _spread(values)
                return _Weighed(frozenset(values), weight)
            except TypeError:  # a slice has no hash before 3.12
                return _Weighed(SavedConstant(in_short(value)), 100)
        if isinstance(value, Named) and value.full == "builtins.Ellipsis":
            return _Weighed(..., 1)
        if isinstance(value, Called) and isinstance(value.function, Named):
            given = value.positional
            if value.function.full == "builtins.complex" and [type(part) for part in given] == [float, float]:
                return _Weighed(complex(*[part for part in given if isinstance(part, float)]), 1)
            if value.function.full == "builtins.slice" and len(given) == 3:  # a constant since 3.14
                ends = [self.constant(part, depth + 1) for part in given]
                return _Weighed(slice(*(one.value for one in ends)), 1 + sum(one.weight for one in ends))
        return _Weighed(SavedConstant(in_short(value)), 100)


def _spread(values: list[object]) -> None:
    """Refuse values of which many have the same hash: a set of them takes quadratic time."""
    alike: dict[int, int] = {}
    for value in values:
        if type(value) not in (str, bytes):
            number = alike[hash(value)] = alike.get(hash(value), 0) + 1
            if number > _ALIKE:
                raise SavedFileError(f"saved code: more than {_ALIKE} constants have the same hash")
