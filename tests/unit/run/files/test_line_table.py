"""The lines of a page and the lines of the program: what is stored says the same again, whatever else says nothing."""

from __future__ import annotations

import pytest

from depyf.run.files.checksums import line_as_it_is, line_as_written, line_checksums
from depyf.run.files.line_table import NO_ORIGIN, LineOrigin, LineTable, line_table
from depyf.run.places.place import Place

F = Place("/work/my program.py", 3, "f", "x = g(x)  # a:1")
ORIGINS = [
    NO_ORIGIN,
    NO_ORIGIN,
    LineOrigin(F, "0/0"),
    LineOrigin(F, "0/0"),
    LineOrigin(None, "0/1"),
    LineOrigin(F),
    NO_ORIGIN,
]


def test_what_is_stored_says_the_same_again() -> None:
    table = line_table(ORIGINS)
    assert table == LineTable("2 2:3:0:1:2:3 1:::::4 1:3:0:1:2 1", (F.filename, "f", F.text, "0/0", "0/1"))
    assert [table.at(number) for number in range(1, 8)] == ORIGINS
    assert table.count == 7 and [number for number, _ in table.starts()] == [1, 3, 5, 6, 7]


@pytest.mark.parametrize("line", [-1, 0, 8, 10**9])
def test_other_lines_have_no_origin(line: int) -> None:
    assert line_table(ORIGINS).at(line) == NO_ORIGIN


DAMAGED = [
    "",
    ":",
    "x",
    "1:x",
    "1:1",
    "1:1:9",
    "1:1:-1",
    "99999999999:1:0",
    "1:99999999999:0",
    "1:1:x:x:x:x:x:x",
    "\u0663:1:0x",
]


@pytest.mark.parametrize("text", DAMAGED)
def test_of_a_damaged_table_nothing_is_known(text: str) -> None:
    assert LineTable(text, ("a.py",)).at(1).place is None


def test_lines_of_an_edited_text() -> None:
    written = line_checksums("a\nb\nc\nd\n")
    now = "new\na\nb\nC\nd\n"
    assert [line_as_written(now, written, line) for line in range(1, 7)] == [
        (0, 1),
        (1, 1),
        (2, 2),
        (2, 4),
        (4, 4),
        (5, 5),
    ]
    assert [line_as_it_is(now, written, line) for line in range(1, 6)] == [2, 3, 0, 5, 6]
