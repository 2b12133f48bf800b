"""What a class declares ``global`` or ``nonlocal``, where only its type parameters, or the compiler itself, use the name."""

from __future__ import annotations

import pytest

from depyf.decompiler.driver.pipeline import decompile_unit
from foreign import VERSIONS, compiled_text

OWN = (
    "__module__",
    "__name__",
    "__qualname__",
    "__doc__",
    "__annotations__",
    "__classcell__",
    "__type_params__",
    "__annotate__",
    "__annotate_func__",
    "__static_attributes__",
    "__firstlineno__",
)
BODIES = ("x = 1", "'doc'", "x: int = 1", "def m(self): self.a = super()", "x = lambda: {name}", "{name} = 24")
GENERIC = (
    "def m[U](self, x=y, *, z: y = y) -> y: return x",
    "class I[U](y, k=y): z = y",
    "def m[U: y, *V](self, x=lambda q=y: q): pass",
    "def m[U](self, x=[(y, u) for u in k if y]): pass",
    "type A[U: y] = (y, U)",
    "type A = y",
    "@y\n        class I[U](*y):\n            def n[V](self, x=y): y = 3; return y",
    "def m[U](self, x=y): global y; y = 2",
    "for y in k:\n            def m[U](self, x=y): yield y",
)


def check(version: str, texts: list[str]) -> None:
    """All are proven; one class a function or module, so that each declares its names by itself."""
    for text in texts:
        result = decompile_unit(compiled_text(version, text))
        assert result.proven, f"{text}\n{result.source}"
        assert "__temp" not in result.source


@pytest.mark.parametrize("version", VERSIONS)
def test_names_that_the_compiler_uses_itself(version: str) -> None:
    texts = []
    for name in OWN:
        for body in BODIES:
            line = body.format(name=name)
            texts.append(f"class K:\n  {line}\n  z = 2\n")
            texts.append(f"class K:\n  z = 2\n  {line}\n")
            texts.append(f"class K:\n  global {name}\n  {line}\n")
            texts.append(f"def f({name}):\n  class K:\n    nonlocal {name}\n    {line}\n  return {name}\n")
    check(version, texts)


@pytest.mark.parametrize("version", VERSIONS[4:])
def test_names_that_type_parameters_use(version: str) -> None:
    texts = []
    for inner in GENERIC:
        for declared in ("global y", "nonlocal y", "y = 1", "pass"):
            texts.append(f"def f(y, k):\n    class K:\n        {declared}\n        {inner}\n    return K, y\n")
            if not declared.startswith("nonlocal"):
                texts.append(f"class K[T]:\n        {declared}\n        {inner}\n")
    check(version, texts)


@pytest.mark.parametrize("version", VERSIONS)
def test_the_first_line_is_the_programs_before_3_13(version: str) -> None:
    result = decompile_unit(compiled_text(version, "class K:\n    __firstlineno__ = 24\n    y = 1\n"))
    assert result.source == "class K:\n    __firstlineno__ = 24\n    y = 1\n"
