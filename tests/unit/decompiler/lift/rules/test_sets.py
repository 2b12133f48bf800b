"""A set of constants that a program built element by element, where a compiler fills it from a frozenset."""

from __future__ import annotations

import dis
import os
import subprocess
import sys

import pytest

from depyf.decompiler.bytecode.versions import spec_for
from depyf.decompiler.driver.pipeline import decompile_code
from depyf.decompiler.generated.contract import GeneratorContract
from depyf.decompiler.options import Options

VALUES = (8, 1, 16, 24, 32, 0)


def built_one_by_one(count):
    """``lambda: [{a, b, ...}]`` of the first ``count`` constants by ``BUILD_SET count``."""
    names = [f"v{i}" for i in range(count)]
    code = eval(f"lambda {', '.join(names)}: [{{{', '.join(names)}}}]").__code__
    start = []
    if "RESUME" in dis.opmap:
        start = [dis.opmap["RESUME"], 0, *bytes(spec_for(sys.version_info[:2]).caches[dis.opmap["RESUME"]])]
    loads = [part for i in range(count) for part in (dis.opmap["LOAD_CONST"], i)]
    build = [dis.opmap["BUILD_SET"], count, dis.opmap["BUILD_LIST"], 1, dis.opmap["RETURN_VALUE"], 0]
    return code.replace(
        co_code=bytes(start + loads + build), co_consts=VALUES[:count], co_argcount=0, co_varnames=(), co_nlocals=0
    )


@pytest.mark.parametrize("count", [1, 2, 3, 6])
def test_a_set_is_filled_in_the_same_order(count):
    code = built_one_by_one(count)
    found = decompile_code(code, name="f")
    assert found.proven
    namespace = {}
    exec(found.source, namespace)
    assert [list(made) for made in namespace["f"]()] == [list(made) for made in eval(code)]


def test_a_program_may_promise_that_the_order_does_not_matter():
    options = Options(generated=True, promises=GeneratorContract(unordered=True))
    found = decompile_code(built_one_by_one(3), name="f", options=options)
    assert found.proven
    assert "{8, 1, 16}" in found.source
    assert "order does not matter" in found.verdicts[0].reason


def test_without_that_promise_it_does():
    options = Options(generated=True, promises=GeneratorContract(reads_first=True))
    found = decompile_code(built_one_by_one(3), name="f", options=options)
    assert found.proven
    assert "order does not matter" not in found.verdicts[0].reason
    assert "*()" in found.source


SOURCE = """
def f(x):
    for item in {16, 8, 0}:
        x.append(item)
    x += [*{"CON", "PRN", "AUX", "NUL"}, *{24, 16, 8}]
    return len(x) in {"b", "a", "c"}
"""


def test_a_set_of_strings_is_written_alike_in_every_process():
    program = f"import depyf; print(depyf.decompile(compile({SOURCE!r}, 'f', 'exec')))"
    texts = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert len(texts) == 1
    assert '{"AUX", "CON", "NUL", "PRN"}' in texts.pop()


def test_a_set_of_numbers_keeps_the_order_in_which_it_is_filled():
    original, made = {}, {}
    exec(SOURCE, original)
    exec(decompile_code(original["f"].__code__, name="f").source, made)
    lists = [], []
    original["f"](lists[0])
    made["f"](lists[1])
    assert [x for x in lists[0] if type(x) is int] == [x for x in lists[1] if type(x) is int]
