"""What is lowered for the decompiler is not lowered again for the next choice or the proof."""

import importlib

import pytest

from depyf.driver import decompilation
from depyf.driver.pipeline import decompile_code
from depyf.native import build

SOURCE = """
def f(a, b):
    total = 0
    for x in a:
        total += [y for y in b if y][x]
    return total
"""


@pytest.mark.skipif(build() == "compiled", reason="compiled code calls what it imports directly")
def test_each_code_object_is_lowered_once(monkeypatch):
    seen = []

    def counted(module):
        lower = module.lower

        def lowering(unit):
            seen.append(unit)
            return lower(unit)

        monkeypatch.setattr(module, "lower", lowering)

    counted(decompilation)
    counted(importlib.import_module("depyf.verify.whole"))
    namespace = {}
    exec(SOURCE, namespace)
    code = namespace["f"].__code__
    assert decompile_code(code, name="g").proven
    own = [unit for unit in seen if unit.live is not None and unit.live is code]
    assert len(own) <= 2  # once more to tell variables apart, where the function gets another name
