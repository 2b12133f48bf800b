"""Small ``.pyc`` files of the running interpreter that expand: in memory, in text, in time."""

from __future__ import annotations

import importlib.util
import marshal
import opcode
import struct
import sys
from collections.abc import Callable
from types import CodeType
from typing import Any

PRIME = 2**61 - 1
"""Integers are hashed modulo this."""
MARK = "@@MARK@@"
BOMBS: dict[str, Callable[[], bytes]] = {}


def bomb(make: Callable[[], bytes]) -> Callable[[], bytes]:
    BOMBS[make.__name__] = make
    return make


def pyc(code: CodeType) -> bytes:
    return importlib.util.MAGIC_NUMBER + bytes(12) + marshal.dumps(code)


def module(text: str) -> CodeType:
    return compile(text, "bomb.py", "exec", dont_inherit=True)


def with_consts(code: CodeType, change: Callable[[Any], Any]) -> CodeType:
    return code.replace(co_consts=tuple(map(change, code.co_consts)))


def with_mark(value: Any, text: str = f"x = {MARK!r}") -> bytes:
    """``value`` where the mark stands."""
    return pyc(with_consts(module(text), lambda const: value if const == MARK else const))


def with_marshalled(body: bytes, text: str) -> bytes:
    """The same for a value that is given as marshal data: the interpreter itself would need too long to make it."""
    data = with_mark(MARK, text)
    at = data.index(MARK.encode()) - 2
    return data[:at] + bytes((body[0] | data[at] & 0x80,)) + body[1:] + data[at + 2 + len(MARK) :]


def long_int(value: int) -> bytes:
    digits = []
    while value:
        digits.append(value & 0x7FFF)
        value >>= 15
    return struct.pack(f"<cI{len(digits)}H", b"l", len(digits), *digits)


def repeated(text: str, operation: str, count: int) -> bytes:
    """``text``, in which ``operation`` stands once, with it repeated."""
    code = module(text)
    number = opcode.opmap[operation]
    at = next(i for i in range(0, len(code.co_code), 2) if code.co_code[i] == number)
    return pyc(code.replace(co_code=code.co_code[:at] + code.co_code[at : at + 2] * count + code.co_code[at + 2 :]))


@bomb
def shared_tuples() -> bytes:
    value: tuple[Any, ...] = ()
    for _ in range(25):
        value = (value, value)
    return with_mark(value)


@bomb
def shared_sets() -> bytes:
    value: Any = frozenset()
    for number in range(13):
        value = (frozenset((value, number)), value)
    return with_mark(value)


@bomb
def shared_functions() -> bytes:
    around = module("def f():\n    def g(): pass\n    def h(): pass\n").co_consts[0]
    inner = around
    for _ in range(14):
        inner = with_consts(around, lambda const, inner=inner: inner if isinstance(const, CodeType) else const)
    return pyc(with_consts(module("def f(): pass"), lambda const: inner if isinstance(const, CodeType) else const))


@bomb
def one_function_often() -> bytes:
    large = module("def f(a):\n" + "    a\n" * 2000).co_consts[0]
    code = module("def f(): pass\n" * 3000)
    return pyc(with_consts(code, lambda const: large if isinstance(const, CodeType) else const))


@bomb
def long_names() -> bytes:
    return pyc(module("x\n" * 20_000).replace(co_names=("a" * 50_000,)))


@bomb
def long_attributes() -> bytes:
    return pyc(module("x.y\n" * 10_000).replace(co_names=("x", "a" * 50_000)))


@bomb
def long_locals() -> bytes:
    function = module("def f(a):\n" + "    a = a\n" * 10_000).co_consts[0].replace(co_varnames=("a" * 50_000,))
    return pyc(with_consts(module("def f(): pass"), lambda const: function if isinstance(const, CodeType) else const))


@bomb
def long_keywords() -> bytes:
    names = tuple("a" * 1000 + str(i) for i in range(20))
    text = "f(" + ", ".join(f"k{i}=x" for i in range(20)) + ")\n"
    return pyc(with_consts(module(text * 5000), lambda const: names if isinstance(const, tuple) else const))


@bomb
def long_constants() -> bytes:
    return with_mark("long text " * 10_000, f"x = {MARK!r}\n" * 20_000)


@bomb
def long_tuples() -> bytes:
    return with_mark(tuple(range(20_000)), f"x = {MARK!r}\n" * 20_000)


@bomb
def long_docstrings() -> bytes:
    """Lines that are indented by the depth at which they stand."""
    text = "a\n" * 20_000
    inner = module(f"def f():\n    {MARK!r}\n    def g(): {MARK!r}\n")
    inner = with_consts(inner.co_consts[0], lambda const: text if const == MARK else const)
    for _ in range(90):
        inner = with_consts(inner, lambda const, inner=inner: inner if isinstance(const, CodeType) else const)
    return pyc(with_consts(module("def f(): pass"), lambda const: inner if isinstance(const, CodeType) else const))


