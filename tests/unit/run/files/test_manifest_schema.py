"""The JSON schema of a manifest says what the reader checks."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from depyf.run.files.file_record import FileRecord
from depyf.run.files.manifest_schema import MEANINGS, OBJECTS, json_schema
from depyf.run.files.reading import DumpError, read_manifest
from depyf.run.store.codec import stored_fields

GOOD: dict[str, Any] = {
    "format": 1,
    "files": [{"file": "full_code_for_f_0.py", "kind": "full_code", "compile_ids": ["0/0", "!0/1/0"]}],
    "functions": [{"function": "f", "from": "/a.py:1", "resume_of": None, "entries": [{"compile_id": "0/0"}]}],
    "forks": ["fork_1"],
}


def with_(path: tuple[str | int, ...], value: object) -> dict[str, Any]:
    page: Any = json.loads(json.dumps(GOOD))
    inner = page
    for step in path[:-1]:
        inner = inner[step]
    inner[path[-1]] = value
    return page  # type: ignore[no-any-return]


def test_the_schema_is_one() -> None:
    jsonschema.Draft202012Validator.check_schema(json_schema())
    assert all(MEANINGS[f"{name}.{field.rstrip('!')}"] for name, fields in OBJECTS.items() for field in fields)


@pytest.mark.parametrize(
    "page",
    [
        GOOD,
        {**GOOD, "newer": 1},
        with_(("files", 0, "file"), "../passwd"),
        with_(("files", 0, "file"), ".."),
        with_(("files", 0, "kind"), 3),
        with_(("files", 0, "compile_ids"), ["0 0"]),
        with_(("files", 0, "compile_ids"), ["0/12345678901"]),
        with_(("functions", 0, "entries"), {}),
        with_(("functions", 0, "entries", 0), {"guards": 1}),
        with_(("functions", 0, "resume_of"), 1),
        with_(("forks",), ["rank_0"]),
        with_(("files",), None),
    ],
    ids=repr,
)
def test_reader_and_schema_refuse_the_same(page: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text(json.dumps(page))
    try:
        read_manifest(tmp_path)
        read = True
    except DumpError:
        read = False
    assert jsonschema.Draft202012Validator(json_schema()).is_valid(page) == read


def test_the_record_of_a_file_has_the_fields_of_the_schema(tmp_path: Path) -> None:
    known = {field.rstrip("!"): kind for field, kind in OBJECTS["file"].items()}
    stored = {field.key: field.hint for field in stored_fields(FileRecord)}
    assert stored.keys() == known.keys() - {"given", "verdicts", "reason", "substituted"}, "which are in the run"
    assert {key for key, hint in stored.items() if hint in (int, bool) and known[key] is not hint} == set()
    item = {"file": "a.py", "kind": "graph", "stage": "S", "compile_id": "", "from": ["b.py", "c.py"], "index": 1}
    (tmp_path / "manifest.json").write_text(json.dumps({**GOOD, "files": [item]}))
    (file,) = read_manifest(tmp_path).files
    assert (file.name, file.origin, file.index, file.compile_id, file.key) == ("a.py", "b.py", 1, "", None)


def test_patterns_are_those_of_every_engine() -> None:
    """No construct that only Python's regular expressions know."""
    assert re.findall(r"\\[AZ]|\(\?P|\(\?[aimsux]", json.dumps(json_schema())) == []
