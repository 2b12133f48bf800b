"""Bring the ``# known:`` lines of the golden cases up to date.

    python tools/known.py           print which cases fail on which versions, and why
    python tools/known.py --write   rewrite the lines: failures get one, what passes loses it
    python tools/known.py --case a --case b   only these cases

A known failure is strict in the tests: the line must go when the case passes.  Review the diff; a line that appears
for something that used to pass is a regression, not an update.
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "tests" / "support"), str(ROOT / "tests")]

import casefiles
import interpreters
from casefiles import Case


def failure(case: Case, version: str, ugly: bool) -> str | None:
    """Why the case fails there, as its test would; None when it passes."""
    import test_cases

    from depyf.driver.pipeline import decompile_unit
    from depyf.options import Options

    try:
        result = decompile_unit(test_cases.unit_of(case, version), Options(idioms=not ugly))
    except Exception as error:
        return shorten(f"{type(error).__name__}: {error}")
    bad = [verdict for verdict in result.verdicts if not verdict.proven]
    if bad:
        own = [verdict for verdict in bad if not verdict.reason.startswith("nested ")]
        return shorten((own or bad)[0].reason)
    if not ugly and result.source != case.expected(casefiles.parse_version(version)):
        return "the text reads differently"
    return None


def shorten(reason: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r" \(offset[^)]*\)", "", reason))[:110]


def runs(versions: list[str]) -> list[list[str]]:
    """Versions that follow each other, grouped."""
    groups: list[list[str]] = []
    for version in versions:
        if groups and interpreters.VERSIONS.index(groups[-1][-1]) + 1 == interpreters.VERSIONS.index(version):
            groups[-1].append(version)
        else:
            groups.append([version])
    return groups


def known_lines(case: Case, available: list[str]) -> list[str]:
    lines = []
    for ugly in (False, True):
        failing = {v: reason for v in available if (reason := failure(case, v, ugly))}
        for group in runs(list(failing)):
            span = group[0] if len(group) == 1 else f"{group[0]}-{group[-1]}"
            if group[-1] == interpreters.VERSIONS[-1]:
                span = f"{group[0]}+"
            lines.append(f"# known{' ugly' if ugly else ''}: {span} {failing[group[0]]}")
    return lines


def rewrite(path: Path, lines: list[str]) -> None:
    old = path.read_text(encoding="utf-8").splitlines(keepends=True)
    kept = [line for line in old if not line.startswith("# known")]
    at = 1 if kept and kept[0].startswith("# versions:") else 0
    new = "".join([*kept[:at], *(line + "\n" for line in lines), *kept[at:]])
    if new != "".join(old):
        path.write_text(new, encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--case", action="append", help="only the case of this name")
    options = parser.parse_args()
    found = list(interpreters.found())
    total = 0
    for case in casefiles.all_cases():
        if options.case and case.name not in options.case:
            continue
        available = [version for version in found if case.runs_on(casefiles.parse_version(version))]
        lines = known_lines(case, available)
        total += len(lines)
        for line in lines:
            print(f"{case.name:24} {line.removeprefix('# known')}")
        if options.write:
            rewrite(case.path, lines)
    print(f"{total} known failures")


if __name__ == "__main__":
    main()
