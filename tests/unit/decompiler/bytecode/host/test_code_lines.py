"""File and lines are exchanged, instructions are not; a text's code has the lines of the code that it was proven against.

Plain asserts without pytest, so that any interpreter can run it: ``PYTHONPATH=src python tests/unit/decompiler/bytecode/host/test_code_lines.py``.
"""

from __future__ import annotations

import sys
import types
from typing import Any

from depyf.decompiler.bytecode.codeunit import CodeUnit
from depyf.decompiler.bytecode.host.assemble import positions_of
from depyf.decompiler.bytecode.host.code_lines import CodeLines, borrowed_lines, line_at, lines_of, with_lines
from depyf.decompiler.verify import verify
from depyf.decompiler.verify.whole import Counterpart

SHORT = "def f(a, b):\n    x = a(1)\n    y = b(x)\n    return lambda: x + y\n"
LONG = "def f(a, b):\n" + "\n" * 300 + "    x = a(1)\n    y = b(\n        x)\n    return lambda: (\n x + y)\n"


def compiled(text: str, filename: str = "here.py") -> types.CodeType:
    module = compile(text, filename, "exec")
    return next(const for const in module.co_consts if isinstance(const, types.CodeType))


def nested(code: types.CodeType) -> types.CodeType:
    return next(const for const in code.co_consts if isinstance(const, types.CodeType))


def called(code: types.CodeType, *arguments: Any) -> Any:
    return types.FunctionType(code, {"__builtins__": __builtins__})(*arguments)


def matched(original: types.CodeType, code: types.CodeType) -> dict[int, Counterpart]:
    """What the proof says of ``code``: by id of its units."""
    unit = CodeUnit.from_code(code)
    found: dict[int, Counterpart] = {}
    assert all(verdict.proven for verdict in verify(CodeUnit.from_code(original), unit, matches=found))
    return {
        id(part.live): match
        for part in (unit, *(c for c in unit.consts if isinstance(c, CodeUnit)))
        if (match := found.get(id(part)))
    }


def borrowed(original: str, text: str) -> types.CodeType:
    before, code = compiled(original), compiled(text, "there.py")
    match = matched(before, code)[id(code)]
    assert match.original.live is before
    return with_lines(code, borrowed_lines(code, before, match.offsets))


def test_lines_of_other_code() -> None:
    short, long = compiled(SHORT), compiled(LONG, "there.py")
    assert short.co_code == long.co_code
    moved = with_lines(short, lines_of(long))
    assert moved.co_code == short.co_code and positions_of(moved) == positions_of(long)
    assert (moved.co_filename, nested(moved).co_filename) == ("there.py", "there.py")
    assert positions_of(nested(moved)) == positions_of(nested(long))
    back = with_lines(moved, lines_of(short))
    assert back == short and positions_of(back) == positions_of(short)


def test_what_is_kept_stays_the_same_object() -> None:
    code = compiled(SHORT)
    inner = nested(code)
    assert lines_of(code, [inner]).nested == ()
    assert nested(with_lines(code, lines_of(compiled(LONG)), [inner])) is inner
    assert nested(with_lines(code, lines_of(code, [inner]))) is inner


def test_each_call_has_the_line_of_the_one_that_it_is() -> None:
    original = "def f(a, b, c):\n    return a(\n        b(1),\n        c(\n            2),\n    )\n"
    text = "def f(a, b, c):\n    __temp_1 = b(1)\n    return a(__temp_1, c(2))\n"
    for write in (text, text.replace("__temp_1 = b(1)\n    return a(__temp_1,", "return a(b(1),")):
        code = borrowed(original, write)
        seen = []

        def look(value: Any, *_: Any) -> Any:
            seen.append(sys._getframe(1).f_lineno)
            return value

        for _ in range(20):  # with specialised instructions as well
            called(code, look, look, look)
        assert seen == [3, 4, 2] * 20, seen


def test_an_exception_has_the_line_of_what_raised_it() -> None:
    original = "def f(x, y):\n    a = x.real\n    b = (a +\n         x[y])\n    del x\n    return b // y\n"
    code = borrowed(original, "def f(x, y):\n    a = x.real; b = a + x[y]; del x; return b // y\n")

    class Sequence(int):
        def __getitem__(self, index: int) -> int:
            return [3][index]

    for arguments, line in (((object(), 0), 2), ((1, 0), 4), ((Sequence(1), 0), 6), ((Sequence(1), 5), 4)):
        try:
            called(code, *arguments)
        except Exception as error:
            entry = error.__traceback__
            while entry is not None and entry.tb_frame.f_code is not code:
                entry = entry.tb_next
            assert entry is not None
            assert (entry.tb_lineno, line_at(code, entry.tb_lasti)) == (line, line), (arguments, entry.tb_lineno)
        else:
            raise AssertionError("nothing is raised")


def test_both_ways_of_a_branch() -> None:
    original = (
        "def f(x, t):\n    if x:\n        t(1)\n    else:\n        t(2)\n    while x:\n        x = t(0)\n    return x\n"
    )
    code = borrowed(
        original,
        original.replace("if x:", "if not x:\n        t(2)\n    else:", 1).replace(
            "    else:\n        t(2)\n    while", "    while"
        ),
    )
    for value, lines in ((1, [3, 7]), (0, [5])):
        seen = []

        def look(_: Any) -> None:
            seen.append(sys._getframe(1).f_lineno)

        called(code, value, look)
        assert seen == lines, seen


def test_nested_code_that_is_the_same() -> None:
    before, code = compiled(LONG), compiled(SHORT, "there.py")
    found = matched(before, code)
    inner = nested(code)
    lines = borrowed_lines(inner, found[id(inner)].original.live or inner, found[id(inner)].offsets)
    assert positions_of(with_lines(inner, lines)) == positions_of(nested(before))


def test_far_lines_and_long_instructions() -> None:
    names = "".join(f"    a{i} = {i}.5\n" for i in range(300))
    original = f"def f(t):\n{names}" + "\n" * 500 + "    t(a299)\n    return t(a0)\n"
    code = borrowed(original, f"def f(t):\n{names}    t(a299); return t(a0)\n")
    seen: list[int] = []
    called(code, lambda _: seen.append(sys._getframe(1).f_lineno))
    assert seen == [802, 803]


def test_nothing_but_the_lines_differs() -> None:
    code = compiled(SHORT)
    moved = with_lines(code, CodeLines("there.py", 7, code.co_linetable, lines_of(code).nested))
    for name in dir(code):
        if not name.startswith("co_") or name in ("co_lnotab", "co_consts") or callable(getattr(code, name)):
            continue
        assert (getattr(moved, name) == getattr(code, name)) is (name not in ("co_filename", "co_firstlineno")), name


def main() -> None:
    """Run every test here; the last line says how many there were."""
    tests = [item for name, item in globals().items() if name.startswith("test_")]
    for test in tests:
        test()
    print(f"{sys.version.split()[0]}: {len(tests)} tests passed")


if __name__ == "__main__":
    main()
