"""What the text looks like: each fixture is input and expected output."""

from __future__ import annotations

import ast
import sys
import textwrap

import pytest

from depyf.decompiler.emit import EmitOptions, emit_module
from from_ast import module

VERSION = sys.version_info[:2]


def printed(source: str, version: tuple[int, int] = VERSION, **options: object) -> str:
    unit, body = module(textwrap.dedent(source).strip() + "\n", version)
    return emit_module(unit, body, EmitOptions(**options)).text.strip()  # type: ignore[arg-type]


SAME = [
    "x = 1",
    "x = y = a, b",
    "x, *y = z",
    "(x,) = z",
    "x = (1,)",
    "x = ()",
    "x = -1",
    "x = (-1)**2",
    "x = -1**2",
    "x = 2**-1",
    "x = (a**b)**c",
    "x = a**b**c",
    "x = a - (b - c) - d",
    "x = (a, b)[0]",
    "x = (1).real + 1.5.real",
    "x = not a and b or c",
    "x = not (a or b)",
    "x = (a and b) in c",
    "x = a < b < c",
    "x = (a < b) < c",
    "x = a if b else c if d else e",
    "x = (a if b else c) if d else e",
    "x = (lambda: 1)()",
    "x = lambda a, /, b=1, *c, d, e=2, **f: (yield)",
    "x = [(yield_, 1) for yield_ in range(3) if yield_ if not x]",
    "x = {a: b for a, b in c}",
    "x = {*a, b}",
    "x = {**a, 'b': 1}".replace("'", '"'),
    "x = f(a, *b, c=1, **d)",
    "x = f(a for a in b)",
    "x = f((a for a in b), 1)",
    "x = f(y := 1)",
    "x = (y := 1)",
    "if (x := f()) and x:\n    pass",
    "if x := f():\n    pass",
    "x[a, b:c, ::d] = 1",
    "x[a + 1 :] = x[: b + 1]",
    "x[a:b:None] = 1",
    "del x, y.a, z[0]",
    "x += 1, 2",
    "x @= y",
    "assert x, (1, 2)",
    "assert (x, y)",
    "raise A from b",
    "import a.b, c as d",
    "from . import a",
    "from ..a.b import c as d, e",
    "from a import *",
    "for x, y in (1, 2), z:\n    continue\nelse:\n    x",
    "while x:\n    break",
    "with a as b, c as (d, e), f:\n    pass",
    "with (a, b) as c:\n    pass",
    "with ((a, b)):\n    pass",
    "try:\n    pass\nexcept (A, B) as e:\n    pass\nexcept C:\n    raise\nexcept:\n    pass\nelse:\n    x\nfinally:\n    y",
    "if a:\n    pass\nelif b:\n    pass\nelse:\n    x",
    "x: int = 1",
    "x.y: int = 1",
    "x = 1e309, -1e309, 1j, 0.0, -0.0",
    "x = b'\"', '\"', \"'\"".replace("b'\"'", "b'\"'"),
    'x = f"{a!r:>{b}} {{}}"',
    "x = f\"{a['b']}\"",
    'x = f"{ {1: 2} } {(lambda: 1)}"',
    "x = a in {1, 2}",
    "def f():\n    global x\n    x = 1",
    "def f():\n    x = 1\n\n    def g():\n        nonlocal x\n        x = 2",
    "def f(x):\n    def g():\n        global x\n        return x",
    'def f():\n    """Doc."""',
    'class A:\n    """Doc.\n\n    More.\n    """\n\n    __x = 1\n\n    def f(self, __y):\n        return self.__x + __y',
    "@a\n@b(1)\nclass C(D, metaclass=E):\n    pass",
    "async def f():\n    async with a as b:\n        pass\n    async for x in y:\n        await x\n    return [z async for z in await x]",
    "match x, y:\n    case [1, *_] | {'a': -1}:\n        pass\n    case A(b, c=None) as d if d:\n        pass".replace(
        "'", '"'
    ),
    "match x:\n    case a.b | 1 | None:\n        pass\n    case {1: [1 | 2 as c], **rest}:\n        pass\n    case 1 + 2j:\n        pass\n    case _:\n        pass",
]


