"""torch's recompile reasons -> records: why an existing entry did not fit.

Input: the payload of ``recompile_reasons``, the values of the call, and what the earlier entries' symbols became.
Output: one record per earlier entry: the failed guard, the expected and the actual value, and the advice.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from depyf.run.addresses import without_addresses
from depyf.run.advice import for_guards as advice
from depyf.run.advice.source_names import in_module, named, without_mapping
from depyf.run.advice.symbol_places import SymbolPlaces
from depyf.run.guards.difference import PARAMETER, Difference
from depyf.run.guards.guard_kind import Look
from depyf.run.guards.kinds.tensor_guard import layout_of
from depyf.run.guards.known_kinds import NO_CALL, recompile_record, reported_differences
from depyf.run.places.place import Place
from depyf.run.records import GuardRecord, RecompileRecord, RefusalRecord
from depyf.sources.reports.guards.guard_remarks import program_place, split_comment
from depyf.sources.reports.guards.guard_text import PLAIN_READER, GuardReader

_ENTRY = re.compile(r"^(?P<entry>!?\d[\d/!]*): (?P<rest>.*)$", re.S)


def parse_recompile(
    payload: str,
    call: Look = NO_CALL,
    resolve: Callable[[str], str] = lambda name: name,
    reader: GuardReader = PLAIN_READER,
) -> tuple[RecompileRecord, ...]:
    """One record per earlier entry that torch tried, the newest first."""
    try:
        found = json.loads(payload)
        reasons = [str(reason) for reason in found] if isinstance(found, list) else [str(found)]
    except ValueError:
        reasons = [payload]
    return tuple(_record(reason, call, resolve, reader) for reason in reasons if reason.strip())


def refused_recompile(message: str, reader: GuardReader = PLAIN_READER) -> tuple[RecompileRecord, ...]:
    """As ``parse_recompile``, for the error under ``torch._dynamo.config.error_on_recompile``; () for other errors."""
    if not message.startswith("Recompiling function "):
        return ()
    reasons = [line.strip().removeprefix("- ") for line in message.splitlines() if line.strip().startswith("- ")]
    return parse_recompile(json.dumps(reasons), reader=reader)


def specialised(record: RecompileRecord, places: SymbolPlaces) -> RecompileRecord:
    """The record with better advice, if the earlier entry (its ``symbols``) had a symbol for the value that differs: a
    line of the program made it a constant."""
    first = next(iter(record.differences), None)
    if first is None or first.relation != "==":  # it is a symbol there, and this value is an exception
        return record
    measured = f".{first.what}()[{first.index}]" if first.what == "size" else ""
    subject = named(first.source) + measured
    line = places.fixed.get(subject)
    return record if line is None else replace(record, advice=advice.for_specialised(subject, line))


def with_values(record: RecompileRecord, refusals: Iterable[RefusalRecord]) -> RecompileRecord:
    """The record with the values of the call. Where torch prints none, they are in ``refusals``: the failed guards of
    all earlier entries."""
    if all(one.found.text for one in record.differences):
        return record
    known = {
        _about(one): one
        for refusal in refusals
        if refusal.entry == record.entry
        for failed in refusal.failed
        for one in failed.differences
        if one.found.text
    }
    found = tuple(one if one.found.text else known.get(_about(one), one) for one in record.differences)
    if found == record.differences:
        return record
    return recompile_record(record.entry, record.guard, record.place, found)


def _about(difference: Difference) -> tuple[str, str, int | None, str, str]:
    return named(difference.source), difference.what, difference.index, difference.relation, difference.wanted.text


FixedSizes = Mapping[str, Sequence[Sequence[int | None]]]
"""Tensor, as the program calls it -> the sizes that each guard on it wants."""


def fixed_sizes(guards: Iterable[GuardRecord]) -> FixedSizes:
    """The sizes of each tensor that ``guards`` want."""
    found: dict[str, list[Sequence[int | None]]] = {}
    for guard in guards:
        layout = layout_of(guard.expression)
        if layout is not None:
            found.setdefault(named(guard.source), []).append(layout.sizes)
    return found


def still_fixed(record: RecompileRecord, sizes: FixedSizes) -> RecompileRecord:
    """``record`` with better advice, where the new entry again has the size as a constant: something needs its value,
    else torch would have made it dynamic.  ``sizes``: those of the new entry."""
    size = next(iter(record.differences), None)
    if size is None or size.what != "size" or size.index is None or size.small or size.relation != "==":
        return record
    if in_module(size.source) or PARAMETER in size.roles:  # no symbols are made of these
        return record
    index = size.index
    if any(index < len(s) and str(s[index]) == size.found.text for s in sizes.get(named(size.source), ())):
        return replace(record, advice=advice.for_unrolled(f"{size.source}.size()[{index}]"))
    return record


def _record(reason: str, call: Look, resolve: Callable[[str], str], reader: GuardReader) -> RecompileRecord:
    match = _ENTRY.match(reason.strip())
    entry, rest = (match["entry"], match["rest"]) if match else ("", reason.strip())
    rest = rest.partition("\nUser stack trace:")[0]
    guard, place, _ = split_comment(rest, resolve)
    guard = without_mapping(guard.strip())
    shown = reader.readable("", reader.with_class(guard), any_names=True)
    guard = without_addresses(guard) if shown.startswith("torch_checks(") else shown
    return recompile_record(entry, guard, program_place(place), reported_differences(guard, call))


def resolved(record: RecompileRecord, resolve: Callable[[str], str]) -> RecompileRecord:
    """``record`` with the full name of the file, which torch shortens."""
    return replace(record, place=_resolved(record.place, resolve))


def resolved_refusal(record: RefusalRecord, resolve: Callable[[str], str]) -> RefusalRecord:
    """``record`` with the full names of the files of all failed guards."""
    return replace(record, failed=tuple(replace(one, place=_resolved(one.place, resolve)) for one in record.failed))


def _resolved(place: Place | None, resolve: Callable[[str], str]) -> Place | None:
    return None if place is None else replace(place, filename=resolve(place.filename))
