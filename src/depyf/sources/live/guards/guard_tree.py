"""The leaf guards of a live guard manager, in the order torch prints and evaluates them.

Input: the ``GuardManagerWrapper`` of a cache entry.  Output: the same records as ``guards.parse_guards`` makes of its
text, each with the leaf guards of torch that it represents, so that torch can be asked about one guard alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from depyf.run.addresses import made_name, without_addresses
from depyf.run.guards.kinds.length_guard import DICT_ITEMS
from depyf.run.guards.known_kinds import PART_ONLY
from depyf.run.records import GuardRecord
from depyf.sources.live.caches.entries import LiveEntry, guard_text
from depyf.sources.live.guards.printed_guards import parse_guards
from depyf.sources.live.guards.traceless import ITEM, compiled, item
from depyf.sources.reports.guards.guard_remarks import split_comment
from depyf.sources.reports.guards.guard_text import (
    NOT_MENDED,
    Mended,
    by_position,
    contents_of,
    dict_record,
    key_mended,
    own_source,
)


@dataclass(frozen=True, slots=True)
class Leaf:
    """One of torch's leaf guards.  Holds live objects: keep it only while looking."""

    kind: str
    texts: tuple[str, ...]
    source: str
    guard: Any

    def ask(self, value: Any) -> bool | None:
        """torch's own answer for ``value``; None where this guard cannot be asked alone."""
        if any(self.kind.startswith(kind) for kind in PART_ONLY) or not callable(self.guard):
            return None
        try:
            return bool(self.guard(value))
        except Exception:  # torch asks for a length only once the type fits; alone, the guard fails on any other
            return False


@dataclass(frozen=True, slots=True)
class LiveGuardRecord:
    """A guard as it is shown, and the leaf guards that check it."""

    record: GuardRecord
    leaves: tuple[Leaf, ...]


def live_guards(entry: LiveEntry, resolve: Callable[[str], str] = lambda name: name) -> tuple[LiveGuardRecord, ...]:
    """Every guard of ``entry``; one that cannot be matched with its leaf has none."""
    records = parse_guards(guard_text(entry), resolve)
    parts = [(leaf, text) for leaf in _leaves(entry.manager) for text in leaf.texts] if records else []
    matched: list[LiveGuardRecord] = []
    position = 0
    for (contents, _), run in groupby(records, contents_of):
        group = list(run)
        found = (_held if contents else _in_order)(group, parts, position)
        if found is None:  # another way of printing: no leaf is better than a wrong one
            return tuple(LiveGuardRecord(record, ()) for record in records)
        position, guards = found
        matched += guards
    return tuple(matched)


_Parts = list[tuple[Leaf, str]]
_Matched = tuple[int, list[LiveGuardRecord]]
"""The place after the leaves that were taken, and the guards with them."""


def _in_order(records: list[GuardRecord], parts: _Parts, position: int) -> _Matched | None:
    matched = []
    for record in records:
        text, used = "", position
        while used < len(parts) and len(text) < len(record.text):
            text = f"{text}; {parts[used][1]}" if text else parts[used][1]
            used += 1
        if text != record.text:
            return None
        leaves = {id(leaf.guard): leaf for leaf, _ in parts[position:used] if len(leaf.texts) <= used - position}
        matched.append(LiveGuardRecord(record, tuple(leaves.values())))  # a leaf of several records answers for none
        position = used
    return position, matched


def _held(records: list[GuardRecord], parts: _Parts, position: int) -> _Matched | None:
    """What one container holds: the records have another order than the leaves, and each stands once."""
    wanted = {record.text for record in records}
    used = position
    while used < len(parts) and parts[used][1] in wanted:
        used += 1
    found = {text: leaf for leaf, text in parts[position:used]}
    if len(found) != len(wanted):
        return None
    return used, [LiveGuardRecord(record, (found[record.text],)) for record in records]


class Globals(Mapping[str, Any]):
    """The globals of a function, also under the names that guard expressions show (without addresses)."""

    def __init__(self, live: dict[str, Any]) -> None:
        self._live = live

    def __getitem__(self, name: str) -> Any:
        if name in self._live:
            return self._live[name]
        made = made_name(name)
        if made in self._live:
            return self._live[made]
        found = [key for key in self._live if isinstance(key, str) and without_addresses(key) == name]
        if len(found) == 1:
            return self._live[found[0]]
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._live)

    def __len__(self) -> int:
        return len(self._live)


