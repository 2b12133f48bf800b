"""Follows a pickle opcode by opcode (``pickletools``): what it would make, without making it.

Input: bytes.  Output: ``inert_objects``.  Nothing is imported, called or hashed.  What is no pickle, ends early, or has
more steps than ``Steps`` allows is a ``SavedFileError`` with the offset.  Work and memory grow with the bytes: each
opcode adds at most one object, and a memo's numbers are dense, as all picklers write them.
"""

from __future__ import annotations

import codecs
import io
import pickletools
import re
from collections.abc import Callable, Iterator

from depyf.errors import DepyfError
from depyf.safety.escape import printable
from depyf.sources.files.inert_objects import Called, External, Members, Named, Pairs

MOST_STEPS = 4_000_000
"""Opcodes of all pickles of one file; a model of a thousand layers comes to less than a tenth."""
_MEMO_ROOM = 1024
_LONGEST_NAME = 1000
Stack = list[object]


class SavedFileError(DepyfError):
    """A saved file that cannot be read; the message is one line of what can be printed."""

    def __init__(self, message: str) -> None:
        super().__init__(printable(message))


class TooLarge(SavedFileError):
    """The file takes more than any real one does."""


class Steps:
    """How many opcodes may still be read of a file."""

    __slots__ = ("left",)

    def __init__(self, left: int = MOST_STEPS) -> None:
        self.left = left

    def take(self, position: int) -> None:
        if self.left <= 0:
            raise TooLarge(f"offset {position}: more than {MOST_STEPS} steps of pickles in one file")
        self.left -= 1


def read_pickle(data: bytes, steps: Steps) -> tuple[object, int]:
    """The inert objects in the pickle at the start of ``data``, and the offset of its end.  SavedFileError for a
    damaged pickle."""
    walk = _PickleWalk()
    position = 0
    try:
        for opcode, argument, where in _opcodes(data):
            position = where
            steps.take(position)
            walk.step(opcode, argument)
            if opcode == "STOP":
                return walk.stack[-1], position + 1
    except IndexError:
        raise SavedFileError(f"bad pickle at offset {position}: it takes what is not there") from None
    except (ValueError, OverflowError, LookupError, Warning) as error:
        raise SavedFileError(f"bad pickle after offset {position}: {error}") from None
    raise SavedFileError("bad pickle: it ends early")


def _opcodes(data: bytes) -> Iterator[tuple[str, object, int]]:
    """Name, argument and offset, up to ``STOP``, as ``pickletools.genops`` gives them.

    That one decodes lines with ``codecs.escape_decode``.  It warns of a backslash that begins no escape, through the
    filters of the process; and names have no escapes for ``pickle``.
    """
    file = io.BytesIO(data)
    while True:
        position = file.tell()
        code = file.read(1).decode("latin-1")
        opcode = _OPCODES.get(code)
        if opcode is None:
            raise ValueError(f"opcode {code!r} is none" if code else "it ends before its last opcode")
        read = _LINES.get(opcode.name) or (opcode.arg.reader if opcode.arg is not None else None)
        yield opcode.name, read(file) if read is not None else None, position
        if opcode.name == "STOP":
            return


def _line(file: io.BytesIO) -> bytes:
    line = file.readline()
    if not line.endswith(b"\n"):
        raise ValueError("a line without an end")
    return line[:-1]


def _name(file: io.BytesIO) -> str:
    return f"{_line(file).decode()} {_line(file).decode()}"


def _string(file: io.BytesIO) -> str:
    """A literal of bytes in ASCII, as protocol 0 writes it."""
    line = _line(file)
    if len(line) < 2 or line[0] != line[-1] or line[:1] not in (b"'", b'"'):
        raise ValueError("a string without quotes around it")
    if not all(_KNOWN.fullmatch(escape) for escape in _ESCAPE.findall(line, 1, len(line) - 1)):
        raise ValueError("a string with an escape that is none")
    return codecs.escape_decode(line[1:-1])[0].decode("ascii")


