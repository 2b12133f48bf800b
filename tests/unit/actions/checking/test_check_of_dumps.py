"""``depyf check`` of dumps: what is over the budget is named with its line; regressions that are planted are caught."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from depyf.actions.checking.measures import BY_NAME, MEASURES, measured_numbers
from depyf.cli import main
from depyf.run.places.place import Place
from depyf.run.records import BreakRecord, GraphRecord, GuardRecord, RecompileRecord
from depyf.views.report.dump_view import DumpView
from made_dumps import compilation, function, run_dump

PROGRAM = "import torch\n\ndef f(x, n):\n    print(n)\n    return x * n\n"
WRAPPER = """\
async_compile = AsyncCompile()
cpp_fused_0 = async_compile.cpp_pybinding([], '''
''')
def call(args):
    buf0 = empty_strided_cpu((4, ), (1, ), torch.float32)
    cpp_fused_0(arg0_1, buf0)
    buf1 = empty_strided_cpu((4, ), (1, ), torch.float32)
    extern_kernels.mm(buf0, buf0, out=buf1)
    return (buf1, )
"""


def guard(name):
    return GuardRecord("TENSOR_MATCH", name, name)


def graph(key, stage, text=""):
    return GraphRecord(compilation(key).key, stage, 0, text)


@pytest.fixture
def program(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.py").write_text(PROGRAM)
    return tmp_path


def dump(program, name, planted=""):
    """A run of the program; ``planted``: what became worse."""
    at = Place(str(program / "a.py"), 4, "f", "print(n)")
    broken = BreakRecord("", at, "reason", "print() writes", "", ("a hint",), "", skipped=False)
    entries = [compilation("0/0", guards=(guard("x"),), operations=3)]
    if planted == "graph_breaks":
        entries[0] = replace(entries[0], breaks=(broken,))
    if planted == "ran_as_python":
        entries.append(compilation("0/1", breaks=(replace(broken, skipped=True),), failed="gave up"))
    if planted == "errors":
        entries.append(compilation("0/1", failed="no", raised=True, error="bad", error_at=at))
    if planted == "recompilations":
        reason = RecompileRecord(
            "0/0", "x.size(0) == 3", Place(str(program / "a.py"), 5, "f", "return x * n"), "3", "4"
        )
        entries.append(compilation("0/1", recompiles=(reason,)))
    if planted == "guards":
        entries[0] = replace(entries[0], guards=(guard("x"), guard("y")))
    if planted == "operators":
        entries[0] = replace(entries[0], operations=30)
    graphs = [graph("0/0", "Captured_Graph")]
    if planted == "graphs":
        graphs.append(graph("0/1", "Captured_Graph"))
    if planted in ("kernels", "fallbacks", "planned_peak_bytes"):
        graphs.append(graph("0/0", "kernel", WRAPPER))
    places = function("0", "f", 3, *entries)
    code = replace(places.code, filename=str(program / "a.py"))
    folder = run_dump(program / name, replace(places, code=code), graphs=tuple(graphs))
    if len(graphs) > 1 and graphs[1].text:  # a recording writes it when torch reports it
        (folder / "__compiled_fn_0_0.kernel_0.py").write_text(WRAPPER)
        page = json.loads((folder / "manifest.json").read_text())
        told = {"kind": "wrapper", "stage": "kernel", "compile_id": "0/0", "generation": 0, "index": 0}
        page["files"].append({"file": "__compiled_fn_0_0.kernel_0.py", **told})
        (folder / "manifest.json").write_text(json.dumps(page))
    return folder


def check(*arguments):
    return main(["check", *map(str, arguments)])


def test_within_its_own_budget(program, capsys):
    good = dump(program, "good")
    assert check(good) == 4, "there is none"
    assert "there is no budget in" in capsys.readouterr().err
    assert check("--update", good) == 0
    assert "graph_breaks = 0" in (program / "depyf.toml").read_text() and "guards = 1" in capsys.readouterr().out
    assert check(good) == 0
    assert "within the budget: compilations 1 of 1" in capsys.readouterr().out


@pytest.mark.parametrize(
    "planted",
    ["graph_breaks", "ran_as_python", "errors", "recompilations", "guards", "operators", "graphs", "kernels",
     "fallbacks", "planned_peak_bytes"],
)  # fmt: skip
def test_a_planted_regression_is_caught(planted, program, capsys):
    assert check("--update", dump(program, "good")) == 0
    bad = dump(program, "bad", planted)
    capsys.readouterr()
    assert check("--format", "json", bad) == 1
    page = json.loads(capsys.readouterr().out)
    over = {excess["measure"]: excess for excess in page["over"]}
    assert planted in over and over[planted]["because"], page
    assert over[planted]["found"] > over[planted]["allowed"] == page["limits"][planted]
    assert all(one["at"].startswith(str(program / "a.py")) for one in over[planted]["because"] if one["at"])


def test_the_line_and_the_way_out_are_named(program, capsys):
    assert check("--update", dump(program, "good")) == 0
    capsys.readouterr()
    assert check(dump(program, "bad", "graph_breaks")) == 1
    said = capsys.readouterr().out
    assert "over the budget: distinct graph breaks: 1, the budget is 0" in said
    assert "  a.py:4:5: error: print() writes" in said and "[breaks]" in said


def test_only_what_the_budget_names_is_judged_and_updated(program, capsys):
    (program / "depyf.toml").write_text("[budget]\ngraph_breaks = 3\n")
    bad = dump(program, "bad", "guards")
    assert check(bad) == 0
    assert "allows more than there is (graph_breaks)" in capsys.readouterr().out
    assert check("--update", bad) == 0
    assert (program / "depyf.toml").read_text() == "[budget]\ngraph_breaks = 0\n"


def test_each_measure_has_a_number(program):
    numbers = measured_numbers([DumpView(dump(program, "good"))])
    assert list(numbers) == [measure.name for measure in MEASURES] == list(BY_NAME)
    unknown = [name for name, number in numbers.items() if number is None]
    assert unknown == ["instructions"]  # they are counted where a check asks for them


def test_a_dump_takes_no_arguments(program, capsys):
    (program / "depyf.toml").write_text("[budget]\n")
    assert check(dump(program, "good"), "x") == 2
    assert check(program / "nothing.py") == 4 and check("--timeout", "0", "a.py") == 2
    (program / "depyf.toml").write_text("[budget]\nbreaks = 0\n")
    assert check(program / "good") == 4
