"""``prepare_debug(record=True)``: the first call of a graph that was compiled ahead of time and fails keeps its inputs."""

from __future__ import annotations

import pytest
import torch

import depyf
from depyf.run.recorded.recorded_inputs import read_recorded

pytest.importorskip("torch._dynamo.aot_compile")
pytestmark = pytest.mark.torch


def taken(x, i):
    return (x[i] * 2).sum()


def made_ahead():
    arguments = (torch.ones(5), torch.tensor([1, 2]))
    return torch.compile(taken, fullgraph=True, backend="aot_eager").aot_compile((arguments, {}))


def failing(function, *wrong):
    function(torch.ones(5), torch.tensor([1, 2]))
    for index in wrong:
        with pytest.raises(IndexError, match=str(index)):
            function(torch.ones(5), torch.tensor([1, index]))


def only_failed(folder):
    (path,) = folder.glob("*.failed.safetensors")
    return read_recorded(folder, path.name)


def test_the_first_call_that_fails(tmp_path):
    with depyf.prepare_debug(tmp_path, record=True):
        function = made_ahead()
        graph = function.fn.__globals__
        failing(function, 9, 10)
    assert only_failed(tmp_path).error.startswith("IndexError: index 9 is out of bounds")
    names = [name for name in graph if name.startswith("__compiled_fn_")]
    assert names and not any("failed_calls" in getattr(graph[name], "__module__", "") for name in names)


def test_a_function_that_was_loaded(tmp_path):
    made_ahead().save_compiled_function(str(tmp_path / "saved"))
    with depyf.prepare_debug(tmp_path / "dump", record=True):
        with open(tmp_path / "saved", "rb") as file:
            function = torch.compiler.load_compiled_function(file)
        failing(function, 7)
    assert not list((tmp_path / "dump").glob("*.failed.safetensors")), "there is no captured graph to keep inputs of"


def test_nothing_is_put_in_the_way_without_it(tmp_path):
    with depyf.prepare_debug(tmp_path):
        function = made_ahead()
        before = dict(function.fn.__globals__)
        failing(function, 9)
        assert function.fn.__globals__ == before
    assert not list(tmp_path.glob("*.failed.safetensors"))
