"""Code objects that nothing loads, which the compiler leaves over where it drops dead code, have verdicts too."""

from __future__ import annotations

from collections import Counter

from depyf.decompiler.bytecode.codeunit import CodeUnit
from depyf.decompiler.driver.pipeline import decompile_unit, units
from depyf.decompiler.options import Options

SOURCE = """
if False:
    class Outer:
        class Inner:
            def method(self):
                return [x for x in self]
else:
    class Outer:
        pass
"""


def test_every_code_object_has_a_verdict() -> None:
    unit = CodeUnit.from_code(compile(SOURCE, "dead.py", "exec", dont_inherit=True))
    result = decompile_unit(unit, Options())
    assert Counter(v.qualname for v in result.verdicts) == Counter(inner.qualname for inner in units(unit))
    assert all(v.proven for v in result.verdicts)
