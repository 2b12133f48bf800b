"""Pages of ours are compared by the run that they are made of, where they are what it gives."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from depyf.run.files.layout import SHAPES
from depyf.run.graphs.graph_facts import GraphFacts, InputFacts
from depyf.run.places.place import Place
from depyf.run.records import CodeRecord, CompileKey, FunctionRecord, GraphRecord, ShapeFact, SymbolRecord
from depyf.views.compare.stages import DumpComparison, compare, load
from made_dumps import compilation, run_dump

SOURCE = "def f(x, n):\n    return x * n"
REST = "def torch_dynamo_resume_in_f_at_{line}(x, n):\n    return goes_on_from_line_{after}(x, ...)\n"


def dump(folder: Path, line: int, number: int = 0, high: int = 9, source: str = SOURCE, passed: float = 1.0) -> Path:
    """Of a function on ``line`` of /FOLDER/a.py, of which another rest goes on; ``number``: of its frame."""
    home = f"{folder}/a.py"
    key, after = CompileKey(0, f"{number}/0"), CompileKey(0, f"{number + 1}/0")
    symbol = SymbolRecord("s0", "L['x'].size()[0]", "4", f"[2, {high}]", Place(home, line + 1, "f", "return x * n"),
                          sources=("L['x'].size()[0]",), final=f"[2, {high}]")  # fmt: skip
    facts = (ShapeFact("s0 <= 9", Place(home, line + 1, "f", "return x * n")),)
    code = CodeRecord("f", "f", home, line, (), ("x", "n"), (), None, None, (), source)
    root = FunctionRecord(key.function, code, (replace(compilation(key.text), symbols=(symbol,), shape_facts=facts),))
    name = f"torch_dynamo_resume_in_f_at_{line + 1}"
    text = REST.format(line=line + 1, after=line + 5)
    rest = replace(code, name=name, qualname=name, line=line + 1, source=text, goes_on=(line + 5,))
    resume = FunctionRecord(after.function, rest, (compilation(after.text),), resume_of=key.function)
    inputs = GraphFacts(inputs=(InputFacts("l_x_", "tensor", passed=(0.0, passed)),))
    graph = GraphRecord(
        key, "Captured_Graph", 0, f" # File: {home}:{line + 1} in f, code: return x * n\n", facts=inputs
    )
    return run_dump(folder / "dump", root, resume, graphs=(graph,))


def compared(first: Path, second: Path) -> DumpComparison:
    return compare(load(first), load(second))


def test_lines_folders_numbers_and_data_are_no_difference(tmp_path):
    found = compared(dump(tmp_path / "one", 3), dump(tmp_path / "two", 8, number=2, passed=7.0))
    assert found.equal, [(item.file, item.diff) for item in found.differences]
    assert {"shapes", "original_code", "full_code"} <= {file.stage for file in found.alike}


@pytest.mark.parametrize(
    ("more", "stages"),
    [({"high": 12}, {"shapes"}), ({"source": SOURCE.replace("*", "+")}, {"original_code", "full_code"})],
)
def test_what_else_is_another_is_a_difference(more, stages, tmp_path):
    found = compared(dump(tmp_path / "one", 3), dump(tmp_path / "two", 8, **more))
    assert {item.stage for item in found.differences} == stages


def test_a_page_that_was_edited_is_compared_as_it_stands(tmp_path):
    one, two = (dump(tmp_path / name, 3) for name in ("one", "two"))
    page = two / SHAPES
    page.write_text(page.read_text(encoding="utf-8") + "A remark.\n", encoding="utf-8")
    assert {item.file: item.diff[-1] for item in compared(one, two).differences} == {SHAPES: "+A remark."}
