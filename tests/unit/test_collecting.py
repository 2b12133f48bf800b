"""The garbage collector around a decompilation: rarer while it runs, as it was afterwards, and with nothing to find."""

import gc

import pytest

from depyf.bytecode.codeunit import CodeUnit
from depyf.collecting import RARELY, rare_collections
from depyf.pipeline import decompile_unit

TEXT = """
class C:
    def m(self, a, *, b=1):
        with a as x, b:
            for y in x:
                try:
                    yield [z for z in y if z], lambda: b
                except E as e:
                    raise F from e
                finally:
                    super().m()
        while a and b or self:
            if a < b < 3:
                continue
            self.a[b] += 1
        return {a: b for a in b}
"""


@pytest.fixture
def threshold():
    before = gc.get_threshold()
    gc.set_threshold(700, 10, 10)
    yield gc.get_threshold()
    gc.set_threshold(*before)


def test_put_back(threshold):
    with rare_collections():
        assert gc.get_threshold() == (RARELY, *threshold[1:])
        with rare_collections():
            pass
        assert gc.get_threshold()[0] == RARELY
    assert gc.get_threshold() == threshold
    with pytest.raises(KeyError), rare_collections():
        raise KeyError
    assert gc.get_threshold() == threshold


def test_the_program_decides(threshold):
    with rare_collections():
        gc.set_threshold(5, 6, 7)
    assert gc.get_threshold()[:2] == (5, 6)
    for chosen in (0, RARELY + 1):
        gc.set_threshold(chosen, 10, 10)
        with rare_collections():
            assert gc.get_threshold()[0] == chosen
        assert gc.get_threshold()[0] == chosen
    gc.disable()
    try:
        with rare_collections():
            assert not gc.isenabled()
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_no_cycles_are_left(threshold):
    unit = CodeUnit.from_code(compile(TEXT, "<collecting>", "exec", dont_inherit=True))
    decompile_unit(unit)
    for _ in range(9):  # what other tests left may be held by what is collected first
        if not gc.collect():
            break
    gc.disable()
    try:
        found = decompile_unit(unit)
        assert found.proven
        assert gc.collect() < 20
    finally:
        gc.enable()
