"""A function that lets go of a tensor after a graph break frees its memory with depyf as it does without."""

from __future__ import annotations

import gc
import types

import pytest

from depyf.api import prepare_debug

torch = pytest.importorskip("torch")
pytestmark = [pytest.mark.torch, pytest.mark.usefixtures("heap_of_its_own")]

SIZE = 1 << 14
alive: list[int] = []


def look():
    """How many times SIZE bytes the tensors have that are alive here."""
    gc.collect()
    found = [thing for thing in gc.get_objects() if type(thing) is torch.Tensor and thing.dtype is torch.float32]
    alive.append(sum(dict(map(memory, found)).values()) // SIZE)


def memory(tensor):
    """Where the memory of a tensor is, and how much; a storage without any (another test may hold one) counts for nothing."""
    storage = tensor.untyped_storage()
    try:
        return storage.data_ptr(), storage.nbytes()
    except RuntimeError:
        return 0, 0


look = torch._dynamo.disable(look)


def deletes(a):
    big = torch.cat([a, a, a, a])
    scale = big.sum().item()
    del big
    look()
    return a * scale


def deletes_in_a_branch(a):
    big = torch.cat([a, a, a, a])
    if big.sum() > 0:
        del big
        look()
        return a + 1
    return a


def takes_out_of_a_dict(a):
    x, y = torch.sin(a), torch.cos(a)
    both = {"x": x, "y": y}
    look()
    both.pop("x")
    del x
    look()
    z = both.pop("y")
    del y
    look()
    return z + 1


def from_a_closure(a):
    scale = 2.0
    big = torch.cat([a, a, a, a])

    def scaled(value):
        return value * scale

    total = big.sum().item()
    del big
    look()
    return scaled(a) * total


def inner_breaks(a):
    big = torch.cat([a, a, a, a])
    total = big.sum().item()
    del big
    return total


def nested(a):
    y = torch.sin(a)
    total = inner_breaks(y)
    del y
    look()
    return a * total


def measured(function, folder, **config):
    """What is alive at each look of two calls; with a ``folder``, of calls compiled under ``prepare_debug``."""
    torch._dynamo.reset()
    compiled = torch.compile(types.FunctionType(function.__code__.replace(), globals()), backend="eager")
    a = torch.ones(SIZE // 4)
    before = list(alive)
    look()
    base = alive[-1]
    with torch._dynamo.config.patch(**config):
        if folder is None:
            compiled(a)
        else:
            with prepare_debug(folder):
                compiled(a)
        alive.clear()
        compiled(a)
        compiled(a)
    found = [count - base for count in alive]
    alive[:] = before
    return found


@pytest.mark.parametrize(
    "function", [deletes, deletes_in_a_branch, takes_out_of_a_dict, from_a_closure, nested], ids=lambda f: f.__name__
)
@pytest.mark.parametrize("nested_breaks", [False, True])
def test_as_much_is_alive(function, nested_breaks, tmp_path):
    config = {"nested_graph_breaks": nested_breaks} if hasattr(torch._dynamo.config, "nested_graph_breaks") else {}
    plain = measured(function, None, **config)
    assert plain and measured(function, tmp_path, **config) == plain
    texts = [path.read_text() for path in tmp_path.glob("__transformed_code_*.py")]
    assert texts and all("This text is what runs" in text for text in texts)
