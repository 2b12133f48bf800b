"""Findings as workflow commands of GitHub Actions, which shows them at their lines in a pull request.

Input: findings.  Output: lines for standard output.  The format and what is escaped in it:
https://docs.github.com/actions/reference/workflow-commands-for-github-actions.
"""

from __future__ import annotations

from collections.abc import Iterable

from depyf.views.findings.finding import Level, LocatedFinding, shown_path

_WORDS = {Level.ERROR: "error", Level.WARNING: "warning", Level.NOTE: "notice"}


def github(findings: Iterable[LocatedFinding]) -> list[str]:
    """One workflow command for each finding.  GitHub shows the first ten of each level in a step."""
    return [_command(finding) for finding in findings]


def _command(finding: LocatedFinding) -> str:
    properties = {"title": f"depyf: {finding.rule.short.rstrip('.')}"}
    if finding.place is not None:
        place = finding.place
        at = {"file": shown_path(place.filename), "line": str(place.line), "col": str(finding.column)}
        properties = {**at, **properties}
    listed = ",".join(f"{name}={_property(value)}" for name, value in properties.items())
    return f"::{_WORDS[finding.level]} {listed}::{_data(finding.message)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