@bomb
def colliding_integers() -> bytes:
    count = 40_000
    items = b"".join(long_int(k * PRIME) for k in range(1, count + 1))
    return with_marshalled(b">" + struct.pack("<I", count) + items, f"x in {MARK!r}")


@bomb
def colliding_constants() -> bytes:
    count = 20_000
    items = b"".join(long_int(k * PRIME) for k in range(1, count + 1))
    return with_marshalled(b"(" + struct.pack("<I", count) + items, f"x = {MARK!r}")


@bomb
def colliding_complex_numbers() -> bytes:
    count = 30_000
    items = b"".join(struct.pack("<cdd", b"y", 10**12 - 1000003 * k, k) for k in range(1, count + 1))
    return with_marshalled(b">" + struct.pack("<I", count) + items, f"x in {MARK!r}")


@bomb
def colliding_tuples() -> bytes:
    count = 20_000
    items = b"".join(b")\x01" + long_int(k * PRIME) for k in range(1, count + 1))
    return with_marshalled(b">" + struct.pack("<I", count) + items, f"x in {MARK!r}")


@bomb
def huge_integer() -> bytes:
    return with_mark(3**300_000)


@bomb
def deep_tuples() -> bytes:
    return with_marshalled(b")\x01" * 100_000 + b"N", f"x = {MARK!r}")


@bomb
def unary_operators() -> bytes:
    return repeated("x = -x", "UNARY_NEGATIVE", 20_000)


@bomb
def nested_brackets() -> bytes:
    """Each of thousands of brackets would be indented by those around it."""
    code = module("x = not -x")
    number = [opcode.opmap[name] for name in ("UNARY_NEGATIVE", "UNARY_NOT")]
    at = next(i for i in range(0, len(code.co_code), 2) if code.co_code[i] == number[0])
    return pyc(code.replace(co_code=code.co_code[:at] + bytes((number[0], 0, number[1], 0)) * 5000 + code.co_code[at:]))


@bomb
def extended_arguments() -> bytes:
    code = module("x = y")
    at = 2 * (sys.version_info >= (3, 11))
    return pyc(code.replace(co_code=code.co_code[:at] + bytes((opcode.EXTENDED_ARG, 0)) * 100_000 + code.co_code[at:]))


@bomb
def deep_stack() -> bytes:
    return pyc(module("x = y").replace(co_stacksize=2**31 - 1))


@bomb
def endless_number_in_the_line_table() -> bytes:
    """From 3.11 on: a number of a million groups of six bits."""
    return pyc(module("x = y").replace(co_linetable=bytes((0x80 | 13 << 3,)) + b"\x7f" * 1_000_000 + b"\0"))


@bomb
def handlers_around_everything() -> bytes:
    """From 3.11 on: thousands of handlers, each of the whole code, which search it again and again."""
    code = module("x\n" * 20_000)
    if sys.version_info < (3, 11):
        return pyc(code)

    def entry(*values: int) -> bytes:
        return b"".join(bytes((64 | v >> 18 & 63, 64 | v >> 12 & 63, 64 | v >> 6 & 63, v & 63)) for v in values)

    table = b"".join(entry(k % 2, 20_000, 1, 0) for k in range(5000))
    return pyc(code.replace(co_exceptiontable=table))


def doubling(build: str, const: object, rounds: int) -> bytes:
    """A constant joined with itself, again and again: without jumps, in a handful of instructions."""
    copy = ("COPY", 1) if sys.version_info >= (3, 11) else ("DUP_TOP", 0)
    names = [("LOAD_CONST", 1), *[copy, (build, 2)] * rounds, ("STORE_NAME", 0), ("LOAD_CONST", 0), ("RETURN_VALUE", 0)]
    start = [("RESUME", 0)] if sys.version_info >= (3, 11) else []
    code = bytes(value for name, arg in (*start, *names) for value in (opcode.opmap[name], arg))
    return pyc(module("x = 1").replace(co_code=code, co_consts=(None, const), co_stacksize=4))


@bomb
def doubled_strings() -> bytes:
    return doubling("BUILD_STRING", "ab", 40)


@bomb
def doubled_tuples() -> bytes:
    return doubling("BUILD_TUPLE", 1, 60)


@bomb
def sets_shared_by_tuples() -> bytes:
    value = frozenset({0})
    for number in range(14):
        value = frozenset({value, (value, number)})
    return with_mark(value, f"x = y in {MARK!r}")


@bomb
def handlers_in_a_chain() -> bytes:
    """From 3.11 on: each instruction's handler is the next one."""
    code = module("x\n" * 8000)
    if sys.version_info < (3, 11):
        return pyc(code)

    def number(value: int) -> bytes:
        return bytes((64 | value >> 18 & 63, 64 | value >> 12 & 63, 64 | value >> 6 & 63, value & 63))

    count = len(code.co_code) // 2 - 3
    table = b"".join(number(k) + number(1) + number(k + 1) + number(0) for k in range(1, count))
    return pyc(code.replace(co_exceptiontable=table))
