"""The line that counts a value, before the one that uses it."""

from __future__ import annotations

import pytest

from depyf.run.uses.counted import counting_line


@pytest.mark.parametrize(
    ("source", "name", "line", "wanted"),
    [
        ("def f(x):\n    global n\n    n += 1\n    return x + n\n", "n", 13, 12),
        ("def f(x):\n    global n\n    n = n - 1\n    return x + n\n", "n", 13, 12),
        ("    def f(self, x):\n        self.n += 1\n        if x:\n            return self.n\n", "self.n", 13, 11),
        ("def f(x):\n    if x:\n        n += 1\n    return x + n\n", "n", 13, 0),  # it may not have run
        ("def f(x):\n    y = x + n\n    n += 1\n", "n", 11, 0),
        ("def f(x):\n    def g():\n        n += 1\n    return n\n", "n", 13, 0),
        ("def f(x):\n    m += 1\n    n = x + 1\n    return n\n", "n", 13, 0),
        ("def f(x):\n    n *= 2\n    return n\n", "n", 12, 0),
        ("no Python at all", "n", 12, 0),
    ],
)
def test_counting_line(source, name, line, wanted):
    assert counting_line(source, name, line, 10) == wanted
