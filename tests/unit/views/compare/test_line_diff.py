"""Differences of long texts: right, as short as one would write them, and made in time that grows with the texts."""

import random

import pytest

from depyf.views.compare import line_diff
from depyf.views.compare.line_diff import unified
from work import calls


def applied(before: str, diff: tuple[str, ...]) -> str:
    """What ``patch`` makes of ``before``."""
    lines, out, at = before.splitlines(), list[str](), 0
    for line in diff[2:]:
        if line.startswith("@@"):
            start, _, count = line.split()[1][1:].partition(",")
            first = int(start) - (count != "0")
            out += lines[at:first]
            at = first
        elif line[0] == "+":
            out.append(line[1:])
        else:
            assert lines[at] == line[1:]
            out += [line[1:]] * (line[0] == " ")
            at += 1
    return "".join(line + "\n" for line in out + lines[at:])


@pytest.mark.parametrize("kinds", [5, 300, 10**9])
def test_long_texts(kinds: int, monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = random.Random(kinds)
    before = [f"line {chosen.randrange(kinds)}" for _ in range(400)]
    after = [line for line in before if chosen.random() > 0.03]
    for _ in range(10):
        after.insert(chosen.randrange(len(after)), "new")
    one, two = ("".join(line + "\n" for line in lines) for lines in (before, after))
    usual = unified(one, two, ("a", "b"))
    assert applied(one, usual) == two
    monkeypatch.setattr(line_diff, "_SMALL", 0)
    long = unified(one, two, ("a", "b"))
    assert applied(one, long) == two
    assert kinds == 5 or len(long) <= 1.1 * len(usual)


@pytest.mark.parametrize("text", ["alternating", "reversed", "few"])
def test_time_grows_with_the_text(text: str) -> None:
    def made(n: int) -> tuple[str, str]:
        if text == "alternating":
            return "".join(f"{i}\na{i}\n" for i in range(n)), "".join(f"{i}\nb{i}\n" for i in range(n))
        if text == "reversed":
            return "".join(f"{i}\n" for i in range(n)), "".join(f"{i}\n" for i in reversed(range(n)))
        return "".join(f"{i % 7}\n" for i in range(n)), "".join(f"{i % 5}\n" for i in range(n))

    few, many = (calls(lambda n=n: unified(*made(n), ("a", "b"))) for n in (4000, 8000))
    assert many < 2.6 * few
