"""State that lies in objects of libraries is put back and compared; what Python remembers for itself is not compared."""

from __future__ import annotations

import collections
import colorsys
import contextvars
import functools
import math
import os
import random
import threading
import warnings
import weakref

import numpy
import pytest
import torch

import depyf

pytestmark = pytest.mark.torch
ONE = torch.zeros(1)


class Key:
    pass


KEY = Key()
numbers = numpy.random.default_rng(3)
old_numbers = numpy.random.RandomState(4)
mine = random.Random(6)
step = contextvars.ContextVar("step", default=0)
stats = collections.UserDict(calls=0)
chain = collections.ChainMap({"a": 1})
listed = collections.UserList([0])
event = threading.Event()
local = threading.local()
weak = weakref.WeakKeyDictionary()
count = [0]


@functools.lru_cache
def cached(n):
    count[0] += 1
    return n + count[0]


def with_numpy(x):
    return x + numbers.random()


def with_old_numpy(x):
    return x + old_numbers.rand()


def with_variable(x):
    step.set(step.get() + 1)
    return x + step.get()


def with_user_dict(x):
    stats["calls"] = stats["calls"] + 1
    return x + stats["calls"]


def with_chain(x):
    chain["b"] = len(chain)
    return x + len(chain)


def with_user_list(x):
    listed.append(1)
    return x + len(listed)


def with_event(x):
    y = x + (1 if event.is_set() else 0)
    event.set()
    return y


def with_local(x):
    local.n += 1
    return x + local.n


def with_environment(x):
    os.environ["DEPYF_TEST"] += "1"
    return x + len(os.environ["DEPYF_TEST"])


def with_weak_keys(x):
    weak[KEY] = weak.get(KEY, 0) + 1
    return x + weak[KEY]


def with_cache(x):
    return x + cached(5)


def everything():
    return (
        str(numbers.bit_generator.state), str(old_numbers.get_state()), mine.getstate(), step.get(), dict(stats), dict(chain), list(listed),
        event.is_set(), local.n, os.environ.get("DEPYF_TEST"), list(weak.values()), count[:], cached.cache_info(),
    )  # fmt: skip


@pytest.mark.parametrize(
    "function",
    [with_numpy, with_old_numpy, with_variable, with_user_dict, with_chain, with_user_list, with_event, with_local,
     with_environment, with_weak_keys, with_cache],
)  # fmt: skip
def test_it_is_put_back(function, monkeypatch):
    monkeypatch.setenv("DEPYF_TEST", "1")
    local.n = 1
    cached.cache_clear()
    torch._dynamo.reset()
    before = everything()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch says that it ignores the cache
        found = depyf.compare(function, ONE, backend="aot_eager")
    assert everything() == before
    assert found, str(found)


def compiling():
    return torch.compiler.is_compiling()


conf = {"a": 1, "b": 2}
cache = collections.OrderedDict(k1=1, k2=2, k3=3)
numbered = {3, 1}


def order(x):
    if compiling():
        conf["a"] = conf.pop("a")
    return x + 1


def order_of_result(x):
    y = x + 1
    return {"b": 1, "a": y} if compiling() else {"a": y, "b": 1}


def moved(x):
    if not compiling():
        cache.move_to_end("k1")
    return x + 1


def a_slice(x):
    y = x + 1
    return y, slice(0, 1 if compiling() else 2)


def another_lambda(x):
    y = x + 1
    if compiling():
        return y, lambda: 1
    return y, lambda: 2


@pytest.mark.parametrize(
    "function, path",
    [
        (order, "conf's order of keys"),
        (order_of_result, "the result's order of keys"),
        (moved, "cache's order of keys"),
        (a_slice, "the result[1]"),
        (another_lambda, "the result[1]"),
    ],
)
def test_it_is_compared(function, path):
    found = depyf.compare(function, ONE, backend="aot_eager")
    assert [one.path for one in found.python.apart] == [path]
    assert "its code does not do what Python does" in str(found)
    assert list(conf) == ["a", "b"] and list(cache) == ["k1", "k2", "k3"]


def changes_a_set(x):
    numbered.add(9)
    numbered.discard(1)
    return x + len(numbered)


def warns(x):
    y = x + 1
    warnings.warn("careful", stacklevel=1)
    return y * 2


@pytest.mark.parametrize("function", [changes_a_set, warns])
def test_the_same(function):
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        found = depyf.compare(function, ONE, backend="aot_eager")
    assert found, str(found)
    assert numbered == {1, 3}


def test_a_lazy_module_is_not_made():
    net = torch.nn.Sequential(torch.nn.LazyLinear(4), torch.nn.ReLU())
    found = depyf.compare(net, torch.ones(2, 3), backend="aot_eager")
    assert not found.python.ran and "a parameter of a lazy module" in str(found)
    assert net(torch.ones(2, 3)).shape == (2, 4)


def test_autocast_is_left_as_it_was():
    """A call that raises inside of the block leaves no block entered, and no weight that was cast."""
    linear = torch.nn.Linear(2, 2, bias=False)

    def raises(x, rows):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return linear(torch.index_select(x, 0, rows))

    def difference(x):
        def run():
            with torch.autocast("cpu", dtype=torch.bfloat16):
                return linear(x)[0, 0].item()

        before = run()
        with torch.no_grad():
            linear.weight.add_(100)
        return run() - before

    depyf.compare(raises, torch.ones(4, 2), torch.tensor([50]), backend="aot_eager")
    assert difference(torch.ones(4, 2)) > 100


def test_inputs_that_share_memory_are_compared_so():
    def writes(first, second):
        first.add_(100)
        return second * 2

    base = torch.arange(24.0).reshape(4, 6)
    found = depyf.compare(writes, base, base[1:], backend="aot_eager")
    assert found, str(found)

    def wrong(gm, inputs):
        """A backend that copies its inputs before it writes."""
        return lambda *args: gm(*(arg.clone() for arg in args))

    found = depyf.compare(writes, base, base[1:], backends=("eager", wrong))
    assert found.graphs[0].finding is not None


def of_a_library(x):
    math.depyf_test = 1
    collections.depyf_test = [1]
    colorsys.depyf_test = 2
    return x + 1


def test_attributes_that_a_call_writes_to_a_module_of_a_library():
    torch._dynamo.reset()
    colorsys.depyf_test = kept = object()
    try:
        found = depyf.compare(of_a_library, ONE, backend="aot_eager")
        assert found, str(found)
        assert not hasattr(math, "depyf_test") and not hasattr(collections, "depyf_test")
        assert colorsys.depyf_test is kept
    finally:
        del colorsys.depyf_test
