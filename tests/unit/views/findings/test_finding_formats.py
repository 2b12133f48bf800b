"""Findings as SARIF, as annotations and as lines of a compiler."""

from __future__ import annotations

import json
import re
from pathlib import Path

import jsonschema
import pytest

from depyf.run.causes.cause import Cause, CauseKind, Costs
from depyf.run.observations.observation import Observation, ObservationKind
from depyf.run.places.place import Place
from depyf.views.findings.finding import RULES, findings_of, located
from depyf.views.findings.github_commands import github
from depyf.views.findings.sarif import sarif

TEXT = {
    "type": "object",
    "required": ["text"],
    "properties": {"text": {"type": "string", "minLength": 1}, "markdown": {"type": "string"}},
    "additionalProperties": False,
}
"""What the schema of SARIF 2.1.0 says of the parts that are written here: types, required members, and no others."""
SCHEMA = {
    "type": "object",
    "required": ["version", "runs"],
    "additionalProperties": False,
    "properties": {
        "$schema": {"type": "string", "format": "uri"},
        "version": {"enum": ["2.1.0"]},
        "runs": {
            "type": "array",
            "minItems": 0,
            "items": {
                "type": "object",
                "required": ["tool"],
                "additionalProperties": False,
                "properties": {
                    "columnKind": {"enum": ["utf16CodeUnits", "unicodeCodePoints"]},
                    "originalUriBaseIds": {
                        "type": "object",
                        "additionalProperties": {
                            "type": "object", "properties": {"uri": {"type": "string", "pattern": "^[a-z]+://.*/$"}}, "additionalProperties": False,
                        },
                    },
                    "invocations": {
                        "type": "array",
                        "items": {
                            "type": "object", "required": ["executionSuccessful"], "additionalProperties": False,
                            "properties": {"executionSuccessful": {"type": "boolean"}},
                        },
                    },
                    "tool": {
                        "type": "object",
                        "required": ["driver"],
                        "additionalProperties": False,
                        "properties": {
                            "driver": {
                                "type": "object",
                                "required": ["name"],
                                "additionalProperties": False,
                                "properties": {
                                    "name": {"type": "string"},
                                    "version": {"type": "string"},
                                    "informationUri": {"type": "string", "format": "uri"},
                                    "rules": {
                                        "type": "array",
                                        "uniqueItems": True,
                                        "items": {
                                            "type": "object",
                                            "required": ["id"],
                                            "additionalProperties": False,
                                            "properties": {
                                                "id": {"type": "string"}, "name": {"type": "string"},
                                                "shortDescription": TEXT, "fullDescription": TEXT, "help": TEXT,
                                                "helpUri": {"type": "string", "format": "uri"},
                                                "properties": {"type": "object", "properties": {"tags": {"type": "array", "uniqueItems": True, "items": {"type": "string"}}}},
                                            },
                                        },
                                    },
                                },
                            }
                        },
                    },
                    "results": {
                        "type": "array",
                        "items": {
                            "type": "object",
                            "required": ["message"],
                            "additionalProperties": False,
                            "properties": {
                                "ruleId": {"type": "string"},
                                "ruleIndex": {"type": "integer", "minimum": -1},
                                "level": {"enum": ["none", "note", "warning", "error"]},
                                "message": TEXT,
                                "partialFingerprints": {"type": "object", "additionalProperties": {"type": "string"}},
                                "locations": {
                                    "type": "array",
                                    "items": {
                                        "type": "object",
                                        "additionalProperties": False,
                                        "properties": {
                                            "physicalLocation": {
                                                "type": "object",
                                                "additionalProperties": False,
                                                "properties": {
                                                    "artifactLocation": {
                                                        "type": "object", "additionalProperties": False,
                                                        "properties": {"uri": {"type": "string", "format": "uri-reference"}, "uriBaseId": {"type": "string"}},
                                                    },
                                                    "region": {
                                                        "type": "object", "additionalProperties": False,
                                                        "properties": {
                                                            "startLine": {"type": "integer", "minimum": 1},
                                                            "startColumn": {"type": "integer", "minimum": 1},
                                                            "snippet": TEXT,
                                                        },
                                                    },
                                                },
                                            }
                                        },
                                    },
                                },
                            },
                        },
                    },
                },
            },
        },
    },
}  # fmt: skip


