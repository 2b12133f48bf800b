"""Lines of Python are coloured as Pygments colours them, whether it is asked or not."""

from __future__ import annotations

import enum
import inspect
import textwrap
from types import ModuleType

import pytest

from depyf.views.report import highlighting
from depyf.views.report.highlighting import _piece_runs, _pieces, runs
from depyf.views.report.python_runs import docstring_runs, line_runs

LINES = [
    "x = 1", "    total += items[0].size(1) * -2.5e-3  # sum", "def forward(self, x):", "class Net(torch.nn.Module):",
    "@torch.compile", "@ torch", "a @ b", "x=.5+1.", "y = 0x1F | 0b1_0 | 1_000j", "if (n := len(x)) > 3 and not x.len:",
    "print(self.print, type, x.type, __init__, x.__dict__)", "s = r'a\\'' + b\"\\\"\" + ''", "d[1:2, ...] -> None",
    "lambda: (yield)", "raise ValueError('no') ", "async def f(): await g()", "\tpass;", "1if x else 2", "x!=y", "(a:=1)", "...",
    "f = rb'' 'x'", "__class__.__name__", "x.def_", "return{**a}", "is_in = not_in", "type X[T] = int", "async for x in y:",
]  # fmt: skip
ASKED = [
    "f'{x!r}'", "from a import b", "import os", "match x:", "yield from x", "x = '''", "a \\", "ü = 1", "x ? y", "'open", "def",
    "case _:", "a\rb", "rF'{x}'", "$x", "class\\", "raise x from None",
]  # fmt: skip


@pytest.fixture
def pygments_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("line_runs", "docstring_runs"):
        monkeypatch.setattr(highlighting, name, lambda text: None)
    _piece_runs.cache_clear()


@pytest.mark.parametrize("line", LINES)
def test_a_line_is_told_as_pygments_tells_it(pygments_alone: None, line: str) -> None:
    assert [line_runs(line)] == _piece_runs(line, "python")


@pytest.mark.parametrize("line", ASKED)
def test_what_takes_pygments_is_left_to_it(line: str) -> None:
    assert line_runs(line) is None


@pytest.mark.parametrize("text", ['"""One."""', '    r"""Two\n\n    lines\n    """', "'''x\\'''", '"""a"""', '""""""'])
def test_a_docstring_is_one_string(pygments_alone: None, text: str) -> None:
    assert docstring_runs(text) == _piece_runs(text, "python")


def test_what_only_begins_as_a_docstring_is_not_told() -> None:
    for text in ('"""a""" + "b"', '"""a"', 'x = """a"""', '"""a""" """b"""', '"""ü"""', 'f"""{x}"""'):
        assert docstring_runs(text) is None


@pytest.mark.parametrize("module", [inspect, textwrap, enum, highlighting])
def test_modules_are_told_as_pygments_tells_them(monkeypatch: pytest.MonkeyPatch, module: ModuleType) -> None:
    text = inspect.getsource(module)
    _piece_runs.cache_clear()
    ours = runs(text, "python")
    lines = text.split("\n")
    alone = [
        line_runs("\n".join(lines[start:end])) for start, end in _pieces(text, lines, "python") if end - start == 1
    ]
    assert sum(told is not None for told in alone) > 0.8 * len(alone)
    for name in ("line_runs", "docstring_runs"):
        monkeypatch.setattr(highlighting, name, lambda text: None)
    _piece_runs.cache_clear()
    assert ours == runs(text, "python")
