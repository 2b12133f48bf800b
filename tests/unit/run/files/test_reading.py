"""The only reader of dumps, on untrusted folders."""

from __future__ import annotations

import json
import os
import threading
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from depyf.cli import main
from depyf.errors import DepyfError
from depyf.gallery import GalleryError, render_dump, write_gallery
from depyf.run.files.layout import REPORT_MARK
from depyf.run.files.manifest import remove_old_dump
from depyf.run.files.reading import (
    MANIFEST,
    DumpError,
    NoManifest,
    nesting,
    rank_folders,
    read_file,
    read_json,
    read_manifest,
)
from depyf.run.files.writer import UNFINISHED, DumpWriter, write_whole
from depyf.run.places.where import where_is
from depyf.views.compare.stages import compare, load

NAME = "__compiled_fn_0_0.Captured_Graph.0.py"
GRAPH = {
    "file": NAME,
    "kind": "graph",
    "stage": "Captured_Graph",
    "index": 0,
    "compile_id": "0/0",
    "generation": 0,
    "from": [],
}
ENTRY = {
    "compile_id": "0/0", "compiled": True,
    "graph_breaks": [{"at": "/x.py:2", "from": "/x.py:1", "cause": "c", "hints": ["h"], "skipped": False}],
    "recompiled_because": [{"entry": "0/0", "guard": "g", "expected": "1", "actual": "2"}],
    "caches": [{"cache": "fx", "status": "hit", "reason": ""}],
    "symbols": [{"name": "s0", "assumed": [{"expression": "s0 > 1", "at": "/x.py:3"}]}],
}  # fmt: skip
FUNCTION = {"function": "f", "from": "/x.py:1", "resume_of": None, "entries": [ENTRY]}
PAGE: dict[str, Any] = {"format": 1, "torch": "2.9", "python": "3.11", "files": [GRAPH], "functions": [FUNCTION], "ranks": 1, "forks": [], "notes": []}  # fmt: skip
WRONG = [None, 7, -1, 1.5, True, "text", "0" * 5000, [], [1], [None], {}, {"a": 1}, [[]], [{}], "../x", "\n"]


def dump(folder: Path, page: object = PAGE) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "manifest.json").write_text(page if isinstance(page, str) else json.dumps(page))
    (folder / NAME).write_text("class GraphModule:\n    pass\n")
    return folder


