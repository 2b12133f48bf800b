"""The ``__qualname__`` of a class says where it is defined; a function that is decompiled alone is defined elsewhere."""

from __future__ import annotations

from typing import Any

import depyf
from depyf.decompiler.bytecode.codeunit import CodeUnit
from depyf.decompiler.driver.pipeline import decompile_code
from depyf.decompiler.verify import verify


class Holder:
    def method(self) -> Any:
        class Local:
            def inner(self) -> int:
                return 1

        return Local


def unit(source: str) -> CodeUnit:
    return CodeUnit.from_code(compile(source, "s", "exec"))


def test_a_class_in_a_method_alone() -> None:
    result = decompile_code(Holder.method.__code__)
    assert result.proven, [(verdict.qualname, verdict.reason) for verdict in result.verdicts]
    assert "class Local:" in depyf.decompile(Holder.method)


def test_another_name_is_another_name() -> None:
    text = "def f():\n    class C:\n        {}\n        x = 1\n"
    original = unit(text.format("__qualname__ = 'a'"))
    assert not all(verdict.proven for verdict in verify(original, unit(text.format("__qualname__ = 'b'"))))
    assert all(verdict.proven for verdict in verify(original, unit(text.format("__qualname__ = 'a'"))))
    nested, outside = "def f():\n    class C: pass\n", "def f():\n    global C\n    class C: pass\n"
    assert not all(verdict.proven for verdict in verify(unit(nested), unit(outside)))
