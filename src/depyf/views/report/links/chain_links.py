"""The panes of one compilation, from the program's source to the kernels, and which of their lines belong together.

Input: a dump and a compile id.  Output: ``StageChain``.  Every operation of the captured graph has a number; two lines
are relatives if they share one.  ``direct`` are the numbers of what a line is or computes itself, ``around`` those that
it leads to in another way: the call of a graph, the line of a caller, the rest of a kernel that computes several lines.
"""

from __future__ import annotations

import weakref
from dataclasses import dataclass, field

from depyf.run.compile_stages import BACKWARD, CAPTURED, COMPILED_AUTOGRAD, FORWARD, JOINT, POST_GRAD, WRAPPER
from depyf.run.files.file_record import FileRecord
from depyf.run.files.layout import ORIGINAL
from depyf.run.global_names import graph_name
from depyf.run.graphs.node_origins import GraphNodes, NodesPage
from depyf.run.installed_files import of_library
from depyf.run.records import CompileKey
from depyf.views.pages.kernels import CALLS_IN_CPP
from depyf.views.report.dump_view import DumpView
from depyf.views.report.links.graph_lines import graph_lines
from depyf.views.report.links.kernel_calls import CallOrigins, call_origins, written_by
from depyf.views.report.links.kernel_lines import kernel_links
from depyf.views.report.links.kernel_text import KernelText, kernel_text
from depyf.views.report.links.operations import Numbers, Operations, PlaceKey, StageGraph, operations
from depyf.views.report.links.program_lines import bytecode_lines, short_name, transformed_lines
from depyf.views.report.links.wrapper_text import WrapperText, wrapper_text

Lines = dict[int, Numbers]
_GRAPHS = {
    COMPILED_AUTOGRAD: "autograd",
    CAPTURED: "captured",
    JOINT: "joint",
    FORWARD: "forward",
    BACKWARD: "backward",
    POST_GRAD: "post-grad",
}
_NONE: Numbers = frozenset()


@dataclass
class LinkedPane:
    """One text: its file, the lines that are shown of it (all if ``shown`` is empty), and the numbers of each line."""

    kind: str
    id: str
    """Its part of an address: the stage as in the name of the file, the name of a kernel or of a file of the
    program."""
    title: str
    file: str
    direct: Lines = field(default_factory=dict)
    around: Lines = field(default_factory=dict)
    names: dict[int, str] = field(default_factory=dict)
    """What a line defines or calls: the node of a graph, a kernel."""
    shown: list[tuple[int, int]] = field(default_factory=list)
    inferred: bool = False
    """No record says which operations its calls compute: a compile cache answered, and the values were followed."""

    def add(self, line: int, numbers: Numbers, direct: bool = True) -> None:
        """Add ``numbers`` to those of ``line``."""
        lines = self.direct if direct else self.around
        if numbers:
            lines[line] = lines.get(line, _NONE) | numbers


@dataclass(frozen=True, slots=True)
class StageChain:
    """The texts of one compilation, stage by stage, with the operations that link their lines."""

    key: CompileKey
    panes: list[LinkedPane]
    operations: Operations


def source_paths(view: DumpView) -> dict[str, str]:
    """Path of a file of the program -> the file of the dump that has its text."""
    return {file.path: file.name for file in view.files if file.kind == "source"}


_CHAINS: weakref.WeakKeyDictionary[DumpView, list[StageChain]] = weakref.WeakKeyDictionary()


def chains_of(view: DumpView) -> list[StageChain]:
    """The chain of each compilation that has one, in the order of the compile ids; found once for each dump."""
    if view not in _CHAINS:
        keys = sorted({file.key for file in view.files if file.key is not None}, key=lambda key: key.order)
        part_of = {CompileKey(key.generation, key.text.partition("/")[0]) for key in keys if "/" in key.text}
        _CHAINS[view] = [found for key in keys if key not in part_of and (found := chain(view, key)).panes]
    return _CHAINS[view]


def chain(view: DumpView, key: CompileKey) -> StageChain:
    """The chain of one compilation; without panes where the dump has nothing of it."""
    graphs = [
        StageGraph(file.name, file.stage, file.index, file.origins, graph_lines(text))
        for file in view.of(key, kind="graph")
        if (text := view.text(file.name)) is not None
    ]
    recorded = NodesPage()
    for file in view.of(key, kind="node_origins"):
        recorded = view.record(NodesPage, file.name) or recorded
    found = operations(graphs, recorded)
    graphs += _compiled_autograd(view, key, graphs, found)
    panes = [*_sources(view, found), *_functions(view, key, found)]
    panes += [_graph(view, graph, found) for graph in graphs if graph.stage in _GRAPHS]
    for file in view.of(key, stage=WRAPPER, kind="wrapper"):
        panes += _wrapper(view, key, file, graphs, found, recorded)
    order = ("source", "bytecode", "transformed", *_GRAPHS.values(), "wrapper", "kernel")
    return StageChain(key, sorted(panes, key=lambda pane: order.index(pane.kind)), found)