_ESCAPE = re.compile(rb"\\(?:[0-7]{1,3}|x[0-9a-fA-F]{2}|.)", re.DOTALL)
_KNOWN = re.compile(rb"\\(?:[0-3]?[0-7]{1,2}|x[0-9a-fA-F]{2}|[\\'\"abfnrtv])")
_OPCODES = {opcode.code: opcode for opcode in pickletools.opcodes}
_LINES: dict[str, Callable[[io.BytesIO], str]] = {
    "GLOBAL": _name,
    "INST": _name,
    "PERSID": lambda file: _line(file).decode("ascii"),
    "STRING": _string,
}


class _PickleWalk:
    """The state of an unpickler: the stack, the stacks below the open marks, the memo."""

    __slots__ = ("below", "memo", "stack", "steps")

    def __init__(self) -> None:
        self.stack: Stack = []
        self.below: list[Stack] = []
        self.memo: dict[int, object] = {}
        self.steps = 0

    def step(self, opcode: str, argument: object) -> None:
        self.steps += 1
        if opcode in _CONSTANTS:
            self.stack.append(argument)
        else:
            _RULES[opcode](self, argument)

    def marked(self) -> Stack:
        """What was pushed since the last mark, which is closed."""
        items = self.stack
        self.stack = self.below.pop()
        return items

    def popped(self, count: int) -> Stack:
        if count > len(self.stack):
            raise IndexError
        found = self.stack[len(self.stack) - count :]
        del self.stack[len(self.stack) - count :]
        return found

    # Rules

    def push(self, value: object) -> None:
        self.stack.append(value)

    def mark(self, _: object) -> None:
        self.below.append(self.stack)
        self.stack = []

    def pop(self, _: object) -> None:
        if self.stack:
            self.stack.pop()
        else:
            self.marked()

    def put(self, argument: object) -> None:
        index = argument if isinstance(argument, int) else len(self.memo)
        if not 0 <= index <= 2 * self.steps + _MEMO_ROOM:
            raise ValueError(f"object {index} of the memo after {self.steps} steps")
        self.memo[index] = self.stack[-1]

    def get(self, argument: object) -> None:
        if not isinstance(argument, int) or argument not in self.memo:
            raise ValueError(f"object {argument} of the memo is not there")
        self.stack.append(self.memo[argument])

    def tuple_of(self, count: int) -> None:
        self.stack.append(tuple(self.popped(count)))

    def dict_(self, _: object) -> None:
        self.push(Pairs(_paired(self.marked())))

    def add(self, items: Stack) -> None:
        target = self.stack[-1]
        if isinstance(target, list):
            target.extend(items)
        elif isinstance(target, Called):
            target.items.extend(items)
        elif isinstance(target, Members):
            target.members.extend(items)
        else:
            raise ValueError(f"items are added to what is no list: {type(target).__name__}")

    def set(self, items: Stack) -> None:
        target = self.stack[-1]
        if not isinstance(target, (Pairs, Called)):
            raise ValueError(f"items are set in what is no dict: {type(target).__name__}")
        target.pairs.extend(_paired(items))

    def global_(self, argument: object) -> None:
        module, _, name = str(argument).partition(" ")
        self.push(_named(module, name))

    def stack_global(self, _: object) -> None:
        module, name = self.popped(2)
        if type(module) is not str or type(name) is not str:
            raise ValueError("a name that is imported is no text")
        self.push(_named(module, name))

    def call(self, _: object) -> None:
        function, arguments = self.popped(2)
        self.stack.append(Called(function, arguments))

    def call_with_keywords(self, _: object) -> None:
        function, arguments, keywords = self.popped(3)
        self.stack.append(Called(function, arguments, keywords))

    def inst(self, argument: object) -> None:
        arguments = tuple(self.marked())
        self.global_(argument)
        self.stack.append(Called(self.stack.pop(), arguments))

    def obj(self, _: object) -> None:
        function, *arguments = self.marked() or [None]
        self.stack.append(Called(function, tuple(arguments)))

    def build(self, _: object) -> None:
        (state,) = self.popped(1)
        target = self.stack[-1]
        if isinstance(target, Called):
            target.states.append(state)
        else:
            self.stack[-1] = Called(target, (), None, [state])

    def external(self, argument: object) -> None:
        self.stack.append(External(argument))


