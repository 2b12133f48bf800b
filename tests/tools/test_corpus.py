"""``tools/corpus/corpus.py``: what its options do to the code it reads."""

from __future__ import annotations

from pathlib import Path

import pytest

from depyf.decompiler.bytecode.codeunit import CodeUnit
from depyf.decompiler.bytecode.lower import lower
from depyf.decompiler.driver.pipeline import decompile_unit
from tools.corpus import corpus

SOURCE = '''
def f(a, b):
    """What it does."""
    assert a, b
    if a and (
        b or a
    ):
        return [x for x in a if x]
    try:
        for x in a:
            if x:
                break
        else:
            return b
    finally:
        b.close()
    return lambda: b
'''


def unit_at(level: int, folder: Path) -> CodeUnit:
    (folder / "m.py").write_text(SOURCE)
    corpus.write_pycs(corpus.HOST, folder, ["m.py"], folder / "out", level)
    loaded = corpus.load(corpus.Job(str(folder), "m.py", str(folder / "out" / "m.pyc"), "module", 60, None))
    assert isinstance(loaded, CodeUnit)
    return loaded


@pytest.mark.parametrize("level", [0, 1, 2])
def test_optimised_code_is_proven(level: int, tmp_path: Path) -> None:
    result = decompile_unit(unit_at(level, tmp_path))
    assert result.proven
    assert ("assert" in result.source) == (level == 0)
    assert ("What it does" in result.source) == (level < 2)


def test_code_without_lines_is_proven(tmp_path: Path) -> None:
    bare = corpus.without_lines(unit_at(0, tmp_path))
    assert {instr.line for inner in corpus.family(bare) for instr in lower(inner).instrs} == {None}
    assert decompile_unit(bare).proven
