"""``index.md`` of a folder of saved files that was opened: all of them in one table.

Input: what was found in each file, by its path below the folder.  Output: Markdown.  vLLM's and torch's caches put into
paths what a file is of; where a path is such a one, it is said in words.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from depyf.actions.opened.open_file import OpenedFile, folder_below
from depyf.actions.opened.opened_pages import INDEX, coded, in_cell
from depyf.safety.escape import printable

_MOST = 5000
_RANK = re.compile(r"(?:^|/)rank_(?P<rank>\d+)_(?P<parallel>\d+)/")
_GRAPH = re.compile(
    r"artifact_(?:compile_range_(?P<first>\d+)_(?P<last>\d+)|shape_(?P<shape>\w+))_subgraph_(?P<graph>\d+)$"
)
_AHEAD = re.compile(r"(?:^|/)torch_aot_compile/[0-9a-f]+/")
_CACHES = {
    "fxgraph": "torch's cache of compiled graphs",
    "aotautograd": "torch's cache of AOTAutograd",
    "dynamo": "caching_precompile",
}
_TEXTS = {
    "computation_graph.py": "the graph of the model as vLLM splits it",
    "transformed_code.py": "what Dynamo made of the model's forward, as vLLM had it decompiled",
    "vllm_compile_cache.py": "vLLM's table: which range of sizes and which subgraph is in which file",
    "cache_key_factors.json": "what the name of vLLM's folder is a hash of",
}
"""Files of vLLM's cache that can be read as they are."""


def folder_page(name: str, found: Mapping[str, OpenedFile], texts: Mapping[str, str]) -> str:
    """The Markdown index of a folder with saved files.  ``texts``: other files of the folder -> what each is."""
    lines = [
        f"# {printable(name)}",
        "",
        f"{len(found)} saved files. Nothing of them was executed or loaded.",
        "",
        "| file | of what | it is | code | guards | graphs and sources |",
        "|---|---|---|---|---|---|",
    ]
    for file, one in list(found.items())[:_MOST]:
        target = (folder_below(file) / INDEX).as_posix()
        code = ", ".join(one.functions[:3]) + (", ..." if len(one.functions) > 3 else "")
        lines.append(
            f"| [{in_cell(file)}]({target}) | {in_cell(place_in_words(file))} | {in_cell(one.kind)} | "
            f"{coded(code)} | {one.guards or ''} | {one.texts or ''} |"
        )
    if len(found) > _MOST:
        lines.append(f"\nand {len(found) - _MOST} more")
    if texts:
        lines += ["", "## Texts beside them", "", "They are read as they are, in the folder that was opened.", ""]
        lines += [f"- {coded(file)}: {what}" for file, what in list(texts.items())[:_MOST]]
    return "\n".join(lines) + "\n"


def place_in_words(file: str) -> str:
    """The rank, and so on, that the path of a file tells; "" for nothing."""
    said = []
    rank = _RANK.search(file)
    if rank is not None:
        said.append(
            f"vLLM, rank {rank['rank']}" + (f", data parallel {rank['parallel']}" if rank["parallel"] != "0" else "")
        )
        below = file[rank.end() :].split("/")
        if _AHEAD.search(file) and below == ["model"]:
            said.append("the model, compiled ahead of time")
        elif len(below) > 1:
            said.append(below[0])
    graph = _GRAPH.search(file)
    if graph is not None:
        sizes = f"sizes {graph['first']} to {graph['last']}" if graph["first"] else f"size {graph['shape']}"
        said.append(f"{sizes}, subgraph {graph['graph']}")
    cache = next((_CACHES[part] for part in file.split("/") if part in _CACHES), "")
    return ", ".join([*said, cache] if cache else said)


def other_texts(folder: Path, out: Path) -> dict[str, str]:
    """The files of vLLM's cache that are texts, by their path below the folder."""
    found = (path for path in sorted(folder.rglob("*")) if path.name in _TEXTS and path.is_file())
    own = out.resolve()
    return {
        path.relative_to(folder).as_posix(): _TEXTS[path.name]
        for path in found
        if not path.is_symlink() and own not in path.resolve().parents
    }