def places(value: Any, way: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every place in a document."""
    found = [way]
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        found += places(inner, (*way, key))
    return found


def with_value(value: Any, way: tuple[Any, ...], new: Any) -> Any:
    if not way:
        return new
    changed = dict(value) if isinstance(value, dict) else list(value)
    changed[way[0]] = with_value(changed[way[0]], way[1:], new)
    return changed


@pytest.mark.parametrize("way", places(PAGE), ids=str)
def test_every_wrong_value_is_our_error(way: tuple[Any, ...], tmp_path: Path) -> None:
    """Whatever stands in a field: each command ends in the error of depyf, or takes it as it is."""
    good = dump(tmp_path / "good")
    for number, value in enumerate(WRONG):
        bad = dump(tmp_path / f"bad{number}", with_value(PAGE, way, value))
        for ask in readers(good, bad, tmp_path / "out"):
            try:
                ask()
            except DepyfError as error:
                assert "bad" in str(error)


def readers(good: Path, bad: Path, out: Path) -> list[Callable[[], object]]:
    return [
        lambda: compare(load(good), load(bad)).to_json(diffs=True),
        lambda: compare(load(bad), load(bad)).to_json(),
        lambda: write_gallery(bad, out),
        lambda: where_is(str(bad / NAME), 1),
        lambda: main(["diff", "-u", str(good), str(bad)]),
        lambda: remove_old_dump(bad),
    ]


@pytest.mark.parametrize("field", ["file", "kind"])
def test_fields_that_must_be_there(field: str, tmp_path: Path) -> None:
    page = {**PAGE, "files": [{key: value for key, value in GRAPH.items() if key != field}]}
    with pytest.raises(DumpError, match=f'files.0. is not an object with "{field}"'):
        read_manifest(dump(tmp_path, page))


OUTSIDE = ["../x", "/etc/passwd", "..", ".", "", "a/b", "a\\b", "C:x", "x\0", "x\n", "fork_1/x", 3, None]


@pytest.mark.parametrize("name", OUTSIDE, ids=ascii)
def test_names_that_leave_the_folder(name: object, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    secret = tmp_path / "x"
    secret.write_text("secret words")
    good = dump(tmp_path / "good")
    bad = dump(tmp_path / "bad", {**PAGE, "files": [GRAPH, {**GRAPH, "file": name}]})
    with pytest.raises(DumpError, match="plain file name"):
        load(bad)
    with pytest.raises(GalleryError):
        render_dump(bad)
    assert main(["diff", "-u", str(good), str(bad)]) == 4
    remove_old_dump(bad)
    out, err = capsys.readouterr()
    assert "secret" not in out + err and err.startswith("depyf: ") and secret.exists() and len(err.splitlines()) == 1


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no pipes in folders")
@pytest.mark.parametrize("name", ["manifest.json", NAME])
@pytest.mark.parametrize("kind", ["pipe", "link", "link to a device", "broken link", "folder"])
def test_files_that_are_no_files(kind: str, name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A pipe makes nothing wait; a link leads nowhere."""
    (tmp_path / "secret").write_text(json.dumps(PAGE))
    good, bad = dump(tmp_path / "good"), dump(tmp_path / "bad")
    path = bad / name
    path.unlink()
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    else:
        path.symlink_to({"link": tmp_path / "secret", "broken link": tmp_path / "nothing"}.get(kind, "/dev/zero"))
    done: list[int] = []
    asking = threading.Thread(target=lambda: done.append(main(["diff", "-u", str(good), str(bad)])), daemon=True)
    asking.start()
    asking.join(300)
    assert done == [4]
    assert str(path) in capsys.readouterr().err
    with pytest.raises(DumpError):
        read_file(bad, name)
    with pytest.raises(GalleryError):
        render_dump(bad)
    if name == NAME:
        assert where_is(str(path), 1).user_file == ""


@pytest.mark.parametrize(
    "text", ["[" * 100_000, '{"files": ' + "[" * 100_000 + "]" * 100_000 + "}", '{"a":' * 50_000], ids=range(3)
)
def test_deep_nesting(text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bad = dump(tmp_path, text)
    with pytest.raises(DumpError, match="nests deeper"):
        read_manifest(bad)
    assert main(["diff", str(bad), str(bad)]) == 4
    remove_old_dump(bad)
    assert (bad / NAME).exists()
    assert main(["gallery", str(bad)]) == 4
    assert len(capsys.readouterr().err.splitlines()) == 2


def test_nesting_is_counted_outside_of_texts() -> None:
    for value in ([], {}, [1, [2]], {"a[[[": ["\\", '"', "]]]{{", '\\"[', {"b": [[], [[]]]}]}, "[[", ["\\[[[["]):
        depth = 0
        seen = [value]
        while seen:
            depth += any(isinstance(item, (list, dict)) for item in seen)
            inner = [item for item in seen if isinstance(item, (list, dict))]
            seen = [x for item in inner for x in (item.values() if isinstance(item, dict) else item)]
        assert nesting(json.dumps(value).encode()) == depth, value


@pytest.mark.parametrize(
    ("text", "message"),
    [("", "not JSON"), ("{", "not JSON"), ("[]", "not the manifest"), ('{"files": []', "not JSON"), ('{"files": 1}', "not a list"),
     ('{"format": 2, "files": []}', "not the manifest"), ('{"files": [], "ranks": ' + "9" * 10_000 + "}", "a number of 10000 digits"),
     ('{"files": [], "ranks": 1e999}', "not of type int"), ('{"files": [], "ranks": NaN}', "not of type int")],
)  # fmt: skip
def test_damaged(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(DumpError, match=message):
        read_manifest(dump(tmp_path, text))


def test_too_large(tmp_path: Path) -> None:
    with open(tmp_path / "manifest.json", "wb") as file:
        file.truncate(1 << 40)  # a hole: it takes no room
    with pytest.raises(DumpError, match="too large"):
        read_manifest(tmp_path)


def test_no_manifest(tmp_path: Path) -> None:
    with pytest.raises(NoManifest):
        read_manifest(tmp_path)
    with pytest.raises(DumpError):
        read_manifest(tmp_path / "a\0b")
    (tmp_path / "x").write_bytes(b"\xff\xfe")
    with pytest.raises(DumpError, match="UTF-8"):
        read_json(tmp_path, "x")


def test_messages_move_no_cursor(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = dump(tmp_path / "a\x1b[31m\nb", {**PAGE, "files": 1})
    assert main(["diff", str(folder), str(folder)]) == 4
    (line,) = capsys.readouterr().err.splitlines()
    assert line.isprintable()


def test_files_of_others_move_no_cursor_and_warn_of_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one, two = dump(tmp_path / "one"), dump(tmp_path / "two")
    (one / NAME).write_text("x = '\\('  # \x1b[2J\n")
    (two / NAME).write_text("y = 'a\u202eb'\n")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert main(["diff", "-u", str(one), str(two)]) == main(["diff", "-u", "--strict", str(one), str(two)]) == 1
    out = capsys.readouterr().out
    assert not caught and all(line.replace("\t", "").isprintable() for line in out.splitlines())


# Writing


def test_links_are_not_written_through(tmp_path: Path) -> None:
    target, folder = tmp_path / "target", tmp_path / "dump"
    target.write_text("precious")
    folder.mkdir()
    for name in (NAME, "index.md", UNFINISHED):
        (folder / name).symlink_to(target)
    writer = DumpWriter.open(folder)
    writer.begin()
    assert writer.write(NAME, "text")
    writer.append("index.md", "more")
    assert target.read_text() == "precious"
    assert (folder / NAME).read_text() == "text" and not (folder / NAME).is_symlink()
    assert writer.problems and "index.md" in writer.problems[0]
    with pytest.raises(DepyfError, match="symbolic link"):
        (folder / "fork_1").symlink_to(tmp_path)
        DumpWriter.open(folder, "fork_1")


def test_a_temporary_file_that_is_there_already(tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.write_text("precious")
    temporary = tmp_path / f".depyf-{os.getpid()}-{threading.get_ident()}.tmp"
    temporary.symlink_to(target)
    write_whole(str(tmp_path / "name"), "text")
    assert (tmp_path / "name").read_text() == "text" and target.read_text() == "precious"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["name", "target"]


def test_long_names_are_written(tmp_path: Path) -> None:
    writer = DumpWriter.open(tmp_path)
    assert writer.write("\u540d" * 80 + ".py", "text") and not writer.problems


def killed(folder: Path, finished: bool = False) -> DumpWriter:
    """What a run has written so far."""
    writer = DumpWriter.open(folder)
    writer.begin()
    for name in ("index.md", NAME, "full_code_for_f_0.py"):
        writer.write(name, "text")
    writer.end(complete=finished)  # the system closes the files of a process that is killed
    return writer


def test_what_a_killed_run_left_is_removed(tmp_path: Path) -> None:
    (tmp_path / "__compiled_fn_9_9.Captured_Graph.0.py").write_text("of the user")
    (tmp_path / "notes.txt").write_text("of the user")
    killed(tmp_path)
    (tmp_path / ".depyf-1234-5678.tmp").write_text("half")
    remove_old_dump(tmp_path)
    left = sorted(path.name for path in tmp_path.iterdir())
    assert left == ["__compiled_fn_9_9.Captured_Graph.0.py", "notes.txt"]


def test_a_finished_run_leaves_no_journal(tmp_path: Path) -> None:
    killed(tmp_path, finished=True)
    assert not (tmp_path / UNFINISHED).exists()
    remove_old_dump(tmp_path)
    assert (tmp_path / NAME).exists()  # there is no manifest that lists it


def test_forks_of_a_killed_run(tmp_path: Path) -> None:
    writer = DumpWriter.open(tmp_path)
    writer.begin()
    writer.note("fork_2/fork_1")
    writer.end(complete=False)
    killed(tmp_path / "fork_2" / "fork_1")
    (tmp_path / "fork_3").mkdir()
    killed(tmp_path / "fork_3")
    remove_old_dump(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["fork_3"]  # which the journal does not name


@pytest.mark.parametrize(
    "name", ["../victim.py", "fork_1/../../victim.py", "/victim.py", "victim.py", "fork_1/victim.py", "fork_9"]
)
def test_a_journal_of_others(name: str, tmp_path: Path) -> None:
    folder = tmp_path / "dump"
    (folder / "fork_1").mkdir(parents=True)
    victims = [tmp_path / "victim.py", folder / "victim.py", folder / "fork_1" / "victim.py"]
    for victim in victims:
        victim.write_text("precious")
    (folder / "fork_9").symlink_to(tmp_path)
    (tmp_path / UNFINISHED).write_text(f"{NAME}\n")
    (tmp_path / NAME).write_text("precious")
    (folder / UNFINISHED).write_text(f"{name}\n")
    remove_old_dump(folder)
    assert (
        all(victim.exists() for victim in victims) and (tmp_path / NAME).exists() and not (folder / UNFINISHED).exists()
    )


def test_the_files_of_a_run_that_is_alive_stay(tmp_path: Path) -> None:
    pytest.importorskip("fcntl", reason="this system cannot tell whether the process is alive")
    writer = DumpWriter.open(tmp_path)
    writer.begin()
    writer.write(NAME, "text")
    remove_old_dump(tmp_path)
    assert (tmp_path / NAME).exists() and (tmp_path / UNFINISHED).exists()
    writer.end(complete=False)
    remove_old_dump(tmp_path)
    assert not list(tmp_path.iterdir())


def test_deep_forks_of_others(tmp_path: Path) -> None:
    place = tmp_path
    for _ in range(100):
        (place / UNFINISHED).write_text("fork_1\n")
        place = place / "fork_1"
        place.mkdir()
    remove_old_dump(tmp_path)


def test_ranks_are_folders_of_the_dump(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A link leads elsewhere, and other digits than ours are no rank."""
    outside = dump(tmp_path / "outside")
    dump(tmp_path / "dump" / "rank_0")
    dump(tmp_path / "dump" / "rank_\xb2")
    (tmp_path / "dump" / "rank_1").symlink_to(outside)
    (tmp_path / "dump" / "rank_2").write_text("")
    assert list(rank_folders(tmp_path / "dump")) == [0]
    assert main(["merge", str(tmp_path / "dump")]) == 4
    assert "one process only" in capsys.readouterr().err
    assert rank_folders(tmp_path / "nothing") == {}


def test_a_gallery_is_not_written_through_links(tmp_path: Path) -> None:
    folder, outside = dump(tmp_path / "dump"), tmp_path / "outside"
    outside.mkdir()
    (folder / "gallery").symlink_to(outside)
    with pytest.raises(GalleryError, match="symbolic link"):
        write_gallery(folder, folder / "gallery")
    assert not list(outside.iterdir())
    (tmp_path / "out").symlink_to(outside)  # the user's own
    (outside / "index.md").symlink_to(tmp_path / "precious")
    (tmp_path / "precious").write_text("precious")
    write_gallery(folder, tmp_path / "out")
    assert (tmp_path / "precious").read_text() == "precious"
    assert (outside / "index.md").read_text().startswith("# Compiled graphs")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no pipes in folders")
def test_the_lines_of_a_program_are_those_of_a_source_file(tmp_path: Path) -> None:
    """A page may name any file as the one that it came from."""
    os.mkfifo(tmp_path / "pipe.py")
    (tmp_path / "secret").write_text("secret words\n")
    for name in ("pipe.py", "secret"):
        folder = dump(tmp_path / f"dump of {name}")
        (folder / NAME).write_text(f"# File: {tmp_path / name}:1 in f\nx = 1\n")
        found = where_is(str(folder / NAME), 2)
        assert (found.user_file, found.user_code) == (str(tmp_path / name), "")


@pytest.mark.parametrize("finished", (True, False))
def test_the_page_of_the_run_before_is_removed_and_no_other(tmp_path: Path, finished: bool) -> None:
    for name, page in (("ours", f"<head>{REPORT_MARK}<title>"), ("theirs", "<head><title>Sales</title>")):
        folder = tmp_path / name
        killed(folder)
        if finished:
            (folder / UNFINISHED).unlink()
            (folder / MANIFEST).write_text(json.dumps({"files": [{"file": NAME, "kind": "graph"}]}))
        (folder / "report.html").write_text(page)
        remove_old_dump(folder)
        assert (folder / "report.html").exists() == (name == "theirs")
