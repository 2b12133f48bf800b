"""Checksums tell which lines of a file were edited, and whether torch made the same thing again."""

from __future__ import annotations

from depyf.run.files.checksums import changed_lines, line_checksums, meaning_checksum

TEXT = "def f():\n    a = 1\n    b = 2\n    return a + b\n"


def test_changed_lines_are_named():
    known = line_checksums(TEXT)
    assert changed_lines(TEXT, known) == ()
    assert changed_lines(TEXT.replace("b = 2", "b = 3"), known) == (3,)
    assert changed_lines(TEXT.replace("    b = 2\n", "    b = 2\n    c = 3\n    d = 4\n"), known) == (4, 5)
    assert changed_lines(TEXT.replace("    b = 2\n", ""), known) == (2,)


def test_meaning_is_told_without_comments_breaks_and_counters():
    one = "class <lambda>(torch.nn.Module):\n    def forward(self, x, y):\n        return __resume_at_3_1(x)  # File: a.py:3\n"
    other = "class GraphModule(torch.nn.Module):\n    def forward(\n        self,\n        x,\n        y,\n    ):\n        return __resume_at_3_7(x)\n"
    assert meaning_checksum(one) == meaning_checksum(other)
    assert meaning_checksum(one) != meaning_checksum(other.replace("(x)\n", "(y)\n"))
