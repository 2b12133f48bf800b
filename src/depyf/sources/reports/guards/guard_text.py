"""torch's printed guard tree -> guard records a person can read.

Input: the text of a ``GuardManagerWrapper`` (also sent as the event ``dynamo_cpp_guards_str``).  Output invariant:
one record per leaf guard in the order torch evaluates them, every ``expression`` is a valid Python expression over
``L``, ``G`` and the functions of ``CHECKS``, and nothing holds an address.

    | | +- TYPE_MATCH: ___check_type_id(L['n'], 1405653356), type=<class 'int'>  # return n + x  # mp/toy.py:3 in f
    ->  type_is(L['n'], 'int')        with place toy.py:3

The text is only *shown*: what decides is the live manager (``LiveGuard.check`` in ``depyf.sources.live.page_access``).
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable, Iterator
from itertools import groupby

from depyf.run.addresses import has_identity, without_addresses
from depyf.run.guards.guard_kind import PrintedGuard
from depyf.run.guards.kinds.length_guard import DICT_ITEMS, items_text
from depyf.run.guards.kinds.object_guard import SINGLETONS
from depyf.run.guards.known_kinds import CONTENTS, SEVERAL, joined, printed
from depyf.run.places.place import Place
from depyf.run.records import GuardRecord
from depyf.sources.reports.guards.guard_names import in_python
from depyf.sources.reports.guards.guard_remarks import read_remark, split_comment
from depyf.sources.reports.guards.guard_templates import GuardTemplates

_KIND = re.compile(r"[A-Z][A-Z0-9_]*")
_MANAGER = re.compile(r"(?:KeyManager: |ValueManager: )?(\w*(?:Manager|Guard\w*))")
_TYPE = re.compile(r", type=<(?:class|enum) '(?P<type>[^']*)'>")
_PAIR = re.compile(r"^KeyValueManager pair at index=(?P<index>\d+)")
_DICTS = ("DictGuardManager", "SubclassedDictGuardManager", "DictSubclassGuardManager")


_ATTRIBUTE = re.compile(r"GetAttrGuardAccessor\((\w+)\)")


def own_source(source: str, parent: str, accessor: str) -> str:
    """The source that a guard manager reads.  For an attribute, such as ``__dataclass_fields__``, torch may print the
    source of the object."""
    found = _ATTRIBUTE.match(accessor) if source == parent else None
    return f"{source}.{found[1]}" if found else source


Mended = tuple[str, str]
"""Text that torch prints for a value, and what it ought to be."""
NOT_MENDED: Mended = ("", "")
_KEYS = re.compile(r"list\((?:dict\.keys\((?P<owner>.*)\)|(?P<older>.*)\.keys\(\))\)\[\d+\]")


def key_mended(source: str, owner: str) -> Mended:
    """For a key of the dictionary ``owner``: torch prints a buffer or parameter (``L['m'].weight``) as the owner of its
    name. The owner is ``L['m']._parameters``."""
    found = _KEYS.fullmatch(source)
    named = (found["owner"] or found["older"]) if found is not None else owner
    return NOT_MENDED if named == owner else (source, source.replace(named, owner, 1))


def by_position(source: str, owner: str, index: int) -> str:
    """For a value of the dictionary ``owner`` whose key no guard asks for: torch looks at the item at ``index``,
    whatever its key, and prints the key that this one had when it was compiled."""
    return f"{owner}[list(dict.keys({owner}))[{index}]]" if source.startswith(f"{owner}[") else source


def dict_record(source: str, kind: str, items: int) -> GuardRecord:
    """The guard of a dict manager on its number of items.  ``items``: how many items are guarded."""
    text = without_addresses(items_text(source, kind, items))
    return GuardRecord(DICT_ITEMS, text, text, without_addresses(source))


def _logical_lines(text: str) -> list[tuple[int, str]]:
    lines: list[tuple[int, str]] = []
    for line in text.splitlines():
        bars, mark, rest = line.partition("+- ")
        if mark and bars == "| " * (len(bars) // 2):
            lines.append((len(bars) // 2, rest))
        elif line.startswith("Guard latency"):  # a measurement, after the tree; another one in every run
            break
        elif lines and line.strip() and not line.startswith("TREE_GUARD_MANAGER"):
            depth, rest = lines[-1]
            lines[-1] = (depth, rest + "\n" + line)
    return lines


_OBJECT_ID = re.compile(r"(?<=, )(?P<id>\d{7,})(?=\)(?:, type=<class '[\w.]+'>)?$)")


def of_any_object(guard: str) -> str:
    """The guard with one fixed number in place of an object's id, so that equal guards on several objects are read
    once.  The number is not shown."""
    found = _OBJECT_ID.search(guard) if guard.startswith(("___check_obj_id(", "__check_obj_id(")) else None
    if found is None or int(found["id"]) in SINGLETONS:
        return guard
    return f"{guard[: found.start()]}1000000{guard[found.end() :]}"


_TYPE_ID_ALONE = re.compile(r"^___check_type_id\(.*, (\d+)\)$")


def contents_of(record: GuardRecord) -> tuple[bool, str]:
    """Whether a guard is about what a container holds, and the value it looks at."""
    return record.kind in CONTENTS, record.source


def _contents_in_order(records: Iterable[GuardRecord]) -> Iterator[GuardRecord]:
    """What a container contains and what not, each of it once: torch before 2.10 asks it up to a hundred times, in the
    order of a set, another one in every process."""
    for (contents, _), run in groupby(records, contents_of):
        if contents:
            yield from sorted(
                dict.fromkeys(run), key=lambda r: (r.expression, "" if r.place is None else repr(r.place))
            )
        else:
            yield from run


class CompletedNames:
    """Completes file names as torch shortens them (the common part with torch's own folder is cut, and, outside of it,
    the first letter with it): the one file known that ends so, else the name unchanged."""

    def __init__(self, known: Iterable[str] = (), torch_root: str = "") -> None:
        """``torch_root``: what the names of torch's own files begin with."""
        self._torch_root = torch_root
        self._known: set[str] = set()
        self._by_base: dict[str, list[str]] = {}
        self._completed: dict[str, dict[str, str]] = {}
        """The last part of a name -> names that end in it -> the files."""
        self.add(known)

    def add(self, names: Iterable[str]) -> None:
        """Add file names to complete to."""
        for name in set(names) - self._known:
            base = name.rpartition("/")[2]
            self._known.add(name)
            self._by_base.setdefault(base, []).append(name)
            self._completed.pop(base, None)

    def __call__(self, short: str) -> str:
        base = short.rpartition("/")[2]
        completed = self._completed.setdefault(base, {})
        if short not in completed:
            completed[short] = self._complete(short, base)
        return completed[short]

    def _complete(self, short: str, base: str) -> str:
        matches = [name for name in self._by_base.get(base, ()) if name.endswith(short)]
        if len(matches) == 1:
            return matches[0]
        return f"{self._torch_root}/{short}" if self._torch_root and short.startswith(_OF_TORCH) else short


