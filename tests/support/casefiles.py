"""Golden case files: one ``.py`` file is the input and the expected output of the decompiler.

Optional first lines say which versions it is for, ``# versions: 3.10+`` or ``# versions: 3.8-3.10``, and in which functions
the result is known to be worse than it should be:

- ``# known: 3.8-3.9 function: why``: the text.  What is written today follows a ``# written: 3.8-3.9`` line.
- ``# known ugly: 3.14+ function: FAILED reason``: the proof with idioms off; ``# known unlined: ...``: the proof where the code
  has no line numbers.  The verdict and its reason, as they are; behind `` -- `` may stand an explanation.

All other functions of the file must be as they should.  The rest is the source.  Where the decompiled text must differ from
the source, the expected text follows a ``# output`` line, or ``# output: 3.8-3.9`` for these versions only.
"""

from __future__ import annotations

import ast
import difflib
import re
from dataclasses import dataclass
from pathlib import Path

CASES = Path(__file__).parents[1] / "cases"
Version = tuple[int, int]
Range = tuple[Version, Version]
ALWAYS: Range = ((3, 8), (3, 99))
_SECTION = re.compile(r"^# (?P<kind>output|written)(?:: (?P<range>[\d.+-]+))?\n", re.MULTILINE)
_VERSIONS = re.compile(r"# versions: (?P<range>[\d.+-]+)\n")
_KNOWN = re.compile(
    r"# known(?: (?P<mode>ugly|unlined))?: (?P<range>[\d.+-]+) (?P<name>\S.*?): (?P<reason>.+?)(?: -- (?P<why>.+))?\n"
)


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
class Known:
    """A known difference of one function, by its qualified name; the reason is the verdict, or says why the text differs."""

    versions: Range
    mode: str
    """"pretty", "ugly" or "unlined"."""
    name: str
    reason: str
    why: str = ""


@dataclass(frozen=True)
class Case:
    """One file: the source to compile and the expected text by version."""

    path: Path
    versions: Range
    source: str
    outputs: tuple[tuple[Range, str], ...]
    written: tuple[tuple[Range, str], ...] = ()
    """What is written today, where it is known to be worse than ``outputs`` or ``source``."""
    known: tuple[Known, ...] = ()

    @property
    def name(self) -> str:
        return self.path.stem

    def runs_on(self, version: Version) -> bool:
        return self.versions[0] <= version <= self.versions[1]

    def known_on(self, version: Version, mode: str) -> dict[str, str]:
        """The functions that are known to differ, with the reasons."""
        found = [known for known in self.known if known.mode == mode and _within(version, known.versions)]
        return {known.name: known.reason for known in found}

    def wanted(self, version: Version) -> str:
        """The text that a person would write."""
        return next((text for bounds, text in self.outputs if _within(version, bounds)), self.source)

    def expected(self, version: Version) -> str:
        """The text that is written today."""
        return next((text for bounds, text in self.written if _within(version, bounds)), self.wanted(version))


def _within(version: Version, bounds: Range) -> bool:
    return bounds[0] <= version <= bounds[1]


def differing(one: str, other: str) -> set[str]:
    """The qualified names of the functions in which two texts differ; ``<module>`` for what is in none."""
    if one == other:
        return set()  # nor does this Python have to read the syntax of a later one
    lines = one.splitlines(), other.splitlines()
    owners = _owners(one), _owners(other)
    found = set()
    for operation, *bounds in difflib.SequenceMatcher(None, *lines, autojunk=False).get_opcodes():
        if operation != "equal":
            for side in (0, 1):
                start, end = bounds[2 * side : 2 * side + 2]
                found.update(
                    owners[side].get(number, "<module>")
                    for number in range(start + 1, end + 1)
                    if lines[side][number - 1]
                )
    return found


def _owners(text: str) -> dict[int, str]:
    """The innermost function or class of each line."""
    owners: dict[int, str] = {}

    def visit(node: ast.AST, prefix: str) -> None:
        for child in ast.iter_child_nodes(node):
            inner = prefix
            if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                name = prefix + child.name
                owners.update(dict.fromkeys(range(child.lineno, (child.end_lineno or child.lineno) + 1), name))
                inner = name + ("." if isinstance(child, ast.ClassDef) else ".<locals>.")
            visit(child, inner)

    visit(ast.parse(text), "")
    return owners


def read_case(path: Path) -> Case:
    text = path.read_text(encoding="utf-8")
    versions = ALWAYS
    known = []
    while flag := _VERSIONS.match(text) or _KNOWN.match(text):
        if flag.re is _VERSIONS:
            versions = parse_range(flag["range"])
        else:
            mode = flag["mode"] or "pretty"
            known.append(Known(parse_range(flag["range"]), mode, flag["name"], flag["reason"], flag["why"] or ""))
        text = text[flag.end() :]
    sections = list(_SECTION.finditer(text))
    source = text[: sections[0].start()] if sections else text
    texts: dict[str, list[tuple[Range, str]]] = {"output": [], "written": []}
    for i, section in enumerate(sections):
        end = sections[i + 1].start() if i + 1 < len(sections) else len(text)
        bounds = parse_range(section["range"]) if section["range"] else ALWAYS
        texts[section["kind"]].append((bounds, text[section.end() : end].strip("\n") + "\n"))
    source = source.strip("\n") + "\n"
    return Case(path, versions, source, tuple(texts["output"]), tuple(texts["written"]), tuple(known))


def all_cases() -> list[Case]:
    return [read_case(path) for path in sorted(CASES.glob("*.py"))]


def update(case: Case, version: Version, text: str) -> None:
    """Make ``text`` what ``case`` expects; sections for other versions stay.

    Where functions are known to differ, it is what is written today, unless it is what a person would write.
    """
    kind = "written" if case.known_on(version, "pretty") else "output"
    sections = {"output": list(case.outputs), "written": [s for s in case.written if not _within(version, s[0])]}
    if kind == "output":
        sections[kind] = [s for s in case.outputs if not _within(version, s[0])]
    if text != (case.wanted(version) if kind == "written" else case.source):
        alone = kind == "output" and not sections[kind]
        sections[kind].append((ALWAYS if alone else (version, version), text))
    write(case.path, sections)


def write(path: Path, sections: dict[str, list[tuple[Range, str]]]) -> None:
    """Replace the texts that follow the source."""
    whole = path.read_text(encoding="utf-8")
    first = _SECTION.search(whole)
    parts = [whole[: first.start() if first else None].rstrip("\n") + "\n"]
    for kind, found in sections.items():
        for bounds, text in found:
            label = "" if bounds == ALWAYS else f": {show_range(bounds)}"
            parts.append(f"# {kind}{label}\n{text}")
    path.write_text("".join(parts), encoding="utf-8")


def show_range(bounds: Range) -> str:
    low, high = (f"{v[0]}.{v[1]}" for v in bounds)
    if bounds[1] == ALWAYS[1]:
        return f"{low}+"
    return low if low == high else f"{low}-{high}"
