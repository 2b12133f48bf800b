"""A dump folder -> the compiled graphs in it, each with its stages.

Input: a folder written by ``depyf.prepare_debug``.  Output: ``CompiledGraph`` records of plain text and data.  Raises
``GalleryError`` where the folder is no dump, or holds nothing to make a gallery of.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from pathlib import Path

from depyf.errors import DepyfError
from depyf.run.compile_stages import BACKWARD, CAPTURED, FORWARD
from depyf.run.files.layout import INDEX
from depyf.run.files.reading import MANIFEST, DumpError, Manifest, NoManifest, read_file, read_manifest
from depyf.run.graphs.graph_facts import GraphFacts
from depyf.run.records import CompileKey
from depyf.run.run import Run
from depyf.run.store.loading import load
from depyf.safety.escape import safe_name

_STAGES = (CAPTURED, FORWARD, BACKWARD)


class GalleryError(DepyfError):
    """There is no dump, or nothing in it that can become a script."""


@dataclass(frozen=True, slots=True)
class StageFile:
    """One graph of a dump: its page and the recorded facts about it."""

    name: str
    text: str
    facts: GraphFacts = field(default_factory=GraphFacts)


@dataclass(frozen=True, slots=True)
class CompiledGraph:
    """The stages of one graph that torch compiled."""

    compile_id: str
    generation: int
    index: int
    function: str
    """The user's function."""
    place: str
    """Its file and line."""
    stages: dict[str, StageFile] = field(default_factory=dict)
    cut: bool = False
    """The backend cut it into pieces: its compile id has more forward than captured graphs."""
    wrappers: dict[int, str] = field(default_factory=dict)
    """The files with the code that Inductor generated for its compile id, by number."""
    torch: str = ""
    recorded: str = ""
    """The file with its first inputs; "" where the dump has none."""

    @property
    def slug(self) -> str:
        """``1_0``; ``ca0_1_0`` for compiled autograd; ``r1`` after one reset; the number of a second graph."""
        text = re.sub(r"\W+", "_", self.compile_id.replace("!", "ca")).strip("_")
        text += f"r{self.generation}" if self.generation else ""
        return f"{text}_graph{self.index}" if self.index else text

    @property
    def file(self) -> str:
        """The file name of the graph's script."""
        return f"graph_{self.slug}_{safe_name(self.function.rpartition('.')[2])}.py"


def read_dump(folder: Path) -> tuple[CompiledGraph, ...]:
    """The captured graphs in ``folder``, in the order of their compile ids.  GalleryError where there is none."""
    manifest = _manifest(folder)
    try:
        graphs = tuple(graph for graph in dumped_graphs(folder, manifest, load(folder)) if CAPTURED in graph.stages)
    except DumpError as error:
        raise GalleryError(str(error)) from error
    if not graphs:
        raise GalleryError(f"{folder} holds no captured graph: torch.compile compiled nothing while it was recorded")
    return graphs


def _manifest(folder: Path) -> Manifest:
    if not folder.exists():
        raise GalleryError(f"{folder} does not exist")
    if not folder.is_dir():
        raise GalleryError(f"{folder} is a file; a dump is the folder that depyf.prepare_debug wrote")
    try:
        return read_manifest(folder)
    except NoManifest as error:
        if (folder / INDEX).exists() or any(folder.glob("__compiled_fn_*")):
            raise GalleryError(
                f"{folder} is the dump of a run that has not finished, or was killed: {MANIFEST} is written when "
                "prepare_debug is left"
            ) from None
        raise GalleryError(str(error)) from error
    except DumpError as error:
        raise GalleryError(str(error)) from error


def dumped_graphs(folder: Path, manifest: Manifest, run: Run) -> tuple[CompiledGraph, ...]:
    """All graphs of a dump, in the order of their compile ids.  DumpError."""
    functions = {
        entry.key: (function.code.qualname, f"{function.code.filename}:{function.code.line}")
        for function, entry in run.entries
    }
    facts = {(graph.key, graph.stage, graph.index): graph.facts for graph in run.graphs}
    found: dict[tuple[int, str, int], CompiledGraph] = {}
    wrappers: dict[tuple[int, str], dict[int, str]] = {}
    for file in manifest.files:
        if file.kind == "wrapper":
            wrappers.setdefault((file.generation, file.compile_id or ""), {}).setdefault(file.index, file.name)
        if file.kind != "graph" or file.stage not in _STAGES:
            continue
        key = (file.generation, file.compile_id or "", file.index)
        compiled = CompileKey(*key[:2])
        function, place = functions.get(compiled, ("", ""))
        graph = found.setdefault(key, CompiledGraph(key[1], key[0], key[2], function, place, {}, torch=manifest.torch))
        known = facts.get((compiled, file.stage, file.index)) or GraphFacts()
        graph.stages[file.stage] = StageFile(file.name, read_file(folder, file.name), known)
    ordered = sorted(found, key=lambda key: (key[0], key[1].startswith("!"), _numbers(key[1]), key[2]))
    cut = {key[:2] for key in found if _count(found, key, FORWARD) > _count(found, key, CAPTURED)}
    return tuple(
        replace(
            found[key],
            wrappers=wrappers.get(key[:2], {}),
            cut=key[:2] in cut,
            recorded=_recorded(found[key], manifest.names),
        )
        for key in ordered
    )


def _recorded(graph: CompiledGraph, listed: frozenset[str]) -> str:
    name = graph.stages[CAPTURED].name.removesuffix(".py") + ".safetensors" if CAPTURED in graph.stages else ""
    return name if name in listed else ""


def _count(found: dict[tuple[int, str, int], CompiledGraph], key: tuple[int, str, int], stage: str) -> int:
    return sum(other[:2] == key[:2] and stage in graph.stages for other, graph in found.items())


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", text))
