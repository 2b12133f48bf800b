"""Scripts of bug reports from dumps that anybody may have written: nothing runs, nothing is read or written elsewhere."""

from __future__ import annotations

import ast
import copy
import json
from pathlib import Path
from typing import Any

import pytest

from depyf.actions.repro.repro_script import repro_script, write_repro
from depyf.actions.repro.repro_subject import ReproError, read_subject
from depyf.errors import DepyfError
from depyf.run.recorded.recorded_inputs import CompiledWith, Recorded, RecordedInput, file_of
from depyf.run.recorded.tensor_file import TensorEntry

START = "__compiled_fn_0_0.Captured_Graph.0"
GRAPH = """class GraphModule(torch.nn.Module):
    def forward(self, L_x_: "f32[2][1]cpu", n: "Sym(s0)"):
        l_x_ = L_x_
        sin: "f32[2][1]cpu" = l_x_.sin();  l_x_ = None
        add: "f32[2][1]cpu" = sin + self._tensor_constant0;  sin = None
        return (add,)
"""
FACTS: dict[str, Any] = {
    "inputs": [
        {"name": "L_x_", "kind": "tensor", "source": "L['x']", "tensor": {"dtype": "torch.float32", "size": ["2"], "stride": ["1"], "shape": [2], "strides": [1]}},
        {"name": "n", "kind": "int", "source": "L['n']", "symbol": "s0"},
    ],
    "constants": [{"name": "_tensor_constant0", "kind": "tensor", "tensor": {"dtype": "torch.float32", "size": ["2"], "stride": ["1"], "shape": [2], "strides": [1]}, "low": 0.0, "high": 1.0}],
    "symbols": {"s0": 3}, "modes": {"grad": False},
}  # fmt: skip
ITEM = {"stage": "Captured_Graph", "index": 0, "compile_id": "0/0", "generation": 0, "from": []}
MANIFEST: dict[str, Any] = {
    "format": 1, "torch": "2.13.0", "python": "3.11",
    "files": [
        {"file": f"{START}.py", "kind": "graph", **ITEM},
        {"file": f"{START}.json", "kind": "graph_inputs", "compile_id": "0/0"},
        {"file": f"{START}.safetensors", "kind": "recorded_inputs", "compile_id": "0/0"},
    ],
    "functions": [{"function": "f", "from": "/x.py:1", "entries": [{"compile_id": "0/0", "failed": "ValueError: no"}]}],
}  # fmt: skip
ENTRY = TensorEntry("F32", (2,), memoryview(b"\0\0\0\0\0\0\x80?"))
X = RecordedInput("L_x_", "L['x']", "L_x_", "torch.float32", (2,), (1,))
RECORDED = Recorded(
    (X, RecordedInput("n", value=3)),
    (RecordedInput("_tensor_constant0", "", "big", "torch.float32", (2,), (1,)),),
    {},
    {"L_x_": ENTRY, "big": ENTRY},
    "",
    CompiledWith("inductor", {"max_autotune": True}, {"torch._inductor.config.max_fusion_size": 7}),
)
WRONG = [None, 7, -1, 1.5, True, "text", "0" * 5000, [], [None], {}, [[]], "../x", "\n", '"""\nimport os', "a'\\\"b"]


def dump(
    folder: Path, manifest: Any = MANIFEST, facts: Any = FACTS, graph: str = GRAPH, recorded: Recorded = RECORDED
) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "manifest.json").write_text(json.dumps(manifest))
    (folder / f"{START}.json").write_text(json.dumps(facts))
    (folder / f"{START}.py").write_text(graph)
    (folder / f"{START}.safetensors").write_bytes(b"".join(file_of(recorded)))
    return folder


def text_of(folder: Path) -> str:
    return repro_script(read_subject(folder, "0/0"), "bug.py").text


