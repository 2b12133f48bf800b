"""The last resort calls builtins by their names, also where the module does; where a module binds such a name, it says so."""

from __future__ import annotations

import pytest

import depyf.pipeline
from depyf.bytecode.codeunit import CodeUnit
from depyf.choices import LADDER
from depyf.pipeline import Decompiled, decompile_unit

LOOP = "def loop(xs):\n    for x in xs:\n        print(x)\n"
USE = "def use(xs):\n    return iter(xs)\n"


@pytest.fixture
def last_resort(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(depyf.pipeline, "ladder", lambda generated, promises: LADDER[-1:])


def decompiled(source: str) -> Decompiled:
    return decompile_unit(CodeUnit.from_code(compile(source, "given.py", "exec", dont_inherit=True)))


@pytest.mark.usefixtures("last_resort")
def test_name_that_the_module_uses() -> None:
    result = decompiled(LOOP + USE)
    assert "= iter(xs)" in result.source and "iter_2" not in result.source
    assert result.proven
    assert "loop" in result.fallbacks


@pytest.mark.usefixtures("last_resort")
@pytest.mark.parametrize("binding", ["iter = None\n", "def other(iter):\n    return iter\n"])
def test_name_that_the_module_binds(binding: str) -> None:
    result = decompiled(LOOP + USE + binding)
    assert "iter_2(xs)" in result.source
    assert not result.proven and "iter_2" in result.verdicts[0].reason


def test_readable_text_is_no_fallback() -> None:
    result = decompiled(LOOP + USE)
    assert result.source.startswith(LOOP) and result.fallbacks == ()
