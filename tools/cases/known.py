"""Bring the ``# known`` lines of the golden cases, and the texts below ``# written``, up to date.

    python -m tools.cases.known           print which functions differ on which versions in which mode, and how
    python -m tools.cases.known --write   rewrite the lines: what differs gets one, what does not loses it
    python -m tools.cases.known --case a --case b   only these cases

Explanations stay with their functions.  Review the diff; a line that appears for something that was right is a regression, not
an update.
"""

from __future__ import annotations

import argparse
import sys

from tools import ROOT

sys.path[:0] = [str(ROOT / "tests" / "support"), str(ROOT / "tests")]

import casefiles
from casefiles import Case, Known, Range
from tools.env import interpreters

UNEXPLAINED = "the text reads differently"


def known_of(case: Case, available: list[str]) -> tuple[list[Known], list[tuple[Range, str]]]:
    """What differs on these versions: functions with reasons, and the texts that are written."""
    import test_cases

    differences: dict[tuple[str, str, str], list[str]] = {}
    texts: dict[str, list[str]] = {}
    for version in available:
        number = casefiles.parse_version(version)
        for mode in test_cases.MODES:
            result = test_cases.result_of(case, version, mode)
            found = test_cases.unproven(result)
            if mode == "pretty":
                if found:
                    raise SystemExit(f"{case.name}, {version}: not proven: {found}")
                names = casefiles.differing(result.source, case.wanted(number))
                reasons = case.known_on(number, mode)
                found = {name: reasons.get(name) or _other_reason(case, name) for name in sorted(names)}
                if names:
                    texts.setdefault(result.source, []).append(version)
            for name, reason in found.items():
                differences.setdefault((mode, name, reason), []).append(version)
    known = [
        Known(span, mode, name, reason, _why(case, mode, name))
        for (mode, name, reason), versions in differences.items()
        for span in spans(versions)
    ]
    return known, [(span, text) for text, versions in texts.items() for span in spans(versions)]


def _other_reason(case: Case, name: str) -> str:
    """The reason that the file gives for the text of this function on other versions."""
    return next((k.reason for k in case.known if k.mode == "pretty" and k.name == name), UNEXPLAINED)


def _why(case: Case, mode: str, name: str) -> str:
    return next((known.why for known in case.known if known.mode == mode and known.name == name), "")


def spans(versions: list[str]) -> list[Range]:
    """Versions that follow each other, as ranges; one that ends with the newest is open."""
    groups: list[list[str]] = []
    for version in versions:
        if groups and interpreters.VERSIONS.index(groups[-1][-1]) + 1 == interpreters.VERSIONS.index(version):
            groups[-1].append(version)
        else:
            groups.append([version])
    newest = interpreters.VERSIONS[-1]
    return [
        (
            casefiles.parse_version(group[0]),
            casefiles.ALWAYS[1] if group[-1] == newest else casefiles.parse_version(group[-1]),
        )
        for group in groups
    ]


def line_of(known: Known) -> str:
    mode = "" if known.mode == "pretty" else " " + known.mode
    why = f" -- {known.why}" if known.why else ""
    return f"# known{mode}: {casefiles.show_range(known.versions)} {known.name}: {known.reason}{why}"


def rewrite(case: Case, lines: list[str], written: list[tuple[Range, str]]) -> None:
    old = case.path.read_text(encoding="utf-8").splitlines(keepends=True)
    kept = [line for line in old if not line.startswith("# known")]
    at = 1 if kept and kept[0].startswith("# versions:") else 0
    new = "".join([*kept[:at], *(line + "\n" for line in lines), *kept[at:]])
    if new != "".join(old):
        case.path.write_text(new, encoding="utf-8")
    if list(case.written) != written:
        casefiles.write(case.path, {"output": list(case.outputs), "written": written})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--case", action="append", help="only the case of this name")
    options = parser.parse_args()
    found = list(interpreters.found())
    if options.write and found != list(interpreters.VERSIONS):
        raise SystemExit("lines are written where all interpreters are: make pythons")
    total = 0
    for case in casefiles.all_cases():
        if options.case and case.name not in options.case:
            continue
        available = [version for version in found if case.runs_on(casefiles.parse_version(version))]
        known, written = known_of(case, available)
        lines = [line_of(one) for one in known]
        total += len(lines)
        for line in lines:
            print(f"{case.name:24} {line.removeprefix('# known')}")
        if options.write:
            rewrite(case, lines, written)
    print(f"{total} known differences")


if __name__ == "__main__":
    main()