@pytest.mark.parametrize("source", SAME)
def test_same(source: str) -> None:
    assert printed(source) == source


@pytest.mark.skipif(VERSION < (3, 11), reason="grammar of 3.11")
def test_except_star() -> None:
    source = "try:\n    pass\nexcept* A as e:\n    pass"
    assert printed(source) == source


@pytest.mark.skipif(VERSION < (3, 12), reason="grammar of 3.12")
@pytest.mark.parametrize(
    "source",
    [
        "def f[T: int, *U, **P](x: T) -> T:\n    return x",
        "class A[T](B):\n    x: T = 1",
        "type X[T] = list[T]",
        "x = f\"{'\\n'.join(a)}\"",
    ],
)
def test_newer(source: str) -> None:
    assert printed(source) == source


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("x = f'{a[\"b\"]}'", "x = f\"{a['b']}\""),
        ("x = f'''{a[\"b\"]}\"'\"\"\"'''", None),
        ("x = f'''{f\"{a['b']}\"}'''", None),
        ("x = f'{a:{b}{c!r}}'", 'x = f"{a:{b}{c!r}}"'),
    ],
)
def test_quotes_before_312(source: str, text: str | None) -> None:
    unit, body = module(source, (3, 8))
    shown = emit_module(unit, body).text.strip()
    assert text is None or shown == text
    namespace = {"a": {"b": 5}, "b": ">", "c": 8}
    expected = dict(namespace)
    if ":" in source:
        namespace["a"] = expected["a"] = 3  # type: ignore[assignment]
        namespace["c"] = expected["c"] = 8
    exec(source, expected)
    exec(shown, namespace)
    assert namespace["x"] == expected["x"]


def test_long_lines() -> None:
    source = "result = function(first_argument, second_argument, third_argument=other(1, 2, 3), fourth=[1, 2, 3])"
    assert (
        printed(source, width=60)
        == textwrap.dedent(
            """
        result = function(
            first_argument,
            second_argument,
            third_argument=other(1, 2, 3),
            fourth=[1, 2, 3],
        )
        """
        ).strip()
    )
    source = "if first_condition and second_condition or third_condition and fourth_condition:\n    pass"
    assert (
        printed(source, width=60)
        == textwrap.dedent(
            """
        if (
            first_condition and second_condition
            or third_condition and fourth_condition
        ):
            pass
        """
        ).strip()
    )
    source = "def function(first_argument, second_argument, *, third_argument=1, **others):\n    pass"
    assert printed(source, width=60) == textwrap.dedent(
        """
        def function(
            first_argument, second_argument, *, third_argument=1, **others
        ):
            pass
        """
    ).strip().replace(
        "    first_argument, second_argument, *, third_argument=1, **others",
        "\n".join(
            f"    {item}," for item in ("first_argument", "second_argument", "*", "third_argument=1", "**others")
        ),
    )


@pytest.mark.parametrize("width", [1, 20, 50])
def test_any_width_means_the_same(width: int) -> None:
    left_out = ("lambda", "raise A", "while x")  # the rest would be unreachable
    source = "\n".join(item for item in SAME if not any(part in item for part in left_out))
    unit, body = module(source, VERSION)
    narrow = emit_module(unit, body, EmitOptions(width=width)).text
    normal = emit_module(unit, body).text
    assert ast.dump(ast.parse(narrow)) == ast.dump(ast.parse(normal))


def test_line_map() -> None:
    unit, body = module("x = 1\n\n\ndef f():\n    return 2\nif x:\n    y = 3\n", VERSION)
    emitted = emit_module(unit, body)
    lines = emitted.text.split("\n")
    assert [(lines[out - 1].strip(), src) for out, src in emitted.linemap] == [
        ("x = 1", 1),
        ("def f():", 4),
        ("return 2", 5),
        ("if x:", 6),
        ("y = 3", 7),
    ]
