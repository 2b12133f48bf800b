"""Dicts and sets made of more than a compiler makes at once: Dynamo rebuilds a dict of any size with one ``BUILD_MAP``."""

from __future__ import annotations

import dataclasses
import types

import pytest

from depyf.decompiler.bytecode.codeunit import CodeUnit
from depyf.decompiler.bytecode.versions import spec_for
from depyf.decompiler.driver.pipeline import decompile_code, decompile_unit
from depyf.decompiler.generated.contract import GeneratorContract
from depyf.decompiler.options import Options
from depyf.decompiler.verify import verify
from depyf.decompiler.verify.assumptions import KEYS_NOTE
from foreign import VERSIONS, compiled_text, walk

DYNAMO = Options(generated=True, promises=GeneratorContract(plain_keys=True, variables=frozenset()))
LOCALS = [f"{kind}{number}" for number in range(20) for kind in "kv"]
READS = [f"x.{name}" for name in LOCALS]
ARGUMENTS = ", ".join(LOCALS)


def made_at_once(version: str, op: str, items: list[str], head: str = "x, " + ARGUMENTS) -> CodeUnit:
    """``def f(head): return {...}`` with ``items`` taken off the stack by one ``BUILD_MAP`` or ``BUILD_SET``."""
    text = f"def f({head}):\n    return ({', '.join(items)})\n"
    unit = next(unit for unit in walk(compiled_text(version, text)) if unit.name == "f")
    spec = spec_for(unit.version)
    number = next(number for number, name in enumerate(spec.opnames) if name == op)
    count = len(items) // 2 if op == "BUILD_MAP" else len(items)
    out = b""
    for at in range(0, len(unit.code), 2):
        name = spec.opnames[unit.code[at]]
        if name in ("BUILD_TUPLE", "LIST_TO_TUPLE", "CALL_INTRINSIC_1"):
            out += bytes((number, count))
        elif name not in ("BUILD_LIST", "LIST_APPEND"):
            out += unit.code[at : at + 2]
    return dataclasses.replace(unit, code=out, linetable=b"", stacksize=200)


def verdict_of(
    version: str, original: CodeUnit, body: str, options: Options = Options(), head: str = "x, " + ARGUMENTS
):
    made = compiled_text(version, f"def f({head}):\n{body}\n")
    inner = next(unit for unit in walk(made) if unit.name == "f")
    return verify(original, inner, "__temp_", promises=options.promises)[0]


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("items", [LOCALS, READS], ids=["locals", "reads"])
def test_keys_are_hashed_behind_the_last_value(version, items):
    by_steps = version not in ("3.8", "3.9")  # there a display is made at once, too
    key, value = items[:2]
    result = decompile_unit(made_at_once(version, "BUILD_MAP", items))
    assert result.proven and "__temp" not in result.source
    assert f"{f'({key}, {value})' if by_steps else f'{key}: {value}'}," in result.source
    result = decompile_unit(made_at_once(version, "BUILD_SET", items))
    assert result.proven and "__temp" not in result.source
    assert ("return set(" in result.source) is by_steps


@pytest.mark.parametrize("version", VERSIONS)
def test_constant_keys_are_a_display(version):
    items = [part for number in range(20) for part in (f"'k{number}'", f"x.v{number}")]
    result = decompile_unit(made_at_once(version, "BUILD_MAP", items))
    assert result.proven and '"k0": x.v0,' in result.source
    twice = ["'k'" if part == "'k1'" or part == "'k7'" else part for part in items]
    assert decompile_unit(made_at_once(version, "BUILD_MAP", twice)).proven


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("op", ["BUILD_MAP", "BUILD_SET"])
def test_plain_translation(version, op):
    for items in (LOCALS, READS):
        result = decompile_unit(made_at_once(version, op, items), Options(idioms=False))
        assert result.proven, result.verdicts


@pytest.mark.parametrize("version", VERSIONS)
def test_of_torch_it_is_always_a_display(version):
    result = decompile_unit(made_at_once(version, "BUILD_MAP", READS), DYNAMO)
    assert "x.k0: x.v0," in result.source and result.proven
    assert (KEYS_NOTE in result.verdicts[0].reason) is (version not in ("3.8", "3.9"))
    result = decompile_unit(made_at_once(version, "BUILD_SET", READS), DYNAMO)
    assert "{" in result.source and "x.k0," in result.source and result.proven


@pytest.mark.parametrize("version", [version for version in VERSIONS if version not in ("3.8", "3.9")])
def test_what_is_another_dict_is_refuted(version):
    pairs = [f"x.k{number}: x.v{number}" for number in range(20)]
    original = made_at_once(version, "BUILD_MAP", READS)
    for items, proven in (
        (pairs, True),
        (pairs[:-1], False),
        ([*pairs[:-1], "x.k19: x.v18"], False),
        ([pairs[1], pairs[0], *pairs[2:]], False),
        ([*pairs[:-2], pairs[-1], pairs[-2]], False),
    ):
        display = f"    return {{{', '.join(items)}}}"
        assert verdict_of(version, original, display, DYNAMO).proven is proven
        assert not verdict_of(version, original, display).proven
        tuples = ", ".join("(" + item.replace(": ", ", ") + ")" for item in items)
        assert (
            verdict_of(version, original, f"    return dict([{tuples}])").proven is False
        )  # any global may be called dict


def test_it_does_the_same():
    """Keys that count: how often and when they are hashed and compared is the same."""

    class Key:
        def __init__(self, name, log):
            self.name, self.log = name, log

        def __hash__(self):
            self.log.append(f"hash {self.name}")
            return 0

        def __eq__(self, other):
            self.log.append(f"{self.name} == {other.name}")
            return False

    class Reads:
        def __init__(self):
            self.log = []

        def __getattr__(self, name):
            self.log.append(name)
            return Key(name, self.log)

    version = "3.%d" % __import__("sys").version_info[1]
    for op in ("BUILD_MAP", "BUILD_SET"):
        unit = made_at_once(version, op, READS, "x")
        namespace = {}
        exec("def f(x):\n    return x\n", namespace)
        template = namespace["f"].__code__
        by_hand = template.replace(co_code=unit.code, co_names=unit.names, co_consts=unit.consts, co_stacksize=200)
        result = decompile_code(by_hand)
        exec(result.source, namespace)
        first, second = Reads(), Reads()
        types.FunctionType(by_hand, {})(first)
        namespace["f"](second)
        assert first.log == second.log and len(first.log) > 100
