"""Replay records what a tree writes, goes on where it stopped, and shows what differs."""

from __future__ import annotations

import hashlib
import json
import py_compile
import shutil
import zlib
from base64 import b64encode
from pathlib import Path

import pytest

from tools.corpus.replay import __main__ as replay
from tools.corpus.replay import inputs
from tools.corpus.replay.inputs import ROOT, Shard


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


def row(text: str) -> dict[str, object]:
    packed = b64encode(zlib.compress(text.encode())).decode()
    return {
        "key": "manifest.json",
        "text": hashlib.sha256(text.encode()).hexdigest()[:16],
        "verdicts": {"written": 1},
        "body": packed,
    }


def manifest(*, value: int = 1, grown: bool = False) -> str:
    files = [{"file": "a.py", "kind": "graph", "n": value}]
    page: dict[str, object] = {"files": files, "functions": [{"function": "f", "entries": [{"compile_id": "0/0"}]}]}
    if grown:
        files.insert(0, {"file": "A.md", "kind": "report", "n": 0})
        page |= {"causes": [], "functions": [{"function": "f", "entries": [{"compile_id": "0/0", "called_by": []}]}]}
    return json.dumps(page)


def test_manifests_are_compared_in_what_both_have() -> None:
    dump = Shard("dump", "dump")
    before, after = ({"manifest.json": row(manifest(grown=grown))} for grown in (False, True))
    (said,) = replay.comparable(dump, before, after)
    assert said == "dump: manifest.json: of one commit only: causes, files.file, functions.entries.called_by"
    assert before["manifest.json"]["text"] == after["manifest.json"]["text"]
    before, after = {"manifest.json": row(manifest())}, {"manifest.json": row(manifest(value=2, grown=True))}
    replay.comparable(dump, before, after)
    assert before["manifest.json"]["text"] != after["manifest.json"]["text"]


def test_texts_of_dumps_are_shown_from_the_record(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """To make a dump again takes minutes."""
    monkeypatch.setattr(replay, "_run", lambda *_: pytest.fail("the programs ran again"))
    records = {"manifest.json": row("one\n")}, {"manifest.json": row("two\n")}
    replay.show(Shard("dump", "dump"), (ROOT, ROOT), records, ["manifest.json"], quick=True)
    assert "-one\n+two" in capsys.readouterr().out


def test_the_quick_form_compiles_its_sample_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inputs, "INPUTS", tmp_path)
    (version,) = list(inputs.interpreters.found())[-1:]
    monkeypatch.setattr(inputs.interpreters, "found", lambda: [version])
    work = list(inputs.shards("lib", quick=True))
    made = list(tmp_path.rglob("*.pyc"))
    assert len(work) == 1 and 0 < len(made) < 60
    assert len(work[0].keys(quick=False)) == len(work[0].keys(quick=True)) == len(made)
