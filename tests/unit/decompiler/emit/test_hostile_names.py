"""No string of a code object, whatever it holds, becomes a statement of its text, or a second line of an error's message."""

from __future__ import annotations

import ast
import dis
import types
from collections.abc import Callable, Iterator

import pytest

import depyf
from depyf.decompiler.bytecode.codeunit import CodeUnit
from depyf.decompiler.driver.pipeline import decompile_unit
from depyf.errors import DepyfError

MARKS = [
    "\n", "\r", "\r\n", "\v", "\f", "\x1c", "\x85", "\u2028", "\0", "\x1b[2J", "\u202e", "\ud800", '"""\n', "'''\n", "\\\n",
]  # fmt: skip
SOURCE = '''
def outer(a, b=1, *args, key):
    """doc"""
    c = a + b
    def inner(d):
        nonlocal c
        x = a.attribute
        x.other = glob
        from m import n
        with a as q:
            pass
        try:
            a()
        except E as e:
            print(e, keyword=f"{d!r} text")
        class K:
            y: int = 3
            def m(self):
                return __class__, {"one", "two"}
        return lambda t: (t, c, b"data", "text")
    return inner
'''
Change = Callable[[types.CodeType], types.CodeType]


def changes(code: types.CodeType, text: str) -> Iterator[Change]:
    """Ways to put ``text`` into one string of ``code``."""
    yield lambda code: code.replace(co_name=text)
    yield lambda code: code.replace(co_filename=text)
    if hasattr(code, "co_qualname"):
        yield lambda code: code.replace(co_qualname=text)
    for field in ("co_names", "co_varnames", "co_cellvars", "co_freevars", "co_consts"):
        for at, item in enumerate(getattr(code, field)):
            if isinstance(item, str):
                yield lambda code, field=field, at=at: code.replace(**{field: _with(getattr(code, field), at, text)})


def _with(items: tuple[object, ...], at: int, item: object) -> tuple[object, ...]:
    return (*items[:at], item, *items[at + 1 :])


def everywhere(code: types.CodeType, text: str) -> Iterator[types.CodeType]:
    """Code objects like ``code``, with ``text`` in one string of it or of what is nested in it."""
    for change in changes(code, text):
        try:
            yield change(code)
        except ValueError:  # no code object can have it
            continue
    for at, const in enumerate(code.co_consts):
        if isinstance(const, types.CodeType):
            for inner in everywhere(const, text):
                yield code.replace(co_consts=_with(code.co_consts, at, inner))


@pytest.mark.parametrize("marks", [MARKS[::2], MARKS[1::2]], ids=ascii)
def test_text_stays_text(marks: list[str]) -> None:
    hostile = "x" + "".join(f"{mark}import injected{mark}" for mark in marks)
    module = compile(SOURCE, "<subject>", "exec", dont_inherit=True)
    shown = refused = 0
    for code in everywhere(module, hostile):
        try:
            text = decompile_unit(CodeUnit.from_code(code)).shown
        except DepyfError as error:
            assert str(error).isprintable()
            refused += 1
            continue
        tree = ast.parse(text.encode())
        assert not any(isinstance(node, ast.Import) for node in ast.walk(tree)), text
        shown += 1
    assert shown > 40 and refused < shown


@pytest.mark.parametrize("mark", MARKS, ids=ascii)
def test_the_message_of_an_error_is_one_line(mark: str) -> None:
    function = next(c for c in compile(SOURCE, "s", "exec", 0, True).co_consts if isinstance(c, types.CodeType))
    hostile = f"x{mark}y"
    # some that are not in use make CPython itself crash, 255 on 3.14
    unused = max(number for number, name in enumerate(dis.opname) if name.startswith("<") and number < 150)
    code = function.replace(co_name=hostile, co_code=bytes((unused, 0)) * 4)
    if hasattr(code, "co_qualname"):
        code = code.replace(co_qualname=hostile)
    with pytest.raises(DepyfError) as caught:
        depyf.decompile(code)
    assert str(caught.value).isprintable()
