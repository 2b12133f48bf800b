"""``depyf open`` of many captures: of ``aot_compile`` and of ``precompile`` (torch 2.15), none of it executed.

The programs are of the kinds that torch's tests of both have: closures, defaults, modules, higher-order operators, sizes that
vary, gradients, mutation, containers, subclasses, other backends.
"""

from __future__ import annotations

import functools
import pickle
import subprocess
import sys

import pytest
import torch

from depyf.actions.opened.open_file import opened
from depyf.sources.files.pickle_steps import SavedFileError

pytest.importorskip("torch._dynamo.aot_compile")
pytestmark = pytest.mark.torch

X = torch.ones(4, 3)
WEIGHT = torch.full((3,), 2.0)


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.linear = torch.nn.Softmax(-1), torch.nn.Linear(3, 3)
        self.register_buffer("shift", torch.ones(3))

    def forward(self, x):
        return torch.relu(self.linear(self.norm(x))) + self.shift


def plain(x):
    return x.sin() + 1


def defaults(x, n=3, *, k=2.5, flag=True):
    return x * n + k if flag else x


def rest(x, *others, **named):
    return x + sum(others) + named["y"]


def branch(x):
    return x * 2 if x.shape[0] > 2 else x - 1


def cond(x):
    return torch.cond(x.sum() > 0, lambda x: x + 1, lambda x: x - 1, (x,))


def of_global(x):
    return x * WEIGHT


def containers(x, items):
    return x + items["a"][0] + items["b"]


def mutates(x):
    x.add_(1)
    return x * 2


def several(x):
    return {"y": x + 1, "z": (x.sum(), [x.t()])}


def cast(x):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        return x @ x.t()


def closure():
    inner = torch.ones(3)
    return lambda x: x + inner


def nested(x):
    def inner(y):
        return y + x

    return inner(x.cos())


PROGRAMS = {
    "plain": (plain, (X,), {}),
    "defaults": (defaults, (X,), {"k": 1.5}),
    "rest": (rest, (X, X, X), {"y": X}),
    "branch": (branch, (X,), {}),
    "cond": (cond, (X,), {}),
    "a global": (of_global, (X,), {}),
    "containers": (containers, (X, {"a": [X], "b": 2}), {}),
    "mutates": (mutates, (X.clone(),), {}),
    "several results": (several, (X,), {}),
    "autocast": (cast, (X,), {}),
    "closure": (closure(), (X,), {}),
    "nested": (nested, (X,), {}),
    "a module": (Net().eval().forward, (X,), {}),
    "partial arguments": (functools.partial(defaults, n=5).func, (X, 5), {}),
}
OPTIONS = {
    "aot_eager": {"backend": "aot_eager"},
    "inductor": {"backend": "inductor"},
    "sizes that vary": {"backend": "aot_eager", "dynamic": True},
}


def saved(tmp_path, program, options, gradients=False):
    function, args, keywords = program
    given = tuple(a.clone().requires_grad_() if gradients and isinstance(a, torch.Tensor) else a for a in args)
    compiled = torch.compile(function, fullgraph=True, **options).aot_compile((given, keywords))
    compiled.save_compiled_function(str(tmp_path / "f"))
    return (tmp_path / "f").read_bytes()


def opens(data, monkeypatch):
    def refused(*args, **kwargs):
        raise AssertionError("something was unpickled")

    with monkeypatch.context() as patched:
        for name in ("load", "loads", "Unpickler"):
            patched.setattr(pickle, name, refused)
        found = opened(data, "f")
    assert not found.notes
    assert not found.unproven
    assert found.files["guards.txt"]
    listed = found.files["index.md"].partition("## Guards\n")[2].partition("\n## ")[0].splitlines()
    assert [line for line in listed if line.startswith("- ")], "an empty list"
    return found


@pytest.mark.parametrize("way", [way for way in OPTIONS if way != "inductor"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_function_compiled_ahead_of_time(tmp_path, monkeypatch, name, way):
    found = opens(saved(tmp_path, PROGRAMS[name], OPTIONS[way]), monkeypatch)
    assert found.functions


def test_a_tensor_of_a_module_is_named_by_its_path(tmp_path, monkeypatch):
    found = opens(saved(tmp_path, PROGRAMS["a module"], OPTIONS["aot_eager"]), monkeypatch)
    assert "- `self.linear.weight: the tensor's type, dtype," in found.files["index.md"]


@pytest.mark.parametrize("name", ["plain", "a module"])
def test_with_kernels(tmp_path, monkeypatch, name):
    assert opens(saved(tmp_path, PROGRAMS[name], OPTIONS["inductor"]), monkeypatch).texts


@pytest.mark.parametrize("name", ["plain", "branch", "several results"])
def test_with_a_backward(tmp_path, monkeypatch, name):
    found = opens(saved(tmp_path, PROGRAMS[name], OPTIONS["aot_eager"], gradients=True), monkeypatch)
    assert any("backward" in file for file in found.files)


def test_torch_is_not_imported_for_that(tmp_path):
    (tmp_path / "g").write_bytes(saved(tmp_path, PROGRAMS["defaults"], OPTIONS["aot_eager"]))
    program = "import sys; from depyf.cli import main; main(['open', sys.argv[1]]); print('torch' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "g")], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == "False"


CAPTURED = {
    "plain": (plain, (X,)),
    "branch": (branch, (X,)),
    "a module": (lambda model, x: model(x), (Net().eval(), X)),
    "a module in training": (lambda model, x: model(x), (Net(), X)),
    "two modules": (lambda one, two, x: one(x) + two(x), (torch.nn.Linear(3, 3), torch.nn.Linear(3, 3), X)),
    "gradients": (lambda model, x: model(x).sum().backward(), (torch.nn.Linear(3, 3), X)),
    "mutates": (mutates, (X.clone(),)),
    "several results": (several, (X,)),
    "containers": (lambda x, items: x + items["a"][0], (X, {"a": [X]})),
    "autocast": (cast, (X,)),
}


@pytest.mark.skipif(not hasattr(getattr(torch.compiler, "precompile", None), "capture"), reason="of torch 2.15")
@pytest.mark.parametrize("backend", ["eager", "inductor"])
@pytest.mark.parametrize("name", CAPTURED)
def test_one_graph_that_was_precompiled(tmp_path, monkeypatch, name, backend):
    from precompiled_artefacts import captured

    function, args = CAPTURED[name]
    path = captured(tmp_path, *args, function=function, backend=backend)
    found = opens(path.read_bytes(), monkeypatch)
    assert {"graph_code.py", "driver_code.py"} <= found.files.keys()
    assert opened(path.with_suffix(".cache").read_bytes(), "cache").kind == "the cache of a precompile artefact"
    with pytest.raises(SavedFileError):
        opened(path.read_bytes()[:-2000].replace(b"OUT_SPEC", b"OUT_SPEK"), "f")
