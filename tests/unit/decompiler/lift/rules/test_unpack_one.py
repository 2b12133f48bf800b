"""The one item of a sequence, unpacked and returned at once: Dynamo of torch 2.6 writes that, also as a lambda."""

from __future__ import annotations

import dis
import sys

import pytest

from depyf.decompiler.bytecode.versions import spec_for
from depyf.decompiler.driver.pipeline import decompile_code


def unpacking(function):
    """The code of ``function(t)`` replaced by ``UNPACK_SEQUENCE 1; RETURN_VALUE`` on its argument."""
    caches = spec_for(sys.version_info[:2]).caches
    code = b""
    for name, arg in (("RESUME", 0), ("LOAD_FAST", 0), ("UNPACK_SEQUENCE", 1), ("RETURN_VALUE", 0)):
        if name in dis.opmap:
            code += bytes([dis.opmap[name], arg]) + bytes(caches[dis.opmap[name]])
    return function.__code__.replace(co_code=code, co_consts=(None,), co_stacksize=2)


def named(t):
    return t


@pytest.mark.parametrize("function", [named, lambda t: t], ids=["def", "lambda"])
def test_unpacked_and_returned(function):
    found = decompile_code(unpacking(function), name="f")
    assert found.proven
    namespace = {}
    exec(found.source, namespace)
    assert namespace["f"](["only"]) == "only"
    with pytest.raises(ValueError, match="unpack"):
        namespace["f"]([1, 2])
