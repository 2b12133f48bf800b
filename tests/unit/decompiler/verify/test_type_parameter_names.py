"""Type parameters (3.12+) under names that no source can have: the text has others, and only for such names."""

from __future__ import annotations

from dataclasses import replace

import pytest

from depyf.decompiler.bytecode.codeunit import CodeUnit
from depyf.decompiler.driver.pipeline import decompile_unit
from depyf.decompiler.verify import verify
from depyf.decompiler.verify.assumptions import STAND_IN_NOTE
from depyf.decompiler.verify.verdict import Status
from foreign import VERSIONS, compiled_text
from tools.env.interpreters import number

SOURCE = """\
def f[T: int, *Ts, **P](x: T, y=3) -> T:
    return x


class A[T]:
    v: T

    def m[U: (T, str)](self, q: T) -> U:
        return T


type X[T] = list[T]
"""
DEFAULTS = """\
class C[T = int]:
    def m[U = T](self) -> U:
        return T
"""
NAMES = {"T": "T T", "Ts": "T s", "P": "", "U": "U@"}
GENERIC = [version for version in VERSIONS if number(version) >= (3, 12)]


def renamed(unit: CodeUnit, names: dict[str, str]) -> CodeUnit:
    """``unit`` with other names wherever it has these."""

    def other(value: object) -> object:
        if type(value) is CodeUnit:
            return renamed(value, names)
        if isinstance(value, tuple):
            return tuple(map(other, value))
        return names.get(value, value) if isinstance(value, str) else value

    fields = ("consts", "names", "varnames", "cellvars", "freevars", "name")
    qualname = ".".join([names.get(part, part) for part in unit.qualname.split(".")])
    return replace(unit, slots=(), qualname=qualname, **{field: other(getattr(unit, field)) for field in fields})


@pytest.mark.parametrize("version", GENERIC)
@pytest.mark.parametrize("source", [SOURCE, DEFAULTS])
def test_the_text_has_other_names(version: str, source: str) -> None:
    if source is DEFAULTS and number(version) < (3, 13):
        source = DEFAULTS.replace(" = int", "").replace(" = T", "")
    found = decompile_unit(renamed(compiled_text(version, source), NAMES))
    assert [(v.qualname, v.reason) for v in found.verdicts if not v.proven] == []
    assert any(STAND_IN_NOTE in v.reason for v in found.verdicts)


@pytest.mark.parametrize("version", GENERIC)
def test_a_name_that_a_source_can_have_is_compared(version: str) -> None:
    text = "def f[T](x: T): pass\n"
    unit = compiled_text(version, text)
    hidden = next(const for const in unit.consts if type(const) is CodeUnit)
    other = replace(hidden, consts=tuple(["Other" if const == "T" else const for const in hidden.consts]))
    assert other.consts != hidden.consts
    changed = replace(unit, consts=tuple([other if const is hidden else const for const in unit.consts]))
    assert all(verdict.proven for verdict in verify(unit, compiled_text(version, text)))
    assert Status.WRONG in [verdict.status for verdict in verify(changed, unit)]
    assert Status.WRONG in [verdict.status for verdict in verify(unit, changed)]
