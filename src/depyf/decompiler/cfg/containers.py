"""The container of each instruction: the function itself, the body of a ``try``, or the body of a handler.

Input: a ``Program`` and its ``Regions``.  Output: a tree of containers and, for every reachable instruction, the
container it belongs to.  Containers nest exactly as the ``try`` statements of the source will, so that each of them
can be structured on its own.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from depyf.decompiler.bytecode import ops
from depyf.decompiler.cfg.program import NONE, Program
from depyf.decompiler.cfg.region_table import Regions
from depyf.safety.depth import spend

ROOT = 0


@dataclass(slots=True)
class Container:
    """``kind`` is "root", "try" or "handler"; ``region`` the handler's index."""

    id: int
    kind: str
    region: int
    parent: int
    depth: int


class Containers:
    """The container tree, and ``of[i]`` for every reachable instruction ``i`` (absent if unreachable)."""

    def __init__(self, program: Program, regions: Regions) -> None:
        self.regions = regions
        self.tree: list[Container] = [Container(ROOT, "root", NONE, NONE, 0)]
        self._index: dict[tuple[int, str, int], int] = {}
        self.of: dict[int, int] = {}
        self.handler_entries: dict[int, int] = {}
        """Region index -> first instruction of its handler (or of what follows, for "with")."""
        self._assign(program)

    def child(self, parent: int, kind: str, region: int) -> int:
        key = (parent, kind, region)
        found = self._index.get(key)
        if found is None:
            found = self._index[key] = len(self.tree)
            self.tree.append(Container(found, kind, region, parent, self.tree[parent].depth + 1))
        return found

    def encloses(self, outer: int, inner: int) -> bool:
        """Whether ``outer`` is ``inner`` or one of the containers around it."""
        while self.tree[inner].depth > self.tree[outer].depth:
            inner = self.tree[inner].parent
        return inner == outer

    def around(self, inner: Iterable[int]) -> int:
        """The innermost container that encloses all of ``inner``."""
        first, *others = inner
        while not all(self.encloses(first, other) for other in others):
            first = self.tree[first].parent
        return first

    def outermost_without(self, target: int, source: int) -> int:
        """The outermost container around ``target`` that does not enclose ``source``; -1 if there is none."""
        return NONE if target == source else next(reversed(self.entered(target, source)), NONE)

    def entered(self, target: int, source: int) -> list[int]:
        """The containers around ``target``, itself included, that do not enclose ``source``; the innermost first."""
        found = []
        tree = self.tree
        while target != source:
            if tree[source].depth > tree[target].depth:
                source = tree[source].parent
            else:
                found.append(target)
                target = tree[target].parent
        spend(len(found))
        return found

    def _assign(self, program: Program) -> None:
        regions = self.regions
        paths: dict[tuple[int, tuple[int, ...]], int] = {}
        work: list[tuple[int, tuple[int, ...]]] = [(0, ())]
        of = self.of
        if not regions.table:
            self._assign_root(program)
            return
        while work:
            index, bodies = work.pop()
            if index in of or index == NONE:
                continue
            handler = program.handler[index]
            if bodies and program.instrs[index].op in ops.SILENT:
                # it never raises: what protects the handler it is part of will do
                around = regions.table[bodies[-1]].parent
                if around != NONE and around not in regions.chain(handler):
                    handler = around
            key = (handler, bodies)
            container = paths.get(key)
            if container is None:
                container = paths[key] = self._path(handler, bodies)
                for region in regions.chain(handler)[:1]:
                    self._enter_handler(region, bodies, work)
            of[index] = container
            if program.instrs[index].op == ops.POP_EXCEPT and bodies:
                bodies = regions.after_pop(index, bodies)
            for after in program.successors(index):
                work.append((after, bodies))

    def _assign_root(self, program: Program) -> None:
        """The same, in the same order, where there is no handler."""
        of, falls, jumps = self.of, program.next, program.jump
        work = [0]
        while work:
            index = work.pop()
            while index != NONE and index not in of:
                of[index] = ROOT
                after, taken = falls[index], jumps[index]
                if taken == NONE:
                    index = after
                else:
                    work.append(after)
                    index = taken

    def _enter_handler(self, region: int, bodies: tuple[int, ...], work: list[tuple[int, tuple[int, ...]]]) -> None:
        if region in self.handler_entries:
            return
        record = self.regions.table[region]
        kept = tuple(body for body in bodies if region not in self.regions.chain(self.regions.table[body].parent))
        if record.kind == "with":
            self.handler_entries[region] = record.resume
            work.append((record.resume, kept))
        else:
            self.handler_entries[region] = record.target
            work.append((record.target, (*kept, region)))

    def _path(self, handler: int, bodies: tuple[int, ...]) -> int:
        tries = list(reversed(self.regions.chain(handler)))
        container = ROOT
        for body in bodies:
            around = self.regions.chain(self.regions.table[body].parent)
            while tries and tries[0] in around:
                container = self.child(container, "try", tries.pop(0))
            container = self.child(container, "handler", body)
        for region in tries:
            container = self.child(container, "try", region)
        return container
