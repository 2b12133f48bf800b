"""Which functions of two dumps are the same, wherever they stand in their files.

Input: the functions of two runs.  Output: a ``Pairing``: functions are paired by name, and those of one name, or that
have another name or file, by their code; lines of the program by the functions that they are in. It turns names and
lines of the first dump into those of the second, so that their texts can be compared.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from depyf.run.global_names import RESUME_PREFIX
from depyf.run.installed_files import installed
from depyf.run.records import FunctionRecord, slug
from depyf.safety.escape import safe_name
from depyf.views.compare.entry_pairing import guards_of_entry, paired_entries
from depyf.views.compare.line_diff import in_common

_AT = re.compile(r"_at_\d+$")


@dataclass(frozen=True, eq=False)
class Met:
    """A function of one dump; ``path`` is told from the program's folder."""

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
    """``pairs`` has the functions of both sides, None where one side lacks it."""

    pairs: list[tuple[Met | None, Met | None]]
    lines: dict[str, dict[int, int]] = field(default_factory=dict)
    """File of the first dump -> its known lines -> those of the second."""
    files: dict[str, str] = field(default_factory=dict)
    ids: dict[str, str] = field(default_factory=dict)
    """Compile ids and numbers of frames, as in file names, that are others in the second dump."""
    words: dict[str, str] = field(default_factory=dict)
    alone: tuple[list[str], list[str]] = field(default_factory=lambda: ([], []))
    """The compile ids of entries that the first, or the second, has alone."""
    other_guards: list[str] = field(default_factory=list)
    """Those of entries, as the second has them, whose guards are others in the first."""
    _order: dict[str, list[int]] = field(default_factory=dict)
    _whole: dict[str, str] = field(default_factory=dict)
    """The end of a path, as texts have it -> the only file that it is; "" where there is not one."""

    def line(self, path: str, line: int) -> int:
        """The line of the second dump for one of the first: shifted as the next known line above it is."""
        known = self.lines.get(path)
        if not known:
            return line
        order = self._order.get(path)
        if order is None or len(order) != len(known):
            order = self._order[path] = sorted(known)
        above = order[max(bisect_right(order, line) - 1, 0)]
        return line + known[above] - above

    def add_lines(self, path: str, one: Mapping[int, str], two: Mapping[int, str]) -> None:
        """What else is known of the text of a file, by line."""
        known = self.lines.get(path)
        if known is not None and one and two:
            mine, other = sorted(one), sorted(two)
            for at, place, count in in_common([one[n] for n in mine], [two[n] for n in other]):
                for n in range(count):
                    known.setdefault(mine[at + n], other[place + n])

    def text(self, text: str, home: str, page: bool = False) -> str:
        """A text of the first dump with the names and lines of the second; ``home`` is the program's file that it is
        about.

        ``page``: it is no Python, and has compile ids in its words.
        """
        text = _PLACE.sub(self._placed, text) if self.lines else text
        text = _GOES_ON.sub(lambda match: f"{match[1]}{self.line(home, int(match[2]))}", text)
        if self.ids:
            text = _LIVE.sub(lambda match: match[1] + self._label(match[2]), text)
            text = _LABEL.sub(lambda match: self._label(match[0]), text) if page else text
        return _NAME.sub(self._named, text) if self.words or self.ids else text

    def _label(self, text: str) -> str:
        """A compile id, or a number of a frame, as texts have it."""
        new = self.ids.get(text.replace("/", "_").replace("!", "ca"))
        return text if new is None else new.replace("_", "/").replace("ca", "!")

    def _placed(self, match: re.Match[str]) -> str:
        path, line = match["path"], int(match["line"])
        if path not in self.lines:
            if path not in self._whole:
                found = [other for other in self.lines if other.endswith("/" + path)]
                self._whole[path] = found[0] if len(found) == 1 else ""
            path = self._whole[path]
            if not path:
                return match[0]
        return f"{match['path']}:{self.line(path, line)}"

    def _named(self, match: re.Match[str]) -> str:
        name = match[0]
        if name in self.words:
            return self.words[name]
        if name.startswith("__original_") and f"__{name[11:]}" in self.words:
            return f"__original_{self.words[f'__{name[11:]}'].lstrip('_')}"
        if name.startswith("__original_") and name[11:] in self.words:
            return f"__original_{self.words[name[11:]]}"
        numbered = _NUMBERED.fullmatch(name)
        if numbered is None:
            return name
        rest = numbered["rest"]
        if rest.startswith("_for_"):
            rest = f"_for_{self.words.get(rest[5:], rest[5:])}"
        return f"{numbered['kind']}{self._id(numbered['id'])}{rest}"

    def _id(self, text: str) -> str:
        if text in self.ids:
            return self.ids[text]
        first, _, last = text.rpartition("_")  # the second graph of a compilation
        return f"{self.ids[first]}_{last}" if first in self.ids else text


