"""Code compiled with ``-O`` and ``-OO``: no asserts, no docstrings, and what was assigned to ``__doc__`` stays."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from depyf.decompiler.bytecode.codeunit import CodeUnit
from depyf.decompiler.bytecode.files.pyc import read_pyc
from depyf.decompiler.bytecode.files.unmarshal import loads
from depyf.decompiler.driver.pipeline import decompile_unit
from depyf.decompiler.verify.recompiling.worker import worker_for
from needs import need

VERSIONS = [(3, minor) for minor in range(8, 16)]
WITH_COLUMNS = [version for version in VERSIONS if version >= (3, 11)]
SOURCE = '''\
class Assigned:
    __doc__ = "text"


class Both:
    "docstring"
    __doc__ = "text"


class Empty:
    """
    Only a docstring.
    """


def function(x):
    "docstring"
    assert x, "message"
    if not __debug__:
        x = "optimised"
    return "value"


def documented():
    "docstring"


async def later():
    "docstring"
    yield __debug__
'''


def compiled(version: tuple[int, int], optimize: int, source: str = SOURCE) -> CodeUnit:
    need(".".join(map(str, version)))
    unit = loads(worker_for(version).compile(source, 0, optimize), version)
    assert isinstance(unit, CodeUnit)
    return unit


def text_of(unit: CodeUnit) -> str:
    result = decompile_unit(unit)
    assert [verdict for verdict in result.verdicts if not verdict.proven] == []
    return result.source


@pytest.mark.parametrize("optimize", [0, 1, 2])
@pytest.mark.parametrize("version", VERSIONS)
def test_proven(version: tuple[int, int], optimize: int) -> None:
    text_of(compiled(version, optimize))


@pytest.mark.parametrize("optimize", [0, 1, 2])
@pytest.mark.parametrize("version", WITH_COLUMNS)
def test_columns_tell_a_docstring(version: tuple[int, int], optimize: int) -> None:
    """What the text is compiled to with the same optimisation is what there was."""
    text = text_of(compiled(version, optimize))
    assert 'class Assigned:\n    __doc__ = "text"\n' in text
    assert ('    """docstring"""\n' in text) == (optimize < 2)
    assert text_of(compiled(version, optimize, text)) == text


@pytest.mark.parametrize("version", VERSIONS)
def test_without_columns_the_name_of_the_file_tells(version: tuple[int, int], tmp_path: Path) -> None:
    python = need(".".join(map(str, version)))
    source = tmp_path / "module.py"
    source.write_text(SOURCE, encoding="utf-8")
    program = "import py_compile, sys; print(py_compile.compile(sys.argv[1], doraise=True))"
    shown = {}
    for flag in ("-B", "-OO"):
        done = subprocess.run(
            [python, "-I", flag, "-c", program, str(source)], capture_output=True, text=True, check=True
        )
        unit = read_pyc(done.stdout.strip())
        shown[flag] = text_of(replace(unit, consts=tuple(map(without_lines, unit.consts)), linetable=b""))
    assert 'class Assigned:\n    """text"""\n' in shown["-B"]
    assert 'class Assigned:\n    __doc__ = "text"\n' in shown["-OO"]


def without_lines(const: object) -> object:
    if not isinstance(const, CodeUnit):
        return const
    return replace(const, linetable=b"", consts=tuple(map(without_lines, const.consts)))


@pytest.mark.parametrize("version", WITH_COLUMNS)
def test_no_docstring_has_surrogates(version: tuple[int, int]) -> None:
    unit = compiled(version, 0, "class Surrogate:\n    __doc__ = '\\ud800'\n")
    assert text_of(replace(unit, consts=tuple(map(without_lines, unit.consts)))).count("\\ud800") == 1
