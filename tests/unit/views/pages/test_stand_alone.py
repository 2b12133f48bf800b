"""A function without the default values that only its own module can evaluate."""

from __future__ import annotations

import ast

import pytest

from depyf.views.pages.stand_alone import without_defaults


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("def f(x, y=2, *, z=(1, 'a')):\n    return x", "@d\ndef f(x, y=2, *, z=(1, 'a')):\n    return x"),
        ("@other\ndef f(x, y=LIMIT): return x", "# Default values: y=LIMIT\n@d\ndef f(x, y=...): return x"),
        (
            "async def f(a, /, b=g(1,\n    2), *c, d=D.e, e=-1):\n    return é",
            "# Default values: b=g(1, 2), d=D.e\n@d\nasync def f(a, /, b=...\n, *c, d=..., e=-1):\n    return é",
        ),
        ("def f(é='ü', b=B):\n    return 1", "# Default values: b=B\n@d\ndef f(é='ü', b=...):\n    return 1"),
    ],
)
def test_defaults(source, expected):
    found = without_defaults(source, ast.parse(source).body[0], "@d")
    assert found == expected
    compile(found, "<page>", "exec")