def _named(module: str, name: str) -> Named:
    if len(module) + len(name) > _LONGEST_NAME:
        raise ValueError(f"a name that is imported has {len(module) + len(name)} letters")
    return Named(module, name)


def _paired(items: Stack) -> list[tuple[object, object]]:
    if len(items) % 2:
        raise ValueError("a key without a value")
    return list(zip(items[::2], items[1::2]))


_CONSTANTS = frozenset(
    "INT BININT BININT1 BININT2 LONG LONG1 LONG4 STRING BINSTRING SHORT_BINSTRING BINBYTES SHORT_BINBYTES BINBYTES8 "
    "BYTEARRAY8 UNICODE SHORT_BINUNICODE BINUNICODE BINUNICODE8 FLOAT BINFLOAT".split()
)
_RULES: dict[str, Callable[[_PickleWalk, object], object]] = {
    "PROTO": lambda walk, _: None,
    "FRAME": lambda walk, _: None,
    "STOP": lambda walk, _: None,
    "READONLY_BUFFER": lambda walk, _: None,
    "NONE": lambda walk, _: walk.push(None),
    "NEWTRUE": lambda walk, _: walk.push(True),
    "NEWFALSE": lambda walk, _: walk.push(False),
    "EMPTY_LIST": lambda walk, _: walk.push([]),
    "EMPTY_TUPLE": lambda walk, _: walk.push(()),
    "EMPTY_DICT": lambda walk, _: walk.push(Pairs()),
    "EMPTY_SET": lambda walk, _: walk.push(Members()),
    "LIST": lambda walk, _: walk.push(walk.marked()),
    "TUPLE": lambda walk, _: walk.push(tuple(walk.marked())),
    "FROZENSET": lambda walk, _: walk.push(Members(walk.marked(), frozen=True)),
    "DICT": _PickleWalk.dict_,
    "TUPLE1": lambda walk, _: walk.tuple_of(1),
    "TUPLE2": lambda walk, _: walk.tuple_of(2),
    "TUPLE3": lambda walk, _: walk.tuple_of(3),
    "APPEND": lambda walk, _: walk.add(walk.popped(1)),
    "APPENDS": lambda walk, _: walk.add(walk.marked()),
    "ADDITEMS": lambda walk, _: walk.add(walk.marked()),
    "SETITEM": lambda walk, _: walk.set(walk.popped(2)),
    "SETITEMS": lambda walk, _: walk.set(walk.marked()),
    "MARK": _PickleWalk.mark,
    "POP": _PickleWalk.pop,
    "POP_MARK": lambda walk, _: walk.marked(),
    "DUP": lambda walk, _: walk.push(walk.stack[-1]),
    "PUT": _PickleWalk.put,
    "BINPUT": _PickleWalk.put,
    "LONG_BINPUT": _PickleWalk.put,
    "MEMOIZE": _PickleWalk.put,
    "GET": _PickleWalk.get,
    "BINGET": _PickleWalk.get,
    "LONG_BINGET": _PickleWalk.get,
    "GLOBAL": _PickleWalk.global_,
    "STACK_GLOBAL": _PickleWalk.stack_global,
    "EXT1": lambda walk, code: walk.push(Named("copyreg", f"extension {code}")),
    "EXT2": lambda walk, code: walk.push(Named("copyreg", f"extension {code}")),
    "EXT4": lambda walk, code: walk.push(Named("copyreg", f"extension {code}")),
    "REDUCE": _PickleWalk.call,
    "NEWOBJ": _PickleWalk.call,
    "NEWOBJ_EX": _PickleWalk.call_with_keywords,
    "INST": _PickleWalk.inst,
    "OBJ": _PickleWalk.obj,
    "BUILD": _PickleWalk.build,
    "PERSID": _PickleWalk.external,
    "BINPERSID": lambda walk, _: walk.external(walk.popped(1)[0]),
    "NEXT_BUFFER": lambda walk, _: walk.external("a buffer beside the file"),
}
