"""What is read back of a run: a finished one, a killed one, one of an earlier depyf; damaged in any way."""

from __future__ import annotations

import errno
import json
import os
import shutil
from pathlib import Path

import pytest

from depyf.cli import main
from depyf.run.causes.collect import causes_of
from depyf.run.files import writer as writing
from depyf.run.files.layout import inputs_file, original_file
from depyf.run.files.reading import DumpError, NoManifest
from depyf.run.files.writer import DumpWriter
from depyf.run.records import EntryState
from depyf.run.run import Run, totals_of
from depyf.run.store.journal import Journal
from depyf.run.store.lines import NoteLine
from depyf.run.store.loading import load, load_ranks
from depyf.views.dump.whole_dump import pages_of
from depyf.views.pages.full_code import caller_name, full_code_page
from depyf.views.pages.function_pages import original_page
from depyf.views.pages.graph_inputs import inputs_page
from depyf.views.pages.sections.totals import words_of

DUMPS = Path(__file__).parent / "dumps"
KINDS = ("earlier", "finished", "killed")
FIRST = [
    "print() writes while the program runs; a compiled graph cannot",
    "`factor` is a constant of the compiled code (2, 3)",
]


@pytest.fixture
def killed(tmp_path: Path) -> Path:
    return Path(shutil.copytree(DUMPS / "killed", tmp_path / "killed"))


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_tells_of_breaks_recompilations_and_guards(kind: str) -> None:
    run = load(DUMPS / kind)
    (broken,) = run.breaks
    (again,) = [entry for _, entry in run.entries if entry.recompiles]
    assert broken.record.place is not None and broken.record.place.filename == "/work/program.py"
    assert (again.recompiles[0].expected, again.recompiles[0].actual) == ("2", "3")
    assert any("factor" in guard.expression for guard in next(e for _, e in run.entries if e.key.text == "0/0").guards)
    assert run.seconds and run.torch_version == "2.13.0+cpu"
    assert [cause.text for cause in causes_of(run)] == FIRST


def test_what_an_earlier_depyf_did_not_keep_is_named() -> None:
    assert "earlier depyf" in load(DUMPS / "earlier").missing[0]
    assert not load(DUMPS / "finished").missing and load(DUMPS / "finished").finished


def test_pages_of_an_earlier_depyf_tell_parameters_sources_and_facts(tmp_path: Path) -> None:
    earlier = Path(shutil.copytree(DUMPS / "earlier", tmp_path / "dump"))
    run = load(DUMPS / "finished")
    for name, functions in pages_of(run).items():
        (earlier / name).write_text(full_code_page(functions[0], functions[1:]).text)
    for function in run.functions:
        (earlier / original_file(function.function, function.code)).write_text(original_page(function))
    for graph in run.graphs:
        if graph.facts is not None:
            (earlier / inputs_file(graph)).write_text(inputs_page(graph.facts))
    again = load(earlier)
    for one, two in zip(run.functions, again.functions, strict=True):
        assert (one.code.parameters, one.code.locals, one.code.source) == (
            two.code.parameters,
            two.code.locals,
            two.code.source,
        )
        assert two.code.parameters and two.code.source
        assert caller_name(one) == caller_name(two)
    facts, told = ({(g.key, g.stage, g.index): g.facts for g in part.graphs} for part in (run, again))
    assert any(facts.values()) and facts == told
    (earlier / next(name for name in pages_of(run))).write_text("def (")
    (earlier / inputs_file(run.graphs[0])).write_text('{"inputs": [3]}')
    damaged = load(earlier)
    assert damaged.functions[0].code.parameters == "" and damaged.graphs[0].facts is None


def test_a_killed_run_says_what_was_being_compiled() -> None:
    run = load(DUMPS / "killed")
    assert not run.finished
    assert [entry.key.text for _, entry in run.of_state(EntryState.UNFINISHED)] == ["0/1"]
    assert run.functions[0].code.source.startswith("def scaled(x, factor):")
    assert run.functions[1].resume_of == (0, "0")


def test_pages_of_a_killed_run(killed: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["index", str(killed)]) == 0
    index = (killed / "index.md").read_text()
    assert index.startswith("# What torch.compile did before the process ended")
    assert FIRST[0] in index and "0/1: being compiled when the process ended" in index
    manifest = json.loads((killed / "manifest.json").read_text())
    listed = {item["file"] for item in manifest["files"]}
    assert listed <= {*os.listdir(killed)} and "__source_of_program_0.py" in listed
    assert "class GraphModule" in (killed / "__compiled_fn_0_0.Captured_Graph.0.py").read_text()
    again = (killed / "run.jsonl").read_bytes()
    assert main(["index", str(killed)]) == 0 and (killed / "run.jsonl").read_bytes() == again
    assert causes_of(load(killed)) == causes_of(load(DUMPS / "killed"))
    capsys.readouterr()


