"""Code that runs with the program's lines is found in the dump, and the other way round, as long as it lives."""

from __future__ import annotations

import gc
import types

import pytest

from depyf.decompiler.bytecode.host.code_lines import lines_of, with_lines
from depyf.run.places import two_places

IN_PROGRAM = "\n\ndef f(x):\n    def g():\n        return x\n\n    return g()\n"
IN_DUMP = "\n" * 10 + "def f(x):\n    def g(): return x\n    return g()\n"


def compiled(text: str, filename: str) -> types.CodeType:
    module = compile(text, filename, "exec")
    return next(const for const in module.co_consts if isinstance(const, types.CodeType))


def nested(code: types.CodeType) -> types.CodeType:
    return next(const for const in code.co_consts if isinstance(const, types.CodeType))


@pytest.fixture
def running(monkeypatch: pytest.MonkeyPatch) -> types.CodeType:
    monkeypatch.setattr(two_places, "_known", {})
    code = with_lines(compiled(IN_DUMP, "dump.py"), lines_of(compiled(IN_PROGRAM, "program.py")))
    two_places.remember(code, lines_of(compiled(IN_DUMP, "dump.py")), compiled.__code__)
    return code


def last(code: types.CodeType) -> int:
    return len(code.co_code) - 2


def test_place_in_dump(running: types.CodeType) -> None:
    assert two_places.place_in_dump(running, last(running)) == ("dump.py", 13)
    assert two_places.place_in_dump(nested(running), last(nested(running))) == ("dump.py", 12)
    assert two_places.place_in_program(running, last(running)) is None
    assert two_places.place_in_dump(compiled.__code__, 0) is None


def test_place_in_program(running: types.CodeType) -> None:
    lines = two_places.lines_in_dump(running)
    assert lines is not None
    dumped = two_places.dumped(running, lines)
    assert (dumped.co_filename, dumped.co_firstlineno) == ("dump.py", 11)
    assert two_places.place_in_program(dumped, last(dumped)) == ("program.py", 3, 7)
    assert two_places.place_in_program(nested(dumped), last(nested(dumped))) == ("program.py", 4, 5)
    assert two_places.place_in_dump(dumped, 0) is None and two_places.lines_in_dump(dumped) is None
    assert two_places.originals() == [compiled.__code__]


def test_an_equal_code_object_is_another_one(running: types.CodeType) -> None:
    other = running.replace()
    assert other == running and two_places.lines_in_dump(other) is None


def test_what_ends_is_forgotten(running: types.CodeType, request: pytest.FixtureRequest) -> None:
    lines = two_places.lines_in_dump(running)
    assert lines is not None
    count = len(two_places._known)
    dumped = two_places.dumped(running, lines)
    assert len(two_places._known) == 2 * count
    del dumped
    gc.collect()
    assert len(two_places._known) == count
