"""A run that compiled nothing says why; so do modes, caches and exports that did not do what they were to."""

from __future__ import annotations

import json

import pytest
import torch
from commands import python

import depyf
from depyf.run.observations.all_observations import observations_of
from depyf.run.observations.observation import ObservationKind
from depyf.run.store.loading import load

pytestmark = pytest.mark.torch

HEAD = """
import torch
from torch import nn
class Net(nn.Module):
    def forward(self, x):
        return x.sin() + 1
def f(x):
    return x.cos() * 2
x = torch.ones(3)
"""
WHY = {
    "stance": (
        "torch.compiler.set_stance('force_eager')\ng = torch.compile(f, backend='eager')  # here\ng(x)\n"
        "torch.compiler.set_stance('default')",
        "# here",
        "`f` was called under the stance",
    ),
    "stance of a block": (
        "net = Net()\nnet.compile(backend='eager')  # here\nwith torch.compiler.set_stance('force_eager'):\n    net(x)",
        "# here",
        "`Net` was called under the stance",
    ),
    "no operation": (
        "g = torch.compile(lambda x: x, backend='eager')  # here\ng(x)",
        "# here",
        "there is no tensor operation in it",
    ),
    "of torch, in place": (
        "net = nn.Sequential(nn.ReLU())\nnet.compile(backend='eager')  # here\nnet(x)",
        "# here",
        "torch compiled nothing of `Sequential`",
    ),
    "layers of torch, in place": (
        "net = nn.ModuleList(nn.Linear(3, 3) for _ in range(2))\nfor one in net:\n"
        "    one.compile(backend='eager')  # here\n    one(x)",
        "# here",
        "`Linear` (2 of them)",
    ),
}
FINE = {
    "compiled": "torch.compile(f, backend='eager')(x)",
    "own module in place": "net = Net()\nnet.compile(backend='eager')\nnet(x)",
    "of torch, in place, inside of a compiled function": (
        "net = nn.Sequential(nn.ReLU())\nnet.compile(backend='eager')\n"
        "torch.compile(lambda x: net(x) + 1, backend='eager')(x)"
    ),
    "nothing in the block": "f(x)",
    "stance for one of two calls": (
        "g = torch.compile(f, backend='eager')\nwith torch.compiler.set_stance('force_eager'):\n    g(x)\ng(x)"
    ),
}


def recorded(text, tmp_path):
    program = tmp_path / "program.py"
    program.write_text(HEAD + text + "\n")
    torch._dynamo.reset()
    with depyf.prepare_debug(tmp_path / "dump"):
        exec(compile(program.read_text(), str(program), "exec"), {"__name__": "program"})
    return observations_of(load(tmp_path / "dump")), program.read_text().splitlines()


@pytest.mark.parametrize("name", WHY)
def test_why(name, tmp_path):
    text, mark, said = WHY[name]
    (found,), lines = recorded(text, tmp_path)
    assert lines[found.place.line - 1].endswith(mark) and said in found.text, found
    page = json.loads((tmp_path / "dump" / "manifest.json").read_text())
    assert page["observations"] == [found.to_json()]


@pytest.mark.parametrize("name", FINE)
def test_nothing_to_say(name, tmp_path):
    found, _ = recorded(FINE[name], tmp_path)
    assert not found


@pytest.mark.parametrize(
    "text, variables, said",
    [
        ("f(x)", {}, "torch.compile was not called in this process"),
        ("torch.compile(f)(x)", {"TORCH_COMPILE_DISABLE": "1"}, "TORCH_COMPILE_DISABLE=1 switches torch.compile off"),
        (
            "torch._dynamo.config.disable = True\ntorch.compile(f)(x)",
            {},
            "torch._dynamo.config.disable = True switches torch.compile off",
        ),
    ],
)
def test_a_whole_program(text, variables, said, tmp_path):
    (tmp_path / "program.py").write_text(HEAD + text + "\n")
    done = python("-m", "depyf", "doctor", "program.py", cwd=tmp_path, env=variables)
    assert f"1. nothing was compiled: {said}" in done.stdout, done.stdout + done.stderr


def test_a_mode_for_graphs_of_a_gpu(tmp_path):
    mode = "torch.compile(f, backend=noted, mode='reduce-overhead')  # here"
    backend = (
        "from torch._dynamo.backends.registry import register_backend\ndef noted(gm, inputs, **more):\n    return gm\n"
    )
    (found,), lines = recorded(f"{backend}g = {mode}\ng(x)", tmp_path)
    assert found.kind is ObservationKind.MODE and lines[found.place.line - 1].endswith("# here")
    assert "changes nothing here: all tensors of `f` are on the CPU" in found.text


CACHES = """
class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x
    @staticmethod
    def backward(ctx, g):
        return 2 * ctx.saved_tensors[0] * g
torch.compile(lambda x: Square.apply(x) + 1)(torch.ones(3, requires_grad=True))
"""


def test_a_cache_that_cannot_be_used(tmp_path):
    found, _ = recorded(CACHES, tmp_path)
    (found,) = (one for one in found if one.kind is ObservationKind.CACHE)
    assert "autograd_function_apply" in found.text and "AOTAutograd" in found.text
    assert "autograd_cache_allow_custom_autograd_functions = True" in found.ways[0]


EXPORTS = {
    "a branch": (
        "class Branch(nn.Module):\n    def forward(self, x):\n        if x.sum() > 0:  # here\n            return x + 1\n"
        "        return x - 1\n",
        "Branch(), (x,)",
        "the values in a tensor",
        "torch.cond",
    ),
    "a size that is a constant": (
        "class Sized(nn.Module):\n    def forward(self, x):\n        return x + 1 if x.shape[0] == 3 else x - 1\n",
        "Sized(), (x,), dynamic_shapes={'x': {0: torch.export.Dim('b')}}",
        "is dynamic (dynamic_shapes), and the program needs it to be 3",
        "b = 3",
    ),
    "a number": (
        "class Number(nn.Module):\n    def forward(self, x):\n        return x[: int(x.sum())] if x.sum().item() > 2 else x  # here\n",
        "Number(), (x,)",
        "the values in a tensor",
        "torch._check",
    ),
}


@pytest.mark.parametrize("name", EXPORTS)
def test_an_export_that_failed(name, tmp_path):
    text, given, said, way = EXPORTS[name]
    mark = "" if "# here" in text else "  # here"
    export = f"try:\n    torch.export.export({given}){mark}\nexcept Exception as error:\n    caught = error\n"
    (found,), lines = recorded(text + export, tmp_path)
    assert found.kind is ObservationKind.EXPORT and said in found.text and any(way in one for one in found.ways), found
    assert lines[found.place.line - 1].endswith("# here"), found
    assert (
        "log_export_usage" in vars(torch._utils_internal)
        and "depyf" not in torch._utils_internal.log_export_usage.__module__
    )


def test_no_frame_of_ours_is_in_the_traceback_of_an_export(tmp_path):
    import traceback

    class Branch(torch.nn.Module):
        def forward(self, x):
            return x + 1 if x.sum() > 0 else x

    with depyf.prepare_debug(tmp_path / "dump"), pytest.raises(Exception, match="data-dependent") as raised:
        torch.export.export(Branch(), (torch.ones(2),))
    assert "/depyf/" not in "".join(traceback.format_tb(raised.value.__traceback__))


def test_an_export_that_works_says_nothing(tmp_path):
    found, _ = recorded("torch.export.export(Net(), (x,))", tmp_path)
    assert not found
