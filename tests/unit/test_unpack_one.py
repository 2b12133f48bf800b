"""The one item of a sequence, unpacked and returned at once: Dynamo of torch 2.6 writes that, also as a lambda."""

from __future__ import annotations

import dis

import pytest

from depyf.pipeline import decompile_code


def unpacking(function):
    """The code of ``function(t)`` replaced by ``UNPACK_SEQUENCE 1; RETURN_VALUE`` on its argument."""
    caches = getattr(dis, "_inline_cache_entries", None)
    count = 0
    if caches is not None:
        count = caches.get("UNPACK_SEQUENCE", 0) if isinstance(caches, dict) else caches[dis.opmap["UNPACK_SEQUENCE"]]
    start = [dis.opmap["RESUME"], 0] if "RESUME" in dis.opmap else []
    body = [dis.opmap["LOAD_FAST"], 0, dis.opmap["UNPACK_SEQUENCE"], 1, *[0, 0] * count, dis.opmap["RETURN_VALUE"], 0]
    code = function.__code__
    return code.replace(co_code=bytes(start + body), co_consts=(None,), co_stacksize=2)


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