@pytest.fixture
def findings(tmp_path, monkeypatch):
    """Below the current folder, elsewhere, in a cell of a notebook, and without a place."""
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "a b"
    folder.mkdir()
    (folder / "m,o:d%.py").write_text("def f(x):\n    print(x.sum().item())\n")
    here = Place(str(folder / "m,o:d%.py"), 2, "f", "print(x.sum().item())")
    causes = [
        Cause(CauseKind.BREAKS, "f", here, "Tensor.item", "", (), Costs(breaks=1), "reads `x`,\n100% of it"),
        Cause(CauseKind.RECOMPILES, "f", Place("In [3]", 1, "f", "f(x)"), "", "", (), Costs(), "again"),
        Cause(CauseKind.FAILED, "f", None, "", "", (), Costs(), "failed"),
    ]
    told = Observation(ObservationKind.NEVER_CALLED, Place("/elsewhere/x.py", 9), "not called", ("call it",))
    return findings_of(causes, [told])


def test_sarif_is_valid(findings):
    page = sarif(findings)
    jsonschema.validate(page, SCHEMA)
    assert json.loads(json.dumps(page)) == page
    run = page["runs"][0]
    rules = run["tool"]["driver"]["rules"]
    assert len({rule["id"] for rule in rules}) == len(rules) == len(CauseKind) + len(ObservationKind) + 1
    for result, finding in zip(run["results"], findings, strict=True):
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"] == finding.rule.id
    first = run["results"][0]["locations"][0]["physicalLocation"]
    assert first["artifactLocation"] == {"uri": "a%20b/m%2Co%3Ad%25.py", "uriBaseId": "SRCROOT"}
    assert first["region"] == {"startLine": 2, "startColumn": 19, "snippet": {"text": "print(x.sum().item())"}}
    others = [result["locations"] for result in run["results"]]
    assert others[3][0]["physicalLocation"]["artifactLocation"] == {"uri": "file:///elsewhere/x.py"} and others[2] == []
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(sarif(findings) | {"more": 1}, SCHEMA)


def test_fingerprints_do_not_know_the_line_number(findings, tmp_path):
    def fingerprints():
        return [one["partialFingerprints"]["depyfFinding/v1"] for one in sarif(findings)["runs"][0]["results"]]

    before = fingerprints()
    assert len(set(before)) == len(before)
    place = findings[0].place
    moved = Place(place.filename, 7, place.function, place.text)
    findings = [type(findings[0])(**{**{n: getattr(findings[0], n) for n in findings[0].__slots__}, "place": moved}), *findings[1:]]  # fmt: skip
    assert fingerprints() == before


def test_annotations_are_escaped(findings):
    lines = github(findings)
    assert all("\n" not in line for line in lines)
    assert lines[0] == (
        "::warning file=a b/m%2Co%3Ad%25.py,line=2,col=19,title=depyf%3A A graph ends at this line%2C and another "
        "begins after it::reads `x`, 100%25 of it (ends the graph in )"
    )
    assert lines[2].startswith("::error title=depyf%3A torch raised")


MATCHER = Path(__file__).parents[4] / "docs" / "howto" / "vscode.md"


def test_the_problem_matcher_of_the_page_reads_the_lines(findings):
    task = json.loads(re.search(r"```json\n(\{\n  \"version\": \"2.0.0\".*?)```", MATCHER.read_text(), re.S)[1])
    pattern = task["tasks"][0]["problemMatcher"]["pattern"]
    line = re.match(pattern["regexp"], located(findings[0]))
    assert line is not None
    found = {name: line[pattern[name]] for name in ("file", "line", "column", "severity", "message", "code")}
    assert found == {
        "file": "a b/m,o:d%.py", "line": "2", "column": "19", "severity": "warning", "code": "breaks",
        "message": "reads `x`, 100% of it (ends the graph in )",
    }  # fmt: skip


def test_each_rule_has_a_page():
    docs = Path(__file__).parents[4] / "docs"
    for rule in RULES:
        assert (docs / rule.page.replace(".html", ".md")).is_file(), rule.page
        assert rule.help.endswith(".") and rule.short.endswith("."), rule.id
