"""Which functions of two dumps are the same, wherever they stand in their files.

Input: the functions of two runs.  Output: a ``Pairing``: functions are paired by name, and those of one name, or that
have another name or file, by their code; lines of the program by the functions that they are in. It turns names and
lines of the first dump into those of the second, so that their texts can be compared.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from depyf.run.global_names import RESUME_PREFIX, goes_on_name, rename, resumed
from depyf.run.installed_files import installed
from depyf.run.places.place import Place
from depyf.run.records import CompileKey, FunctionRecord, slug
from depyf.views.compare.entry_pairing import guards_of_entry, other_value, paired_entries
from depyf.views.compare.line_diff import in_common
from depyf.views.compare.page_names import names_of_entry, names_of_function
from depyf.views.compare.program_folder import from_folder


@dataclass(frozen=True, eq=False)
class Met:
    """A function of one dump.  ``path`` is relative to the program's folder."""

    record: FunctionRecord
    path: str
    source: tuple[str, ...] = ()

    @property
    def id(self) -> tuple[int, str]:
        """Generation and number of the frame, as in compile ids."""
        return self.record.function

    @property
    def name(self) -> str:
        return self.record.code.qualname

    @property
    def line(self) -> int:
        return self.record.code.line

    @property
    def last(self) -> str:
        return self.name.rpartition(".")[2]

    @property
    def place(self) -> str:
        return f"{self.path}:{self.line}"

    @property
    def code(self) -> tuple[str, ...]:
        """The source without the function's own name."""
        return (
            tuple(re.sub(rf"\b{re.escape(self.last)}\b", "*", text, count=1) for text in self.source[:1])
            + self.source[1:]
        )

    @property
    def is_resume(self) -> bool:
        return self.record.resume_of is not None


@dataclass
class Pairing:
    """The functions of two dumps in pairs; None where one dump lacks the function."""

    pairs: list[tuple[Met | None, Met | None]]
    lines: dict[str, dict[int, int]] = field(default_factory=dict)
    """File of the first dump -> its known lines -> those of the second."""
    files: dict[str, str] = field(default_factory=dict)
    ids: dict[str, str] = field(default_factory=dict)
    """Compile ids and numbers of frames, as in file names, that are others in the second dump."""
    words: dict[str, str] = field(default_factory=dict)
    """What texts of the first dump call a function, an entry, a graph -> what those of the second call it."""
    rests: dict[str, dict[str, str]] = field(default_factory=dict)
    """The same, by file, of the lines from which a text goes on in another."""
    keys: dict[CompileKey, CompileKey] = field(default_factory=dict)
    """The compilations that are one."""
    alone: tuple[list[str], list[str]] = field(default_factory=lambda: ([], []))
    """The compile ids of entries that the first, or the second, has alone."""
    other_guards: list[str] = field(default_factory=list)
    """Those of entries, as the second has them, whose guards are others in the first."""
    other_values: dict[tuple[int, str], tuple[str, str]] = field(default_factory=dict)
    """Function of the second -> the first guard that both have with another value."""
    _order: dict[str, list[int]] = field(default_factory=dict)

    def line(self, path: str, line: int) -> int:
        """The line in the second dump for a line in the first: shifted by as much as the nearest known line above."""
        known = self.lines.get(path)
        if not known:
            return line
        order = self._order.get(path)
        if order is None or len(order) != len(known):
            order = self._order[path] = sorted(known)
        above = order[max(bisect_right(order, line) - 1, 0)]
        return line + known[above] - above

    def place(self, place: Place, folder: str) -> Place:
        """``place`` of the first dump with the line of the second, and with a path relative to ``folder``."""
        path = from_folder(place.filename, folder)
        return replace(place, filename=path, line=self.line(path, place.line))

    def add_lines(self, path: str, one: Mapping[int, str], two: Mapping[int, str]) -> None:
        """Pair more lines of the file ``path``.  ``one`` and ``two``: line number -> text, on both sides."""
        known = self.lines.get(path)
        if known is not None and one and two:
            mine, other = sorted(one), sorted(two)
            for at, place, count in in_common([one[n] for n in mine], [two[n] for n in other]):
                for n in range(count):
                    known.setdefault(mine[at + n], other[place + n])

    def rename(self, text: str, home: str) -> str:
        """``text`` of the first dump with the names of the second.  ``home``: the program's file that the text is
        about."""
        return rename(text, {**self.words, **self.rests.get(home, {})})


def met(functions: Iterable[FunctionRecord], at: Callable[[str], str]) -> list[Met]:
    """The functions of a run.  ``at`` makes a path relative to the program's folder."""
    found: list[Met] = []
    for function in functions:
        code = function.code  # of what follows a break the source is our own text
        source = "" if code.qualname.rpartition(".")[2].startswith(RESUME_PREFIX) else code.source
        found.append(Met(function, at(code.filename), tuple(source.splitlines())))
    return found


def pairing(one: Sequence[Met], two: Sequence[Met]) -> Pairing:
    """The functions of both sides in the order of the first, then those of the second alone."""
    pairs = _roots([f for f in one if not f.is_resume], [f for f in two if not f.is_resume])
    found = Pairing([])
    for mine, other in pairs:
        if mine is not None and other is not None:
            known = found.lines.setdefault(mine.path, {})
            found.files[mine.path] = other.path
            if not installed(mine.path):
                known.update(_lines(mine, other))
    for mine, other in pairs:
        if mine is not None and other is not None and mine.path in found.lines:
            end = mine.line + len(mine.source), other.line + len(other.source)
            found.lines[mine.path].setdefault(*end)
    rests = _rests(one), _rests(two)
    for mine, other in pairs:
        found.pairs.append((mine, other))
        found.pairs += _resumes(_after(mine, rests[0]), _after(other, rests[1]), found)
    for mine, other in found.pairs:
        if mine is not None and other is not None:
            _translate(mine, other, found)
        for side, function in enumerate((mine, other)):
            if function is not None and None in (mine, other):
                found.alone[side].extend(entry.key.text for entry in function.record.entries)
    return found


