"""A call may take its keywords from a mapping as it is: Dynamo does so where it has made the dict before, a compiler copies it."""

from __future__ import annotations

import dataclasses
import dis
import sys
import types

import pytest

from depyf.bytecode.codeunit import CodeUnit
from depyf.bytecode.versions import spec_for
from depyf.pipeline import decompile_code, decompile_unit
from depyf.verify import verify
from depyf.verify.proof import KEYWORDS_NOTE
from foreign import VERSIONS, compiled_text, walk

TEXTS = {
    "plain": "def g(f, a, d):\n    return f(*a, **d)\n",
    "evaluated": "def g(f, a, d):\n    return f(*a(), **d())\n",
}


def uncopied(code: bytes, names: tuple[str, ...]) -> bytes:
    """``code`` without the two instructions that copy a mapping; there is no jump over them that counts bytes."""
    units = [code[at : at + 2] for at in range(0, len(code), 2)]
    return b"".join([unit for unit in units if names[unit[0]] not in ("BUILD_MAP", "DICT_MERGE")])


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("shape", ["plain", "evaluated"])
def test_a_mapping_as_it_is(version, shape):
    unit = next(unit for unit in walk(compiled_text(version, TEXTS[shape])) if unit.name == "g")
    made = dataclasses.replace(unit, code=uncopied(unit.code, spec_for(unit.version).opnames))
    result = decompile_unit(made)
    assert TEXTS[shape].splitlines()[1] in result.source
    (verdict,) = result.verdicts
    if made.code == unit.code:  # 3.8 copies nothing
        assert verdict.status.name == "IDENTICAL"
    else:
        assert verdict.status.name == "EQUIVALENT" and KEYWORDS_NOTE in verdict.reason


def host(text: str) -> types.FunctionType:
    """The function of ``text``, whose call takes the mapping as it is."""
    space: dict[str, types.FunctionType] = {}
    exec(text, space)
    code = space["g"].__code__
    made = code.replace(co_code=uncopied(code.co_code, tuple(dis.opname)))
    return types.FunctionType(made, {}, "g")


class Mapping:
    def keys(self):
        return ["x"]

    def __getitem__(self, key):
        return key * 2


def called(function, *arguments):
    try:
        return function(*arguments)
    except Exception as error:
        return type(error), str(error)


OTHERS = [] if sys.version_info >= (3, 12) else [None, [("x", 1)], Mapping()]
"""Since 3.12 the interpreter relies on a dict there."""


@pytest.mark.parametrize("mapping", [{}, {"x": 1}, {1: 2}, *OTHERS])
def test_it_does_the_same(mapping):
    original = host(TEXTS["plain"])
    space: dict[str, types.FunctionType] = {}
    exec(decompile_code(original.__code__).source, space)
    for callee in (lambda *a, **d: (a, d), dict, print, None):
        for positional in ((), (1,), None):
            if type(mapping) is not dict and mapping.__class__ is not Mapping and positional is None:
                continue  # two errors: which one comes first is CPython's affair
            assert called(original, callee, positional, mapping) == called(space["g"], callee, positional, mapping)


def test_what_is_no_copy_of_it_is_refuted():
    original = CodeUnit.from_code(host(TEXTS["plain"]).__code__)
    for body, proven in (
        ("f(*a, **d)", True),
        ("f(*a)", False),
        ("f(*d, **a)", False),
        ("f(*a, **a)", False),
        ("f(*a, **{**d, **d})", False),
        ("f(*a, x=1, **d)", False),
        ("d(*a, **f)", False),
        ("f(*a, **d.copy())", False),
    ):
        module: types.CodeType = compile(f"def g(f, a, d):\n    return {body}\n", "<test>", "exec")
        inner = next(const for const in module.co_consts if isinstance(const, types.CodeType))
        assert verify(original, CodeUnit.from_code(inner), "__temp_")[-1].proven is proven, body
