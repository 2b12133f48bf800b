"""Which variables are computed from a line."""

from __future__ import annotations

from depyf.run.uses.computed_from import computed_from, made_by

SOURCE = """\
    def f(self, box, mask):
        w = int(box[2]) + 1
        if mask:
            area = w * 2
        total = 0
        total += area
        other = mask + 1
        self.w = w
        return total, other
"""


def test_variables_that_follow_from_a_line() -> None:
    assert computed_from(SOURCE, 11, 10) == {"w", "area", "total"}
    assert computed_from(SOURCE, 16, 10) == {"other"}
    assert computed_from(SOURCE, 18, 10) == frozenset()


def test_what_is_no_python_says_nothing() -> None:
    assert computed_from("def f(:", 1, 1) == frozenset()


def test_whose_results_a_line_reads() -> None:
    lines = [
        "def f(self, x, n):",
        "    packed = rnn.pack_sequence(x)",
        "    n = g(n)",
        "    n = h(n)",
        "    y = self.gru(packed, n)",
    ]
    assert made_by(lines, 5) == {"pack_sequence", "gru"} and made_by(lines, 3) == {"g"}
    assert made_by(["def f(:"], 1) == frozenset()
