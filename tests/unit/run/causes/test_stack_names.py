"""What the program calls the values that wait while a graph breaks."""

from __future__ import annotations

import pytest

from depyf.run.causes.stack_names import waiting


@pytest.mark.parametrize(
    "line, expression, before",
    (
        ("y = 0.9 * s.avg + 0.1 * x.mean().item()", "x.mean().item()", ["0.9 * s.avg", "0.1"]),
        ("out.append(loss.item())", "loss.item()", ["out.append"]),
        ("return f(a, g(b), x.item(), c)", "x.item()", ["f", "a", "g(b)"]),
        ("if a + b < x.item():", "x.item()", ["a + b"]),
        ("table[k] = values[x.item()]", "x.item()", ["values"]),
        ("return [a, x.item(), b]", "x.item()", ["a"]),
        ("x.item()", "x.item()", []),
        ("f(x.item(), x.item())", "x.item()", []),
        ("no python here", "x.item()", []),
    ),
)
def test_what_waits(line, expression, before):
    assert waiting(line, expression) == before
