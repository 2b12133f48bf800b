"""Which operations of the captured graph each operation of a later graph belongs to.

Input: the graphs of one compilation, and what ``nodes.json`` of the dump says of them.  Output: ``Operations``: each
operation has a number, that of the captured graph first; ``of[file][name]`` are the numbers that a line of a graph
shares with the lines it comes from.  What no record says (a compile cache answered, or an older dump) is found by
names, by the lines of the program, and by what an operation reads.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable
from dataclasses import dataclass, field

from depyf.run.compile_stages import BACKWARD, CAPTURED, FORWARD, JOINT, ORDER
from depyf.run.graphs.node_origins import GraphNodes, NodesPage
from depyf.views.report.links.graph_lines import GraphLines, GraphNode, SourcePlace

Numbers = frozenset[int]
PlaceKey = tuple[str, int]
_NONE: Numbers = frozenset()
_NOTHING = GraphNodes()
# the forward graph is read before the joint one: its operations are all forward
_FIRST = (CAPTURED, "BEFORE_PRE_GRAD", "AFTER_PRE_GRAD", FORWARD, JOINT, BACKWARD)
_EARLY = (CAPTURED, "BEFORE_PRE_GRAD", "AFTER_PRE_GRAD")


@dataclass(frozen=True, slots=True)
class StageGraph:
    """One printed graph: its file, its stage, the files that it follows, and its lines."""

    file: str
    stage: str
    index: int
    follows: tuple[str, ...]
    lines: GraphLines


@dataclass
class Operations:
    """Numbered operations: their names and their stacks of places, the outermost first."""

    names: list[str] = field(default_factory=list)
    stacks: list[tuple[PlaceKey, ...]] = field(default_factory=list)
    of: dict[str, dict[str, Numbers]] = field(default_factory=dict)

    def add(self, name: str, stack: tuple[PlaceKey, ...]) -> int:
        self.names.append(name)
        self.stacks.append(stack)
        return len(self.names) - 1


def operations(graphs: list[StageGraph], recorded: NodesPage) -> Operations:
    """Number the operations of the captured graph; a later operation has the numbers of those it comes from.
    ``recorded``: the origins that the dump has, which may be incomplete."""
    order = sorted(graphs, key=lambda graph: (_rank(graph.stage), graph.index))
    return _OperationFinder(order, recorded).found if order else Operations()


def _rank(stage: str) -> int:
    if stage in _FIRST:
        return _FIRST.index(stage)
    return len(_FIRST) + (ORDER.index(stage) if stage in ORDER else len(ORDER))


class _OperationFinder:
    def __init__(self, graphs: list[StageGraph], recorded: NodesPage) -> None:
        self.found = Operations()
        self.first = graphs[0]
        self.notes = recorded
        self.recorded: dict[str, tuple[str, ...]] = {}
        for noted in recorded.graphs.values():
            for name, made in noted.captured.items():
                self.recorded.setdefault(name, made)
        self.by_name: dict[str, Numbers] = {}
        self.done: dict[str, StageGraph] = {}
        self._captured()
        self.runs = _runs(self.first.lines.nodes, lambda place: place)
        self.run_of: dict[int, Numbers] = {}
        own = self.found.of[self.first.file]
        for _, nodes in self.runs:
            numbers = frozenset().union(*(own[node.name] for node in nodes))
            self.run_of.update(dict.fromkeys(numbers, numbers))
        self.at: dict[PlaceKey, set[int]] = {}
        for number, stack in enumerate(self.found.stacks):
            for place in stack:
                self.at.setdefault(place, set()).add(number)
        self.own_places = _places(self.first.lines)
        for graph in graphs[1:]:
            self._later(graph)

    def _captured(self) -> None:
        graph, own = self.first, self.found.of.setdefault(self.first.file, {})
        stacks = self._noted(graph.file).stacks
        for node in graph.lines.nodes:
            stack = self.notes.stack(stacks.get(node.name)) or _of_place(node.place)
            own[node.name] = frozenset((self.found.add(node.name, stack),))
        self.by_name.update(own)
        self.done[graph.file] = graph

    def _noted(self, file: str) -> GraphNodes:
        return self.notes.graphs.get(file, _NOTHING)

    def _later(self, graph: StageGraph) -> None:
        own: dict[str, Numbers] = {}
        self.found.of[graph.file] = own
        fresh = self._noted(graph.file).captured
        parents = self._parents(graph)
        moved = _moved(self.own_places, _places(graph.lines))
        if any(node.place is not None for node in graph.lines.nodes):
            aligned = {} if self.recorded else self._aligned(graph, moved)
        else:
            aligned = self._by_target(graph)
        missing: list[GraphNode] = []
        for node in graph.lines.nodes:
            made: tuple[str, ...] | None = fresh.get(node.name) or (
                self.recorded.get(node.name) if self._is_old(node, parents, graph) else None
            )
            numbers = frozenset().union(*(self.by_name.get(one, _NONE) for one in made)) if made else _NONE
            if not numbers:
                numbers = next((parent[node.name] for parent in parents if node.name in parent), _NONE)
            numbers = numbers or aligned.get(node.name, _NONE)
            if numbers:
                own[node.name] = numbers
            else:
                missing.append(node)
        self._by_place(graph, own, missing, moved)
        for name, numbers in own.items():
            if graph.stage.endswith("PRE_GRAD"):
                self.by_name.setdefault(name, numbers)
        self.done[graph.file] = graph

    def _is_old(self, node: GraphNode, parents: list[dict[str, Numbers]], graph: StageGraph) -> bool:
        """Whether the name is that of an operation of an earlier graph: passes give a name again that another graph
        has."""
        return any(node.name in parent for parent in parents) or graph.stage in (FORWARD, JOINT, BACKWARD)

    def _parents(self, graph: StageGraph) -> list[dict[str, Numbers]]:
        """The operations of the graphs that it follows, the nearest first."""
        found: list[str] = []
        todo = list(graph.follows)
        if graph.stage == JOINT:  # it is read after the forward graph
            todo = [file for file, one in self.done.items() if one.stage == FORWARD] + todo
        while todo:
            file = todo.pop(0)
            if file in self.done and file not in found:
                found.append(file)
                todo += self.done[file].follows
        early = graph.stage in _EARLY
        if not found:
            found = list(reversed(self.done))
        found = [
            file for file in found if (self.done[file].stage in _EARLY) == early
        ]  # the names begin again after these
        return [self.found.of[file] for file in found]

    def _aligned(self, graph: StageGraph, moved: dict[PlaceKey, PlaceKey]) -> dict[str, Numbers]:
        """Without a record: stretches of a forward graph and of the captured graph with the same line, in their
        order."""
        if graph.stage not in (FORWARD, JOINT) or self.first.stage != CAPTURED:
            return {}
        if graph.stage == JOINT and any(one.stage == FORWARD for one in self.done.values()):
            return {}
        theirs = _runs(graph.lines.nodes, lambda place: moved.get(place, place) if place is not None else None)
        mine_at, theirs_at = _by_place(self.runs), _by_place(theirs)
        if not set(mine_at) & set(theirs_at) and len(self.runs) == len(theirs):  # the same graph of another program
            theirs = [(mine, nodes) for (mine, _), (_, nodes) in zip(self.runs, theirs)]
            theirs_at = mine_at
        pairs: list[tuple[int, int]] = []
        uneven = False
        for place, stretches in theirs_at.items():
            if len(mine_at.get(place, ())) == len(stretches):
                pairs += zip(mine_at[place], stretches)
            else:
                uneven = True
        if uneven:
            known = {one for _, one in pairs}
            matcher = difflib.SequenceMatcher(None, [p for p, _ in self.runs], [p for p, _ in theirs], autojunk=False)
            for a, b, size in matcher.get_matching_blocks():
                pairs += [(a + n, b + n) for n in range(size) if b + n not in known]
        own = self.found.of[self.first.file]
        found: dict[str, Numbers] = {}
        for mine, other in pairs:
            numbers = frozenset().union(*(own[node.name] for node in self.runs[mine][1]))
            found.update((node.name, numbers) for node in theirs[other][1])
        return found

    def _by_target(self, graph: StageGraph) -> dict[str, Numbers]:
        """Without lines of a program (what compiled autograd traced has none here): the same operators in the same
        order."""
        mine, theirs = self.first.lines.nodes, graph.lines.nodes
        targets = [node.target for node in mine], [node.target for node in theirs]
        own = self.found.of[self.first.file]
        blocks = difflib.SequenceMatcher(None, targets[0], targets[1], autojunk=False).get_matching_blocks()
        return {
            theirs[b + n].name: own[mine[a + n].name]
            for a, b, size in blocks
            for n in range(size)
            if theirs[b + n].target
        }

    def _by_place(
        self, graph: StageGraph, own: dict[str, Numbers], missing: list[GraphNode], moved: dict[PlaceKey, PlaceKey]
    ) -> None:
        """By the line of the program; where that line has run more than once, by what the operation reads."""
        wanted = {node.name for node in missing}
        runs = _runs(graph.lines.nodes, lambda place: moved.get(place, place) if place is not None else None)
        for place, nodes in runs:
            candidates = frozenset(self.at.get(place, ())) if place is not None else _NONE
            inner = frozenset(number for number in candidates if self.found.stacks[number][-1] == place)
            candidates = inner or candidates
            evidence: dict[str, Numbers] = {}
            for node in (one for one in nodes if one.name in wanted):
                near = frozenset().union(*(own.get(name, _NONE) | evidence.get(name, _NONE) for name in node.reads))
                near &= candidates
                if near:
                    evidence[node.name] = (
                        frozenset().union(*(self.run_of.get(one, frozenset((one,))) for one in near)) & candidates
                    )
            whole = frozenset().union(*evidence.values())
            for node in nodes:
                if node.name in wanted:
                    numbers = evidence.get(node.name) or whole or candidates
                    own[node.name] = numbers or frozenset((self.found.add(node.name, _of_place(node.place)),))


def _of_place(place: SourcePlace | None) -> tuple[PlaceKey, ...]:
    return ((place.file, place.line),) if place is not None else ()


def _runs(
    nodes: list[GraphNode], at: Callable[[PlaceKey | None], PlaceKey | None]
) -> list[tuple[PlaceKey | None, list[GraphNode]]]:
    """The stretches of operations with the same line of the program."""
    found: list[tuple[PlaceKey | None, list[GraphNode]]] = []
    for node in nodes:
        place = at((node.place.file, node.place.line) if node.place is not None else None)
        if not found or found[-1][0] != place:
            found.append((place, []))
        found[-1][1].append(node)
    return found


def _by_place(runs: list[tuple[PlaceKey | None, list[GraphNode]]]) -> dict[PlaceKey | None, list[int]]:
    found: dict[PlaceKey | None, list[int]] = {}
    for number, (place, _) in enumerate(runs):
        found.setdefault(place, []).append(number)
    return found


def _places(lines: GraphLines) -> dict[PlaceKey, SourcePlace]:
    return {(place.file, place.line): place for place in lines.comments.values()}


def _moved(mine: dict[PlaceKey, SourcePlace], theirs: dict[PlaceKey, SourcePlace]) -> dict[PlaceKey, PlaceKey]:
    """Lines of the program that filled a cache -> the same lines of this program, which may lie elsewhere in another
    file."""
    found: dict[PlaceKey, PlaceKey] = {}
    for words_of in (lambda place: (place.function, place.code), lambda place: ("", place.code)):
        own: dict[tuple[str, str], list[PlaceKey]] = {}
        other: dict[tuple[str, str], list[PlaceKey]] = {}
        for places, groups in ((mine, own), (theirs, other)):
            for key, place in sorted(places.items()):
                if key not in found:
                    groups.setdefault(words_of(place), []).append(key)
        for words, keys in other.items():
            known = own.get(words, [])
            foreign = [key for key in keys if key not in mine]
            if not foreign or not known:
                continue
            if len(known) == len(keys):
                found.update(zip(keys, known))
            else:
                found.update((key, known[0]) for key in foreign)
    return found
