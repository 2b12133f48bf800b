"""``--format`` of the commands that find something in a program.

Input: findings.  Output: text on standard output, in the format of another tool.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from depyf.cli.output import tell, tell_json
from depyf.views.findings.finding import LocatedFinding, located
from depyf.views.findings.github_commands import github
from depyf.views.findings.sarif import sarif

TEXT, JSON = "text", "json"
FORMATS = (TEXT, JSON, "lines", "github", "sarif")


def add_format_argument(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--format",
        choices=FORMATS,
        help="text (the default), one JSON document, one FILE:LINE:COLUMN: line a finding (for editors), annotations "
        "of GitHub Actions, or SARIF 2.1.0; with all but text the program's output goes to standard error",
    )


def print_findings(findings: Sequence[LocatedFinding], form: str, succeeded: bool) -> None:
    """Print findings in ``form``, one of FORMATS.  Each command prints text and JSON itself."""
    if form == "sarif":
        tell_json(sarif(findings, succeeded))
    else:
        tell(*(github(findings) if form == "github" else map(located, findings))) if findings else None
