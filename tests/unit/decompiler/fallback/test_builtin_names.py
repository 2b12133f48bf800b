"""The last resort calls builtins by their names, also where the module does; where a module binds such a name,
the text imports the builtin under another."""

from __future__ import annotations

import pytest

import depyf.decompiler.driver.pipeline
from depyf.decompiler.bytecode.codeunit import CodeUnit
from depyf.decompiler.driver.pipeline import Decompiled, decompile_unit
from depyf.decompiler.driver.rungs import LADDER
from depyf.decompiler.verify import verify

LOOP = "def loop(xs):\n    for x in xs:\n        print(x)\n"
USE = "def use(xs):\n    return iter(xs)\n"


@pytest.fixture
def last_resort(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(depyf.decompiler.driver.pipeline, "ladder", lambda generated, promises: LADDER[-1:])


def decompiled(source: str) -> Decompiled:
    return decompile_unit(CodeUnit.from_code(compile(source, "given.py", "exec", dont_inherit=True)))


@pytest.mark.usefixtures("last_resort")
def test_name_that_the_module_uses() -> None:
    result = decompiled(LOOP + USE)
    assert "= iter(xs)" in result.source and "iter_2" not in result.source
    assert result.proven
    assert "loop" in result.fallbacks


BINDINGS = ("iter = None\n", "def other(iter):\n    return iter\n", "class C:\n    iter = 3\n")


@pytest.mark.usefixtures("last_resort")
@pytest.mark.parametrize("binding", BINDINGS)
@pytest.mark.parametrize("before", ["", '"""docs"""\n', '"""docs"""\nfrom __future__ import annotations\n'])
def test_name_that_the_module_binds(binding: str, before: str) -> None:
    result = decompiled(before + LOOP + USE + binding)
    assert "from builtins import iter as iter_2\n" in result.source and "iter_2(xs)" in result.source
    assert result.proven and not result.needs
    assert any("builtins" in verdict.reason for verdict in result.verdicts)
    given = {"print": len}
    exec(compile(result.source, "text.py", "exec", dont_inherit=True), given)
    given["loop"](["a"])


@pytest.mark.usefixtures("last_resort")
def test_binding_before_everything_else() -> None:
    result = decompiled(
        "iter = None\nclass C:\n    def use(self):\n        for y in self:\n            print(y)\n" + LOOP
    )
    assert "from builtins import iter as iter__\nfrom builtins import iter as iter_2\n" in result.source
    assert result.proven


ATTRIBUTE = "def read(x):\n    return x.named\n\n\ndef getattr(x, y):\n    return x\n"


def test_attribute_without_a_name_beside_a_getattr_of_the_module() -> None:
    code = compile(ATTRIBUTE, "given.py", "exec", dont_inherit=True)
    read = next(const for const in code.co_consts if getattr(const, "co_name", "") == "read")
    names = tuple("a b" if name == "named" else name for name in read.co_names)
    consts = tuple(read.replace(co_names=names) if const is read else const for const in code.co_consts)
    result = decompile_unit(CodeUnit.from_code(code.replace(co_consts=consts)))
    assert 'getattr_2(x, "a b")' in result.source and result.proven and not result.needs


@pytest.mark.parametrize(
    "text",
    [
        "from builtins import len as iter_2\n",
        "from builtins import iter as iter_3\n",
        "print(iter_2)\nfrom builtins import iter as iter_2\n",
        "from .builtins import iter as iter_2\n",
        "from builtins import iter as iter_2, len\n",
    ],
)
def test_other_imports_are_no_part_of_a_proof(text: str) -> None:
    original = "print(1)\ndef use(xs):\n    return xs\n"
    units = (CodeUnit.from_code(compile(s, "g.py", "exec", dont_inherit=True)) for s in (original, text + original))
    found = verify(*units, bindings={"iter_2": iter}, imported={"iter_2": "iter"})
    assert not found[0].proven


def test_readable_text_is_no_fallback() -> None:
    result = decompiled(LOOP + USE)
    assert result.source.startswith(LOOP) and result.fallbacks == ()


ASSERTS = "def checked(x, y):\n    assert x, y\n    return x\n"


@pytest.mark.usefixtures("last_resort")
@pytest.mark.parametrize("binding", ["", "AssertionError = None\n"])
def test_the_exception_of_assert(binding: str) -> None:
    """No name is looked up by ``assert``; the last resort says which builtin it calls, and the verdict says so."""
    result = decompiled(ASSERTS + binding)
    assert result.proven and not result.needs
    given: dict[str, object] = {}
    exec(compile(result.source, "text.py", "exec", dont_inherit=True), given)
    checked = given["checked"]
    assert callable(checked) and checked(1, 2) == 1
    with pytest.raises(AssertionError, match="message"):
        checked(0, "message")
