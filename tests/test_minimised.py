"""Every failure that was ever minimised stays proven (``tests/minimised``, files named by the hash of their text)."""

from __future__ import annotations

import ast
import sys
import warnings
from pathlib import Path

import pytest

import casefiles
from depyf.bytecode.codeunit import CodeUnit
from depyf.options import Options
from depyf.pipeline import decompile_unit

PATHS = sorted((Path(__file__).parent / "minimised").glob("*.py"))


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
@pytest.mark.parametrize("idioms", [True, False], ids=["pretty", "ugly"])
def test_minimised(path: Path, idioms: bool) -> None:
    """The version in the file is where it failed; the text is proven on whichever host can compile it."""
    source = casefiles.read_case(path).source
    try:
        ast.parse(source)
    except SyntaxError:
        pytest.skip(f"not a program of Python {sys.version_info[0]}.{sys.version_info[1]}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        unit = CodeUnit.from_code(compile(source, path.name, "exec", dont_inherit=True))
    result = decompile_unit(unit, Options(idioms=idioms))
    assert [f"{v.qualname}: {v.reason}" for v in result.verdicts if not v.proven] == []
