"""The schema of ``run.jsonl`` is made of the classes: what they read fits it, and what they refuse does not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from depyf.run.store.codec import NotThat, made
from depyf.run.store.lines import KINDS
from depyf.run.store.schema import line_schema

DUMPS = Path(__file__).parent / "dumps"
VALID = jsonschema.Draft202012Validator(line_schema())


def test_the_schema_is_one_and_says_what_fields_mean() -> None:
    jsonschema.Draft202012Validator.check_schema(line_schema())
    entry = line_schema()["$defs"]["EntryRecord"]
    assert "earlier entries" in entry["properties"]["recompiles"]["description"] and entry["description"]


@pytest.mark.parametrize("kind", ["finished", "killed"])
def test_lines_of_dumps_fit_it(kind: str) -> None:
    for line in (DUMPS / kind / "run.jsonl").read_text().splitlines():
        VALID.validate(json.loads(line))


@pytest.mark.parametrize(
    "line",
    [
        {"note": {"text": "a"}},
        {"note": {"text": 1}},
        {"note": {}},
        {"note": {"text": "a", "newer": 1}},
        {"source": {"file": "a", "path": None}},
        {"times": {"key": {"generation": 0, "text": "0/0"}, "seconds": [["a", 1.5], ["b"]]}},
        {"times": {"key": {"generation": 0, "text": "0/0"}, "seconds": [["a", 1.5], ["b", 2]]}},
        {"guard": {"kind": "a", "text": "b", "expression": "c", "place": {"filename": "f", "line": "1"}}},
        {"guard": {"kind": "a", "text": "b", "expression": "c", "place": None}},
    ],
    ids=repr,
)
def test_reader_and_schema_refuse_the_same(line: dict[str, Any]) -> None:
    ((name, value),) = line.items()
    try:
        made(KINDS[name], value, name)
        read = True
    except NotThat:
        read = False
    assert VALID.is_valid(line) == read
