"""A call may take its keywords from a mapping as it is: Dynamo does so where it has made the dict before, a compiler copies it."""

from __future__ import annotations

import dataclasses
import dis
import functools
import operator
import sys
import types

import pytest

from depyf.decompiler.bytecode.codeunit import CodeUnit
from depyf.decompiler.bytecode.versions import spec_for
from depyf.decompiler.driver.pipeline import decompile_code, decompile_unit
from depyf.decompiler.verify import verify
from depyf.decompiler.verify.assumptions import KEYWORDS_NOTE
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


def made_by_hand(version: str, text: str) -> CodeUnit:
    """``g`` of ``text`` with the dict at its call handed over as it is: the copy and the merge are gone."""
    unit = next(unit for unit in walk(compiled_text(version, text)) if unit.name == "g")
    opnames = spec_for(unit.version).opnames
    units = [unit.code[at : at + 2] for at in range(0, len(unit.code), 2)]
    names = [opnames[each[0]] for each in units]
    if "DICT_MERGE" not in names:  # 3.8
        return unit
    merge = names.index("DICT_MERGE")
    copy = [at for at in range(merge) if names[at] == "BUILD_MAP"][-2 if names[merge - 1] == "BUILD_MAP" else -1]
    return dataclasses.replace(unit, code=b"".join(each for at, each in enumerate(units) if at not in (merge, copy)))


NOTHING = "def g(f, a, d):\n    return f(*a, **{})\n"
KEPT = "def g(f, a, d):\n    e = {}\n    return f(*a, **e), e\n"


@pytest.mark.parametrize("version", VERSIONS)
def test_an_empty_dict_passes_nothing(version):
    for original, body, proven in (
        (NOTHING, "return f(*a)", True),
        (NOTHING, "return f(*a, **{})", True),
        (NOTHING, "return f(a)", False),
        (NOTHING, "return f(*d)", False),
        (NOTHING, "return f(*a, **d)", False),
        (NOTHING, "return f(*a, x=1)", False),
        (TEXTS["plain"], "return f(*a)", False),
        (TEXTS["plain"], "return f(*a, **{})", False),
        (NOTHING.replace("{}", "{'x': d}"), "return f(*a)", False),
        (NOTHING.replace("{}", "{'x': d}"), "return f(*a, x=d)", True),
        # what f, written in C, leaves in the dict is seen after the call
        (KEPT, "e = {}\n    return f(*a), e", False),
        (KEPT, "return f(*a), {}", False),
    ):
        made = compiled_text(version, f"def g(f, a, d):\n    {body}\n")
        inner = next(unit for unit in walk(made) if unit.name == "g")
        found = verify(made_by_hand(version, original), inner, "__temp_")[-1]
        assert found.proven is proven, (original, body, found)


def test_an_empty_dict_is_handed_to_nobody():
    """Whatever is called: Python functions, built-in ones, classes, objects of classes in C and in Python."""

    class Called:
        def __call__(self, *args, **kwargs):
            return args, kwargs

    space: dict[str, types.FunctionType] = {}
    exec("def with_dict(f, a):\n    return f(*a, **{})\ndef without(f, a):\n    return f(*a)\n", space)
    code = space["with_dict"].__code__
    units = [code.co_code[at : at + 2] for at in range(0, len(code.co_code), 2)]
    names = [dis.opname[each[0]] for each in units]
    merge = names.index("DICT_MERGE")
    kept = [each for at, each in enumerate(units) if at not in (merge, names.index("BUILD_MAP"))]
    by_hand = types.FunctionType(code.replace(co_code=b"".join(kept)), {}, "by_hand")
    callees = [
        lambda *args, **kwargs: (args, kwargs), lambda *args: args, Called(), Called, print, len, dict, int, str.join, "".join,
        functools.partial(Called(), 1), type, operator.itemgetter(0), object, [].append, types.SimpleNamespace, None, 3,
    ]  # fmt: skip
    for callee in callees:
        for positional in ((), (1,), [1, 2], ("a", ("b",)), None, iter((1,))):
            if positional.__class__.__name__ == "tuple_iterator":
                positional, again = iter((1,)), iter((1,))
            else:
                again = positional
            first, second = called(by_hand, callee, positional), called(space["without"], callee, again)
            assert first == second or type(first) is type(second) and type(first) in (Called, object), callee


COMPUTED = "def g(f, a, k, v, d):\n    return f(*a, **{k: v}, **d)\n"


@pytest.mark.parametrize("version", VERSIONS)
def test_a_dict_with_a_computed_key_is_merged_into(version):
    """What is left of ``f(k=stop(), *a, **d)`` after the call of ``stop``: Dynamo hands the name on as a value."""
    by_hand = made_by_hand(version, COMPUTED)
    result = decompile_unit(by_hand)
    assert COMPUTED.splitlines()[1] in result.source and result.proven
    for body, proven in (
        ("return f(*a, **{k: v}, **d)", True),
        ("return f(*a, **{k: v})", False),
        ("return f(*a, **d, **{k: v})", False),
        ("return f(*a, **{v: k}, **d)", False),
        ("return f(*a, **{k: v, k: v}, **d)", False),
        ("return f(*a, **{**{k: v}, **d})", False),
        ("e = {k: v}\n    return f(*a, **e, **d)", False),
        ("return f(*a, **(e := {k: v}), **d)", False),
        ("return f(*a, **v, **d)", False),
    ):
        made = compiled_text(version, f"def g(f, a, k, v, d):\n    {body}\n")
        inner = next(unit for unit in walk(made) if unit.name == "g")
        found = verify(by_hand, inner, "__temp_")[-1]
        assert found.proven is proven, (body, found)
