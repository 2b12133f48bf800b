"""The records of a log, and the causes that rest on them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from depyf.cli import main
from depyf.cli.exit_status import ExitStatus
from trace_logs import BREAK, small_log


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return small_log("/p/train.py").write(tmp_path / "logs" / "dedicated_log_torch_trace_a.log")


def test_each_cause_names_records_that_say_it(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--json", "logs"]) == ExitStatus.UNPROVEN
    causes = {cause["kind"]: cause for cause in json.loads(capsys.readouterr().out)["causes"]}
    lines = log.read_text().split("\n")
    told = {
        kind: [(one["record"], one["compile_id"], lines[one["line"] - 1]) for one in cause["evidence"]]
        for kind, cause in causes.items()
    }
    assert [(name, key) for name, key, _ in told["recompiles"]] == [
        ("recompile_reasons", "0/1"), ("dynamo_cpp_guards_str", "0/0")
    ]  # fmt: skip
    assert [(name, key) for name, key, _ in told["breaks"]] == [("dynamo_graph_break_reason", "0/0")]
    for found in told.values():
        for name, _, line in found:
            assert name in line and line.startswith("V")
    for one in causes["breaks"]["evidence"]:
        assert main(["show", "logs", str(one["line"])]) == 0
        assert BREAK.format(file="/p/train.py") in capsys.readouterr().out
        assert main(["show", "logs", str(one["line"] + 2)]) == 0  # a line of its payload
        assert "Graph Break Reason" in capsys.readouterr().out


def test_records_of_a_compilation(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", "logs"]) == 0
    said = capsys.readouterr().out
    assert "0/0      5 records, lines " in said and "0/1      5 records, lines " in said
    assert main(["show", str(log), "0/1"]) == 0
    said = capsys.readouterr().out
    assert [line.split()[3] for line in said.splitlines()] == [
        "recompile_reasons:", "dynamo_start:", "dynamo_output_graph:", "dynamo_cpp_guards_str:", "compilation_metrics:"
    ]  # fmt: skip


@pytest.mark.parametrize("what", [["7/7"], ["0"], ["0/0", "--rank", "3"]])
def test_what_is_not_there(log: Path, what: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", "logs", *what]) == ExitStatus.UNREADABLE
    assert capsys.readouterr().err.startswith("depyf: ")
    assert main(["show", "elsewhere", *what]) == ExitStatus.UNREADABLE


def test_the_report_has_them(log: Path) -> None:
    pytest.importorskip("jinja2")
    from depyf.actions.opened.opened_log import write_log_dump
    from depyf.views.report.dump_view import DumpView
    from depyf.views.report.panels.fix_first_panel import fix_first_panel

    panel = fix_first_panel(DumpView(write_log_dump(log, Path("dump")).folder), None)
    assert panel is not None
    assert panel["causes"][0]["log"] == log.name
    assert all(record["line"] for cause in panel["causes"] for record in cause["evidence"])
