"""Golden case files: one ``.py`` file is the input and the expected output of the decompiler.

Optional first lines say which versions it is for, ``# versions: 3.10+`` or ``# versions: 3.8-3.10``, and where it is
known not to pass yet, ``# known: 3.8-3.9 reason`` (the golden text) or ``# known ugly: 3.14+ reason`` (the proof with
idioms off), ``# known unlined: 3.10 reason`` (the proof where the code has no line numbers); a known failure that passes is an error, so these lines cannot outlive their reason.  The rest is the
source.  Where the decompiled text must differ from the source, the expected text follows a ``# output`` line, or
``# output: 3.8-3.9`` for these versions only.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

CASES = Path(__file__).parents[1] / "cases"
Version = tuple[int, int]
Range = tuple[Version, Version]
ALWAYS: Range = ((3, 8), (3, 99))
_SECTION = re.compile(r"^# output(?:: (?P<range>[\d.+-]+))?\n", re.MULTILINE)
_VERSIONS = re.compile(r"# versions: (?P<range>[\d.+-]+)\n")
_KNOWN = re.compile(r"# known(?: (?P<mode>ugly|unlined))?: (?P<range>[\d.+-]+) (?P<reason>.+)\n")


def parse_range(text: str) -> Range:
    """``3.10+``, ``3.8-3.10`` or ``3.9`` as inclusive bounds."""
    first, _, last = text.rstrip("+").partition("-")
    low = parse_version(first)
    if text.endswith("+"):
        return low, ALWAYS[1]
    return low, parse_version(last or first)


def parse_version(text: str) -> Version:
    major, minor = text.split(".")
    return int(major), int(minor)


@dataclass(frozen=True)
class Case:
    """One file: the source to compile and the expected text by version."""

    path: Path
    versions: Range
    source: str
    outputs: tuple[tuple[Range, str], ...]
    known: tuple[tuple[Range, str, str], ...] = ()
    """Versions, mode ("pretty", "ugly" or "unlined"), reason."""

    @property
    def name(self) -> str:
        return self.path.stem

    def runs_on(self, version: Version) -> bool:
        return self.versions[0] <= version <= self.versions[1]

    def known_failure(self, version: Version, mode: str) -> str | None:
        for (low, high), about, reason in self.known:
            if low <= version <= high and about == mode:
                return reason
        return None

    def expected(self, version: Version) -> str:
        for (low, high), text in self.outputs:
            if low <= version <= high:
                return text
        return self.source


def read_case(path: Path) -> Case:
    text = path.read_text(encoding="utf-8")
    versions = ALWAYS
    known = []
    while flag := _VERSIONS.match(text) or _KNOWN.match(text):
        if flag.re is _VERSIONS:
            versions = parse_range(flag["range"])
        else:
            known.append((parse_range(flag["range"]), flag["mode"] or "pretty", flag["reason"]))
        text = text[flag.end() :]
    sections = list(_SECTION.finditer(text))
    source = text[: sections[0].start()] if sections else text
    outputs = []
    for i, section in enumerate(sections):
        end = sections[i + 1].start() if i + 1 < len(sections) else len(text)
        bounds = parse_range(section["range"]) if section["range"] else ALWAYS
        outputs.append((bounds, text[section.end() : end].strip("\n") + "\n"))
    return Case(path, versions, source.strip("\n") + "\n", tuple(outputs), tuple(known))


def all_cases() -> list[Case]:
    return [read_case(path) for path in sorted(CASES.glob("*.py"))]


def update(case: Case, version: Version, text: str) -> None:
    """Make ``text`` the expected output of ``case``; a section for other versions stays."""
    parts = [case.path.read_text(encoding="utf-8").split("\n# output", 1)[0].rstrip("\n") + "\n"]
    kept = [(bounds, old) for bounds, old in case.outputs if not bounds[0] <= version <= bounds[1]]
    if text != case.source:
        bounds = ALWAYS if not kept else (version, version)
        kept.append((bounds, text))
    for bounds, section in kept:
        label = "" if bounds == ALWAYS else f": {_show(bounds)}"
        parts.append(f"# output{label}\n{section}")
    case.path.write_text("".join(parts), encoding="utf-8")


def _show(bounds: Range) -> str:
    low, high = (f"{v[0]}.{v[1]}" for v in bounds)
    if bounds[1] == ALWAYS[1]:
        return f"{low}+"
    return low if low == high else f"{low}-{high}"
