"""Code in a saved file: what Dynamo made is read with the original beside it, however many there are."""

from __future__ import annotations

import time
from dataclasses import replace

from depyf.decompiler.bytecode.codeunit import CodeUnit
from depyf.sources.live.recognise import saved_code_options, saved_originals


def original(a, b):
    kept = a + b
    return kept


def made(a, b):
    added = __compiled_fn_1_7e3d791b_f9a5_4ec5_b32a_d566404991c8(a, b)  # noqa: F821
    return added[0]


UNIT = CodeUnit.from_code(original.__code__)
MADE = replace(CodeUnit.from_code(made.__code__), name=UNIT.name, firstlineno=UNIT.firstlineno)


def test_what_the_original_lacks_is_dynamos() -> None:
    options = saved_code_options(MADE, saved_originals([MADE, UNIT]))
    assert options.generated
    assert options.promises.variables == {"added"}
    assert [shown for _, shown in options.shown] == ["__compiled_fn_1_0"]
    assert saved_code_options(MADE, saved_originals([MADE])).promises.variables is None
    assert not saved_code_options(UNIT, saved_originals([MADE, UNIT])).generated


def test_many_of_one_place() -> None:
    names = tuple(f"name{number}" for number in range(500))
    units = [replace(UNIT, names=names)] * 2000 + [MADE] * 2000
    begun = time.process_time()
    originals = saved_originals(units)
    for unit in units:
        saved_code_options(unit, originals)
    assert time.process_time() - begun < 120
