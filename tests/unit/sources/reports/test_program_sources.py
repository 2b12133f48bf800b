"""The source text of functions, found by file and line: how much is read for it."""

from __future__ import annotations

import inspect
import linecache

import pytest

from depyf.run.records import CodeRecord
from depyf.safety.unheard import spelled_out
from depyf.sources.reports.program_sources import ProgramSources
from work import calls


def record(filename: str, name: str, line: int) -> CodeRecord:
    return CodeRecord(name, name, filename, line, (), (), (), None, None, ())


def program(text: str, monkeypatch: pytest.MonkeyPatch) -> str:
    name = f"<program of {len(text)} characters>"
    monkeypatch.setitem(linecache.cache, name, (len(text), None, text.splitlines(keepends=True), name))
    return name


FUNCTION = """\
def f{n}(x):
    # a comment
    text = "{n}" + '\\d'
    return [x for x in {n}if x else text]

"""
"""With an escape that Python does not know, and a number before a keyword."""
LAMBDA = "g{n} = lambda x: '\\d' + x\n"


@pytest.mark.parametrize("end", ("", "pattern = '\\\\d'\n"))
def test_each_function_has_its_text(end: str, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "".join(FUNCTION.format(n=n) for n in range(5)) + end
    name = program(text, monkeypatch)
    sources = ProgramSources()
    for n in range(5):
        expected = FUNCTION.format(n=n).rstrip()
        assert sources.with_source(record(name, f"f{n}", 5 * n + 1)).source == expected
        lines = spelled_out(text).splitlines(keepends=True)[5 * n :]
        assert len(inspect.getblock(lines)) == len(expected.splitlines())


def test_each_expression_has_its_text(monkeypatch: pytest.MonkeyPatch) -> None:
    text = (
        "é = 1\n"
        + "".join(f"é, g{n} = 1, lambda x: (x +\n    {n})\n" for n in range(5))
        + "one, two = lambda: 1, lambda: 2\n"
    )
    name = program(text, monkeypatch)
    sources = ProgramSources()
    for n in range(5):
        assert sources.with_source(record(name, "<lambda>", 2 * n + 2)).source == f"lambda x: (x +\n    {n})"
    assert sources.with_source(record(name, "<lambda>", 12)).source == "one, two = lambda: 1, lambda: 2"
    assert sources.with_source(record(program("x = (", monkeypatch), "<lambda>", 1)).source == ""


@pytest.mark.parametrize(("text", "name", "lines"), ((FUNCTION, "f{n}", 5), (LAMBDA, "<lambda>", 1)))
def test_the_work_grows_with_the_file(text: str, name: str, lines: int, monkeypatch: pytest.MonkeyPatch) -> None:
    def work(count: int) -> int:
        whole = "".join(text.format(n=n) for n in range(count))
        file = program(whole, monkeypatch)
        sources = ProgramSources()
        return calls(lambda: [sources.with_source(record(file, name.format(n=n), lines * n + 1)) for n in range(count)])

    assert work(80) < 2.2 * work(40)
