"""The names of the files in a dump directory, as a function of the records alone, and records of what names say."""

from __future__ import annotations

import re
from collections.abc import Iterable

from depyf.run.compile_stages import WRAPPER
from depyf.run.files import reading
from depyf.run.files.file_record import FileRecord
from depyf.run.global_names import GRAPH, TRANSFORMED, graph_name, transformed_name
from depyf.run.records import CodeRecord, CompileKey, GraphRecord
from depyf.safety.escape import safe_name

MANIFEST = reading.MANIFEST
INDEX = "index.md"
SHAPES = "shapes.md"
MEMORY = "memory.md"
BILL, BILL_DATA = "bill.md", "bill.json"
SHAPES_DATA, MEMORY_DATA, GUARDS_DATA = "shapes.json", "memory.json", "guards.json"
CALL_TREE = "call_tree.md"
REPORT_PAGE = "report.html"
"""What `depyf report` writes into a dump."""
REPORT_MARK = '<meta name="generator" content="depyf">'
"""Stands at the beginning of each such page."""
TIMINGS = "timings.json"
"""The one file that differs from run to run."""
RUN = "run.jsonl"
"""All that is known of the run, as records: written as it happens, and once more, in order, at the end."""
CAUSES, FUNCTIONS, PYTHON, BREAKS = "causes.md", "functions.md", "ordinary_python.md", "graph_breaks.md"
RECOMPILATIONS, GUARDS, STAGES, REST = "recompilations.md", "guards_left_out.md", "stages.md", "notes.md"
REPORTS = (CAUSES, FUNCTIONS, PYTHON, BREAKS, RECOMPILATIONS, GUARDS, STAGES, REST)
"""The pages of sections that are too long for the index."""


ORIGINAL, FULL_CODE, SOURCE_PREFIX = "__original_code_", "full_code_for_", "__source_of_"
OF_CODE = (GRAPH, TRANSFORMED, FULL_CODE)
"""How the names of the files begin whose text runs, or may be edited."""
OWN = (*OF_CODE, ORIGINAL, SOURCE_PREFIX)
"""How all names begin that depyf gives, and nothing else does."""
LISTING = "Bytecode:"
"""The line above the instructions in an ``original_file``."""


def transformed_file(key: CompileKey, code: CodeRecord) -> str:
    return transformed_name(key, code.name) + ".py"


def disassembly_file(key: CompileKey, code: CodeRecord) -> str:
    return transformed_name(key, code.name) + ".bytecode.txt"


def graph_file(graph: GraphRecord) -> str:
    """``__compiled_fn_0_0.Forward_graph.0.py``; a generated wrapper is ``__compiled_fn_0_0.kernel_0.py``."""
    if graph.stage == WRAPPER:
        return f"{graph_name(graph.key)}.{WRAPPER}_{graph.index}.py"
    return f"{graph_name(graph.key)}.{graph.stage}.{graph.index}.py"


def inputs_file(graph: GraphRecord) -> str:
    """``__compiled_fn_0_0.Captured_Graph.0.json``: what the graph's text does not say."""
    return graph_file(graph).removesuffix(".py") + ".json"


def recorded_file(graph: GraphRecord) -> str:
    """``__compiled_fn_0_0.Captured_Graph.0.safetensors``: the first inputs of the graph."""
    return graph_file(graph).removesuffix(".py") + ".safetensors"


def failed_file(graph: GraphRecord) -> str:
    """``__compiled_fn_0_0.Captured_Graph.0.failed.safetensors``: the inputs of the first call that raised."""
    return graph_file(graph).removesuffix(".py") + ".failed.safetensors"


def layers_file(graph: GraphRecord) -> str:
    """``__compiled_fn_0_0.Captured_Graph.0.layers.txt``: the graph, module by module."""
    return graph_file(graph).removesuffix(".py") + ".layers.txt"


def layer_index_file(graph: GraphRecord) -> str:
    """``__compiled_fn_0_0.Captured_Graph.0.layers.json``: module -> lines of the graph's file."""
    return graph_file(graph).removesuffix(".py") + ".layers.json"


def nodes_file(key: CompileKey) -> str:
    """``__compiled_fn_0_0.nodes.json``: where the operations of the graphs of one compilation come from."""
    return f"{graph_name(key)}.nodes.json"


def source_files(paths: Iterable[str]) -> dict[str, str]:
    """A path of the program -> ``__source_of_train_0.py``, numbered among those of the same name."""
    counts: dict[str, int] = {}
    names = {}
    for path in dict.fromkeys(paths):
        base = safe_name(re.split(r"[/\\]", path)[-1].removesuffix(".py"))
        number = counts.get(base.casefold(), 0)
        counts[base.casefold()] = number + 1
        names[path] = f"{SOURCE_PREFIX}{base}_{number}.py"
    return names


def original_file(function: tuple[int, str], code: CodeRecord) -> str:
    """``__original_code_0_for_f.txt``: the number of the frame in its compile ids."""
    return f"{ORIGINAL}{CompileKey(*function).slug}_for_{safe_name(code.name)}.txt"


_LONGEST = 250
"""Bytes in a file name: Linux and macOS take 255, and inductor names a kernel after all that it fuses."""


def kernel_file(wrapper: GraphRecord, name: str, suffix: str) -> str:
    """``__compiled_fn_0_0.kernel_0.cpp_fused_add_0.cpp``; a name that no file system takes ends in a checksum of it."""
    start = f"{graph_name(wrapper.key)}.{WRAPPER}_{wrapper.index}."
    return f"{start}{safe_name(name, _LONGEST - len(start) - len(suffix) - 1)}.{suffix}"


def full_code_files(roots: tuple[CodeRecord, ...]) -> tuple[str, ...]:
    """One file per root function, numbered among those of the same name in the order of their first compilation."""
    counts: dict[str, int] = {}
    names = []
    for code in roots:
        base = safe_name(code.name)
        folded = base.casefold()  # macOS and Windows take F and f for one file
        number = counts.get(folded, 0)
        counts[folded] = number + 1
        names.append(f"{FULL_CODE}{base}_{number}.py")
    return tuple(names)


_GRAPH_FILE = re.compile(
    rf"{GRAPH}(?P<ca>ca)?(?P<id>\d+(?:_\d+)*)(?:r(?P<reset>\d+))?\."
    r"(?:kernel_(?P<number>\d+)|(?P<stage>[A-Za-z_]+?)[._](?P<index>\d+))\.py"
)


_TRANSFORMED_FILE = re.compile(rf"{TRANSFORMED}(?P<ca>ca)?(?P<id>\d+(?:_\d+)+)(?:r(?P<reset>\d+))?_for_.*\.py")


def written_meanwhile(name: str) -> FileRecord | None:
    """The record of a file that is written while the program runs, from its name; None for any other file."""
    match = _TRANSFORMED_FILE.fullmatch(name)
    if match is None:
        return file_by_name(name)
    id = ("!" if match["ca"] else "") + match["id"].replace("_", "/")
    return FileRecord(name, "transformed_code", compile_id=id, generation=int(match["reset"] or 0))


def file_by_name(name: str) -> FileRecord | None:
    """The record of a graph or wrapper, from its file name, where no manifest lists it; None for any other file."""
    match = _GRAPH_FILE.fullmatch(name)
    if match is None:
        return None
    id, generation = ("!" if match["ca"] else "") + match["id"].replace("_", "/"), int(match["reset"] or 0)
    if match["number"] is not None:
        return FileRecord(name, "wrapper", WRAPPER, int(match["number"]), id, generation)
    return FileRecord(name, "graph", match["stage"], int(match["index"]), id, generation)
