"""Token runs: line by line they are what the whole text gives."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from depyf.views.report import highlighting, python_runs
from depyf.views.report.highlighting import language, runs

PYTHON = '''
class Graph(torch.nn.Module):
    """Doc # no comment
    "quoted" and 'so'
    """
    def forward(self, x: "f32[4]"):
        # File: a.py:3 in f, code: '\'\'\'
        relu: "f32[4]" = torch.ops.aten.relu.default(x);  x = None
        total = 1 + \\
            2
        return ("a" 'b', r\'\'\'
kernel "text" # of
another\'\'\' + "c", relu)  # end
@triton.jit
def kernel(x): return f"{x!r} \\N{BULLET}"
'''
CPP = """// Kernel one, called in a.py
#include <torch/csrc/inductor/cpp_prefix.h>
/* over
   two "lines */ extern "C" void kernel(const float* in_ptr0, float* out_ptr0)
#define TWICE(x) \\
    ((x) + (x))
{
    for(int64_t x0=static_cast<int64_t>(0LL); x0<static_cast<int64_t>(32LL); x0+=static_cast<int64_t>(16LL))
        auto tmp0 = at::vec::Vectorized<float>::loadu(in_ptr0 + static_cast<int64_t>(x0), '\\'');
}
"""


def whole(text: str, lexer: str) -> list[list[tuple[str, str]]]:
    """What Pygments makes of the text in one go, as letters and pieces of each line."""
    from pygments.lexers import get_lexer_by_name

    from depyf.views.report.highlighting import _letter

    lines: list[list[tuple[str, str]]] = [[]]
    for kind, value in get_lexer_by_name(lexer, stripnl=False, ensurenl=False).get_tokens(text):
        for number, part in enumerate(value.split("\n")):
            if number:
                lines.append([])
            if part:
                lines[-1].append((_letter(kind), part))
    return lines


def pieces(line: str, run: str) -> list[tuple[str, str]]:
    found, place = [], 0
    for letter, length in re.findall(r"([a-z])(\d+)", run):
        found.append((letter, line[place : place + int(length)]))
        place += int(length)
    return found


@pytest.mark.parametrize(("text", "name"), [(PYTHON, "a.py"), (CPP, "k.cpp")])
def test_lines_alone_are_as_in_the_whole(text: str, name: str) -> None:
    lexer = language(name)
    lines = text.split("\n")
    found = runs(text, lexer)
    assert len(found) == len(lines)
    for line, run, wanted in zip(lines, found, whole(text, lexer)):
        coloured = "".join(letter * len(piece) for letter, piece in wanted).rstrip("t")
        assert "".join(letter * len(piece) for letter, piece in pieces(line, run)) == coloured
        assert "".join(piece for _, piece in pieces(line, run)) == line[: len(coloured)]


def test_lengths_are_those_of_javascript() -> None:
    assert runs('x = "😀"  # 😀', "python") == ["t2o1t1s4t2c4"]


@pytest.mark.parametrize("text", ["", "\n", "x", "'''", '"""open\nend', "a \\", "#if 0\nx\n#endif\n"])
def test_there_is_a_run_for_each_line(text: str) -> None:
    for lexer in ("python", "cpp", "cuda", ""):
        assert len(runs(text, lexer)) == len(text.split("\n"))


def test_a_line_that_repeats_is_looked_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    from depyf.views.report import highlighting

    asked = []
    real = highlighting._lexer
    monkeypatch.setattr(highlighting, "_lexer", lambda name: asked.append(name) or real(name))
    runs("\n".join(["import never_seen_before"] * 100), "python")
    assert len(asked) == 1


ODD = ("\0", "x", "\t", "(", "[({", "'", '"\\', "\\'''", "`", "f'{", "/*", "1", "a.", "\u2028é")
"""What fills files that are no code."""


class Read:
    """A pattern that counts the characters it goes through."""

    def __init__(self, pattern: re.Pattern[str]) -> None:
        self.pattern = pattern
        self.characters = 0

    def search(self, text: str, place: int) -> re.Match[str] | None:
        found = self.pattern.search(text, place)
        self.characters += (len(text) if found is None else found.end()) - place
        return found


@pytest.mark.parametrize("lexer", ("python", "cpp"))
@pytest.mark.parametrize("filling", [*ODD, *(f"{odd}\n" for odd in ODD)])
def test_what_is_open_is_read_once(filling: str, lexer: str, monkeypatch: pytest.MonkeyPatch) -> None:
    counted = {opener: Read(pattern) for opener, pattern in highlighting._ENDS.items()}
    monkeypatch.setattr(highlighting, "_ENDS", counted)
    text = filling * 3_000
    assert len(runs(text, lexer)) == text.count("\n") + 1
    assert sum(read.characters for read in counted.values()) < 4 * len(text)


@pytest.mark.parametrize("filling", ODD)
def test_pygments_is_not_asked_of_lines_that_are_no_code(filling: str, monkeypatch: pytest.MonkeyPatch) -> None:
    tokens = 0

    class Counting:
        def __init__(self, lexer: Any) -> None:
            self.lexer = lexer

        def get_tokens(self, text: str) -> Iterator[Any]:
            nonlocal tokens
            for token in self.lexer.get_tokens(text):
                tokens += 1
                yield token

    real = highlighting._lexer
    monkeypatch.setattr(highlighting, "_lexer", lambda name: Counting(real(name)))
    runs(filling * 20_000, "python")
    assert tokens == 0
    runs("".join("\0" * 500 + f"{n}\n" for n in range(20)), "cpp")
    assert tokens < 20 * 40


def test_a_string_that_is_open_ends_the_quick_way() -> None:
    """A search would begin anew at each quotation mark."""
    read = Read(python_runs._TOKEN)
    with pytest.MonkeyPatch.context() as patch:
        read.match = lambda line, place: read.search(line, place) and None  # type: ignore[attr-defined]
        patch.setattr(python_runs, "_TOKEN", read)
        assert python_runs.line_runs('"\\' * 50) is None
    assert read.characters <= 100
