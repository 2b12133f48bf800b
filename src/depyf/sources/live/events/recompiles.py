"""torch's recompile reasons -> records: why an existing entry did not fit.

Input: the payload of ``recompile_reasons``, the values of the call, and what the earlier entries' symbols became.
Output: one record per earlier entry, with the guard that failed, expected and actual value, and what to change so that
it would not.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from depyf.run.addresses import without_addresses
from depyf.run.advice import for_guards as advice
from depyf.run.advice.source_names import named, root
from depyf.run.records import GuardRecord, RecompileRecord
from depyf.sources.live.events.call_values import CallValues, comparison
from depyf.sources.live.events.symbols import SymbolPlaces
from depyf.sources.live.guards.guard_remarks import program_place, split_comment
from depyf.sources.live.guards.printed_guards import readable, with_class

_ENTRY = re.compile(r"^(?P<entry>!?\d[\d/!]*): (?P<rest>.*)$", re.S)
_MISMATCH = re.compile(
    r"^tensor '(?P<name>.*?)' (?P<what>[\w ]+?) mismatch(?: at index (?P<index>\d+))?\. "
    r"expected (?:\w+=)?(?P<expected>.*?)(?:, actual (?P<actual>.*?))?(?:\. Guard failed on a parameter.*)?$"
)
_KEYS = re.compile(r"\b\w+\b")
_OTHER_CLASS = re.compile(
    r"expected type of '(?P<name>.*?)' to be a tensor type, '? ?but found <class '(?P<found>[^']*)'>"
)
_ONE_OBJECT = re.compile(r"([\w.'\"\[\]]+) is ([\w.'\"\[\]]+)")


_LENGTH = re.compile(r"^(len\(.*\)) != (\d+)$")
"""How torch reports the number of items of a dictionary: what it found wrong, not what it wanted."""


_LOCAL = re.compile(r"\bL\['([^\W\d]\w*)'\]")
"""A variable, as torch named it until 2.7; later ones say ``x``."""


def parse_recompile(
    payload: str, call: CallValues | None = None, resolve: Callable[[str], str] = lambda name: name
) -> tuple[RecompileRecord, ...]:
    """One record per earlier entry that torch tried, the newest first."""
    try:
        found = json.loads(payload)
        reasons = [str(reason) for reason in found] if isinstance(found, list) else [str(found)]
    except ValueError:
        reasons = [payload]
    return tuple(_record(reason, call or CallValues(), resolve) for reason in reasons if reason.strip())


def refused_recompile(message: str) -> tuple[RecompileRecord, ...]:
    """The same from the error that ``torch._dynamo.config.error_on_recompile`` makes of a recompilation; () for another
    error."""
    if not message.startswith("Recompiling function "):
        return ()
    reasons = [line.strip().removeprefix("- ") for line in message.splitlines() if line.strip().startswith("- ")]
    return parse_recompile(json.dumps(reasons))


def specialised(record: RecompileRecord, places: SymbolPlaces) -> RecompileRecord:
    """The record with better advice where the earlier entry, whose symbols these are, had begun with a symbol for
    what now differs: a line of the program made it a constant."""
    wanted = comparison(record.guard)
    size = None if wanted else _MISMATCH.match(record.guard)
    if size and size["what"] == "size" and size["index"]:
        subject = f"{named(size['name'])}.size()[{size['index']}]"
    else:
        subject = named(wanted[0]) if wanted else ""
    if wanted and wanted[1].startswith(("!=", "<", ">")):  # it is a symbol there, and this value is an exception
        return record
    line = places.fixed.get(subject)
    return record if line is None else replace(record, advice=advice.for_specialised(subject, line))


FixedSizes = Mapping[str, Sequence[Sequence[str]]]
"""Tensor, as the program calls it -> the sizes that each guard on it wants."""


def fixed_sizes(guards: Iterable[GuardRecord]) -> FixedSizes:
    """The sizes that an entry with these guards is for."""
    found: dict[str, list[list[str]]] = {}
    for guard in guards:
        sizes = _SIZES.search(guard.expression)
        if sizes is not None:
            found.setdefault(named(guard.source), []).append(sizes[1].split(", "))
    return found


def still_fixed(record: RecompileRecord, sizes: FixedSizes) -> RecompileRecord:
    """The record with better advice where the entry that was made then, for these sizes, has a fixed size again: torch
    makes a size dynamic that changes, unless something needs its value."""
    size = _MISMATCH.match(record.guard)
    if size is None or size["what"] != "size" or not size["index"] or {record.expected, record.actual} & {"0", "1"}:
        return record
    index = int(size["index"])
    if any(index < len(s) and s[index] == record.actual for s in sizes.get(named(size["name"]), ())):
        return replace(record, advice=advice.for_unrolled(f"{size['name']}.size()[{size['index']}]"))
    return record


_SIZES = re.compile(r"^check_tensor\(.* size=\[([^]]*)\]")


def _record(reason: str, call: CallValues, resolve: Callable[[str], str]) -> RecompileRecord:
    match = _ENTRY.match(reason.strip())
    entry, rest = (match["entry"], match["rest"]) if match else ("", reason.strip())
    rest = rest.partition("\nUser stack trace:")[0]
    guard, place, _ = split_comment(rest, resolve)
    place = program_place(place)
    guard = _LENGTH.sub(r"\1 == \2", _LOCAL.sub(r"\1", guard.strip()))
    shown = readable("", with_class(guard.strip()), any_names=True)
    guard = without_addresses(guard.strip()) if shown.startswith("torch_checks(") else shown
    mismatch = _MISMATCH.match(guard)
    if mismatch:
        return _tensor_differs(entry, guard, mismatch, call)
    other = _OTHER_CLASS.match(guard)
    if other:
        shown, found = f"the class of the tensor {other['name']}", other["found"]
        return RecompileRecord(entry, shown, place, "", found, advice.for_class_of_tensor(other["name"]))
    both = _ONE_OBJECT.fullmatch(guard)
    if both and not {both[1], both[2]} & {"None", "True", "False", "Ellipsis"}:
        return RecompileRecord(entry, guard, place, "", "two objects", advice.for_kind("check_no_aliasing"))
    wanted = _type_wanted(guard)
    if wanted is not None:
        source, expected = wanted
        actual = call.type_name(source)
        remedy = advice.for_type(source, expected, actual)
        if actual == expected:
            actual += advice.OF_THAT_NAME
        return RecompileRecord(entry, guard, place, expected, actual, remedy)
    wanted = comparison(guard)
    if wanted is not None:
        source, expected = wanted
        actual = call.shown(source)
        kind, found = _kind(expected), actual.removeprefix("a ") if actual.startswith("a ") else _kind(actual)
        if kind and found and kind != found:
            return RecompileRecord(entry, guard, place, expected, actual, advice.for_type(source, kind, found))
        if guard.startswith("not "):
            expected = "no items"
        if call.of_optimizer(source):
            return RecompileRecord(entry, guard, place, expected, actual, advice.for_optimizer())
        remedy = advice.for_value(source, expected, call.of_module(source), root(source) in call.inner)
        return RecompileRecord(entry, guard, place, expected, actual, remedy)
    same = re.match(r"same_object\((?P<source>.+), '[^']*'\)$", guard)
    actual = call.shown(same["source"]) if same else ""
    remedy = (
        () if place is not None and advice.equal_sizes(guard) else advice.for_kind(guard)
    )  # an operator needs them equal
    return RecompileRecord(entry, guard, place, "", actual, remedy)


def _tensor_differs(entry: str, guard: str, mismatch: re.Match[str], call: CallValues) -> RecompileRecord:
    what, expected, actual = mismatch["what"], mismatch["expected"], mismatch["actual"] or ""
    if what == "requires_grad":
        expected, actual = ("False", "True") if expected == "0" else ("True", "False")
    if what == "dispatch key set":
        wanted, found = set(_KEYS.findall(expected)), set(_KEYS.findall(actual))
        what = advice.kind_of_keys(wanted ^ found)
        expected, actual = _apart(wanted, found), _apart(found, wanted)
        guard = f"tensor '{mismatch['name']}' dispatch key set mismatch. expected {expected}, actual {actual}"
    inner = root(mismatch["name"]) in call.inner
    remedy = advice.for_tensor(
        mismatch["name"], what, mismatch["index"] or "", inner, bool({expected, actual} & {"0", "1"})
    )
    return RecompileRecord(entry, guard, None, expected, actual, remedy)


def _apart(these: set[str], those: set[str]) -> str:
    """What ``these`` keys have and lack against ``those``; a tensor has half a dozen, of which one differs."""
    more, less = ", ".join(sorted(these - those)), ", ".join(sorted(those - these))
    return " ".join(part for part in (f"with {more}" if more else "", f"without {less}" if less else "") if part)


def _kind(literal: str) -> str:
    """The class of a literal; "" for what is none."""
    try:
        return type(ast.literal_eval(literal)).__name__
    except (ValueError, SyntaxError):
        return ""


def _type_wanted(guard: str) -> tuple[str, str] | None:
    if not guard.startswith("type_is("):
        return None
    source, expected = ast.parse(guard, mode="eval").body.args  # type: ignore[attr-defined]
    return ast.unparse(source), str(ast.literal_eval(expected))


def resolved(record: RecompileRecord, resolve: Callable[[str], str]) -> RecompileRecord:
    """With the whole name of the file, of which torch prints the end."""
    place = record.place
    return record if place is None else replace(record, place=replace(place, filename=resolve(place.filename)))
