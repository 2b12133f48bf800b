"""Two dumps compared stage by stage, and the ranks of one distributed run.

Input: folders written by ``prepare_debug``.  Output: a ``Comparison``: for each stage how many files are the same,
differ, or are there only once, and for each compile id the first stage at which the two part ways.  Files are paired by
name, which is keyed by compile id.  What differs in every run by nature (timings, Inductor's cache folder) is left out;
files that say the same in other words (``meaning``) are *alike*, and no difference unless it is asked for.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from depyf.errors import DepyfError
from depyf.run.compile_stages import CAPTURED, ORDER
from depyf.run.files.file_record import FileRecord
from depyf.run.files.layout import inputs_file, written_meanwhile
from depyf.run.files.reading import MANIFEST, NoManifest, no_dump, rank_folders, read_file, read_manifest
from depyf.run.global_names import with_counters
from depyf.run.graphs.graph_facts import GraphFacts
from depyf.run.graphs.graph_source import unboxed
from depyf.run.graphs.program_comments import places_in
from depyf.run.records import CompileKey, FunctionRecord
from depyf.run.run import Run
from depyf.run.store.earlier_pages import facts_in
from depyf.run.store.loading import load as load_run
from depyf.views.compare.line_diff import changed_lines, unified
from depyf.views.compare.meaning import without_caches
from depyf.views.compare.pairing import Pairing, met, pairing
from depyf.views.compare.program_folder import from_folder, program_folders
from depyf.views.compare.run_diff import events_apart, hit_on_one_side, keys_apart
from depyf.views.compare.side import ComparedSide
from depyf.views.pages.graph_inputs import inputs_page
from depyf.views.pages.graph_page import printed_part

_LEFT_OUT = (
    "index",
    "timings",
    "manifest",
    "report",
    "call_tree",
    "recorded_inputs",
    "failed_inputs",
    "shapes_data",
    "memory_data",
    "guards_data",
    "bill",
    "bill_data",
    "node_origins",
    "source",
    "run",
)


@dataclass(frozen=True, slots=True)
class DumpFile:
    """A file of a dump, with its entry in the manifest."""

    name: str
    stage: str
    compile_id: str
    path: Path
    place: tuple[str, str] = ("", "")
    """The function that it is about, and the line of the program where that begins."""
    compile_ids: tuple[str, ...] = ()
    """Of a page with several entries."""
    facts: GraphFacts | None = None
    """What the inputs of a graph are, where it tells that."""
    function: tuple[int, str] | None = None
    """That of a page with several entries."""

    def text(self, normal: Callable[[str], str]) -> str:
        """The text without paths of Inductor's cache and without the range of input values, which differ in every
        run."""
        text = read_file(self.path.parent, self.path.name)
        if self.facts is not None and inputs_page(self.facts) == text:
            inputs = tuple(replace(one, passed=None) for one in self.facts.inputs)
            text = inputs_page(replace(self.facts, inputs=inputs))
        return normal(without_caches(text) if self.stage.startswith("kernel") else text)


@dataclass(frozen=True, slots=True)
class Dump:
    """A folder, the run in it, and its files."""

    folder: Path
    run: Run
    files: dict[str, DumpFile]
    functions: tuple[FunctionRecord, ...] = ()
    """What was compiled, as far as it is compared."""
    called: Path | None = None
    """What it was made of, where it is the dump of a log."""

    @property
    def name(self) -> Path:
        """The path to show: that of the log, if the dump was made from one."""
        return self.folder if self.called is None else self.called

    @property
    def torch(self) -> str:
        return self.run.torch_version

    @property
    def python(self) -> str:
        return self.run.python_version

    @property
    def finished(self) -> bool:
        """Whether the recording ended normally.  Otherwise its process was killed."""
        return self.run.finished


@dataclass(frozen=True, slots=True)
class StageDifference:
    """A file that is not the same on both sides; ``where`` is "both", "first" or "second"."""

    file: str
    stage: str
    compile_id: str
    where: str
    added: int = 0
    removed: int = 0
    diff: tuple[str, ...] = ()
    follows: bool = False
    """A page of all entries, which differs because one side has an entry more."""
    values: tuple[str, str] | None = None
    """Of such a page: the first guard that both sides have with another value."""


@dataclass(frozen=True, slots=True)
class DumpComparison:
    """What differs between two dumps."""

    first: Dump
    second: Dump
    same: dict[str, int]
    differences: tuple[StageDifference, ...]
    alike: tuple[DumpFile, ...] = ()
    """Files whose texts differ and mean the same."""
    pairs: Pairing | None = None
    """The functions of the two; None where every character counts."""
    cached: tuple[StageDifference, ...] = ()
    """What one side lacks because it found the compilation in torch's caches: no difference."""

    @property
    def events(self) -> list[str]:
        """The events that differ, as lines."""
        apart = events_apart(self.first.functions, self.second.functions, self.pairs)
        return [*apart, *keys_apart(self.first.run.cache_keys, self.second.run.cache_keys)]

    @property
    def equal(self) -> bool:
        return not self.differences

    @property
    def stages(self) -> list[str]:
        found = {item.stage for item in self.differences} | {file.stage for file in self.alike}
        return sorted({*self.same, *found}, key=_rank)

    def counts(self, stage: str) -> tuple[int, int, int, int, int]:
        """(same, alike, differ, only in the first, only in the second)."""
        here = [item.where for item in self.differences if item.stage == stage]
        alike = sum(file.stage == stage for file in self.alike)
        return self.same.get(stage, 0), alike, here.count("both"), here.count("first"), here.count("second")

    def alone(self) -> list[tuple[str, str]]:
        """The compile ids that only one side has, each with "first" or "second"."""
        if self.pairs is not None and self.pairs.pairs:
            sides = zip(("first", "second"), self.pairs.alone)
            return [(key, side) for side, keys in sides for key in sorted(keys, key=_numbers)]
        one, two = ({file.compile_id for file in side.files.values()} for side in (self.first, self.second))
        both = {item.compile_id for item in self.differences if item.where == "both"}
        found = {item.compile_id: item.where for item in self.differences}
        return [(key, found[key]) for key in sorted(found, key=_numbers) if key not in both | (one & two) | {""}]

    def first_by_compile_id(self) -> dict[tuple[str, str], StageDifference]:
        """For each compile id, and side where one has it alone, the earliest stage that differs: everything after it
        follows from it."""
        alone = set(self.alone())
        found: dict[tuple[str, str], StageDifference] = {}
        for item in self.differences:
            if item.follows:
                continue
            key = item.compile_id, item.where if (item.compile_id, item.where) in alone else ""
            found.setdefault(key, item)
        return dict(sorted(found.items(), key=lambda pair: (_numbers(pair[0][0]), pair[0][1])))

    def to_json(self, diffs: bool = False) -> dict[str, Any]:
        return {
            "equal": self.equal,
            "first": _side(self.first),
            "second": _side(self.second),
            "stages": {
                stage: dict(zip(("same", "alike", "differ", "only_first", "only_second"), self.counts(stage)))
                for stage in self.stages
            },
            "events": self.events,
            "alike": [file.name for file in self.alike],
            "not_written_on_a_hit": [item.file for item in self.cached],
            "first_difference": {key: item.file for (key, _), item in self.first_by_compile_id().items()},
            "differences": [
                {
                    "file": item.file, "stage": item.stage, "compile_id": item.compile_id, "in": item.where,
                    "added": item.added, "removed": item.removed, **({"diff": list(item.diff)} if diffs else {}),
                }
                for item in self.differences
            ],
        }  # fmt: skip


