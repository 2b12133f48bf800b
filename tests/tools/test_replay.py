"""Replay records what a tree writes, goes on where it stopped, and shows what differs."""

from __future__ import annotations

import json
import py_compile
import shutil
from pathlib import Path

import pytest

from replay import __main__ as replay
from replay.inputs import ROOT, Shard


@pytest.fixture
def shard(tmp_path: Path) -> Shard:
    folder = tmp_path / "inputs"
    for name, text in (("one", "def f(a):\n    return a + 1\n"), ("two", "def g(b):\n    return b\n")):
        source = tmp_path / f"{name}.py"
        source.write_text(text)
        py_compile.compile(str(source), str(folder / f"{name}.pyc"), name, doraise=True)
    return Shard("made up", "pyc", folder)


@pytest.fixture
def changed(tmp_path: Path) -> Path:
    """A copy of the package in another state."""
    tree = tmp_path / "tree"
    shutil.copytree(ROOT / "src", tree / "src", ignore=shutil.ignore_patterns("__pycache__"))
    with open(tree / "src/depyf/errors.py", "a") as file:
        file.write("\n\nWRITTEN_FOR_A_TEST = True\n")
    return tree


def test_recorded_once_for_a_state_of_the_package(
    shard: Shard, changed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replay, "KEPT", tmp_path / "kept")
    first = replay.recorded(ROOT, shard, quick=False)
    assert sorted(first) == ["one.pyc", "two.pyc"]
    assert replay.verdict(first["one.pyc"]) == "IDENTICAL 2"
    assert replay.state(changed) != replay.state(ROOT)
    second = replay.recorded(changed, shard, quick=False)
    assert first == second

    (record,) = (tmp_path / "kept" / "records" / replay.state(ROOT)).glob("*.jsonl")
    lines = record.read_text().splitlines()
    row = json.loads(lines[0])
    record.write_text(json.dumps({**row, "text": "another", "verdicts": {"FAILED": 1}}) + "\n")  # stopped after one
    again = replay.recorded(ROOT, shard, quick=False)
    assert again[row["key"]]["text"] == "another"  # not recorded again
    assert sorted(again) == ["one.pyc", "two.pyc"]
    assert replay.verdict(again[row["key"]]) == "FAILED 1"


def test_no_such_commit() -> None:
    with pytest.raises(SystemExit, match="no commit"):
        replay.checked_out("no-such-commit")