_OF_TORCH = ("_dynamo/", "_functorch/", "_inductor/", "nn/", "fx/", "utils/", "optim/")
"""Folders of torch."""


_Remark = tuple[Place, str]


class GuardReader:
    """Reads the guards of one process; ``has``: whether its torch has guards of that name, ``class_at``: the class with
    this id there, which torch before 2.9 prints alone."""

    def __init__(
        self,
        has: Callable[[str], bool] = lambda kind: True,
        class_at: Callable[[int], type | None] = lambda number: None,
    ) -> None:
        self._has = has
        self._class_at = class_at
        self._templates = GuardTemplates(self.read)
        self.readable = functools.lru_cache(maxsize=4096)(self._readable)

    def forget(self) -> None:
        """Clear the caches."""
        self._templates.clear()
        self.readable.cache_clear()

    def guards(self, text: str, resolve: Callable[[str], str] = lambda name: name) -> tuple[GuardRecord, ...]:
        """Every leaf guard in ``text``; ``resolve`` completes the shortened file names that torch prints."""
        records: list[GuardRecord] = []
        around: list[tuple[int, str, Mended]] = []  # the managers that a line lies in: depth and source
        dicts: dict[int, tuple[int, str]] = {}
        related: set[str] = set()
        remarks: dict[str, _Remark | None] = {}
        keyless: int | None = None  # the index of a pair whose key has no guard, as far as was read
        for depth, rest in _logical_lines(text):
            while around and around[-1][0] >= depth:
                around.pop()
            _, above, mended = around[-1] if around else (0, "", NOT_MENDED)
            rest = rest.replace(*mended) if mended[0] else rest
            head, named, tail = rest.partition(": source=")
            manager = _MANAGER.fullmatch(head) if named else None
            if manager:
                kind = manager[1]
                source, _, accessor = tail.partition(", accessed_by=")
                source = own_source(source.partition(", type=<")[0], above, accessor)
                if head.startswith("ValueManager") and keyless is not None:
                    source = by_position(source, above, keyless)
                keyless = None
                if head.startswith("KeyManager") and (mended := key_mended(source, above))[0]:
                    source = source.replace(*mended)
                around.append((depth, source, mended))
                if kind in _DICTS:
                    found = _TYPE.search(rest)  # torch before 2.8 does not print it
                    dicts[depth] = (len(records), found["type"] if found else "")
                    records.append(dict_record(source, dicts[depth][1], 0))
                continue
            pair = _PAIR.match(rest) if rest.startswith("KeyValueManager") else None
            if pair and depth - 1 in dicts and around and around[-1][0] == depth - 1:
                position, kind = dicts[depth - 1]
                keyless = int(pair["index"])
                records[position] = dict_record(above, kind, keyless + 1)
                continue
            kind, colon, guard = rest.partition(": ")
            # without a text: a repeated relational guard (the first has it), or the root
            if not colon or not _KIND.fullmatch(kind):
                continue
            if kind in SEVERAL:  # torch before 2.8 repeats the text, too
                if guard in related:
                    continue
                related.add(guard)
            records.append(self._record(kind, guard, above if depth > 1 else "", resolve, remarks))
        return tuple(joined(list(_contents_in_order(records))))

    def _record(
        self,
        kind: str,
        text: str,
        source: str,
        resolve: Callable[[str], str],
        remarks: dict[str, _Remark | None],
    ) -> GuardRecord:
        """One leaf; ``remarks``: what was read after other guards, of which many have the same."""
        guard, mark, remark = text.partition("  # ")
        plain = bool(mark) and "# " not in guard and not (guard.count("'") % 2 or guard.count('"') % 2)
        if plain and remark not in remarks:
            remarks[remark] = read_remark(remark, resolve)
        known = remarks[remark] if plain else None
        guard, place, why = split_comment(text, resolve) if known is None else (guard.rstrip(), *known)
        shown, expression = self._templates.read(kind, of_any_object(guard), source)
        return GuardRecord(kind, shown, expression, without_addresses(source), place, why)

    def left_out(self, kind: str, text: str, source: str, place: Place | None, left_out_by: str) -> GuardRecord:
        """The record of a guard that a filter left out.  ``text``: as torch would print it, without the comment on its
        place."""
        shown, expression = self._templates.read(kind, of_any_object(text), source)
        return GuardRecord(kind, shown, expression, without_addresses(source), place, left_out_by=left_out_by)

    def read(self, kind: str, guard: str, source: str) -> tuple[str, str]:
        """The text of a guard without addresses, and its expression."""
        return without_addresses(guard), self.readable(kind, self.with_class(guard), source)

    def with_class(self, guard: str) -> str:
        """The guard with the class it wants, which torch before 2.9 gives by its id alone.

        It passes for objects of the class that has this id now, whichever it was when torch compiled.
        """
        match = _TYPE_ID_ALONE.match(guard) if guard.endswith(")") else None
        found = self._class_at(int(match[1])) if match else None
        return f"{guard}, type={type.__repr__(found)}" if found is not None else guard

    def _readable(self, kind: str, text: str, source: str = "", any_names: bool = False) -> str:
        """The guard as a Python expression; ``torch_checks('...')`` where no kind knows better.  ``source``: the value
        it looks at, which some guards do not name; ``any_names``: only to be read, a variable may stand for itself."""
        for expression in printed(PrintedGuard(kind, text, source, self._has)):
            shown = in_python(expression, any_names) if not has_identity(expression) else None
            if shown is not None:
                return without_addresses(shown)
        return f"torch_checks({without_addresses(text)!r})"


PLAIN_READER = GuardReader()
"""Of a process that is not this one."""
