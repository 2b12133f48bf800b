"""A line leads to its relatives in all stages, whatever the dump knows of where operations come from, and to no others."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from depyf.run.records import CacheRecord, CompileKey
from depyf.run.run import Run
from depyf.run.store.lines import run_page
from depyf.views.report.dump_view import DumpView
from depyf.views.report.links.chain_links import LinkedPane, StageChain, chain
from depyf.views.report.panels.chain_panel import chain_panel
from golden_dump import NODES, unpack
from made_dumps import compilation, function

KEY = CompileKey(0, "0/0")


@pytest.fixture(params=("all", "stacks", "nothing"))
def golden(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[DumpView, StageChain]:
    view = DumpView(unpack(tmp_path / "dump", request.param))
    return view, chain(view, KEY)


def lines_of(view: DumpView, pane: LinkedPane) -> list[str]:
    return (view.text(pane.file) or "").split("\n")


def pane_of(found: StageChain, kind: str, title: str = "") -> LinkedPane:
    return next(pane for pane in found.panes if pane.kind == kind and title in pane.title)


def line_with(view: DumpView, pane: LinkedPane, words: str) -> int:
    return next(
        at for at, line in enumerate(lines_of(view, pane), 1) if words in line and not line.lstrip().startswith("#")
    )


def lit(golden: tuple[DumpView, StageChain], kind: str, words: str, wanted: str) -> list[str]:
    """The lines of panes of kind ``wanted`` that are lit where the line with ``words`` is selected."""
    view, found = golden
    start = pane_of(found, kind)
    numbers = start.direct[line_with(view, start, words)]
    return [
        lines_of(view, pane)[at - 1].strip()
        for pane in found.panes
        if pane.kind == wanted
        for at, own in sorted(pane.direct.items())
        if own & numbers and not lines_of(view, pane)[at - 1].lstrip().startswith("#")
    ]


def test_softmax_leads_to_its_two_kernels(golden: tuple[DumpView, StageChain]) -> None:
    assert [line.partition("(")[0] for line in lit(golden, "captured", "torch.softmax", "wrapper")] == [
        "cpp_fused__softmax_mul_sigmoid_sum_2",
        "cpp_fused__softmax__softmax_backward_data_add_expand_mul_sigmoid_sigmoid_backward_unsqueeze_0",
    ]
    body = [line for line in lit(golden, "captured", "torch.softmax", "kernel") if line.startswith("auto tmp")]
    assert any(".exp()" in line for line in body)
    assert not any("decltype" in line for line in body), "sigmoid is of another line, in the same kernels"


def test_first_matrix_product_leads_to_the_library_only(golden: tuple[DumpView, StageChain]) -> None:
    assert [line.partition("(")[0] for line in lit(golden, "captured", "tanh @", "wrapper")][-2:] == [
        "extern_kernels.mm", "extern_kernels.mm",
    ]  # fmt: skip
    assert all("cos()" not in line for line in lit(golden, "captured", "tanh @", "kernel"))


def test_the_same_line_in_two_layers_is_told_apart(golden: tuple[DumpView, StageChain]) -> None:
    first = lit(golden, "captured", "        h: ", "wrapper")
    second = lit(golden, "captured", "        h_1: ", "wrapper")
    assert [line for line in first if "addmm" in line] != [line for line in second if "addmm" in line]
    assert len([line for line in first if "extern_kernels.addmm" in line]) == 1


def test_backward_operations_lead_to_their_forward_line(golden: tuple[DumpView, StageChain]) -> None:
    assert lit(golden, "backward", "mm_5: ", "source") == ["return torch.tanh(y) @ w"]
    assert lit(golden, "backward", "mm_2: ", "source") == ["h = self.up(x)"]
    assert "d = torch.softmax(c, -1)" in lit(golden, "backward", "fma: ", "source")


def test_bytecode_has_the_operations_of_its_line(golden: tuple[DumpView, StageChain]) -> None:
    listing = lit(golden, "captured", "torch.softmax", "bytecode")
    assert listing[0] == "d = torch.softmax(c, -1)" and any("softmax" in line for line in listing[1:])
    assert not any("tanh" in line or "cos" in line for line in listing)


def test_the_call_of_the_graph_leads_to_everything_in_another_way(golden: tuple[DumpView, StageChain]) -> None:
    view, found = golden
    pane = pane_of(found, "transformed")
    at = line_with(view, pane, "= __compiled_fn_0_0(")
    assert at not in pane.direct and len(pane.around[at]) == len(found.operations.names)


def test_a_caller_is_around_and_the_line_itself_direct(
    golden: tuple[DumpView, StageChain], request: pytest.FixtureRequest
) -> None:
    view, found = golden
    if "nothing" in request.node.name:  # the comments of a graph have the innermost line only
        assert {pane.title for pane in found.panes if pane.kind == "source"} == {"program.py", "library.py"}
        return
    program, library = pane_of(found, "source", "program.py"), pane_of(found, "source", "library.py")
    caller = line_with(view, program, "a = centred(x, w)")
    assert caller not in program.direct
    assert program.around[caller] >= library.direct[line_with(view, library, "torch.tanh(y)")]


def test_instructions_of_one_kernel_belong_to_their_lines(golden: tuple[DumpView, StageChain]) -> None:
    view, found = golden
    pane = pane_of(found, "kernel", "cos_mean_mul_sub_tanh")
    names = {
        words: {found.operations.stacks[number][-1][1] for number in pane.direct[line_with(view, pane, words)]}
        for words in (".tanh()", ".cos()")
    }
    assert names == {".tanh()": {6}, ".cos()": {24}}


def test_foreign_notes_do_no_harm(tmp_path: Path) -> None:
    folder = unpack(tmp_path / "dump")
    for notes in ([], {"graphs": [], "stacks": 3, "frames": {}}, {"graphs": {"__compiled_fn_0_0.kernel_0.py": {"kernels": [{"buffers": 1}, 2]}}},
                  {"stacks": [[9]], "frames": [], "graphs": {"__compiled_fn_0_0.Captured_Graph.0.py": {"stacks": {"d": 0, "a": "x"}}}}):  # fmt: skip
        (folder / NODES).write_text(json.dumps(notes))
        view = DumpView(folder)
        assert chain(view, KEY).panes


def test_missing_and_cut_files_leave_the_rest(tmp_path: Path) -> None:
    folder = unpack(tmp_path / "dump")
    (folder / "__compiled_fn_0_0.AFTER_POST_GRAD.0.py").unlink()
    text = (folder / "__compiled_fn_0_0.Joint_graph.0.py").read_text()
    (folder / "__compiled_fn_0_0.Joint_graph.0.py").write_text(text[: len(text) // 2])
    view = DumpView(folder)
    kinds = {pane.kind for pane in chain(view, KEY).panes}
    assert kinds >= {"source", "captured", "joint", "backward", "wrapper"}


def test_run_that_has_not_finished(tmp_path: Path) -> None:
    """No manifest: the names of the files say what they are."""
    folder = unpack(tmp_path / "dump")
    (folder / "manifest.json").unlink()
    golden = DumpView(folder), chain(DumpView(folder), KEY)
    assert {pane.kind for pane in golden[1].panes} == {
        "captured",
        "joint",
        "forward",
        "backward",
        "post-grad",
        "wrapper",
    }
    assert [line.partition("(")[0] for line in lit(golden, "captured", "tanh @", "wrapper")] == [
        "extern_kernels.mm"
    ] * 2
    assert lit(golden, "backward", "mm_5: ", "captured")[0].startswith(("tanh", "a"))


def test_panel_is_plain_data_and_the_same_each_time(tmp_path: Path) -> None:
    folder = unpack(tmp_path / "dump")
    page = chain_panel(DumpView(folder), None)
    assert page is not None and json.loads(json.dumps(page)) == page
    assert page == chain_panel(DumpView(folder), None)
    assert [pane["id"] for pane in page["compilations"][0]["panes"]][:5] == [
        "program.py", "library.py", "original_code", "transformed_code", "Captured_Graph",
    ]  # fmt: skip


def test_lines_of_the_program_that_filled_a_cache_are_those_of_this_one(tmp_path: Path) -> None:
    """Another file, other functions, other lines: the code beside them is the same."""
    folder = unpack(tmp_path / "dump", "stacks")
    for stage in ("Joint_graph.0", "Forward_graph.0", "Backward_graph.0", "AFTER_POST_GRAD.0", "AFTER_POST_GRAD.1"):
        path = folder / f"__compiled_fn_0_0.{stage}.py"
        moved = re.sub(
            r"File: /home/me/\w+\.py:(\d+) in \w+",
            lambda at: f"File: /other/p.py:{int(at[1]) + 100} in g",
            path.read_text(),
        )
        path.write_text(moved)
    view = DumpView(folder)
    golden = view, chain(view, KEY)
    assert len(golden[1].operations.names) == 14, "no operation of its own for a line of the other file"
    test_softmax_leads_to_its_two_kernels(golden)
    test_the_same_line_in_two_layers_is_told_apart(golden)
    test_backward_operations_lead_to_their_forward_line(golden)


@pytest.mark.parametrize("status", ["hit", "miss"])
def test_a_cache_is_said_to_have_a_compilation_where_it_says_so_itself(tmp_path: Path, status: str) -> None:
    """That nothing is recorded of the kernels is no sign of it."""
    folder = unpack(tmp_path / "dump", "stacks")
    made = function("0", "f", 1, compilation("0/0", caches=(CacheRecord("FX graph", status),)))
    (folder / "run.jsonl").write_text(run_page(Run("2.13.0", "3.11", (made,), finished=True)))
    page = chain_panel(DumpView(folder), None)
    assert page is not None
    (found,) = page["compilations"]
    assert found["inferred"] and found["cached"] == (status == "hit")
