"""Dumps by layer: each captured graph nested by module, and what an engine says of the graphs that it formats."""

from __future__ import annotations

import contextlib
import json
import sys
import types

import pytest
import torch
from dumps import check_dump

import depyf


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.linear = torch.nn.LayerNorm(4), torch.nn.Linear(4, 4)

    def forward(self, x):
        return x + self.linear(self.norm(x))


class Net(torch.nn.Module):
    def __init__(self, layers=3):
        super().__init__()
        self.h = torch.nn.ModuleList(Block() for _ in range(layers))
        self.head = torch.nn.Sequential(torch.nn.Linear(4, 2), torch.nn.ReLU())

    def forward(self, x):
        for block in self.h:
            x = block(x)
        return self.head(x).sum(-1)


PASSES = """
from contextlib import contextmanager

_pass_context = None


class Range:
    def __init__(self, start, end):
        self.start, self.end = start, end


class PassContext:
    def __init__(self, compile_range):
        self.compile_range = compile_range


@contextmanager
def pass_context(compile_range):
    global _pass_context
    before, _pass_context = _pass_context, PassContext(compile_range)
    try:
        yield
    finally:
        _pass_context = before
"""
BACKEND = """
from torch._dynamo.utils import lazy_format_graph_code
from engine.inductor_pass import Range, pass_context


class Backend:
    def __call__(self, graph, examples):
        lazy_format_graph_code("before split", graph)
        for end in (8, 64):
            with pass_context(Range(1, end)):
                self.dump(graph)
        return graph

    def dump(self, graph):
        lazy_format_graph_code("after fusion", graph, 3)
"""


@pytest.fixture
def engine():
    """The modules of an engine such as vLLM: passes with a context, a backend that formats graphs."""
    package = types.ModuleType("engine")
    package.__path__ = []
    sys.modules["engine"] = package
    for name, text in (("inductor_pass", PASSES), ("backends", BACKEND)):
        module = types.ModuleType(f"engine.{name}")
        sys.modules[module.__name__] = module
        exec(compile(text, f"{name}.py", "exec"), vars(module))
    yield sys.modules["engine.backends"].Backend()
    for name in ("engine", "engine.inductor_pass", "engine.backends"):
        sys.modules.pop(name, None)


def test_captured_graph_by_layer(tmp_path):
    torch._dynamo.reset()
    with depyf.prepare_debug(tmp_path):
        torch.compile(Net(), backend="eager")(torch.ones(2, 4))
    manifest = check_dump(tmp_path)
    kinds = {item["file"]: (item["kind"], item["from"]) for item in manifest["files"]}
    graph = "__compiled_fn_0_0.Captured_Graph.0.py"
    text_file, index_file = (
        "__compiled_fn_0_0.Captured_Graph.0.layers.txt",
        "__compiled_fn_0_0.Captured_Graph.0.layers.json",
    )
    assert kinds[text_file] == ("layers", [graph]) and kinds[index_file] == ("layer_index", [graph])
    text, index = (tmp_path / text_file).read_text(), json.loads((tmp_path / index_file).read_text())
    lines = (tmp_path / graph).read_text().splitlines()
    layers = {layer["module"]: layer for layer in index["layers"]}
    assert list(layers) == [
        *(f"self.h.{n}{part}" for n in range(3) for part in ("", ".norm", ".linear")), "self.head", "self.head.0", "self.head.1",
    ]  # fmt: skip
    assert layers["self.h.1"]["same_as"] == "self.h.0" and "same_as" not in layers["self.head"]
    (first, last) = layers["self.h.2.norm"]["lines"][0]
    assert first == last and "layer_norm(" in lines[first - 1] and "h_modules_2_modules_norm" in lines[first - 1]
    (first, last) = layers["self.head"]["lines"][0]
    assert "linear(" in lines[first - 1] and "relu" in lines[last - 1]
    assert "class Block:  # self.h.2, same operations as self.h.0" in text
    assert "self.h.2.norm.weight" in text and "test_layers.py:" in text
    torch._dynamo.reset()


def test_what_an_engine_says_of_its_graphs_stays_with_them(tmp_path, engine):
    torch._dynamo.reset()
    with depyf.prepare_debug(tmp_path):
        torch.compile(Net(1), backend=engine)(torch.ones(2, 4))
    manifest = check_dump(tmp_path)
    given = {item["file"]: item["given"] for item in manifest["files"] if "given" in item}
    by = "engine.backends.Backend"
    assert given == {
        "__compiled_fn_0_0.before_split.0.py": {"name": "before split", "by": f"{by}.__call__", "context": {}, "order": 0},
        **{
            f"__compiled_fn_0_0.after_fusion.{n}.py": {
                "name": "after fusion", "by": f"{by}.dump", "context": {"id": "3", "compile_range": f"Range(start=1, end={end})"},
                "order": n + 1,
            }
            for n, end in enumerate((8, 64))
        },
    }  # fmt: skip
    page = (tmp_path / "__compiled_fn_0_0.after_fusion.1.py").read_text()
    assert (
        "# Given as 'after fusion' by engine.backends.Backend.dump, id=3, compile_range=Range(start=1, end=64)." in page
    )
    assert "self.h.0.norm (LayerNorm)" in (tmp_path / "__compiled_fn_0_0.before_split.0.layers.txt").read_text()
    assert not list(tmp_path.glob("*before_split.0.json"))
    given_back = vars(sys.modules["engine.backends"])["lazy_format_graph_code"]
    assert given_back is torch._dynamo.utils.lazy_format_graph_code and given_back.__module__.startswith("torch.")
    torch._dynamo.reset()


def test_a_graph_without_modules_has_no_layers(tmp_path):
    torch._dynamo.reset()
    with depyf.prepare_debug(tmp_path):
        torch.compile(lambda x: x.sin() + 1, backend="eager")(torch.ones(3))
    assert not list(tmp_path.glob("*.layers.*"))


def test_reading_the_context_runs_nothing_of_the_engine(tmp_path, engine):
    """A context whose attributes run code, and one that is no object of the engine's at all."""
    torch._dynamo.reset()
    passes = sys.modules["engine.inductor_pass"]
    ran = []

    class Loud:
        def __getattr__(self, name):
            ran.append(name)
            raise AttributeError(name)

        def __repr__(self):
            ran.append("repr")
            return "loud"

    with depyf.prepare_debug(tmp_path), contextlib.ExitStack():
        passes.PassContext = lambda compile_range: types.SimpleNamespace(loud=Loud(), size=3)
        torch.compile(Net(1), backend=engine)(torch.ones(2, 4))
    given = [item["given"] for item in check_dump(tmp_path)["files"] if item["file"].endswith("after_fusion.0.py")]
    assert not ran and given[0]["context"] == {"id": "3", "size": "3"}
    torch._dynamo.reset()
