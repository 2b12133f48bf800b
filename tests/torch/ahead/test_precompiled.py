"""``torch.compiler.precompile`` of torch 2.15: what it captures is recorded, what ``load`` returns can be asked."""

from __future__ import annotations

import pytest
import torch
from precompiled_artefacts import Net, broken, call, captured, chosen, loaded, of_frames, step

import depyf
from depyf.cli.programs.run_program import _where_to_look as where_to_look
from depyf.run.guards.served_values import served_values
from depyf.run.made import Made
from depyf.run.observations.all_observations import nothing_to_fix
from depyf.run.store.loading import load
from depyf.views.report.dump_view import DumpView
from depyf.views.report.panels.guards_panel import guards_panel

pytestmark = pytest.mark.torch

X = torch.ones(2, 3)


@pytest.fixture(scope="module")
def one(tmp_path_factory):
    return loaded(captured(tmp_path_factory.mktemp("one"), Net(), X))


@pytest.fixture(scope="module")
def frames(tmp_path_factory):
    path, _ = of_frames(tmp_path_factory.mktemp("frames"), step, (Net(), X, 2), (Net(), torch.ones(5, 3), 2))
    return loaded(path)


@pytest.mark.parametrize("backend", ["eager", "inductor"])
def test_a_capture_of_one_graph_is_in_the_dump_under_a_name(tmp_path, backend):
    with depyf.prepare_debug(str(tmp_path / "dump")):
        captured(tmp_path, Net(), X, backend=backend)
    run = load(tmp_path / "dump")
    index = (tmp_path / "dump" / "index.md").read_text()
    assert "othing was compiled" not in index
    assert not [path for path in (tmp_path / "dump").iterdir() if "unknown" in path.name]
    stages = {graph.stage for graph in run.graphs}
    assert {graph.key.text for graph in run.graphs} <= {"precompiled0/0"}
    if run.precompiled:  # the program still holds the capture
        (found,) = run.precompiled
        assert (found.function, found.backend, found.loaded) == ("call", backend, False)
        assert "input 0: sizes (2, 3), torch.float32, cpu" in found.checks
        assert "Captured_Graph" in stages
    assert backend == "eager" or {"Forward_graph", "kernel"} <= stages


def test_a_capture_that_the_program_holds_has_its_function_and_its_checks(tmp_path):
    with depyf.prepare_debug(str(tmp_path / "dump")):
        capture = torch.compiler.precompile.capture(
            call, artifact_path=str(tmp_path / "m.py"), cache_path=str(tmp_path / "m.cache"), backend="eager"
        )
        with capture:
            capture(Net(), X)
    (found,) = load(tmp_path / "dump").precompiled
    assert found.function == "call" and found.place.filename.endswith("precompiled_artefacts.py")
    index = (tmp_path / "dump" / "index.md").read_text()
    assert "## Precompiled" in index and "precompiled0/0, traced by make_fx, backend eager, no guards" in index
    assert "`input 0: sizes (2, 3), torch.float32, cpu`" in index
    (graph,) = (tmp_path / "dump").glob("*Captured_Graph*.py")
    assert "aten.relu" in graph.read_text()
    made = "1 graph made ahead of time (torch.compiler.precompile)"
    assert where_to_look(tmp_path / "dump") == f"{made}; read {tmp_path / 'dump' / 'index.md'} first"
    assert "was made ahead of time (torch.compiler.precompile)" in nothing_to_fix([load(tmp_path / "dump")])


def test_loaded_frames_are_recorded_as_loaded(tmp_path):
    path, _ = of_frames(tmp_path, broken, (Net(), X))
    with depyf.prepare_debug(str(tmp_path / "dump")):
        artefact = loaded(path)
        artefact(Net(), X)
    run = load(tmp_path / "dump")
    assert [function.code.name for function in run.functions if function.resume_of is None] == ["broken"]
    assert len(run.functions) == 2
    assert {entry.made for _, entry in run.entries} == {Made.PRECOMPILED}
    assert (run.compilations, run.loaded) == (0, 2)
    assert all(entry.transformed is not None and entry.guards for _, entry in run.entries)
    assert "othing was compiled" not in (tmp_path / "dump" / "index.md").read_text()
    (page,) = (tmp_path / "dump").glob("full_code_for_broken*.py")
    text = page.read_text()
    assert ".refuse(L)" in text and "What runs when what torch.compiler.precompile made of broken" in text


def test_what_a_capture_of_frames_leaves_out_is_told_with_its_line(tmp_path):
    with depyf.prepare_debug(str(tmp_path / "dump")):
        of_frames(tmp_path, step, (Net(), X, 2))
    index = (tmp_path / "dump" / "index.md").read_text()
    assert "guards left out (precompile stores no guard that asks for one object)" in index
    line = next(line for line in index.splitlines() if "model.inner has the code" in line)
    assert "precompiled_artefacts.py:" in line and "risky, says torch" in line
    assert "runs all the same: `model.inner = another_function; step(model, x, n=2)`" in line