def _side(dump: Dump) -> dict[str, Any]:
    return {
        "folder": str(dump.name), "torch": dump.torch, "python": dump.python, "files": len(dump.files),
        "finished": dump.finished,
    }  # fmt: skip


def _numbers(compile_id: str) -> tuple[int, ...]:
    return CompileKey(0, compile_id).order[2]


def _rank(stage: str) -> tuple[int, str]:
    return (ORDER.index(stage) if stage in ORDER else len(ORDER)), stage


def load(folder: Path, called: Path | None = None) -> Dump:
    """The dump in ``folder``; ``called``: the log that it was made of.  DepyfError where there is none."""
    return replace(_load(folder), called=called)


def _load(folder: Path) -> Dump:
    try:
        manifest = read_manifest(folder)
    except NoManifest as error:
        if reported := _reported(folder):
            return Dump(folder, _run_of(folder), reported)
        if ranks := rank_folders(folder):
            raise DepyfError(
                f"{folder} holds the dumps of {len(ranks)} ranks: name one of them, or `depyf merge {folder}`"
            ) from error
        raise
    run = load_run(folder)
    if not run.finished:
        return Dump(folder, run, _on_the_way(folder))
    facts = {inputs_file(graph): graph.facts for graph in run.graphs}
    files = {file.name: _file(folder, file, facts) for file in manifest.files if file.kind not in _LEFT_OUT}
    return Dump(folder, run, files, run.functions)