def _roots(one: Sequence[Met], two: Sequence[Met]) -> list[tuple[Met | None, Met | None]]:
    """By name and file; of several of one name those with the same code first; then by code alone, then by name
    alone."""
    left = list(two)
    partner: dict[int, Met] = {}
    keys: tuple[Callable[[Met], object], ...] = (
        lambda f: (f.last, f.path, f.source),
        lambda f: (f.last, f.path),
        lambda f: (f.last, f.source) if f.source else None,
        lambda f: (f.path, f.code) if f.source else None,
        lambda f: f.code if f.source else None,
        lambda f: f.last,
    )
    for key in keys:
        groups: dict[object, list[Met]] = {}
        for other in left:
            groups.setdefault(key(other), []).append(other)
        for mine in one:
            group = groups.get(wanted) if (wanted := key(mine)) is not None else None
            if id(mine) not in partner and group:
                partner[id(mine)] = group.pop(0)
        taken = {id(other) for other in partner.values()}
        left = [other for other in left if id(other) not in taken]
    return [*((mine, partner.get(id(mine))) for mine in one), *((None, other) for other in left)]


def _lines(one: Met, two: Met) -> Iterator[tuple[int, int]]:
    """Lines of the two that say the same."""
    yield one.line, two.line
    for at, place, count in in_common(one.source, two.source):
        yield from ((one.line + at + n, two.line + place + n) for n in range(count))


def _resumes(ours: Sequence[Met], theirs: Sequence[Met], found: Pairing) -> list[tuple[Met | None, Met | None]]:
    """The resume functions of two functions, by their lines."""
    at: dict[int, list[Met]] = {}
    for resume in theirs:
        at.setdefault(resume.line, []).append(resume)
    pairs: list[tuple[Met | None, Met | None]] = []
    for resume in ours:
        group = at.get(found.line(resume.path, resume.line))
        pairs.append((resume, group.pop(0) if group else None))
    return [*pairs, *((None, resume) for group in at.values() for resume in group)]


_Rests = Mapping[tuple[int, str] | None, Sequence[Met]]


def _rests(functions: Iterable[Met]) -> _Rests:
    """Generation and number of a function -> the resume functions that continue it."""
    found: dict[tuple[int, str] | None, list[Met]] = {}
    for function in functions:
        found.setdefault(function.record.resume_of, []).append(function)
    return found


def _after(function: Met | None, rests: _Rests) -> Sequence[Met]:
    return () if function is None else rests.get(function.id, ())


def _translate(one: Met, two: Met, found: Pairing) -> None:
    """Names and ids of ``one`` that ``two`` has otherwise."""
    _name(zip(names_of_function(one.record), names_of_function(two.record)), found)
    lines = {goes_on_name(n): goes_on_name(found.line(one.path, n)) for n in one.record.code.goes_on}
    found.rests.setdefault(one.path, {}).update(lines)
    ids = [slug(*f.id) for f in (one, two)]
    if ids[0] != ids[1]:
        found.ids[ids[0]] = ids[1]
    pairs = paired_entries(one.record.entries, two.record.entries)
    theirs = {entry.key.slug for entry in two.record.entries}
    for mine, other in pairs:
        if mine is not None and other is not None:
            found.keys[mine.key] = other.key
            if mine.key.slug != other.key.slug:
                found.ids[mine.key.slug] = other.key.slug
            _name(zip(names_of_entry(one.record, mine), names_of_entry(two.record, other)), found)
            if guards_of_entry(mine) != guards_of_entry(other):
                found.other_guards.append(other.key.text)
                if (values := other_value(mine, other)) is not None:
                    found.other_values.setdefault(two.id, values)
        elif mine is not None:
            found.alone[0].append(mine.key.text)
            if mine.key.slug in theirs:  # there it is the id of another entry
                found.ids[mine.key.slug] = f"{mine.key.slug}of1"
                _name(((name, f"{name}of1") for name in names_of_entry(one.record, mine)), found)
        elif other is not None:
            found.alone[1].append(other.key.text)


def _name(pairs: Iterable[tuple[str, str]], found: Pairing) -> None:
    for old, new in pairs:
        if old != new:
            found.words.setdefault(old, new)


def _begun(function: Met) -> str:
    """The name of the function; for a resume function that of the function it continues."""
    rest = resumed(function.last)
    return function.last if rest is None else rest[0]


def moved(one: Met, two: Met) -> str:
    """Describe a function that moved or has another name in the second run; "" for no change."""
    said = []
    if _begun(one) != _begun(two):
        said.append(f"is called {two.name} in 2")
    if one.path != two.path and not installed(one.path):
        said.append(f"is in {two.path} in 2")
    if one.source and two.source and one.code != two.code:
        kept = sum(count for _, _, count in in_common(one.source, two.source))
        said.append(f"has another source in 2 (-{len(one.source) - kept} +{len(two.source) - kept} lines)")
    return " and ".join(said)
