"""``manifest.json``: what each file of a dump is, and where it came from.

Input: records and the names of the files that were written.  Output invariant: the same run gives the same text.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from json.encoder import encode_basestring
from pathlib import Path
from types import MappingProxyType
from typing import Any

from depyf.run.advice.advice import AdviceUse
from depyf.run.advice.registry import text_of
from depyf.run.causes.cause import Cause
from depyf.run.compile_stages import BACKWARD, BEFORE_POST_GRAD, BY_NAME, FORWARD, POST_GRAD, WRAPPER
from depyf.run.files.checksums import EDITABLE, meaning_checksum, written_lines
from depyf.run.files.layout import (
    BILL,
    BILL_DATA,
    CALL_TREE,
    GUARDS_DATA,
    INDEX,
    MEMORY,
    MEMORY_DATA,
    OWN,
    REPORT_MARK,
    REPORT_PAGE,
    REPORTS,
    RUN,
    SHAPES,
    SHAPES_DATA,
    TIMINGS,
    disassembly_file,
    failed_file,
    graph_file,
    inputs_file,
    layer_index_file,
    layers_file,
    nodes_file,
    original_file,
    recorded_file,
    transformed_file,
)
from depyf.run.files.line_table import LineTable
from depyf.run.files.reading import FORK_FOLDER, FORMAT, MANIFEST, DumpError, is_plain, read_file, read_manifest
from depyf.run.files.writer import unfinished_files
from depyf.run.global_names import RESUME_PREFIX
from depyf.run.observations.all_observations import observations_of
from depyf.run.places.place import Place
from depyf.run.records import LOGGED, BreakRecord, CallerRecord, CompileKey, EntryRecord, FunctionRecord, GraphRecord
from depyf.run.run import Run
from depyf.run.store.codec import plain
from depyf.safety.escape import one_line

_REPORTS = (
    (CALL_TREE, "call_tree"),
    (SHAPES, "shapes"),
    (MEMORY, "memory"),
    (BILL, "bill"),
    *((name, "report") for name in REPORTS),
)
_DATA = (
    (SHAPES_DATA, "shapes_data"),
    (MEMORY_DATA, "memory_data"),
    (GUARDS_DATA, "guards_data"),
    (BILL_DATA, "bill_data"),
)
_WHOLE_RUN = ((INDEX, "index"), *_REPORTS, *_DATA, (TIMINGS, "timings"), (RUN, "run"))
_OURS = (*OWN, ".depyf-")
_MOST_PAGE = 1 << 26


@dataclass(frozen=True, slots=True)
class KernelFile:
    """A kernel of a wrapper, in a separate file."""

    wrapper: GraphRecord
    name: str
    """As the wrapper calls it."""
    called_at: int
    """The first line of the wrapper that calls it; 0 where none does."""


def manifest_page(
    run: Run,
    causes: tuple[Cause, ...],
    full_code: dict[str, tuple[FunctionRecord, ...]],
    files: frozenset[str],
    steppable: frozenset[str],
    kernels: Mapping[str, KernelFile],
    texts: Mapping[str, tuple[str, str]] = MappingProxyType({}),
    lines: Mapping[str, LineTable] = MappingProxyType({}),
) -> str:
    """The JSON text; ``full_code`` maps each full_code file to the functions in it, ``kernels`` each kernel file to its
    kernel, ``texts`` each file that can be edited to the checksums of its text and of
    its lines, ``lines`` each page of ours to the lines of the program that it is made of."""
    entries = [_full_code(name, functions) for name, functions in full_code.items() if name in files]
    entries += [{"file": name, "kind": kind, "from": []} for name, kind in _WHOLE_RUN if name in files]
    entries += [_kernel(name, kernel) for name, kernel in kernels.items()]
    for function in run.functions:
        if (name := original_file(function.function, function.code)) in files:
            entries.append({"file": name, "kind": "original_code", "from": [_place(function)]})
        for entry in function.entries:
            entries += [item for item in _transformed(function, entry) if item["file"] in files]
    entries += [
        {"file": source.file, "kind": "source", "from": [f"{source.path}:1"]}
        for source in run.sources
        if source.file in files
    ]
    places = {function.function: _place(function) for function in run.functions}
    of_key: dict[CompileKey, list[GraphRecord]] = {}
    first: dict[str, GraphRecord] = {}
    for graph in run.graphs:
        of_key.setdefault(graph.key, []).append(graph)
        first.setdefault(graph.path or graph_file(graph), graph)
    for graph in run.graphs:
        if graph_file(graph) in files:
            twin = first[graph.path or graph_file(graph)]
            item = _graph(graph, of_key[graph.key], twin, files, steppable)
            if not item["from"] and graph.key.function in places:
                item["from"] = [places[graph.key.function]]  # the first stage comes from the user's function
            entries.append(item)
            beside = (
                (inputs_file, "graph_inputs"), (recorded_file, "recorded_inputs"), (failed_file, "failed_inputs"),
                (layers_file, "layers"), (layer_index_file, "layer_index"),
            )  # fmt: skip
            entries += [
                {
                    "file": name, "kind": kind, "compile_id": graph.key.text,
                    "generation": graph.key.generation, "from": [graph_file(graph)],
                }
                for file_of, kind in beside
                if (name := file_of(graph)) in files
            ]  # fmt: skip
    for key, graphs in of_key.items():
        if (name := nodes_file(key)) in files:
            entries.append({
                "file": name, "kind": "node_origins", "compile_id": key.text, "generation": key.generation,
                "from": [graph_file(graph) for graph in graphs if graph.origins and graph_file(graph) in files],
            })  # fmt: skip
    for item in entries:
        if item["kind"] in EDITABLE and (known := texts.get(str(item["file"]))) is not None:
            item["sha256"], item["line_checksums"] = known
            if (table := lines.get(str(item["file"]))) is not None and table.count == written_lines(known[1]):
                item["lines"] = plain(table)
    page = {
        "format": FORMAT,
        "torch": run.torch_version,
        "python": run.python_version,
        "files": sorted(entries, key=lambda item: str(item["file"])),
        "causes": [cause.to_json() for cause in causes],
        "observations": [observation.to_json() for observation in observations_of(run)],
        "functions": [_function(function) for function in run.functions],
        "never_compiled": [
            {"function": code.qualname, "from": f"{code.filename}:{code.line}", "reason": reason}
            for code, reason in run.never_compiled
        ],
        "ranks": run.ranks,
        "forks": list(run.forks),
        "not_reported": list(run.not_reported),
        "notes": list(run.notes),
    }
    return indented(page) + "\n"


def indented(value: Any, margin: str = "\n") -> str:
    """As ``json.dumps(value, indent=1, ensure_ascii=False)``, in a third of the time: ``json`` indents in pure
    Python."""
    inner = margin + " "
    if isinstance(value, dict) and value:
        items = [
            f"{encode_basestring(name)}: {encode_basestring(item) if type(item) is str else indented(item, inner)}"
            for name, item in value.items()
        ]
        return "{" + inner + f",{inner}".join(items) + margin + "}"
    if isinstance(value, (list, tuple)) and value:
        return (
            "["
            + inner
            + f",{inner}".join(
                [encode_basestring(item) if type(item) is str else indented(item, inner) for item in value]
            )
            + margin
            + "]"
        )
    return encode_basestring(value) if isinstance(value, str) else _encoded(value)


_encoded = json.JSONEncoder().encode
"""As ``json.dumps``, which asks first whether it may."""


def remove_old_dump(directory: Path, deepest: int = 20) -> None:
    """Remove what earlier dumps left in ``directory``: the files that its manifest lists, those of a run that was
    killed before it wrote one, the page of ``depyf report``, and the dumps of forked children; nothing else, and never
    raises."""
    try:
        old = read_manifest(directory)
        names = [*old.names, *old.forks, MANIFEST]
    except DumpError:
        names = []  # not a dump of depyf, or not readable: leave everything
    names += unfinished_files(directory)
    for name in names:
        ways = name.split("/")
        if all(map(FORK_FOLDER.fullmatch, ways)):
            _remove_fork(directory, ways, deepest)
        elif is_plain(name) and (name.startswith(_OURS) or name in (*dict(_WHOLE_RUN), MANIFEST)):
            _remove(os.unlink, directory / name)
    if names and _is_report(directory):  # it tells of the run before
        _remove(os.unlink, directory / REPORT_PAGE)


def _is_report(directory: Path) -> bool:
    """Whether the page there is ours, and not one of the user's that has the same name."""
    try:
        return REPORT_MARK in read_file(directory, REPORT_PAGE, _MOST_PAGE)[:2000]
    except DumpError:
        return False


