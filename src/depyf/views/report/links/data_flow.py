"""What each call of a kernel computes, found by following values through the generated code and through the graph.

For a wrapper of which nothing is recorded: torch took it from a compile cache.  What the wrapper returns is what the
graph returns; a call of a library computes the operation of its name, and reads what that reads; a generated kernel
computes the operations between its inputs and its outputs.

Input: a wrapper and its graph.  Output: names of operations for each call, () where nothing is certain.  Linear, but
for the calls of libraries, which are compared with the operations of the same name, and for values between two
generated kernels: of the operations of their size the one is taken with which both kernels need nothing that they do
not read.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from depyf.views.report.links.graph_lines import GraphLines, GraphNode
from depyf.views.report.links.wrapper_text import KernelCall, WrapperText

VIEWS = frozenset((
    "permute", "view", "reshape", "expand", "unsqueeze", "squeeze", "t", "transpose", "alias", "slice", "select",
    "as_strided", "_unsafe_view", "detach", "unbind", "split", "split_with_sizes",
))  # fmt: skip
"""Operations that give the same memory another shape."""
ALLOCATIONS = frozenset(("empty", "empty_like", "empty_strided", "new_empty", "new_empty_strided"))
LAUNCH = "higher_order.triton_kernel_wrapper_"
"""Begins the name of an operation that launches a Triton kernel of the program."""
_LOWERED = {
    "scatter_reduce": ("scatter_add", "scatter"),
    "index_put": ("_unsafe_index_put",),
    "randint": ("inductor_seeds",),
}
"""What Inductor calls for an operation of another name."""
_ROUNDS = 4
_CANDIDATES = 24
_LONGEST = 400
"""Operations of one kernel: what needs more is none that a kernel computes."""


def is_view(node: GraphNode) -> bool:
    """Whether an operation computes nothing: a view, or one of several results by its number."""
    return not node.target or node.target.rpartition(".")[2] in VIEWS


def is_allocation(node: GraphNode) -> bool:
    """Whether an operation only takes memory, whose values another one writes."""
    return node.target.rpartition(".")[2] in ALLOCATIONS


@dataclass(frozen=True, slots=True)
class _HeldValue:
    """What a variable of the wrapper holds: an input by its name, or what call number ``call`` wrote into ``name``."""

    call: int
    name: str


def computed_by_calls(
    wrapper: WrapperText, read: list[tuple[str, ...]], written: list[tuple[str, ...]], graph: GraphLines
) -> list[tuple[str, ...]]:
    """For each call of ``wrapper`` the operations that it computes; ``read`` and ``written`` are the buffers that each
    call reads and writes."""
    return _ValueFlow(wrapper, read, written, graph).computed()


class _ValueFlow:
    def __init__(
        self, wrapper: WrapperText, read: list[tuple[str, ...]], written: list[tuple[str, ...]], graph: GraphLines
    ) -> None:
        self.wrapper, self.read, self.written = wrapper, read, written
        self.nodes = {node.name: node for node in graph.nodes}
        self.graph = graph
        self.reads: list[list[_HeldValue]] = []
        self.values: list[list[_HeldValue]] = []
        self.node_of: dict[_HeldValue, str] = {_HeldValue(-1, name): name for name in wrapper.inputs}
        self.call_of: dict[str, int] = {}
        """Operation -> the call of a library that computes it."""
        self._follow()

    def _follow(self) -> None:
        holds = {name: _HeldValue(-1, name) for name in self.wrapper.inputs}
        renamed = list(self.wrapper.renamed)
        for number, call in enumerate(self.wrapper.calls):
            while renamed and renamed[0][0] < call.line:
                _, new, old = renamed.pop(0)
                if old in holds:
                    holds[new] = holds[old]
            self.reads.append([holds[name] for name in self.read[number] if name in holds])
            self.values.append([])
            for name in self.written[number]:
                holds[name] = _HeldValue(number, name)
                self.values[number].append(holds[name])
                whole = self.wrapper.parts.get(name)
                if whole is not None:
                    holds[whole] = _HeldValue(number, whole)
                    if holds[whole] not in self.values[number]:
                        self.values[number].append(holds[whole])
        for _, new, old in renamed:
            if old in holds:
                holds[new] = holds[old]
        self.final = holds

    def base(self, name: str) -> str:
        """The operation that made the memory of ``name``; of one of several results that which made all."""
        seen = 0
        while name in self.nodes and seen < 64:
            node = self.nodes[name]
            if not is_view(node) or not node.reads:
                break
            name, seen = node.reads[0], seen + 1
        return name

    def computed(self) -> list[tuple[str, ...]]:
        if self.graph.results:
            given = list(self.wrapper.returned)
            results = [name for _, names in self.graph.results for name in names]
            if len(given) == len(results):
                for variable, name in zip(given, results):
                    if variable in self.final:
                        self._learn(self.final[variable], name)
        self._changed_inputs()
        for _ in range(_ROUNDS):
            before = len(self.node_of), len(self.call_of)
            self._libraries()
            if before == (len(self.node_of), len(self.call_of)):
                break
        self._between()
        found: dict[int, tuple[str, ...]] = {}
        taken: set[str] = set()
        for certain in (True, False):  # what reads a value that is not known may seem to compute what made it, too
            for number in range(len(self.wrapper.calls)):
                if number not in found and (not certain or all(value in self.node_of for value in self.reads[number])):
                    found[number] = self._of_call(number, set() if certain else taken)
            taken.update(*found.values())
        return [found[number] for number in range(len(self.wrapper.calls))]

    def _changed_inputs(self) -> None:
        """What is written into an input is what the graph copies into it: ``copy_(input, value)``."""
        copies = {node.reads[0]: node.name for node in self.graph.nodes if node.target == "aten.copy_" and node.reads}
        for values in self.values:
            for value in values:
                if value.name in copies:
                    self._learn(value, copies[value.name])

    def _learn(self, value: _HeldValue, name: str) -> None:
        name = self.base(name)
        if name in self.nodes or value.call < 0:
            self.node_of.setdefault(value, name)

    def _libraries(self) -> None:
        """Calls of libraries: the operation of the same name that reads the same."""
        for number, call in enumerate(self.wrapper.calls):
            if call.kernel or number in self.call_of.values():
                continue
            node = self._library(number, call)
            if node is None:
                continue
            self.call_of[node.name] = number
            for value in self.values[number][:1]:
                self._learn(value, node.name)
            reads = list(dict.fromkeys(self.reads[number]))
            if len(reads) == len(node.reads):
                for value, name in zip(reads, node.reads):
                    self._learn(value, name)

    def _library(self, number: int, call: KernelCall) -> GraphNode | None:
        word = call.callee.removesuffix(".default").rpartition(".")[2]
        parts = call.callee.split(".")
        words = {word, *parts, word.removeprefix("aoti_torch_cpu_").removesuffix("_out")}
        words |= {one.removesuffix("_") for one in words}
        words |= {one for name in words for one in _LOWERED.get(name, ())}
        same = [
            node
            for node in self.graph.nodes
            if node.name not in self.call_of and node.target.rpartition(".")[2] in words
        ]
        known = {self.node_of[value] for value in self.values[number] if value in self.node_of}
        named = [node for node in same if node.name in known] or [node for node in same if node.name in call.sources]
        if named or len(same) == 1:
            return (named or same)[0]
        reads = {self.node_of[value] for value in self.reads[number] if value in self.node_of}
        best: GraphNode | None = None
        most = 0
        for node in same:
            common = len(reads & {self.base(name) for name in node.reads})
            if common > most:
                best, most = node, common
        return best if most == len(reads) else None

    def _between(self) -> None:
        """Find values between two generated kernels: an operation of the same size that the writer can compute from its
        inputs. The reader must be able to compute its outputs from it."""
        sizes: dict[str, list[str]] = {}
        for node in self.graph.nodes:
            sizes.setdefault(_size(_shape(node.type)), []).append(node.name)
        readers: dict[_HeldValue, list[int]] = {}
        for number, reads in enumerate(self.reads):
            for value in reads:
                readers.setdefault(value, []).append(number)
        for number in reversed(range(len(self.wrapper.calls))):
            for value in self.values[number]:
                if value in self.node_of or value not in readers or not self.wrapper.calls[number].kernel:
                    continue
                wanted = _size(_shape_of_buffer(self.wrapper.allocated.get(value.name, "")))
                needed: set[str] = set()
                for reader in readers[value]:
                    needed.update(self._cone(self._written(reader), self._read(reader))[0])
                known = set(self.node_of.values())
                fitting = dict.fromkeys(
                    self.base(name) for name in sizes.get(wanted, ()) if name in needed and self.base(name) not in known
                )
                best = self._best(number, readers[value], list(fitting)[-_CANDIDATES:])
                if best is not None:
                    self.node_of[value] = best

    def _best(self, writer: int, readers: list[int], names: list[str]) -> str | None:
        """The one of ``names`` with which the fewest values are missing; of several a sum before what is made of it."""
        found: list[tuple[int, bool, int]] = []
        for place, name in enumerate(names):
            missing = self._cone([name], self._read(writer))[1]
            for reader in readers:
                missing += self._cone(self._written(reader), self._read(reader) | {name})[1]
            found.append((missing, not self._reduces(name), -place))
        return names[-min(found)[2]] if found else None

    def _read(self, number: int) -> set[str]:
        return {self.node_of[value] for value in self.reads[number] if value in self.node_of}

    def _written(self, number: int) -> list[str]:
        return [self.node_of[value] for value in self.values[number] if value in self.node_of]

    def _reduces(self, name: str) -> bool:
        word = self.nodes[name].target.rpartition(".")[2]
        return word in (
            "sum", "mean", "amax", "amin", "var", "var_mean", "max", "min",
            "prod", "argmax", "any", "all", "logsumexp", "norm",
        )  # fmt: skip

    def _cone(self, starts: list[str], ends: set[str]) -> tuple[list[str], int]:
        """What the operations ``starts`` are computed from, up to the values ``ends``; and how many values it needs
        that are not among these and that no generated kernel computes: inputs, and results of libraries."""
        found: dict[str, None] = {}
        missing: set[str] = set()
        todo = list(starts)
        while todo and len(found) < _LONGEST:
            name = todo.pop()
            if name in found:
                continue
            if name not in self.nodes or name in self.call_of:
                missing.add(name)
                continue
            found[name] = None
            todo += [read for read in self.nodes[name].reads if read not in ends and self.base(read) not in ends]
        return list(found), len(missing) + len(todo)

    def _of_call(self, number: int, taken: set[str]) -> tuple[str, ...]:
        call = self.wrapper.calls[number]
        if not call.kernel:
            return tuple(name for name, other in self.call_of.items() if other == number)
        starts = [name for name in self._written(number) if name not in self.call_of]
        found, missing = self._cone(starts, self._read(number))
        if missing:  # one of the values that it reads is not known: what is in memory elsewhere may be it
            known = {name for value, name in self.node_of.items() if value.call != number}
            found, _ = self._cone(starts, known | set(self.call_of) | taken)
        return tuple(sorted(found))


def _shape(text: str) -> str:
    """``f32[4, 8][8, 1]cpu`` -> ``4, 8``."""
    return text.partition("[")[2].partition("]")[0]


def _shape_of_buffer(text: str) -> str:
    """``(4, 8), (8, 1), torch.float32`` -> ``4, 8``."""
    return text.partition("(")[2].partition(")")[0].strip().rstrip(",").strip()


def _size(shape: str) -> str:
    """The number of elements where all sizes are numbers: a kernel may write under another shape."""
    sizes = shape.split(", ")
    return str(math.prod(map(int, sizes))) if all(size.isdigit() for size in sizes) else shape