def _sources(view: DumpView, found: Operations) -> list[LinkedPane]:
    """The program's files with lines of this compilation.  The innermost line of an operation is its own, and so is the
    innermost line of the program itself where that is in a library; the others called it."""
    panes: dict[str, LinkedPane] = {}
    paths = source_paths(view)
    for number, stack in enumerate(found.stacks):
        own = {stack[-1]} if stack else set()
        own |= set([place for place in stack if not of_library(place[0])][-1:])
        for place in stack:
            path, line = place
            if path in paths:
                pane = panes.setdefault(path, LinkedPane("source", short_name(path), short_name(path), paths[path]))
                pane.add(line, frozenset((number,)), direct=place in own)
    return sorted(panes.values(), key=lambda pane: (not pane.direct, -len(pane.direct)))


def _compiled_autograd(
    view: DumpView, key: CompileKey, graphs: list[StageGraph], found: Operations
) -> list[StageGraph]:
    """The backward that compiled autograd traced, ``!0``, for what Dynamo compiled of it, ``!0/1/0``: the names are the
    same."""
    outer = CompileKey(key.generation, key.text.partition("/")[0])
    captured = next((found.of.get(graph.file, {}) for graph in graphs if graph.stage == CAPTURED), None)
    added: list[StageGraph] = []
    for file in view.of(outer, stage=COMPILED_AUTOGRAD) if outer != key and captured else ():
        text = view.text(file.name)
        if text is not None:
            graph = StageGraph(file.name, file.stage, file.index, (), graph_lines(text))
            found.of[file.name] = {node.name: (captured or {}).get(node.name, _NONE) for node in graph.lines.nodes}
            added.append(graph)
    return added


def _at(found: Operations) -> dict[PlaceKey, Numbers]:
    at: dict[PlaceKey, set[int]] = {}
    for number, stack in enumerate(found.stacks):
        for place in stack:
            at.setdefault(place, set()).add(number)
    return {place: frozenset(numbers) for place, numbers in at.items()}


def _functions(view: DumpView, key: CompileKey, found: Operations) -> list[LinkedPane]:
    """What Dynamo was given, and what it made of it."""
    panes: list[LinkedPane] = []
    at = _at(found)
    everything = frozenset(range(len(found.names)))
    start = f"{ORIGINAL}{CompileKey(*key.function).slug}_for_"
    for file in [one for one in view.files if one.kind == "original_code" and one.name.startswith(start)]:
        text = view.text(file.name)
        if text is not None:
            pane = LinkedPane("bytecode", "original_code", "Bytecode", file.name)
            for number, line in bytecode_lines(text, file.first_line).items() if file.first_line else ():
                pane.add(number, at.get((file.path, line), _NONE))
            panes.append(pane)
    for file in view.of(key, kind="transformed_code"):
        text = view.text(file.name)
        if text is not None:
            pane = LinkedPane("transformed", "transformed_code", "Transformed code", file.name)
            for number, place in transformed_lines(text, file).items():
                pane.add(number, at.get(place, _NONE))
            for number, words in enumerate(text.split("\n"), 1):
                if graph_name(key) + "(" in words and not words.lstrip().startswith("#"):
                    pane.add(number, everything, direct=False)
                    pane.names[number] = graph_name(key)
            panes.append(pane)
    return panes


def _graph(view: DumpView, graph: StageGraph, found: Operations) -> LinkedPane:
    lines, own = graph.lines, found.of.get(graph.file, {})
    kind = _GRAPHS[graph.stage]
    title = {
        "autograd": "Compiled autograd",
        "captured": "Captured graph",
        "joint": "Joint",
        "forward": "Forward",
        "backward": "Backward",
    }.get(kind)
    suffix = f".{graph.index}" if graph.index else ""
    pane = LinkedPane(kind, graph.stage + suffix, title or f"Post-grad{_side(view, graph.file)}", graph.file)
    above: dict[int, set[int]] = {}
    comments = sorted(lines.comments)
    at = -1
    for node in lines.nodes:
        while at + 1 < len(comments) and comments[at + 1] < node.line:
            at += 1
        numbers = own.get(node.name, _NONE)
        pane.add(node.line, numbers)
        pane.names[node.line] = node.name
        if at >= 0 and node.place is lines.comments[comments[at]]:
            above.setdefault(comments[at], set()).update(numbers)
    for number, both in above.items():
        pane.add(number, frozenset(both))
    for number, names in lines.results:
        pane.add(number, frozenset().union(*(own.get(name, _NONE) for name in names)), direct=False)
    pane.shown = [(1, lines.last)] if lines.last else []
    return pane


