"""Asking must not change what is asked about: after ``depyf.compare`` torch and the program are as before."""

import gc
import os
import subprocess
import sys

import pytest
import torch
from torch._dynamo import convert_frame, eval_frame, pgo, utils
from torch._inductor import codecache

import depyf

pytestmark = pytest.mark.torch
QUICK = ("eager", "aot_eager")


def plain(x, n):
    return x * n


def scaled(x, n):
    return x * n


def broken(x, n):
    y = x + 1
    torch._dynamo.graph_break()
    return scaled(y, n) + 1


def nested(x, n):
    def inner(y):
        torch._dynamo.graph_break()
        return y + n

    y = x + 1
    torch._dynamo.graph_break()
    return inner(y)


def without_tensors(x, n):
    if n < 3:
        return n
    return x * n


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(3, 3)

    def forward(self, x, n):
        y = self.layer(x)
        torch._dynamo.graph_break()
        return scaled(y, n)


class Method:
    def __call__(self, x, n):
        return scaled(x, n) + 2


MODEL = Model()
CALLED = {"plain": plain, "broken": broken, "nested": nested, "model": MODEL, "method": Method(), "skipped": without_tensors,
          "lambda": lambda x, n: broken(x, n) * 2}  # fmt: skip


def copied(value):
    if isinstance(value, dict):
        return {key: copied(item) for key, item in value.items()}
    return list(value) if isinstance(value, (list, tuple)) or type(value).__name__ == "deque" else value


def inventory():
    """What torch knows of the program's functions, and what it has counted."""
    gc.collect()
    codes = [code for reference in convert_frame.input_codes.seen if (code := reference()) is not None]
    return {
        "entries": {id(code): list(map(id, eval_frame._debug_get_cache_entry_list(code))) for code in codes},
        "seen": sorted(convert_frame.input_codes.seen_ids),
        "counters": copied({key: found for key, found in utils.counters.items() if found}),
        "metrics": list(map(id, utils._compilation_metrics)),
        "times": copied(utils.compilation_time_metrics),
        "frames": (convert_frame.FRAME_COUNTER, copied(convert_frame.FRAME_COMPILE_COUNTER)),
        "backends": sorted(eval_frame.cached_backends),
        "sizes": {str(key): str(dict(found.automatic_dynamic)) for key, found in (pgo._CODE_STATE or {}).items()},
        "breaks": copied(utils.counters["graph_break"]),
        "globals": sorted(name for name in globals() if not name.startswith("__import_")),
        "code": [id(function.__code__) for function in (plain, scaled, broken, nested, Model.forward, without_tensors)],
    }


@pytest.mark.parametrize("name", CALLED)
@pytest.mark.parametrize("compiled_before", (False, True))
def test_nothing_is_left(name, compiled_before):
    torch._dynamo.reset()
    function = CALLED[name]
    compiled = torch.compile(function, backend="eager")
    if compiled_before:
        compiled(torch.ones(2, 3), 4)
        compiled(torch.ones(5, 3), 4)
    before = inventory()
    for _ in range(2):
        depyf.compare(function, torch.ones(4, 3), 3, backends=QUICK)
    after = inventory()
    assert after == before
    compiled(torch.ones(2, 3), 4)  # the entries still serve
    if compiled_before:
        assert inventory()["entries"] == before["entries"]


def test_what_comes_after_is_as_without():
    """Nine comparisons, then the program compiles: no recompile limit, the same graphs, the same sizes."""

    def run(asks):
        torch._dynamo.reset()
        made = []

        def backend(gm, inputs):
            made.append([tuple(value.shape) if isinstance(value, torch.Tensor) else value for value in inputs])
            return gm

        compiled = torch.compile(broken, backend=backend)
        for size in (2, 3, 4):
            for width in range((9 if size == 2 else 1) if asks else 0):
                assert depyf.compare(broken, torch.ones(size + width, 3), 3, backends=QUICK)
            compiled(torch.ones(size, 3), 2)
        return str(made)

    assert run(True) == run(False)


def test_an_error_of_the_program_leaves_nothing():
    def fails(x, n):
        print(x + 1)
        raise ValueError(n)

    torch._dynamo.reset()
    before = inventory()
    result = depyf.compare(fails, torch.ones(2), 3, backends=QUICK)
    assert "both raise ValueError: 3" in str(result)
    assert inventory() == before


def test_a_call_that_python_refuses_is_the_program_s():
    torch._dynamo.reset()
    before = inventory()
    with pytest.raises(TypeError, match="missing 1 required positional argument"):
        depyf.compare(plain, torch.ones(2), backends=QUICK)
    assert inventory() == before


def test_a_call_that_cannot_be_compiled_leaves_no_global():
    def fails(x):
        return x.view(3, 3)

    before = set(globals())
    depyf.compare(torch.compile(fails, backend="eager"), torch.ones(4), backends=QUICK)
    assert set(globals()) == before


def test_inductor_leaves_no_module_and_no_recursion_limit():
    """What it needs of them is loaded again when the program compiles the same graph."""

    def f(x):
        return torch.sin(x) * 3 + x.sum()

    torch._dynamo.reset()
    torch.compile(lambda x: x.cos() + 3)(torch.ones(5))  # the first compilation imports much of torch
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(1000)
    try:
        before = set(sys.modules)
        assert depyf.compare(f, torch.ones(7))
        assert {name for name in set(sys.modules) - before if not name.startswith(("torch.", "depyf."))} == set()
        kernels = {module.__name__ for module in codecache.PyCodeCache.modules}
        assert not (set(sys.modules) - before) & kernels and sys.getrecursionlimit() == 1000
    finally:
        sys.setrecursionlimit(limit)
    assert torch.allclose(torch.compile(f)(torch.ones(7)), f(torch.ones(7)))


FIRST_OF_ALL = """
import os, torch, depyf
before = dict(os.environ)
assert depyf.compare(lambda x: x + 1, torch.ones(3))
assert dict(os.environ) == before, set(os.environ) ^ set(before)
"""


def test_the_environment_of_a_process_in_which_nothing_was_compiled():
    environment = {name: text for name, text in os.environ.items() if not name.startswith("TORCH")}
    done = subprocess.run([sys.executable, "-c", FIRST_OF_ALL], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