def test_other_commands_make_the_pages_first(killed: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["diff", str(killed), str(killed)]) == 0
    assert "its process was killed" in capsys.readouterr().err
    assert (killed / "index.md").exists()


def test_pages_of_a_run_that_goes_on_are_its_own(killed: Path, capsys: pytest.CaptureFixture[str]) -> None:
    alive = DumpWriter(killed)
    alive.begin()
    try:
        assert main(["index", str(killed)]) == 4
        assert "is running" in capsys.readouterr().err and not (killed / "manifest.json").exists()
    finally:
        alive.end(complete=False)


@pytest.mark.parametrize("step", [1, 7])
def test_cut_at_any_byte(tmp_path: Path, step: int) -> None:
    data = (DUMPS / "killed" / "run.jsonl").read_bytes()
    first = data.index(b"\n") + 1
    for end in [*range(0, 400, step), *range(400, len(data), 1009)]:
        (tmp_path / "run.jsonl").write_bytes(data[:end])
        if end < first:
            with pytest.raises(DumpError):
                load(tmp_path)
            continue
        run = load(tmp_path)
        causes_of(run)
        assert bool(run.missing) == (not data[:end].endswith(b"\n")), end


@pytest.mark.parametrize(
    "line",
    ['{"guard": 3}', "[]", '{"entry": {"entry": {"key": {"generation": 0}}}}', "{", '{"function": {}, "guard": {}}', "[" * 99 + "]" * 99, "\x00",
     '{"times": {"key": {"generation": 0, "text": "0/%s"}}}' % ("9" * 5000),
     '{"graph": {"key": {"generation": 0, "text": "0 0"}, "stage": "S", "index": 0}}'],
)  # fmt: skip
def test_a_line_that_nobody_of_us_wrote(tmp_path: Path, line: str) -> None:
    text = (DUMPS / "finished" / "run.jsonl").read_text()
    (tmp_path / "run.jsonl").write_text(text + line + "\n")
    run = load(tmp_path)
    (said,) = run.missing
    assert "is damaged: line " in said and [cause.text for cause in causes_of(run)] == FIRST


def test_lines_of_a_newer_depyf(tmp_path: Path) -> None:
    text = (DUMPS / "finished" / "run.jsonl").read_text()
    (tmp_path / "run.jsonl").write_text(text + '{"of the future": {"a": 1}}\n')
    assert load(tmp_path) == load(DUMPS / "finished") and not load(tmp_path).missing
    (tmp_path / "run.jsonl").write_text(text.replace('{"run":{"format":1', '{"run":{"format":2', 1))
    with pytest.raises(DumpError, match="of a newer depyf"):
        load(tmp_path)


def test_no_dump(tmp_path: Path) -> None:
    with pytest.raises(NoManifest, match=r"it has no manifest\.json"):
        load(tmp_path)
    (tmp_path / "run.jsonl").write_text("\n")
    with pytest.raises(DumpError, match="does not begin"):
        load(tmp_path)


def test_links_are_not_followed(tmp_path: Path) -> None:
    (tmp_path / "run.jsonl").symlink_to(DUMPS / "finished" / "run.jsonl")
    with pytest.raises(DumpError, match="link"):
        load(tmp_path)


def test_a_disk_that_is_full_for_a_while(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = writing._put
    writer = DumpWriter(tmp_path)
    journal = Journal(writer)
    journal.begin(Run("2", "3"))
    journal.add(NoteLine("before"))

    def full(path: str, flags: int, text: str) -> None:
        real(path, flags, text[:5])
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(writing, "_put", full)
    for _ in range(3):
        journal.add(NoteLine("lost"))
    monkeypatch.setattr(writing, "_put", real)
    journal.add(NoteLine("after"))
    run = load(tmp_path)
    assert run.notes == ("before", "after") and len(writer.problems) == 1
    assert "line 3 is not JSON" in run.missing[0]


def test_ranks_are_counted_together(tmp_path: Path) -> None:
    for rank in (0, 1, 3):
        shutil.copytree(DUMPS / "killed", tmp_path / f"rank_{rank}")
    (tmp_path / "rank_2").mkdir()
    ranks = load_ranks(tmp_path)
    assert [*ranks] == [0, 1, 3] and [*load_ranks(tmp_path / "rank_0")] == [0]
    one, all_three = totals_of([ranks[0]]), totals_of(ranks.values())
    assert one.breaks == all_three.breaks == 1, "a break that each rank meets is one"
    assert all_three.compilations == 3 * one.compilations > 0 and all_three.unfinished == 3
    assert words_of(all_three).breaks == "1 distinct graph break"
    with pytest.raises(NoManifest):
        load_ranks(tmp_path / "rank_2")
