"""One function or class of a file, with what the code around it gives it: decorators, default values, annotations."""

from __future__ import annotations

from dataclasses import replace

import pytest

from depyf.decompiler.bytecode.codeunit import CodeUnit, units
from depyf.decompiler.driver.part_of_file import decompile_part
from foreign import VERSIONS, compiled_text

FUNCTION = '''\
@cached
def scaled(a: int, b=[1, 2], *, key: str = "x") -> int:
    """One
    two"""
    return a + len(b)
'''
METHOD = '''\
def method(
    self,
    first=size,
    *,
    a_long_name_of_a_parameter=1,
    another_long_name_of_a_parameter=2,
    and_one_more=3,
):
    """Doc
        of method"""
    return [self, first]
'''
CLASS = '''\
class Sized(dict, metaclass=type):
    """Doc
    of Sized"""

    size = 3

    def method(
        self,
        first=size,
        *,
        a_long_name_of_a_parameter=1,
        another_long_name_of_a_parameter=2,
        and_one_more=3,
    ):
        """Doc
        of method"""
        return [self, first]

    def private(self):
        return self.__size

    def above(self, key=1):
        return super().get(key)
'''
REST = """\
def outer(x):
    def inner(y=x):
        return x + y

    return inner
"""
SOURCE = f"{FUNCTION}\n\n{CLASS}\n\n{REST}"


def shown(version: str, qualname: str, source: str = SOURCE) -> str | None:
    whole = compiled_text(version, source)
    found = decompile_part(whole, named(whole, qualname))
    assert found is None or found.proven
    return found and found.source


def named(whole: CodeUnit, name: str) -> CodeUnit:
    return next(unit for unit in units(whole) if unit.name == name)


@pytest.mark.parametrize("version", VERSIONS)
def test_the_statement_as_the_file_has_it(version: str) -> None:
    assert shown(version, "scaled") == FUNCTION
    assert shown(version, "Sized") == CLASS
    assert shown(version, "outer") == REST
    lines = METHOD.splitlines()
    assert [line.strip() for line in (shown(version, "method") or "").splitlines()] == [line.strip() for line in lines]


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name", ["private", "above", "inner"])
def test_what_means_something_else_by_itself(version: str, name: str) -> None:
    """A private name is that of the class; ``super()`` and the variables of a function are around the statement."""
    assert shown(version, name) is None


def test_the_imports_from_future() -> None:
    source = "from __future__ import annotations\n\n\ndef f(a: int = b):\n    return a\n"
    assert shown(VERSIONS[-1], "f", source) == source


def test_verdicts_are_those_of_the_part() -> None:
    whole = compiled_text(VERSIONS[-1], SOURCE)
    found = decompile_part(whole, named(whole, "Sized"))
    assert found is not None
    assert [verdict.qualname for verdict in found.verdicts] == ["Sized", "Sized.method", "Sized.private", "Sized.above"]
    assert {line for line, _ in found.linemap} <= set(range(1, len(found.source.splitlines()) + 1))
    assert dict(found.linemap)[5] == SOURCE.splitlines().index("    size = 3") + 1


def test_code_around_that_has_no_text() -> None:
    """Nothing is known then of what it gives the part."""
    whole = compiled_text("3.11", "def f(a=1):\n    return a\n")
    assert decompile_part(whole, named(whole, "f")) is not None
    unread = replace(whole, code=whole.code[:4] + b"\x00\x00" * 3)
    assert decompile_part(unread, named(unread, "f")) is None
