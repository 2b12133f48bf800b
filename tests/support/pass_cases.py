"""The cases of ``tests/passes``: a code unit as a listing, and what one pass of one rung leaves of it.

A file is named after its pass.  A case begins with ``[case NAME VERSION RUNG]``; then come the source, for the reader alone,
``[listing]``, ``[before]`` (what the pass was given, of the kind that it changes; nothing where it is the first of that kind) and ``[after]``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from depyf.cli.on_bytecode.artifacts import text_of
from depyf.decompiler.bytecode.codeunit import CodeUnit
from depyf.decompiler.cfg.region_table import Regions
from depyf.decompiler.driver.rungs import Attempt, Rung
from depyf.decompiler.driver.steps import trace_passes
from depyf.decompiler.generated.contract import NO_CONTRACT, GeneratorContract
from depyf.sources.live.generated import generated_options, resume_options
from unit_listing import unit_of_listing

FOLDER = Path(__file__).resolve().parents[1] / "passes"
_HEAD = re.compile(r"^\[case (\w+) (\d+)\.(\d+) (\w+)\]\n", re.M)
_SECTIONS = re.compile(r"(.*?)^\[listing\]\n(.*?)^(?:\[before\]\n(.*?)^)?\[after\]\n(.*)", re.M | re.S)


@dataclass(frozen=True)
class PassCase:
    """One case: ``listing``, ``before`` and ``after`` are texts that end in a line feed, or are empty."""

    step: str
    name: str
    version: tuple[int, int]
    rung: Rung
    source: str
    listing: str
    before: str
    after: str

    @property
    def unit(self) -> CodeUnit:
        """The code that the pass works on."""
        return unit_of_listing(self.listing, self.version)

    def text(self) -> str:
        """As it stands in the file."""
        before = f"[before]\n{self.before}" if self.before else ""
        version = "{}.{}".format(*self.version)
        return f"[case {self.name} {version} {self.rung.name}]\n{self.source}[listing]\n{self.listing}{before}[after]\n{self.after}"


def cases_of(path: Path) -> list[PassCase]:
    """The cases of one file, in their order; ValueError where it is not as the module says."""
    pieces = _HEAD.split(path.read_text(encoding="utf-8"))[1:]
    found = []
    for at in range(0, len(pieces), 5):
        name, major, minor, rung, rest = pieces[at : at + 5]
        sections = _SECTIONS.fullmatch(rest)
        if sections is None:
            raise ValueError(f"{path.name}: case {name}")
        source, listing, before, after = sections.groups(default="")
        after = after.rstrip("\n") + "\n"
        found.append(PassCase(path.stem, name, (int(major), int(minor)), Rung[rung], source, listing, before, after))
    return found


def write_cases(path: Path, cases: list[PassCase]) -> None:
    """Write a file of cases."""
    path.write_text("\n".join(case.text() for case in cases), encoding="utf-8")


def promises_of(rung: Rung) -> GeneratorContract:
    """What Dynamo promises of the code that a rung is for; nothing where the rung is for the code of compilers."""
    if rung.passes in (Rung.INLINED.passes, Rung.INLINED_HELD.passes, Rung.GENERATED.passes):
        return generated_options(None, promises_of.__code__).promises
    return resume_options().promises if rung is Rung.PEELED else NO_CONTRACT


def artifacts(unit: CodeUnit, rung: Rung) -> Iterator[tuple[str, str, str]]:
    """For each pass that applies its name, and the text of its kind of artifact before and after it."""
    left: dict[str, str] = {}
    for trace in trace_passes(unit, Attempt(rung, promises_of(rung))):
        kind = "body" if trace.step.shows == "printable" else trace.step.shows
        after = text_of(trace.artifact, unit) + "\n"
        yield trace.step.name, left.get(kind, ""), after
        left[kind] = after
        if isinstance(trace.artifact, Regions):  # found in the graph of instructions, which is rewritten on the way
            left["program"] = text_of(trace.artifact.program, unit) + "\n"
