"""What each call of a kernel computes, found by following values through the generated code and through the graph.

For a wrapper of which nothing is recorded: torch took it from a compile cache.  What the wrapper returns is what the graph
returns; a call of a library computes the operation of its name, and reads what that reads; a generated kernel computes what
lies between the values that it reads and those that it writes.

Input: a wrapper and its graph.  Output: names of operations for each call, () where nothing is certain.  Linear, but for the
calls of libraries, which are compared with the operations of the same name.
"""

from __future__ import annotations

from dataclasses import dataclass

from depyf.report.links.graph_lines import GraphLines, GraphNode
from depyf.report.links.wrapper_text import KernelCall, WrapperText

VIEWS = frozenset((
    "permute", "view", "reshape", "expand", "unsqueeze", "squeeze", "t", "transpose", "alias", "slice", "select", "as_strided", "_unsafe_view", "detach", "unbind", "split", "split_with_sizes",
))  # fmt: skip
"""Operations that give the same memory another shape."""
_ROUNDS = 4


@dataclass(frozen=True, slots=True)
class _HeldValue:
    """What a variable of the wrapper holds: an input by its name, or what call number ``call`` wrote into ``name``."""

    call: int
    name: str


def computed_by_calls(
    wrapper: WrapperText, read: list[tuple[str, ...]], written: list[tuple[str, ...]], graph: GraphLines
) -> list[tuple[str, ...]]:
    """For each call of ``wrapper`` the operations that it computes; ``read`` and ``written`` are the buffers that each call reads
    and writes."""
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
        for _, new, old in renamed:
            if old in holds:
                holds[new] = holds[old]
        self.final = holds

    def base(self, name: str) -> str:
        """The operation that made the memory of ``name``."""
        seen = 0
        while name in self.nodes and seen < 64:
            node = self.nodes[name]
            if node.target.rpartition(".")[2] not in VIEWS or not node.reads:
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
        same = [
            node
            for node in self.graph.nodes
            if node.name not in self.call_of and node.target.rpartition(".")[2] in words
        ]
        known = {self.node_of[value] for value in self.values[number] if value in self.node_of}
        named = [node for node in same if node.name in known] or [node for node in same if node.name in call.sources]
        if named:
            return named[0]
        reads = {self.node_of[value] for value in self.reads[number] if value in self.node_of}
        best: GraphNode | None = None
        most = 0
        for node in same:
            common = len(reads & {self.base(name) for name in node.reads})
            if common > most:
                best, most = node, common
        return best if most == len(reads) or len(same) == 1 else None

    def _between(self) -> None:
        """Values between two generated kernels: an operation of the same shape that the second one needs."""
        shapes: dict[str, list[str]] = {}
        for node in self.graph.nodes:
            shapes.setdefault(_shape(node.type), []).append(node.name)
        users = {value: number for number, reads in enumerate(self.reads) for value in reads}
        for number in reversed(range(len(self.wrapper.calls))):
            for value in self.values[number]:
                if value in self.node_of or value not in users or not self.wrapper.calls[number].kernel:
                    continue
                wanted = _shape_of_buffer(self.wrapper.allocated.get(value.name, ""))
                realised = {self.node_of[other] for other in self.node_of if other.call != users[value]}
                starts = [self.node_of[one] for one in self.values[users[value]] if one in self.node_of]
                cone = self._cone(starts, realised)
                fitting = [name for name in shapes.get(wanted, ()) if name in cone and name not in realised]
                reducing = [name for name in fitting if self._reduces(name)]
                if reducing or len(fitting) == 1:
                    self.node_of[value] = (reducing or fitting)[0]

    def _reduces(self, name: str) -> bool:
        word = self.nodes[name].target.rpartition(".")[2]
        return word in ("sum", "mean", "amax", "amin", "var", "var_mean", "max", "min", "prod", "argmax", "any", "all", "logsumexp", "norm")  # fmt: skip

    def _cone(self, starts: list[str], ends: set[str]) -> list[str]:
        """What the operations ``starts`` are computed from, up to values that are in memory already."""
        found: dict[str, None] = {}
        todo = list(starts)
        while todo:
            name = todo.pop()
            if name in found or name not in self.nodes:
                continue
            found[name] = None
            todo += [read for read in self.nodes[name].reads if read not in ends and self.base(read) not in ends]
        return list(found)

    def _of_call(self, number: int, taken: set[str]) -> tuple[str, ...]:
        call = self.wrapper.calls[number]
        if not call.kernel:
            return tuple(name for name, other in self.call_of.items() if other == number)
        own = [self.node_of[value] for value in self.values[number] if value in self.node_of]
        ends = {name for value, name in self.node_of.items() if value.call != number} | set(self.call_of)
        return tuple(sorted(self._cone([name for name in own if name not in self.call_of], ends | taken)))


def _shape(text: str) -> str:
    """``f32[4, 8][8, 1]cpu`` -> ``4, 8``."""
    return text.partition("[")[2].partition("]")[0]


def _shape_of_buffer(text: str) -> str:
    """``(4, 8), (8, 1), torch.float32`` -> ``4, 8``."""
    return text.partition("(")[2].partition(")")[0].strip().rstrip(",").strip()
