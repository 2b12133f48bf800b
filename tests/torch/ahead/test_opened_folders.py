"""``depyf open`` on folders: an index of all files, and what vLLM's cache has that torch's has not."""

from __future__ import annotations

import contextlib
import random
import re
import zlib
from pathlib import Path

import pytest
import torch

from depyf.actions.opened.folder_page import place_in_words
from depyf.actions.opened.open_file import opened
from depyf.cli import main
from depyf.cli.exit_status import ExitStatus
from depyf.errors import DepyfError

pytest.importorskip("torch._dynamo.aot_compile")
standalone_compile = pytest.importorskip("torch._inductor").standalone_compile
pytestmark = pytest.mark.torch


def scaled(x):
    return x.sin() * 2


def alone(path: Path, aot: bool) -> None:
    """As vLLM's compiler saves a subgraph."""
    torch._dynamo.reset()
    graphs: list[torch.fx.GraphModule] = []
    torch.compile(scaled, backend=lambda graph, inputs: graphs.append(graph) or graph)(torch.ones(4))
    with torch._functorch.config.patch(bundled_autograd_cache=aot):
        made = standalone_compile(graphs[0], [torch.ones(4)], dynamic_shapes="from_example_inputs", aot=aot)
    path.parent.mkdir(parents=True, exist_ok=True)
    made.save(path=str(path), format="binary")


BACKBONE = "0a1b2c3d4e/rank_0_0/backbone"
MODEL = "torch_aot_compile/0123abcd/rank_1_0/model"


@pytest.fixture(scope="module")
def cache(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("vllm") / "torch_compile_cache"
    alone(folder / BACKBONE / "artifact_compile_range_1_8192_subgraph_0", aot=False)
    alone(folder / BACKBONE / "artifact_compile_range_1_8192_subgraph_1", aot=True)
    (folder / BACKBONE / "computation_graph.py").write_text("class GraphModule: ...")
    (folder / BACKBONE / "cache_key_factors.json").write_text("{}")
    (folder / MODEL).parent.mkdir(parents=True)
    function = torch.compile(scaled, fullgraph=True, backend="aot_eager").aot_compile(((torch.ones(4),), {}))
    function.save_compiled_function(str(folder / MODEL))
    return folder


def test_an_index_of_all_files(cache, tmp_path):
    out = tmp_path / "out"
    assert main(["open", str(cache), "-o", str(out)]) == ExitStatus.PROVEN
    index = (out / "index.md").read_text()
    links = re.findall(r"^\| \[(.*?)\]\((.*?)\)", index, re.M)
    assert [name for name, _ in links] == [
        f"{BACKBONE}/artifact_compile_range_1_8192_subgraph_0",
        f"{BACKBONE}/artifact_compile_range_1_8192_subgraph_1",
        MODEL,
    ]
    assert all((out / target).is_file() for _, target in links)
    assert "vLLM, rank 0, backbone, sizes 1 to 8192, subgraph 1" in index
    assert "vLLM, rank 1, the model, compiled ahead of time" in index
    assert "`scaled`" in index
    assert f"- `{BACKBONE}/computation_graph.py`: the graph of the model as vLLM splits it" in index
    again = (out / "index.md").read_bytes()
    assert main(["open", str(cache), "-o", str(out)]) == ExitStatus.PROVEN
    assert (out / "index.md").read_bytes() == again


@pytest.mark.parametrize("number", (0, 1))
def test_a_graph_that_was_compiled_alone(cache, number):
    data = (cache / BACKBONE / f"artifact_compile_range_1_8192_subgraph_{number}").read_bytes()
    found = opened(data, "f")
    assert found.kind == "a graph that Inductor compiled alone"
    assert any("async_compile" in text for name, text in found.files.items() if name.endswith("source_code.py"))
    assert any("aten.sin" in text for name, text in found.files.items() if "graph_str" in name)


def test_damaged_ones(cache):
    """A file that is cut, or with wrong bytes under a checksum that fits: a clear error and no other, or texts."""
    data = (cache / BACKBONE / "artifact_compile_range_1_8192_subgraph_0").read_bytes()
    for size in (*range(0, 200, 7), len(data) // 2, len(data) - 1):
        with pytest.raises(DepyfError):
            opened(data[:size], "f")
    choose = random.Random(3)
    for _ in range(100):
        wrong = bytearray(data)
        for _ in range(choose.randrange(1, 9)):
            wrong[choose.randrange(4, 400)] = choose.randrange(256)
        wrong[:4] = zlib.crc32(wrong[4:]).to_bytes(4, "big")
        with contextlib.suppress(DepyfError):
            opened(bytes(wrong), "f")


def test_what_a_path_says():
    assert place_in_words("h/rank_3_2/eagle_head/artifact_shape_None_subgraph_7") == (
        "vLLM, rank 3, data parallel 2, eagle_head, size None, subgraph 7"
    )
    assert place_in_words("fxgraph/ab/abcd/xyz") == "torch's cache of compiled graphs"
    assert place_in_words("model.aot") == ""
