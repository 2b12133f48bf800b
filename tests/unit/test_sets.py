"""A set of constants that a program built element by element, where a compiler fills it from a frozenset."""

from __future__ import annotations

import dis

import pytest

from depyf.options import Options
from depyf.pipeline import decompile_code
from depyf.promises import Promises

VALUES = (8, 1, 16, 24, 32, 0)


def built_one_by_one(count):
    """``lambda: [{a, b, ...}]`` of the first ``count`` constants by ``BUILD_SET count``."""
    names = [f"v{i}" for i in range(count)]
    code = eval(f"lambda {', '.join(names)}: [{{{', '.join(names)}}}]").__code__
    start = [dis.opmap["RESUME"], 0] if "RESUME" in dis.opmap else []
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
    options = Options(generated=True, promises=Promises(unordered=True))
    found = decompile_code(built_one_by_one(3), name="f", options=options)
    assert found.proven
    assert "{8, 1, 16}" in found.source
    assert "order does not matter" in found.verdicts[0].reason


def test_without_that_promise_it_does():
    options = Options(generated=True, promises=Promises(reads_first=True))
    found = decompile_code(built_one_by_one(3), name="f", options=options)
    assert found.proven
    assert "order does not matter" not in found.verdicts[0].reason
    assert "*()" in found.source