def test_what_a_capture_of_frames_serves_alone_is_told_with_a_call_that_raises(tmp_path):
    x = torch.ones(3)
    with depyf.prepare_debug(str(tmp_path / "dump")):
        path, summary = of_frames(tmp_path, chosen, (x, True), (x, False), (x, True, "mean"))
    (function,) = load(tmp_path / "dump").functions
    found = {one.said: [way.text for way in one.ways] for one in served_values(function)}
    assert {said.partition(" ")[0] for said in found} == set(summary.wont_generalize) == {"flag", "mode"}
    assert found["flag is True or flag is False"] == []
    (way,) = found["mode == 'sum' or mode == 'mean'"]
    index = (tmp_path / "dump" / "index.md").read_text()
    assert "## Served for these values alone" in index and f"raises: `{way}`" in index
    (page,) = (tmp_path / "dump").glob("full_code_for_chosen*.py")
    assert f"#     raises: {way}" in page.read_text()
    with depyf.prepare_debug(str(tmp_path / "loaded")):
        artefact = loaded(path)
        artefact(x, False)
    index = (tmp_path / "loaded" / "index.md").read_text()
    assert "`mode == 'sum' or mode == 'mean'`" in index and "mode='sum_2')`" in index
    (node,) = (guard for guard in guards_panel(DumpView(tmp_path / "dump"), None)["guards"] if guard.get("raises"))
    assert (node["served"], node["raises"]) == ("mode == 'sum' or mode == 'mean'", [way])
    with pytest.raises(torch.compiler.PrecompileError):
        eval(way, {"chosen": artefact, "x": x, "flag": True})
    answer = depyf.why(artefact, x, True, "max")
    assert [one.said for one in answer.served] == ["mode == 'sum' or mode == 'mean'"]
    assert "  the artefact serves mode == 'sum' or mode == 'mean' and no other value" in str(answer).splitlines()
    assert "and no other value" in answer._repr_html_()
    assert not depyf.why(artefact, x.double(), True, "sum").served  # each variant wants another tensor
    assert torch.equal(artefact(x, False), chosen(x, False))


def test_a_guard_is_risky_in_all_variants_where_torch_says_so_of_one(tmp_path):
    x = torch.ones(2, 3)
    with depyf.prepare_debug(str(tmp_path / "dump")):
        _, summary = of_frames(tmp_path, step, (Net(), x, 2), (Net(torch.sigmoid), x, 2))
    assert {name for _, name in summary.risky_dropped_guards} >= {"model.inner"}
    index = (tmp_path / "dump" / "index.md").read_text()
    told = [line for line in index.splitlines() if "model.inner" in line and "runs all the same" in line]
    assert told and all("risky, says torch" in line for line in told)


def test_why_and_explain_of_one_graph(one):
    model = Net()
    assert depyf.why(one, model, X).runs == "precompiled"
    assert one(model, X).shape == (2, 3)
    told = depyf.why(one, model, torch.ones(3, 3))
    assert "input 0 has sizes (3, 3), and it wants (2, 3)" in str(told)
    with pytest.raises(torch.compiler.PrecompileError):
        one(model, torch.ones(3, 3))
    assert "the call raises PrecompileError" in str(told)
    assert "it lacks linear.weight" in str(depyf.why(one, torch.nn.Linear(3, 3), X))
    assert "it takes 2 arguments, and 1 are given" in str(depyf.why(one, model))
    assert "argument 0 must be a module, and is a int" in str(depyf.why(one, 3, X))
    report = depyf.explain(one)
    assert "linear.weight: sizes (3, 3), torch.float32, cpu" in str(report)
    assert report.to_json()["backend"] == "eager"


def test_what_one_graph_cannot_answer_is_said(one):
    with pytest.raises(depyf.DepyfError, match="keeps one graph, and not the function"):
        depyf.compare(one, Net(), X)
    with pytest.raises(depyf.DepyfError, match="one graph, and no guards and no function"):
        depyf.replay(one)


def test_why_explain_replay_and_compare_of_frames(frames):
    model = Net()
    assert depyf.why(frames, model, X).runs == "loaded/0"
    assert depyf.why(frames, model, torch.ones(7, 3)).runs == "loaded/1"
    told = str(depyf.why(frames, model, X, 3))
    assert "the call raises PrecompileError: it was precompiled, and a guard of each variant fails" in told
    assert "n differs: expected 2, actual 3" in told
    assert "make this call in the capture, too" in told
    with pytest.raises(torch.compiler.PrecompileError):
        frames(model, X, 3)
    report = depyf.explain(frames)
    assert [entry.compile_id for entry in report.entries] == ["loaded/0", "loaded/1"]
    assert torch.equal(depyf.replay(frames)(model, X), frames(model, X))
    with pytest.raises(torch.compiler.PrecompileError):
        depyf.replay(frames)(model, X, 3)
    assert "the same" in str(depyf.compare(frames, model, X))


def test_a_guard_that_was_dropped_goes_wrong_and_compare_says_so(frames):
    """The call that ``depyf open`` writes for the guard on the code of ``model.inner``."""
    model = Net(torch.tanh)
    assert depyf.why(frames, model, X).runs == "loaded/0"
    assert not torch.equal(frames(model, X), step(model, X))
    assert "differ" in str(depyf.compare(frames, model, X))


def test_the_rest_after_a_graph_break(tmp_path):
    path, _ = of_frames(tmp_path, broken, (Net(), X))
    artefact = loaded(path)
    report = depyf.explain(artefact)
    assert len(report.resumes) == 1 and report.resumes[0].entries
    model = Net()
    assert torch.equal(depyf.replay(artefact)(model, X), artefact(model, X))


def test_aot_compile_says_what_was_compiled(tmp_path):
    with depyf.prepare_debug(str(tmp_path)):
        compiled = torch.compile(step, fullgraph=True, backend="aot_eager").aot_compile(((Net(), X), {}))
    index = (tmp_path / "index.md").read_text()
    assert "othing was compiled" not in index and "compiled ahead of time" in index
    assert compiled is not None