def _run_of(folder: Path) -> Run:
    """What a process that was killed left; one of an earlier depyf left files only."""
    try:
        return load_run(folder)
    except NoManifest:
        return Run("?", "?", ranks=0)


def _reported(folder: Path) -> dict[str, DumpFile]:
    """What the dump of a run that has not finished holds; {} where the folder is none."""
    return _on_the_way(folder) if folder.is_dir() and not (folder / MANIFEST).exists() else {}


def _on_the_way(folder: Path) -> dict[str, DumpFile]:
    """The files that were written while the program ran."""
    known = (written_meanwhile(path.name) for path in folder.iterdir())
    files = sorted((file for file in known if file is not None), key=lambda file: file.name)
    return {
        file.name: DumpFile(file.name, file.stage or file.kind, file.compile_id or "", folder / file.name)
        for file in files
    }


def _as_far(dump: Dump) -> Dump:
    """Of a finished dump what one that has not finished can have as well."""
    return replace(
        dump, files={n: file for n, file in dump.files.items() if written_meanwhile(n) is not None}, functions=()
    )


def _file(folder: Path, file: FileRecord, facts: Mapping[str, GraphFacts | None]) -> DumpFile:
    stage = "kernel" if file.kind == "wrapper" else file.stage or file.kind or "other"
    ids, compile_id = file.compile_ids or ("",), file.compile_id or (file.compile_ids or ("",))[0]
    return DumpFile(
        file.name, stage, compile_id, folder / file.name, (file.function, file.origin), ids, facts.get(file.name),
        CompileKey(file.generation, ids[0]).function if ids[0] else None,
    )  # fmt: skip


GRAPH_INPUTS = "graph_inputs"
"""The inputs of a graph; torch does not tell them again of one that it found in a cache."""