def _remove_fork(directory: Path, way: list[str], deepest: int) -> None:
    """The dump of a forked child, and of those that it descends from, as far as they are empty then."""
    child = directory / way[0]
    if deepest and not child.is_symlink():
        if way[1:]:
            _remove_fork(child, way[1:], deepest - 1)
        remove_old_dump(child, deepest - 1)
        _remove(os.rmdir, child)


def _remove(how: Callable[[Path], None], path: Path) -> None:
    try:
        how(path)
    except OSError:
        pass  # it is gone already, or not ours to remove


def _place(function: FunctionRecord) -> str:
    return f"{function.code.filename}:{function.code.line}"


def _full_code(name: str, functions: tuple[FunctionRecord, ...]) -> dict[str, Any]:
    return {
        "file": name,
        "kind": "full_code",
        "function": functions[0].code.qualname,
        "from": [_place(functions[0])],
        "compile_ids": [entry.key.text for function in functions for entry in function.entries],
    }


def _transformed(function: FunctionRecord, entry: EntryRecord) -> list[dict[str, Any]]:
    transformed = entry.transformed
    if transformed is None:
        return []
    name = transformed_file(entry.key, function.code)
    main = {
        "file": name,
        "kind": "transformed_code",
        "compile_id": entry.key.text,
        "generation": entry.key.generation,
        "function": function.code.qualname,
        "from": [_place(function)],
        "verdicts": [
            {"function": v.qualname, "status": v.status, **({"reason": v.reason} if v.reason else {})}
            for v in transformed.verdicts
        ],
        "substituted": transformed.substituted,
        "reason": one_line(transformed.reason),
        "steppable": transformed.substituted,
        "made_from": meaning_checksum(transformed.source),
    }
    return [main, {
        "file": disassembly_file(entry.key, function.code),
        "kind": "bytecode",
        "compile_id": entry.key.text,
        "from": [name],
    }]  # fmt: skip