def _side(view: DumpView, file: str) -> str:
    """ " (backward)" for what was made from a backward graph, " (forward)" for its counterpart, "" where there is
    none."""
    todo, seen = [file], set()
    stages = set()
    while todo:
        name = todo.pop()
        item = view.by_name.get(name)
        if item is None or name in seen:
            continue
        seen.add(name)
        stages.add(item.stage)
        todo += [] if item.stage in (FORWARD, BACKWARD) else item.origins
    if BACKWARD in stages:
        return " (backward)"
    shown = view.by_name.get(file)
    both = shown is not None and shown.key is not None and view.of(shown.key, stage=BACKWARD)
    return " (forward)" if FORWARD in stages and both else ""


def _wrapper(
    view: DumpView,
    key: CompileKey,
    file: FileRecord,
    graphs: list[StageGraph],
    found: Operations,
    recorded: NodesPage,
) -> list[LinkedPane]:
    """The wrapper, and each kernel that it calls."""
    stem = file.name.removesuffix(".py") + "."
    sources = [one for one in view.of(key, kind="kernel_source") if one.name.startswith(stem)]
    texts = {one.name: text for one in sources if (text := view.text(one.name)) is not None}
    calls_in_cpp = next((name for name in texts if name.endswith(CALLS_IN_CPP)), None)
    files = {one.kernel or _last_part(one.name): one.name for one in sources if one.name in texts}
    files = {kernel: name for kernel, name in files.items() if name != calls_in_cpp}
    kernels = {name: kernel_text(texts[one]) for name, one in files.items()}
    shown = calls_in_cpp or file.name
    text = view.text(shown)
    if text is None:
        return []
    wrapper = wrapper_text(text, frozenset(kernels))
    graph = _made_from(file, graphs)
    side = _side(view, file.name)
    pane = LinkedPane("wrapper", f"{WRAPPER}_{file.index}", f"Wrapper{side}", shown, shown=wrapper.spans)
    if graph is None:
        return [pane]
    noted = recorded.graphs.get(file.name, GraphNodes())
    origins = call_origins(wrapper, kernels, graph.lines, noted.kernels)
    own = found.of.get(graph.file, {})
    first = {name: frozenset((number,)) for number, name in reversed(list(enumerate(found.names)))}
    numbers = [_numbers(one, own, first) for one in origins]
    _link_wrapper(pane, wrapper, kernels, numbers)
    pane.inferred = any(one.inferred for one in origins)
    panes = [pane]
    first_call = {call.kernel: call.line for call in reversed(wrapper.calls)}
    for name, one in sorted(files.items(), key=lambda item: first_call.get(item[0], len(text))):
        calls = [number for number, call in enumerate(wrapper.calls) if call.kernel == name]
        linked = LinkedPane("kernel", f"{WRAPPER}_{file.index}.{name}", name, one)
        linked.names[kernels[name].first] = name
        wanted = [
            ([node for node in graph.lines.nodes if node.name in origins[call].nodes], numbers[call]) for call in calls
        ]
        links = kernel_links(texts[one], kernels[name], wanted, own)
        for line, direct in links.direct.items():
            linked.add(line, direct)
        for line, around in links.around.items():
            linked.add(line, around, direct=False)
        panes.append(linked)
    return panes


def _made_from(file: FileRecord, graphs: list[StageGraph]) -> StageGraph | None:
    by_name = {graph.file: graph for graph in graphs}
    for name in file.origins:
        if name in by_name:
            return by_name[name]
    return next((graph for graph in graphs if graph.stage == POST_GRAD and graph.index == file.index), None)


def _numbers(origins: CallOrigins, own: dict[str, Numbers], first: dict[str, Numbers]) -> Numbers:
    numbers = _NONE.union(*(own.get(name, _NONE) for name in origins.nodes))
    return numbers | _NONE.union(*(first.get(name, _NONE) for name in origins.captured))


def _link_wrapper(
    pane: LinkedPane, wrapper: WrapperText, kernels: dict[str, KernelText], numbers: list[Numbers]
) -> None:
    writer: dict[str, Numbers] = {}
    for call, own in zip(wrapper.calls, numbers):
        pane.add(call.line, own)
        pane.names[call.line] = call.kernel or call.callee
        for line in call.comments:
            pane.add(line, own)
        for name in written_by(call, kernels):
            writer[name] = writer.get(name, _NONE) | own
    for line, names in wrapper.others:
        pane.add(line, _NONE.union(*(writer.get(name, _NONE) for name in names)), direct=False)


def _last_part(file: str) -> str:
    """The name of a kernel in that of its file: of a dump whose manifest does not say it."""
    return file.rpartition(".")[0].rpartition(".")[2]