_NAME = re.compile(r"[A-Za-z_]\w*")
_NUMBERED = re.compile(
    r"(?P<kind>__compiled_fn_|__transformed_code_|__original_code_|guards?_|frame_)(?P<id>(?:ca)?\d+(?:_\d+)*(?:r\d+)?)(?P<rest>|_for_\w*)"
)
_LIVE = re.compile(r"(live_(?:frame|guard)\(__file__, ')([^']+)")
_LABEL = re.compile(r"(?<![\w/.])!?\d+(?:/\d+)+(?:r\d+)?(?![\w/])")
_COUNTED = re.compile(r"\b(?:__(?:original_|nested_)*resume_|__builtins_dict___)\d+\b")
_GOES_ON = re.compile(r"(\bgoes_on_from_line_|# the rest, from line )(\d+)\b")
_PLACE = re.compile(r"(?P<path>[\w<>./+-]*\w\.py):(?P<line>\d+)\b")


def met(functions: Iterable[FunctionRecord], at: Callable[[str], str]) -> list[Met]:
    """The functions of a run; ``at`` tells a path from the program's folder."""
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
    old, new = safe_name(one.last), safe_name(two.last)
    if old != new:
        found.words[old] = new
    ids = [slug(*f.id) for f in (one, two)]
    if ids[0] != ids[1]:
        found.ids[ids[0]] = ids[1]
    pairs = paired_entries(one.record.entries, two.record.entries)
    theirs = {entry.key.slug for entry in two.record.entries}
    for mine, other in pairs:
        if mine is not None and other is not None:
            if mine.key.slug != other.key.slug:
                found.ids[mine.key.slug] = other.key.slug
            if guards_of_entry(mine) != guards_of_entry(other):
                found.other_guards.append(other.key.text)
        elif mine is not None:
            found.alone[0].append(mine.key.text)
            if mine.key.slug in theirs:  # there it is the id of another entry
                found.ids[mine.key.slug] = f"{mine.key.slug}of1"
        elif other is not None:
            found.alone[1].append(other.key.text)


def with_counters(before: str, after: str) -> str:
    """``before`` with the counters that torch has in names as in ``after``, where they are others throughout."""
    one, two = _COUNTED.findall(before), _COUNTED.findall(after)
    names = dict(zip(one, two))
    stem = re.compile(r"\d+$")
    alike = len(one) == len(two) and [names[name] for name in one] == two and len(set(names.values())) == len(names)
    if one == two or not alike or any(stem.sub("", a) != stem.sub("", b) for a, b in names.items()):
        return before
    return _COUNTED.sub(lambda match: names[match[0]], before)


def moved(one: Met, two: Met) -> str:
    """What to say of two functions that are one, and not where, or not what, they were; "" where they are."""
    said = []
    if _AT.sub("", one.last) != _AT.sub("", two.last):
        said.append(f"is called {two.name} in 2")
    if one.path != two.path and not installed(one.path):
        said.append(f"is in {two.path} in 2")
    if one.source and two.source and one.code != two.code:
        kept = sum(count for _, _, count in in_common(one.source, two.source))
        said.append(f"has another source in 2 (-{len(one.source) - kept} +{len(two.source) - kept} lines)")
    return " and ".join(said)