def _graph(
    graph: GraphRecord, own: list[GraphRecord], twin: GraphRecord, files: frozenset[str], steppable: frozenset[str]
) -> dict[str, Any]:
    """``own``: the graphs of the same compile id; ``twin``: the first one whose code is in the same file of torch."""
    name, given = graph_file(graph), graph.given
    shared = {} if twin is graph else {"same_code_as": graph_file(twin)}  # torch loads a generated file once
    return {
        "file": name,
        "kind": "wrapper" if graph.stage == WRAPPER else "graph",
        "stage": graph.stage,
        "index": graph.index,
        "compile_id": graph.key.text,
        "generation": graph.key.generation,
        "from": [found for found in _origins(graph, own) if found in files],
        "steppable": name in steppable,
        "made_from": meaning_checksum(graph.text),
        **shared,
        **(
            {"given": {"name": given.name, "by": given.by, "context": dict(given.context), "order": given.order}}
            if given is not None
            else {}
        ),
    }


def _kernel(name: str, kernel: KernelFile) -> dict[str, Any]:
    wrapper = kernel.wrapper
    return {
        "file": name, "kind": "kernel_source", "compile_id": wrapper.key.text, "generation": wrapper.key.generation,
        "kernel": kernel.name, "from": [graph_file(wrapper)],
        **({"called_at": kernel.called_at} if kernel.called_at else {}),
    }  # fmt: skip


def _origins(graph: GraphRecord, own: list[GraphRecord]) -> list[str]:
    """The file one stage earlier: a second post-grad graph or wrapper is the backward's."""

    def files(stage: str, index: int = 0) -> list[str]:
        return [graph_file(other) for other in own if other.stage == stage and other.index == index]

    if graph.stage == WRAPPER:
        return files(POST_GRAD, graph.index)
    if graph.stage == POST_GRAD and files(BEFORE_POST_GRAD, graph.index):
        return files(BEFORE_POST_GRAD, graph.index)
    if graph.stage in (POST_GRAD, BEFORE_POST_GRAD):
        return files(FORWARD) if graph.index == 0 else files(BACKWARD)
    for stage in BY_NAME[graph.stage].follows if graph.stage in BY_NAME else ():
        if files(stage):
            return files(stage)
    return []