def namespace(entry: LiveEntry, L: dict[str, Any]) -> dict[str, Any]:
    """The names that guard expressions and torch's sources use, for ``eval``."""
    helpers = getattr(entry.manager, "closure_vars", None)
    return {**(helpers if isinstance(helpers, dict) else {}), "L": L, "G": Globals(entry.scope)}


def ask_leaves(leaves: tuple[Leaf, ...], names: dict[str, Any]) -> bool | None:
    """What torch's leaf guards say of the values they find in ``names``; None where none of them can be asked."""
    answers = []
    for leaf in leaves:
        try:
            value = eval(compiled(leaf.source), {ITEM: item, **names}) if leaf.source else names["L"]
        except Exception:  # there is no such value: that is a guard that fails
            return False
        answers.append(leaf.ask(value))
    known = [answer for answer in answers if answer is not None]
    return all(known) if known else None


def _type_name(manager: Any) -> str:
    """The type of the guarded value as torch prints it; "" where it does not."""
    ask = getattr(manager, "get_type_of_guarded_value", None)
    found = re.match(r"<(?:class|enum) '([^']*)'>", str(ask())) if ask is not None else None
    return found[1] if found else ""


def _texts(guard: Any, mended: Mended = NOT_MENDED) -> tuple[str, ...]:
    parts = [str(part).replace(*mended) if mended[0] else str(part) for part in guard.verbose_code_parts()]
    return tuple(without_addresses(split_comment(part, lambda name: name)[0]) for part in parts)


@dataclass(frozen=True, slots=True)
class GuardNode:
    """A guard manager of torch: what it looks at, its own guards, and the managers below it."""

    manager: Any
    source: str
    mended: Mended = NOT_MENDED
    is_root: bool = False

    def items(self) -> int | None:
        """How many items of its dictionary are looked at; None for a manager that does not look at one by its keys."""
        if self.is_root or not hasattr(self.manager, "get_key_value_managers"):
            return None
        return max(self.manager.get_key_value_managers(), default=-1) + 1

    def children(self) -> Iterator[GuardNode]:
        """The managers below it, in the order torch asks them."""
        pairs = getattr(self.manager, "get_key_value_managers", None)
        if pairs is not None:
            for index, (key, value) in sorted(pairs().items()):
                if key is not None:
                    yield self._below(key, is_key=True)
                if value is not None:
                    yield self._below(value, index=index if key is None else None)
        managers = self.manager.get_child_managers()
        accessors: list[Any] = getattr(self.manager, "get_accessors", list)()
        for manager, reached in zip(managers, accessors if len(accessors) == len(managers) else [None] * len(managers)):
            yield self._below(manager, accessor=reached)

    def _below(self, manager: Any, accessor: Any = None, is_key: bool = False, index: int | None = None) -> GuardNode:
        source, mended = str(manager.get_source()), self.mended
        if is_key and not mended[0]:
            mended = key_mended(source, self.source)
        source = source.replace(*mended) if mended[0] else source
        if index is not None:
            source = by_position(source, self.source, index)
        if accessor is not None:
            source = own_source(source, self.source, str(accessor.repr()))
        return GuardNode(manager, source, mended)


def root_node(root: Any) -> GuardNode:
    """The top of the tree of a ``RootGuardManager``."""
    return GuardNode(root, "", is_root=True)


def _leaves(manager: Any) -> Iterator[Leaf]:
    root = getattr(manager, "root", None)
    if root is None:
        return
    yield from _walk(root_node(root), [])
    for guard in getattr(root, "get_epilogue_lambda_guards", list)():
        yield Leaf(type(guard).__name__, _texts(guard), "", guard)


def _walk(node: GuardNode, seen: list[Any]) -> Iterator[Leaf]:
    items = node.items()
    if items is not None:
        record = dict_record(node.source, _type_name(node.manager), items)
        yield Leaf(DICT_ITEMS, (record.text,), node.source, node.manager)
    for guard in node.manager.get_leaf_guards():
        if any(guard is known for known in seen):  # a relational guard stands at each value it relates
            continue
        seen.append(guard)
        yield Leaf(type(guard).__name__, _texts(guard, node.mended), node.source, guard)
    for child in node.children():
        yield from _walk(child, seen)