def compare(
    first: Dump, second: Dump, normal: Callable[[str], str] = lambda text: text, strict: bool = False
) -> DumpComparison:
    """Compare all files; ``normal`` takes out of a text what may differ (the number of a device between ranks).
    ``strict``: every character counts; otherwise what ``meaning`` leaves of the texts."""
    if not (first.finished and second.finished):
        first, second, whole = _as_far(first), _as_far(second), normal

        def normal(text: str) -> str:
            return unboxed(printed_part(whole(text)))  # of a finished one the page of a graph has more

    same: dict[str, int] = {}
    alike: list[DumpFile] = []
    differences: list[StageDifference] = []
    cached: list[StageDifference] = []
    hits = hit_on_one_side(first.functions, second.functions)
    folders = program_folders(first.functions, second.functions)
    pairs = Pairing([]) if strict else paired(first, second, folders)
    sides = [
        ComparedSide(dump.run, dump.functions, (folder, folders[1]), own, normal)
        for dump, folder, own in zip((first, second), folders, (pairs, None))
    ]
    renamed = {} if strict else _renamed(first, second, pairs)
    ours = {renamed.get(name, name): file for name, file in first.files.items()}
    for name in sorted({*ours, *second.files}, key=lambda name: _position(ours.get(name) or second.files[name])):
        one, two = ours.get(name), second.files.get(name)
        file = two or one
        assert file is not None
        before, after = (side.text(normal) if side is not None else "" for side in (one, two))
        if one is not None and two is not None and before == after:
            same[file.stage] = same.get(file.stage, 0) + 1
            continue
        if not strict:
            before, after = (
                side.meaning(found.name, found.stage, _path(found, side.folders[0]), partial(found.text, str))
                if found
                else ""
                for side, found in zip(sides, (one, two))
            )
            before = with_counters(before, after)
        if one is not None and two is not None and before == after:
            alike.append(file)
            continue
        where = "both" if one is not None and two is not None else "first" if one is not None else "second"
        names = (str(first.name / (one or file).name), str(second.name / name))
        lines = unified(before, after, names)
        signs = Counter(sign for sign, _ in changed_lines(lines))
        compile_id, follows = _entry_of(one, two, pairs) if one and two else (file.compile_id, False)
        values = (
            pairs.other_values.get(two.function) if one and two and two.function and two.stage == "full_code" else None
        )
        found = StageDifference(
            file.name, file.stage, compile_id, where, signs["+"], signs["-"], lines, follows, values
        )
        hit = [text for text, ids in ((before, hits[0]), (after, hits[1])) if file.compile_id in ids]
        untold = bool(hit) and (hit == [""] or (file.stage == GRAPH_INPUTS and _without_inputs(hit[0])))
        (cached if untold and not strict else differences).append(found)
    return DumpComparison(
        first, second, same, tuple(differences), tuple(alike), None if strict else pairs, tuple(cached)
    )


def _without_inputs(text: str) -> bool:
    try:
        return not facts_in(json.loads(text), GRAPH_INPUTS).inputs
    except (ValueError, RecursionError):  # NotThat is one
        return False


def _entry_of(one: DumpFile, two: DumpFile, pairs: Pairing) -> tuple[str, bool]:
    """The compile id to which a difference of a file that both have belongs; whether it only follows from an entry that
    one side has alone."""
    if two.stage == "full_code" and pairs.pairs:
        others = [key for key in two.compile_ids if key in pairs.other_guards]
        lone = any(key in ids for side, ids in zip((one, two), pairs.alone) for key in side.compile_ids)
        moved = any(pairs.ids.get(key.replace("/", "_"), "") for key in one.compile_ids)
        return (others[0], False) if others else ("" if lone or moved else two.compile_id, lone)
    return two.compile_id, False


def paired(first: Dump, second: Dump, folders: tuple[str, str]) -> Pairing:
    """The functions of two dumps in pairs, with the lines that their graphs name.  ``folders``: the program's
    folders."""
    sides = []
    for dump, folder in zip((first, second), folders):
        sides.append(met(dump.functions, partial(from_folder, folder=folder)))
    found = pairing(*sides)
    told = [_told_lines(dump, folder) for dump, folder in zip((first, second), folders)]
    for path in found.lines:
        found.add_lines(path, told[0].get(path, {}), told[1].get(found.files.get(path, path), {}))
    return found


def _told_lines(dump: Dump, folder: str) -> dict[str, dict[int, str]]:
    """File -> line -> its text, as the captured graphs have it."""
    found: dict[str, dict[int, str]] = {}
    for file in dump.files.values():
        if file.stage == CAPTURED:
            for place in places_in(file.text(str)):
                if place.text:
                    found.setdefault(from_folder(place.filename, folder), {})[place.line] = place.text
    return found


