"""Dumps of a depyf that wrote no ``run.jsonl``: the run as far as ``manifest.json``, ``guards.json`` and pages tell.

Input: the folder of such a dump.  Output: a ``Run``; what those files did not hold is named in ``Run.missing``.
DumpError where the manifest is not one of depyf.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from depyf.run.advice.advice import AdviceUse
from depyf.run.files.layout import GUARDS_DATA
from depyf.run.files.reading import DumpError, read_json, read_manifest
from depyf.run.graphs.given_graph import GivenRecord
from depyf.run.places.place import Place
from depyf.run.records import (
    BreakRecord,
    CacheRecord,
    CallerRecord,
    CodeRecord,
    CompileKey,
    EntryRecord,
    FunctionRecord,
    GraphRecord,
    GuardRecord,
    RecompileRecord,
    ShapeFact,
    SymbolRecord,
    TransformedRecord,
    VerdictRecord,
)
from depyf.run.run import Run, SourceRecord
from depyf.run.store.earlier_pages import DumpPages
from depyf.safety.escape import printable

NOT_KEPT = (
    "An earlier depyf wrote this dump: it has no run.jsonl. Some details of guards and of compilations are not in it."
)
_Item = dict[str, Any]
_MOST_DIGITS = 9
"""Of the number of a line; ``int`` refuses some thousand."""


def run_in_manifest(folder: Path) -> Run:
    """The run in a folder with a manifest; NoManifest where there is none."""
    manifest = read_manifest(folder)
    page = manifest.page
    pages = DumpPages(folder, manifest.names)
    guards = _guards(folder, pages.damaged) if GUARDS_DATA in manifest.names else {}
    transformed = {
        _key(item): _transformed(item)
        for item in page["files"]
        if item["kind"] == "transformed_code" and "level" not in item
    }
    functions = pages.functions(tuple(_function(item, guards, transformed) for item in page.get("functions", ())))
    return Run(
        torch_version=manifest.torch,
        python_version=manifest.python,
        functions=functions,
        graphs=tuple(pages.graph(_graph(item)) for item in page["files"] if "stage" in item and "level" not in item),
        notes=manifest.notes,
        never_compiled=tuple(
            (_code(str(item.get("function", "")), str(item.get("from", ""))), str(item.get("reason", "")))
            for item in page.get("never_compiled", ())
        ),
        not_reported=tuple(page.get("not_reported", ())),
        ranks=manifest.ranks,
        forks=manifest.forks,
        sources=tuple(
            SourceRecord(item["file"], place.filename)
            for item in page["files"]
            if item["kind"] == "source"
            for place in map(_place, item.get("from", ())[:1])
            if place is not None
        ),
        finished=True,
        missing=(NOT_KEPT, *pages.damaged),
    )


def _key(item: _Item) -> CompileKey:
    return CompileKey(item.get("generation", 0), item.get("compile_id", ""))


def _place(text: str, line: str = "", function: str = "") -> Place | None:
    filename, _, number = text.rpartition(":")
    known = number.isascii() and number.isdigit() and len(number) <= _MOST_DIGITS
    return Place(filename, int(number), function, line) if known else None


def _code(name: str, at: str) -> CodeRecord:
    place = _place(at) or Place("", 0)
    return CodeRecord(name.rpartition(".")[2], name, place.filename, place.line, (), (), (), None, None, ())


def _function(
    item: _Item, guards: dict[CompileKey, tuple[GuardRecord, ...]], transformed: dict[CompileKey, TransformedRecord]
) -> FunctionRecord:
    entries = tuple(_entry(entry, guards, transformed) for entry in item["entries"])
    function = entries[0].key.function if entries else (0, "")
    above = item.get("resume_of")
    code = _code(item["function"], item["from"])
    return FunctionRecord(function, code, entries, None if above is None else (function[0], str(above)))


def _entry(
    item: _Item, guards: dict[CompileKey, tuple[GuardRecord, ...]], transformed: dict[CompileKey, TransformedRecord]
) -> EntryRecord:
    key = _key(item)
    return EntryRecord(
        key=key,
        transformed=transformed.get(key) if item.get("compiled") else None,
        guards=guards.get(key, ()),
        guard_state=str(item.get("state", "")),
        breaks=tuple(map(_break, item.get("graph_breaks", ()))),
        recompiles=tuple(map(_recompile, item.get("recompiled_because", ()))),
        failed=item.get("failed") or "",
        raised=item.get("raised", False),
        restarts=tuple(item.get("restarts", ())),
        symbols=tuple(map(_symbol, item.get("symbols", ()))),
        caches=tuple(
            CacheRecord(_text(c, "cache"), _text(c, "status"), _text(c, "reason")) for c in item.get("caches", ())
        ),
        before=item.get("before_recording", False),
        shape_facts=tuple(
            ShapeFact(_text(f, "expression"), _place(_text(f, "at")), _text(f, "operator"), _text(f, "asked_by"))
            for f in item.get("shape_conditions", ())
        ),
        advice=_advice(item),
        callers=tuple(_callers(item, key)),
    )


def _text(item: _Item, name: str) -> str:
    return item.get(name) or ""


def _callers(item: _Item, key: CompileKey) -> Iterator[CallerRecord]:
    for caller in item.get("called_by", ()):
        place = _place(_text(caller, "at"), function=_text(caller, "function"))
        if place is not None:
            frame = caller.get("frame")
            yield CallerRecord(place, None if frame is None else (key.generation, str(frame)))


def _advice(item: _Item) -> tuple[AdviceUse, ...]:
    return tuple(
        AdviceUse(use["id"], tuple((name, text) for name, text in use["values"].items() if isinstance(text, str)))
        for use in item.get("advice", ())
    )


def _break(item: _Item) -> BreakRecord:
    return BreakRecord(
        text="", place=_place(_text(item, "at"), function=_text(item, "function")), reason=_text(item, "reason"),
        cause=_text(item, "cause"), explanation="", hints=tuple(item.get("hints", ())), code=_text(item, "code"),
        skipped=item.get("skipped", False), cut=item.get("rest_skipped", False), caller=_place(_text(item, "from")),
        advice=_advice(item),
    )  # fmt: skip


def _recompile(item: _Item) -> RecompileRecord:
    return RecompileRecord(
        _text(item, "entry"), _text(item, "guard"), _place(_text(item, "at")), _text(item, "expected"),
        _text(item, "actual"), _advice(item),
    )  # fmt: skip


def _symbol(item: _Item) -> SymbolRecord:
    assumed = ((_text(one, "expression"), _place(_text(one, "at"))) for one in item.get("assumed", ()))
    return SymbolRecord(
        _text(item, "name"), _text(item, "source"), _text(item, "value"), _text(item, "range"),
        _place(_text(item, "at")), tuple((expression, place) for expression, place in assumed if place is not None),
        _text(item, "became"), _text(item, "why"), _place(_text(item, "specialised_at")),
        tuple(item.get("sources", ())), _text(item, "final_range"), _text(item, "equals"), _text(item, "dynamic"),
        _text(item, "specialised_by"),
    )  # fmt: skip


def _transformed(item: _Item) -> TransformedRecord:
    verdicts = (
        VerdictRecord(_text(one, "function"), _text(one, "status"), _text(one, "reason"))
        for one in item.get("verdicts", ())
    )
    return TransformedRecord("", item.get("substituted", False), _text(item, "reason"), tuple(verdicts), (), ())


def _graph(item: _Item) -> GraphRecord:
    given = item.get("given")
    return GraphRecord(
        _key(item), item["stage"], item.get("index", 0), "",
        given=None if given is None else GivenRecord(
            _text(given, "name"), _text(given, "by"),
            tuple((name, str(value)) for name, value in given.get("context", {}).items()), given.get("order", 0),
        ),
    )  # fmt: skip


def _guards(folder: Path, damaged: list[str]) -> dict[CompileKey, tuple[GuardRecord, ...]]:
    """Compile id -> its guards; {} where the file is ``damaged``: it is not in the way of the rest."""
    try:
        page = read_json(folder, GUARDS_DATA)
        known = [_guard(item) for item in page["guards"]]
        return {_key(item): _numbered(item["guards"], known) for item in page["entries"]}
    except DumpError as error:
        damaged.append(str(error))
    except (KeyError, TypeError, IndexError, AttributeError) as error:
        damaged.append(f"{printable(str(folder / GUARDS_DATA))} is damaged: {printable(repr(error))}")
    return {}


def _numbered(numbers: Iterable[int], known: list[GuardRecord]) -> tuple[GuardRecord, ...]:
    return tuple(known[number] for number in numbers)


def _module(value: str) -> str:
    """The module that a value is, which these dumps say in words only."""
    words, _, name = value.partition(" ")
    return name if words == "module" and all(part.isidentifier() for part in name.split(".")) else ""


def _guard(item: _Item) -> GuardRecord:
    return GuardRecord(
        str(item["kind"]), str(item["expression"]), str(item["expression"]), _text(item, "source"),
        _place(_text(item, "at"), _text(item, "line")), _text(item, "why"), _text(item, "value"),
        item.get("holds") is not False, _module(_text(item, "value")),
    )  # fmt: skip
