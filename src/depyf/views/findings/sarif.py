"""Findings as SARIF 2.1.0 (https://docs.oasis-open.org/sarif/sarif/v2.1.0/), which GitHub's code scanning and editors
show at their lines.

Input: findings.  Output: a JSON document as plain data; the same findings give the same document.
"""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Iterable
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import quote

import depyf
from depyf.run.places.place import Place
from depyf.views.findings.finding import RULES, LocatedFinding, Rule, shown_path

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_SITE = "https://depyf.readthedocs.io/en/latest/"
_ROOT = "SRCROOT"


def sarif(findings: Iterable[LocatedFinding], succeeded: bool = True) -> dict[str, Any]:
    """The SARIF log of one run of depyf.  ``succeeded``: whether the program came to its end."""
    numbers = {rule.id: number for number, rule in enumerate(RULES)}
    met: Counter[str] = Counter()
    results = []
    for finding in findings:
        print_of = _fingerprint(finding)
        met[print_of] += 1
        results.append(_result(finding, numbers[finding.rule.id], f"{print_of}:{met[print_of]}"))
    driver = {
        "name": "depyf",
        "version": depyf.__version__,
        "informationUri": _SITE,
        "rules": [_rule(rule) for rule in RULES],
    }
    return {
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {"driver": driver},
                "columnKind": "unicodeCodePoints",
                "originalUriBaseIds": {_ROOT: {"uri": Path.cwd().as_uri().rstrip("/") + "/"}},
                "invocations": [{"executionSuccessful": succeeded}],
                "results": results,
            }
        ],
    }


def _rule(rule: Rule) -> dict[str, Any]:
    return {
        "id": rule.id,
        "name": rule.name,
        "shortDescription": {"text": rule.short},
        "fullDescription": {"text": f"{rule.short} {rule.help}"},
        "help": {"text": rule.help, "markdown": f"{rule.help} [More]({_SITE}{rule.page})"},
        "helpUri": _SITE + rule.page,
        "properties": {"tags": ["torch.compile"]},
    }


def _result(finding: LocatedFinding, number: int, fingerprint: str) -> dict[str, Any]:
    return {
        "ruleId": finding.rule.id,
        "ruleIndex": number,
        "level": finding.level.value,
        "message": {"text": _message(finding)},
        "locations": [] if finding.place is None else [_location(finding.place, finding.column)],
        "partialFingerprints": {"depyfFinding/v1": fingerprint},
    }


def _message(finding: LocatedFinding) -> str:
    lines = [finding.text, *([finding.cost] if finding.cost else [])]
    return "\n".join([*lines, *(f"way out: {way}" for way in finding.ways[:2])])


def _location(place: Place, column: int) -> dict[str, Any]:
    name = shown_path(place.filename)
    artifact: dict[str, Any]
    if os.path.isabs(name):
        artifact = {"uri": Path(name).as_uri()}
    else:
        artifact = {"uri": quote(str(PurePosixPath(*Path(name).parts))), "uriBaseId": _ROOT}
    region: dict[str, Any] = {"startLine": max(place.line, 1), "startColumn": column}
    if place.text:
        region["snippet"] = {"text": place.text}
    return {"physicalLocation": {"artifactLocation": artifact, "region": region}}


def _fingerprint(finding: LocatedFinding) -> str:
    """A checksum of the line's text, not its number: it stays the same when lines above are inserted."""
    place = finding.place
    parts = [finding.rule.id, finding.subject]
    parts += [shown_path(place.filename), place.function, place.text or str(place.line)] if place is not None else []
    return hashlib.sha256("\0".join(parts).encode("utf-8", "replace")).hexdigest()[:32]