def test_what_is_in_a_script(tmp_path: Path) -> None:
    text = text_of(dump(tmp_path))
    assert '"x": torch.tensor([0.0, 1.0]),' in text and '"n": 3,' in text
    assert 'torch.compile(captured(), backend=backend, options={"max_autotune": True}, dynamic=True)' in text.replace(
        "'", '"'
    )
    assert '"torch._inductor.config.max_fusion_size": 7' in text and "return torch.no_grad()" in text
    assert "What happened: ValueError: no" in text and "graph._tensor_constant0 = torch.tensor([0.0, 1.0])" in text


def places(value: Any, way: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found = [way] if way else []
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        found += places(inner, (*way, key))
    return found


def with_wrong(value: Any, way: tuple[Any, ...], wrong: Any) -> Any:
    changed = copy.deepcopy(value)
    inside = changed
    for key in way[:-1]:
        inside = inside[key]
    inside[way[-1]] = wrong
    return changed


@pytest.mark.parametrize("way", places(FACTS), ids=str)
def test_damaged_facts(tmp_path: Path, way: tuple[Any, ...]) -> None:
    for wrong in WRONG:
        check(dump(tmp_path, facts=with_wrong(FACTS, way, wrong)))


@pytest.mark.parametrize("way", places(MANIFEST), ids=str)
def test_damaged_manifests(tmp_path: Path, way: tuple[Any, ...]) -> None:
    for wrong in WRONG:
        check(dump(tmp_path, manifest=with_wrong(MANIFEST, way, wrong)))


def check(folder: Path) -> None:
    """A clear error, or a script that is Python."""
    try:
        text = text_of(folder)
    except DepyfError as error:
        assert "\n" not in str(error)
    else:
        ast.parse(text)


EVIL = '"""\nimport os\nos.system("true")\n"""'


def test_names_cannot_break_out_of_comments_and_texts(tmp_path: Path) -> None:
    manifest = copy.deepcopy(MANIFEST)
    manifest.update(torch=EVIL, python=EVIL)
    manifest["functions"][0].update({"function": EVIL, "from": f"{EVIL}:1"})
    manifest["functions"][0]["entries"][0]["failed"] = EVIL
    facts = copy.deepcopy(FACTS)
    facts["inputs"][0]["source"] = EVIL
    recorded = Recorded(
        (RecordedInput("L_x_", EVIL, EVIL, "torch.float32", (2000,), (1,), device=EVIL), RecordedInput("n", left_out=EVIL)),
        (), {"cpu": EVIL + "r"}, {EVIL: TensorEntry("F32", (2000,), memoryview(bytes(8000))), EVIL + "r": TensorEntry("U8", (1,), memoryview(b"1"))},
        EVIL, CompiledWith(EVIL, {"max_autotune": EVIL}, {"torch._inductor.config.max_fusion_size": EVIL}),
    )  # fmt: skip
    folder = dump(tmp_path, manifest, facts, GRAPH.replace("l_x_.sin()", "torch.nn.functional.dropout(l_x_)"), recorded)
    tree = ast.parse(text_of(folder))
    modules = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    assert "os" not in modules
    assert not [node for node in tree.body[1:] if isinstance(node, ast.Expr)]


@pytest.mark.parametrize("line", ["import os", "x = open('y')", "program_function(l_x_)", "self.secret()"])
def test_a_graph_that_calls_the_program_is_refused(tmp_path: Path, line: str) -> None:
    graph = GRAPH.replace("        return", f"        {line}\n        return")
    try:
        text = text_of(dump(tmp_path, graph=graph))
    except ReproError:
        return
    assert line in text  # it is code of the graph, which the user runs or does not: here nothing did


def test_nothing_is_written_through_a_link(tmp_path: Path) -> None:
    subject = read_subject(dump(tmp_path / "dump"), "0/0")
    (tmp_path / "precious").write_text("precious")
    (tmp_path / "bug.py").symlink_to(tmp_path / "precious")
    write_repro(subject, tmp_path / "bug.py")
    assert (tmp_path / "precious").read_text() == "precious" and not (tmp_path / "bug.py").is_symlink()


def test_ranks_are_named(tmp_path: Path) -> None:
    dump(tmp_path / "rank_0")
    with pytest.raises(ReproError, match="name one of rank_0"):
        read_subject(tmp_path, "0/0")
