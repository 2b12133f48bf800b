"""IMPORT_FROM and IMPORT_STAR where no import statement gave the module: made by hand."""

from __future__ import annotations

import types

import pytest

import depyf
from depyf.errors import DecompilationError


def with_name(text: str, name: str) -> types.CodeType:
    """The code of ``text`` with a module's name that no statement can import."""
    code = compile(text, "<made by hand>", "exec", dont_inherit=True)
    code = next((const for const in code.co_consts if isinstance(const, types.CodeType)), code)
    return code.replace(co_names=(name, *code.co_names[1:]))


@pytest.mark.parametrize(
    "text",
    [
        "def f():\n    import a.b.c as d\n    return d\n",
        "def f():\n    from a import b\n    return b\n",
        "from a import *\n",
    ],
)
def test_the_reason_is_named(text: str) -> None:
    with pytest.raises(DecompilationError, match="no source imports"):
        depyf.decompile(with_name(text, "no module"))


def test_a_module_without_a_name_is_a_value() -> None:
    assert 'a = __import__("")' in depyf.decompile(with_name("def f():\n    import a\n    return a\n", ""))
