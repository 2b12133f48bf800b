"""``depyf.why`` tells every guard that fails, agrees with torch about hit or miss, and runs nothing of the program."""

from __future__ import annotations

import json
import random

import pytest
import torch

import depyf
from depyf.sources.live.caches.entries import cache_entries
from depyf.sources.live.target import find_target

pytestmark = pytest.mark.torch


class Net(torch.nn.Module):
    def __init__(self, layers=2):
        super().__init__()
        self.layers = torch.nn.ModuleList(torch.nn.Linear(3, 3) for _ in range(layers))
        self.scale = 2
        self.table = {"a": 1, "b": [1, 2]}

    def forward(self, x, n=2, flag=True):
        for layer in self.layers:
            x = layer(x)
        return x * self.scale * n * self.table["a"] * len(self.table["b"]) if flag else x


def told(compiled, *args, **kwargs):
    """(entry -> {what differs: (wanted, given)}), in the order of the answer."""
    return {
        refusal.compile_id: {d.about: (d.step.expected, d.step.actual) for d in refusal.differences}
        for refusal in depyf.why(compiled, *args, **kwargs).refusals
    }


def test_all_that_differs_the_nearest_first():
    net = Net()
    compiled = torch.compile(net, backend="eager", dynamic=False)
    compiled(torch.ones(2, 3), 2)
    compiled(torch.ones(4, 3), 5)
    net.scale = 7
    found = told(compiled, torch.ones(2, 3), 9)
    assert list(found) == ["0/0", "0/1"], "0/0 differs in n and scale, 0/1 in x, too"
    assert found["0/0"] == {"n": ("2", "9"), "self.scale": ("2", "7")}
    assert found["0/1"] == {"n": ("5", "9"), "self.scale": ("2", "7"), "x": ("size[0]=4", "size[0]=2")}
    answer = depyf.why(compiled, torch.ones(2, 3), 9)
    lines = str(answer).splitlines()
    assert "0/0 does not run: 2 guards fail" in lines[1]
    assert sum("test_every_difference.py" in line and " line " in line for line in lines) >= 3
    data = json.loads(json.dumps(answer.to_json()))
    assert [len(refusal["differences"]) for refusal in data["refusals"]] == [2, 3]
    assert all(part["from"] for part in data["refusals"][0]["differences"])


def test_alike_differences_and_entries_are_folded():
    net = Net(layers=12)
    compiled = torch.compile(net, backend="eager", dynamic=False)
    for n in range(2, 8):
        compiled(torch.ones(2, 3), n)
    said = str(depyf.why(compiled, torch.ones(2, 3), 99))
    assert len(said.splitlines()) <= 5 and "0/4, 0/3, 0/2, 0/1, 0/0: the same; n expected 6, 5, 4, 3, 2" in said
    net.requires_grad_(False)
    said = str(depyf.why(compiled, torch.ones(2, 3), 99))
    assert "23 more of this kind" in said and len(said.splitlines()) <= 12


class Hostile:
    """Whatever looks at it in another way than by its class is noticed."""

    touched = 0

    def _raise(self, *args):
        type(self).touched += 1
        raise SystemExit("looked at")

    __eq__ = __ne__ = __len__ = __bool__ = __getitem__ = __iter__ = __contains__ = __call__ = __repr__ = _raise
    __hash__ = object.__hash__

    def __getattr__(self, name):
        type(self).touched += 1
        raise SystemExit(name)

    @property
    def value(self):
        type(self).touched += 1
        raise KeyboardInterrupt


class Plain:
    def __init__(self):
        self.value = 3
        self.items = [1, 2]


def uses(x, box, items, n):
    return x * box.value + len(box.items) * items[0]["k"] + n


@pytest.mark.parametrize("where", ["box", "items", "n", "x", "inside"])
def test_nothing_of_a_hostile_value_runs(where):
    compiled = torch.compile(uses, backend="eager", dynamic=False)
    good = {"x": torch.ones(2), "box": Plain(), "items": [{"k": 2}], "n": 4}
    compiled(**good)
    Hostile.touched = 0
    if where == "inside":
        good["items"] = [Hostile()]
    else:
        good[where] = Hostile()
    answer = depyf.why(compiled, **good)
    assert answer.runs is None and Hostile.touched == 0
    (refusal,) = answer.refusals
    assert refusal.differences and "Hostile" in str(answer)
    if where == "box":
        assert refusal.not_asked and all("box differs already" in step.not_asked for step in refusal.not_asked)
        assert "not asked" in str(answer)
    assert Hostile.touched == 0, "nor does showing it"


def test_fake_tensors_and_subclasses():
    from torch._subclasses.fake_tensor import FakeTensorMode
    from torch.fx.experimental.symbolic_shapes import ShapeEnv

    class Sub(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            raise AssertionError("asked")

    compiled = torch.compile(lambda x: x * x.shape[0] + 1, backend="eager", dynamic=True)
    compiled(torch.ones(4, 3))
    environment = ShapeEnv()
    with FakeTensorMode(shape_env=environment, allow_non_fake_inputs=True) as mode:
        fake = mode.from_tensor(torch.ones(7, 3), static_shapes=False)
    for value in (fake, torch.ones(4, 3).as_subclass(Sub)):
        answer = depyf.why(compiled, value)
        assert answer.runs is None and len(answer.refusals[0].differences) >= 1, value.__class__
    assert not environment.guards


PROGRAMS = {
    "shapes": (lambda x, n: x * n + x.shape[0], True),
    "static": (lambda x, n: x.reshape(-1) * n, False),
    "branches": (lambda x, n: x * 2 if x.shape[0] > 3 else x + n, True),
    "types": (lambda x, n: x if n is None else x * (len(n) if isinstance(n, (list, str)) else n), None),
    "two": (lambda x, n: x @ x.t() if n else x, None),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_fits_is_what_torch_says(name):
    """Over random calls: an entry fits where torch's own check says so, and one that does not has a guard that fails."""
    function, dynamic = PROGRAMS[name]
    compiled = torch.compile(lambda x, n: function(x, n), backend="eager", dynamic=dynamic)
    draw = random.Random(0)

    def call():
        x = torch.ones(
            draw.choice([1, 2, 3, 5]), draw.choice([2, 3]), dtype=draw.choice([torch.float32, torch.float64])
        )
        x = x.requires_grad_() if draw.random() < 0.3 else x.t() if draw.random() < 0.2 else x
        return x, draw.choice([None, [1], "ab", [1, 2]] if name == "types" else [1, 2, 3, True, 1.5])

    for _ in range(4):
        compiled(*call())
    misses = 0
    for _ in range(12):
        x, n = call()
        target = find_target(compiled)
        L = target.frame_locals((x, n), {})
        fits = {entry.compile_id: bool(entry.manager.check_verbose(L).result) for entry in cache_entries(target.code)}
        first = next((compile_id for compile_id, hit in fits.items() if hit), None)
        answer = depyf.why(compiled, x, n)
        assert answer.runs == first
        assert all(not fits[refusal.compile_id] and refusal.differences for refusal in answer.refusals)
        counts = [len(refusal.differences) for refusal in answer.refusals]
        assert counts == sorted(counts)
        misses += first is None
        with torch.compiler.set_stance("fail_on_recompile"):
            try:
                compiled(x, n)
                ran = True
            except RuntimeError:
                ran = False
        assert ran == (answer.runs is not None)
    assert misses
