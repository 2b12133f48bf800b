"""What the graph of one container is made of: items and where its loops are entered, and the edges between containers:
which label each has, and where a ``try`` is entered from outside.
"""

from __future__ import annotations

from dataclasses import dataclass

from depyf.decompiler.cfg.containers import ROOT, Containers
from depyf.decompiler.cfg.program import NONE
from depyf.decompiler.ir.markers import ForTest
from depyf.decompiler.lift.lifted_block import Lifted
from depyf.decompiler.structure.label_kinds import LabelKind, make_label
from depyf.errors import DecompilationError


@dataclass(slots=True)
class Item:
    """A node of one container's graph: a block, a whole ``try``, or a dispatch; ``succs`` are labels."""

    succs: list[int]
    lines: tuple[int, int] | None = None
    first_line: int | None = None
    start: int = 0
    last: int = 0
    compound: bool = False
    loop: bool = False


@dataclass(slots=True)
class LoopItems:
    body: set[int]
    header: int


def predecessors(items: dict[int, Item]) -> dict[int, set[int]]:
    preds: dict[int, set[int]] = {}
    for key, item in items.items():
        for label in item.succs:
            preds.setdefault(label, set()).add(key)
    return preds


def loop_heads(scc: list[int], preds: dict[int, set[int]], entry: int) -> list[int]:
    """Where a loop is entered from outside."""
    inside = set(scc)
    return sorted(key for key in scc if key == entry or not preds.get(key, set()) <= inside)


def first_line(block: Lifted) -> int | None:
    """Line of the first statement: what comes before may be the end of the statement that led here."""
    if block.stmts and block.stmts[0].line is not None:
        return block.stmts[0].line
    return block.line


def is_for(blocks: dict[int, Lifted], key: int) -> bool:
    """Whether ``key`` is the head of a ``for`` loop."""
    block = blocks.get(key)
    return block is not None and isinstance(block.cond, ForTest)


class Edges:
    """Blocks and ``try`` containers of each container (``members``, ``tries``); blocks at which it is entered
    (``entries``)."""

    def __init__(self, blocks: dict[int, Lifted], containers: Containers, entry: int, name: str) -> None:
        self.blocks = blocks
        self.containers = containers
        self.entry = entry
        self.name = name
        self.members: dict[int, list[int]] = {}
        self.tries: dict[int, list[int]] = {}
        for block in blocks.values():
            self.members.setdefault(block.container, []).append(block.id)
        used = set(self.members)
        for container in list(used):
            while container != ROOT:
                used.add(container)
                container = containers.tree[container].parent
        for found in containers.tree:
            if found.kind == "try" and found.id in used:
                self.tries.setdefault(found.parent, []).append(found.id)
        self._position = {name: i for i, name in enumerate(blocks)}
        self._inner: dict[int, list[int]] = {}
        self._handlers: dict[tuple[int, int], int] = {}
        self._resumes: dict[int, list[int]] = {}
        self._index_containers()
        self.entries: dict[int, set[int]] = {}
        self._heads: dict[int, list[int]] = {}
        self._find_entries()

    def label(self, source: int, target: int) -> int:
        """Label of an edge from container ``source`` to block ``target``: the outermost ``try`` it enters, or
        ``target``."""
        outer = self.containers.outermost_without(self.blocks[target].container, source)
        if outer == NONE:
            return target
        if self.containers.tree[outer].kind != "try":
            raise DecompilationError("jump into the body of an exception handler", self.name)
        return make_label(LabelKind.TRY, outer)

    def entry_labels(self, container: int) -> list[int]:
        """Labels at which a ``try`` is entered from outside; with several, its body begins with a dispatch."""
        known = self._heads.get(container)
        if known is None:
            known = sorted({self.label(container, entry) for entry in self.entries[container]})
            self._heads[container] = known
        return known

    def _find_entries(self) -> None:
        tree = self.containers.tree
        protecting: dict[int, list[int]] = {}
        for one in tree:
            if one.kind == "try":
                protecting.setdefault(one.region, []).append(one.parent)

        def enter(source: int, target: int) -> None:
            container = self.blocks[target].container
            while container != ROOT and not self.containers.encloses(container, source):
                self.entries.setdefault(container, set()).add(target)
                container = tree[container].parent

        enter(ROOT, self.entry)
        for block in self.blocks.values():
            for after in block.succs:
                enter(block.container, after)
        for region, target in self.containers.handler_entries.items():
            if target == NONE or target not in self.blocks:
                continue
            for parent in protecting.get(region, ()):
                enter(parent, target)

    def body_exits(self, container: int) -> set[int]:
        """Labels that the body of a ``try``, its handlers aside, leaves to."""
        encloses = self.containers.encloses
        return {
            self.label(source, after)
            for source, after in self.leaving(container)
            if not encloses(container, self.blocks[after].container)
        }

    def _index_containers(self) -> None:
        for container in self.containers.tree:
            self._inner.setdefault(container.parent, []).append(container.id)
            if container.kind == "handler":
                self._handlers[container.parent, container.region] = container.id
            elif container.kind == "try":
                record = self.containers.regions.table[container.region]
                if record.kind == "with" and record.resume in self.blocks:
                    self._resumes.setdefault(container.parent, []).append(record.resume)

    def subtree(self, container: int) -> list[int]:
        """A container and all containers inside it, in order."""
        found: list[int] = []
        work = [container]
        while work:
            current = work.pop()
            found.append(current)
            work.extend(self._inner.get(current, ()))
        return sorted(found)

    def leaving(self, container: int) -> list[tuple[int, int]]:
        """Edges that start in a container or inside it, as (container, target block).

        A suppressed exception leaves its ``with`` from the container around.
        """
        names: list[int] = []
        resumes: list[tuple[int, int]] = []
        for inner in self.subtree(container):
            names.extend(self.members.get(inner, ()))
            resumes.extend((inner, resume) for resume in self._resumes.get(inner, ()))
        names.sort(key=self._position.__getitem__)
        return [(self.blocks[n].container, after) for n in names for after in self.blocks[n].succs] + resumes

    def handler_container(self, container: int) -> int:
        return self._handlers.get(
            (self.containers.tree[container].parent, self.containers.tree[container].region), NONE
        )