def _function(function: FunctionRecord) -> dict[str, Any]:
    return {
        "function": function.code.qualname,
        **({"shown": function.code.shown} if function.code.shown != function.code.qualname else {}),
        "from": _place(function),
        "resume_of": None if function.resume_of is None else function.resume_of[1],
        "entries": [
            {
                "compile_id": entry.key.text,
                **({"generation": entry.key.generation} if entry.key.generation else {}),
                "guards": len(entry.guards),
                "state": entry.guard_state,
                "compiled": (entry.transformed is not None or entry.guard_state == LOGGED) and not entry.failed,
                "before_recording": entry.before,
                "made": entry.made.value,
                "graph_breaks": [_break(record) for record in entry.breaks],
                "recompiled_because": [
                    {
                        "entry": r.entry,
                        "guard": r.guard,
                        "at": _text(r.place),
                        "expected": r.expected,
                        "actual": r.actual,
                        "advice": _advice(r.advice),
                    }
                    for r in entry.recompiles
                ],
                "failed": one_line(entry.failed),
                "advice": _advice(entry.advice),
                "raised": entry.raised,
                "restarts": list(entry.restarts),
                "symbols": [
                    {
                        "name": s.name,
                        "source": s.source,
                        "value": s.value,
                        "range": s.range,
                        "at": _text(s.place),
                        "assumed": [{"expression": e, "at": str(p)} for e, p in s.assumptions],
                        "became": s.became,
                        "why": s.why,
                        "specialised_at": _text(s.where),
                        "specialised_by": s.by,
                        "sources": list(s.sources),
                        "final_range": s.final,
                        "equals": s.equals,
                        "dynamic": s.dynamic,
                    }
                    for s in entry.symbols
                ],
                "shape_conditions": [
                    {"expression": f.expression, "at": _text(f.place), "operator": f.operator, "asked_by": f.asker}
                    for f in entry.shape_facts
                ],
                "caches": [{"cache": c.cache, "status": c.status, "reason": c.reason} for c in entry.caches],
                "called_by": [
                    {
                        "at": _text(c.place),
                        "function": c.place.function,
                        **({"frame": c.function[1]} if c.function is not None else {}),
                    }
                    for c in _own_callers(entry)
                ],
            }
            for entry in function.entries
        ],
    }


def _own_callers(entry: EntryRecord) -> list[CallerRecord]:
    """The callers; of resume functions that call one another the last one: which the others are is said of it."""
    found: list[CallerRecord] = []
    for caller in entry.callers:
        if found and RESUME_PREFIX in caller.place.function and RESUME_PREFIX in found[-1].place.function:
            found.pop()
        found.append(caller)
    return found


def _break(record: BreakRecord) -> dict[str, Any]:
    return {
        "at": _text(record.place),
        "function": record.place.function if record.place else "",
        **({"from": _text(record.caller)} if record.caller is not None else {}),
        "reason": record.reason,
        "cause": record.cause,
        "hints": list(record.hints),
        "advice": _advice(record.advice),
        "code": record.code,
        "skipped": record.skipped,
        "rest_skipped": record.cut,
    }


def _advice(uses: tuple[AdviceUse, ...]) -> list[dict[str, Any]]:
    return [{"id": use.id, "values": dict(use.values), "text": text_of(use)} for use in uses]


def _text(place: Place | None) -> str:
    return f"{place.filename}:{place.line}" if place else ""


def with_level_graph(manifest: dict[str, Any], record: GraphRecord, level: str) -> str:
    """The text of the manifest of a finished dump with the file of ``record``, which ``depyf.debug(level=...)`` adds to
    it.

    So the next dump into the directory removes the file.
    """
    return _with(manifest, {
        "file": graph_file(record),
        "kind": "wrapper" if record.stage == WRAPPER else "graph",
        "stage": record.stage,
        "index": record.index,
        "compile_id": record.key.text,
        "generation": record.key.generation,
        "from": [],
        "steppable": True,
        "level": level,
    })  # fmt: skip


def with_level_kernel(manifest: dict[str, Any], name: str, kernel: KernelFile, level: str) -> str:
    """The text of the manifest of a finished dump with the file ``name`` of a kernel, added by
    ``depyf.debug(level=...)``."""
    return _with(manifest, {**_kernel(name, kernel), "level": level})


def _with(manifest: dict[str, Any], item: dict[str, object]) -> str:
    files = manifest["files"]
    if all(known["file"] != item["file"] for known in files):
        files = sorted([*files, item], key=lambda entry: str(entry["file"]))
    return indented({**manifest, "files": files}) + "\n"
