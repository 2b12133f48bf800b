"""What is said of the lines that only tell the compiler something."""

from __future__ import annotations

import pytest

from depyf.decompiler.emit.scopes import never_run


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("    if 0: shared = lambda: (a, y)", "makes a, y shared with other functions"),
        ("if 0: shared_ = lambda: a", "makes a shared with other functions"),
        ("if 0: shared = lambda: (a, b), c", "makes a, b, c shared with other functions"),
        ("    if 0: c = d = None", "makes it a local variable"),
        ("    if 0: yield  # why", "makes this a generator"),
        ("if 0: self.x = None", ""),
        ("if 0: [x for x in ()]", ""),
        ("if x: yield", ""),
        ("if 1: c = None", ""),
        ('    print("if 0: yield")', ""),
        ("if 0: yield )", ""),
        ("", ""),
    ],
)
def test_the_line_is_read_as_it_is_written(line: str, said: str) -> None:
    assert never_run(line) == said
