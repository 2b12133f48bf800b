"""What is lowered for the decompiler is not lowered again for the next choice, for the text or for the proof."""

import importlib
from collections import Counter

import pytest

from depyf.decompiler.bytecode.codeunit import CodeUnit, units
from depyf.decompiler.driver.pipeline import decompile_unit
from depyf.native import build

SOURCE = """
def f(a, b):
    total = 0
    for x in a:
        total += [y for y in b if y][x]
    class A:
        value = total
        def m(self):
            self.__x = a
            return super().m(lambda: __class__)
    return total
"""


def compiled():
    return compile(SOURCE, "once", "exec", 0, True)


def renamed():
    """The same, with two variables of one name, and the function under another name."""
    module = compiled()
    place = next(at for at, const in enumerate(module.co_consts) if hasattr(const, "co_code"))
    inner = module.co_consts[place]
    inner = inner.replace(co_name="x", co_varnames=tuple("b" if name == "x" else name for name in inner.co_varnames))
    return module.replace(co_consts=(*module.co_consts[:place], inner, *module.co_consts[place + 1 :]))


@pytest.mark.skipif(build() == "compiled", reason="compiled code calls what it imports directly")
@pytest.mark.parametrize("make", [compiled, renamed])
def test_each_code_object_is_lowered_once(monkeypatch, make):
    module = importlib.import_module("depyf.decompiler.bytecode.lower")
    lower = module._lower
    seen = []

    def lowering(unit, raw, spec):
        seen.append(unit)
        return lower(unit, raw, spec)

    monkeypatch.setattr(module, "_lower", lowering)
    root = CodeUnit.from_code(make())
    assert decompile_unit(root).proven
    own = {id(unit.code) for unit in units(root)}  # the same bytes under any name; what is recompiled has others
    counts = Counter(id(unit.code) for unit in seen if id(unit.code) in own)
    assert len(counts) == len(own)
    assert set(counts.values()) == {1}
