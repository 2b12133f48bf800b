"""Default values in the text of a live function."""

from typing import Any

import depyf
from depyf.decompiler.bytecode.codeunit import CodeUnit

MARK = object()


def plain(
    a: Any, b: Any = 1, c: Any = "x", *rest: Any, d: Any = (None, [2.5]), e: Any = ..., f: Any, **more: Any
) -> Any:
    return a, b, c, rest, d, e, f, more


def named(a: Any, b: Any = MARK, c: Any = int) -> Any:
    return a, b, c


def unnamed(a: Any, b: Any = float("nan"), c: Any = object()) -> Any:  # noqa: B008
    return a, b, c


def head(text: str) -> str:
    """The signature; in front of it a comment names the values that the text has not."""
    start = text.index("\n") + 1 if text.startswith("# Not complete: __default_") else 0
    return text[start : text.index(":\n", start)]


def test_literals() -> None:
    assert head(depyf.decompile(plain)) == 'def plain(a, b=1, c="x", *rest, d=(None, [2.5]), e=..., f, **more)'


def test_names() -> None:
    assert head(depyf.decompile(named)) == "def named(a, b=MARK, c=int)"


def test_placeholders() -> None:
    assert head(depyf.decompile(unnamed)) == "def unnamed(a, b=__default_b, c=__default_c)"


def test_a_default_is_the_value_that_it_has_now() -> None:
    def grows(found: Any = []) -> Any:  # noqa: B006
        found.append(1)
        return found

    grows()
    assert head(depyf.decompile(grows)) == "def grows(found=[1])"


def test_a_list_inside_itself() -> None:
    own: list[Any] = []
    own.append(own)

    def looped(a: Any = own) -> Any:
        return a

    assert head(depyf.decompile(looped)) == "def looped(a=__default_a)"


def test_closures_methods_and_lambdas() -> None:
    outer = 3

    def closed(x: Any, y: Any = outer) -> Any:
        return outer + x + y

    class Holder:
        def method(self, a: Any, *, key: Any = None) -> Any:
            return self, a, key

    assert "    def closed(x, y=3):\n" in depyf.decompile(closed)
    assert head(depyf.decompile(Holder().method)) == "def method(self, a, *, key=None)"
    assert depyf.decompile(lambda x, y=2: x + y) == "lambda_ = lambda x, y=2: x + y\n"


def test_a_code_object_has_none() -> None:
    assert head(depyf.decompile(named.__code__)) == "def named(a, b, c)"


def test_the_text_runs_and_its_code_is_the_same() -> None:
    space: dict[str, Any] = {}
    exec(depyf.decompile(plain), space)
    made = space["plain"]
    assert made(0, f=1) == plain(0, f=1)
    assert CodeUnit.from_code(made.__code__).code == CodeUnit.from_code(plain.__code__).code