def _path(file: DumpFile, folder: str) -> str:
    return from_folder(file.place[1], folder).rpartition(":")[0]


def _renamed(first: Dump, second: Dump, pairs: Pairing) -> dict[str, str]:
    """Files of the first dump whose partner in the second has another name."""
    pages = [
        {file.place: name for name, file in dump.files.items() if file.stage == "full_code"} for dump in (first, second)
    ]
    found: dict[str, str] = {}
    for mine, other in pairs.pairs:
        if mine is not None and other is not None:
            one, two = ((f.name, f"{f.record.code.filename}:{f.line}") for f in (mine, other))
            if one in pages[0] and two in pages[1]:
                found[pages[0][one]] = pages[1][two]
    for name, file in first.files.items():
        if file.stage != "full_code":
            stem, dot, rest = name.partition(".")
            found[name] = pairs.words.get(stem, stem) + dot + rest
    taken: dict[str, str] = {}
    for name, new in found.items():  # two files never become one
        if taken.setdefault(new, name) != name or (new != name and new in first.files and new not in found):
            return {}
    return found


def _position(file: DumpFile) -> tuple[tuple[int, str], str]:
    return _rank(file.stage), file.name


def dumps_in(folder: Path, *, unfinished: bool = False) -> dict[int, Path]:
    """rank -> its dump, also of a rank that died where ``unfinished`` ones are wanted; a run of one process is rank 0
    in the folder itself.  DepyfError where there is no dump."""
    if (folder / MANIFEST).exists():
        return {0: folder}
    found = {
        rank: path
        for rank, path in rank_folders(folder).items()
        if (path / MANIFEST).exists() or (unfinished and _reported(path))
    }
    if not found:
        raise no_dump(folder)
    return found


def ranks_of_two(first: Path, second: Path) -> tuple[dict[int, Path], dict[int, Path]] | None:
    """The dumps of the ranks of two distributed runs; None where one of the folders is itself a dump.  DepyfError where
    one has none."""
    if any((folder / MANIFEST).exists() or not rank_folders(folder) for folder in (first, second)):
        return None
    return dumps_in(first, unfinished=True), dumps_in(second, unfinished=True)


def without_device(text: str) -> str:
    """``text`` with device numbers and rank folders replaced: ``cuda:3`` becomes ``cuda:N``."""
    text = re.sub(r"\b(cuda|xpu|hpu):\d+", r"\1:N", text)
    text = re.sub(r"\bstream\d+\b", "streamN", text)  # of Inductor's wrappers: that of the device
    text = re.sub(r"\b(device_index|index|get_raw_stream|_DeviceGuard|set_device)(=|\()\d+", r"\1\2N", text)
    return re.sub(r"(?<![\w.])rank_\d+(?=/)", "rank_N", text)


def ranks_in(folder: Path, called: Path | None = None) -> tuple[dict[int, Dump], list[int]]:
    """The dumps of the ranks of one run, and the ranks that are left over from another one, which had more; ``called``:
    the logs that they were made of."""
    found = {
        rank: load(path, called / path.name if called is not None else None)
        for rank, path in sorted(dumps_in(folder, unfinished=True).items())
    }
    count = next((dump.run.ranks for dump in found.values() if dump.run.ranks), len(found))
    over = [rank for rank in found if rank >= count and found[rank].run.ranks != count]
    return {rank: dump for rank, dump in found.items() if rank not in over}, over


def compare_ranks(found: dict[int, Dump], folder: Path) -> list[tuple[int, DumpComparison]]:
    """Every rank against the lowest one.  DepyfError where there are not at least two."""
    if len(found) < 2:
        raise DepyfError(f"{folder} holds the dump of one process only: there is nothing to merge")
    lowest, *others = found
    return [(rank, compare(found[lowest], found[rank], without_device)) for rank in others]
