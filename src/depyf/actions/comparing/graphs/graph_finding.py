"""What differs in a captured graph that two backends ran, and the words for it.

Input: nothing; data.  Output: ``Finding`` for one graph, ``GraphComparison`` around it, and lines for a terminal.
"""

from __future__ import annotations

from dataclasses import dataclass

from depyf.run.causes.folding import counted
from depyf.sources.live.origins.probes import ProbedNode
from depyf.sources.live.tensors import TensorDifference


@dataclass(frozen=True, slots=True)
class Finding:
    """The first node of a graph whose value, or gradient, is not the same on both backends."""

    node: ProbedNode | None
    """None where only the graph's results could be told apart, and no single node."""
    gradient: bool
    difference: TensorDifference | None
    """None where the graph could not be compared."""
    error: str = ""
    used_by: tuple[ProbedNode, ...] = ()
    """For a gradient: the operations that use the node.  The gradients after them agree, so the backward of one of
    these is what went wrong."""
    writes: tuple[str, str] | None = None
    """An operator and the argument it writes to without declaring that; then ``difference`` is of the argument, before
    and after."""
    layer: str = ""
    """The layer below Dynamo that makes the difference, in words; "" where that is not known."""
    fake: str = ""
    """A custom operator whose fake kernel is wrong; then ``difference`` is of its result, and of what that kernel
    says."""
    written: bool = False
    """Whether an input of the graph differs afterwards, which the node writes to."""
    outside: bool = False
    """Of ``written``: no operation of the graph does, and the node is the input."""
    raised: bool = False
    """Whether the node raises an error on one backend, and none or another on the other."""
    strides: bool = False
    """Whether the node's values are the same, and their strides are not."""
    memory: bool = False
    """Whether the node's values are the same, and share memory with another tensor on one backend alone."""
    printed: bool = False
    """Whether the node prints, on one backend alone."""
    setting: str = ""
    """A setting of torch that the node changes and that the backends leave different; then ``difference`` is of it."""
    alias: bool = False
    """Of ``writes``: whether the operator returns a view of the argument, and does not declare that."""


@dataclass(frozen=True, slots=True)
class GraphComparison:
    """One compiled graph: how many operations it has, and what differs."""

    number: int
    operations: int
    place: str
    """The user's line of its first operation; "" where torch does not know."""
    finding: Finding | None

    @property
    def outcome(self) -> str:
        if self.finding is None:
            return "the same"
        if self.finding.difference is None:
            return "not compared"
        if self.finding.fake:
            return "A WRONG FAKE KERNEL"
        if self.finding.alias:
            return "AN UNDECLARED VIEW"
        return "DIFFERENT" if self.finding.writes is None else "AN UNDECLARED WRITE"

    @property
    def title(self) -> str:
        place = f", from {self.place}" if self.place else ""
        return f"graph {self.number} ({counted(self.operations, 'operation')}{place})"


def headline(finding: Finding) -> str:
    """What differs, in a line."""
    if finding.writes is not None:
        operator, argument = finding.writes
        where = "" if finding.node is not None else " in the backward"
        if finding.alias:
            return f"{operator} returns memory of its argument {argument}{where}, and does not declare it"
        return f"{operator} writes to its argument {argument}{where}, and does not declare it"
    if finding.fake:
        return f"the fake kernel of {finding.fake} does not say what the operator returns"
    if finding.raised and finding.gradient:
        of = f" of {finding.node.name} ({finding.node.operation})" if finding.node else ""
        return f"the backward{of} raises an error"
    if finding.node is not None and finding.raised:
        return f"{finding.node.name} ({finding.node.operation}) raises an error"
    if finding.raised:
        return "an error is raised, and by no operation alone"
    if finding.strides:
        what = f"{finding.node.name} ({finding.node.operation})" if finding.node else "a result"
        return f"{what} has other strides"
    if finding.memory:
        what = f"{finding.node.name} ({finding.node.operation})" if finding.node else "a result"
        return f"the memory of {what} is not the same"
    if finding.node is not None and finding.printed:
        return f"{finding.node.name} ({finding.node.operation}) prints, and a schema cannot declare that"
    if finding.setting:
        node = finding.node
        by = f"which {node.name} ({node.operation}) changes" if node else "and no operation of the graph changes it"
        return f"{finding.setting} differs afterwards, {by}"
    if finding.node is not None and finding.outside:
        return f"{finding.node.name} differs afterwards, and no operation of the graph writes to it"
    if finding.node is not None and finding.written:
        return f"an input differs afterwards, which {finding.node.name} ({finding.node.operation}) writes to"
    if finding.node is None:
        return f"its {'gradients differ' if finding.gradient else 'results differ'}; no single node shows it alone"
    what = "gradient of " if finding.gradient else ""
    return f"first difference: {what}{finding.node.name} ({finding.node.operation})"


def labels(finding: Finding, backends: tuple[str, str]) -> tuple[str, str]:
    """The labels of the two values of a difference; by default the names of the ``backends``."""
    if finding.fake:
        return ("it returns", "fake kernel")
    if finding.alias:
        return ("argument", "result")
    return ("before", "after") if finding.writes is not None else backends


def advice_lines(finding: Finding) -> list[str]:
    """The lines of advice on a difference; [] for none."""
    if finding.fake:
        return [
            "mend what register_fake was given: a compiler chooses sizes, types and strides by it; "
            "torch.library.opcheck tests it"
        ]
    if finding.writes is None:
        return []
    argument = finding.writes[1].partition("[")[0]
    if finding.alias:
        return [
            f"return a copy, or declare the result as Tensor(a) and the argument as Tensor(a) {argument}: a write to "
            "the one is a write to the other only where that is declared"
        ]
    return [
        f'name it in mutates_args=("{argument}",), or in the schema as Tensor(a!) {argument}: '
        "a compiler reorders calls, "
        "reuses memory and keeps copies by what is declared"
    ]


def finding_lines(finding: Finding, first: str, second: str) -> list[str]:
    """The lines about a difference; ``first`` and ``second`` are the names of the backends."""
    if finding.difference is None:
        return [finding.error]
    lines = [headline(finding), *advice_lines(finding)]
    if finding.node is not None and finding.node.place:
        lines.append(f"from {finding.node.place}")
    if finding.node is not None and finding.node.module:
        lines.append(f"in module {finding.node.module}")
    if finding.layer:
        lines.append(f"the layer is {finding.layer}")
    first, second = labels(finding, (first, second))
    for user in finding.used_by:
        place = f", {user.place}" if user.place else ""
        lines.append(f"which the backward of {user.name} ({user.operation}) computes{place}")
    if finding.error:
        return [*lines, finding.error]
    apart = finding.difference
    width = max(len(first), len(second))
    lines += [f"{first:{width}}: {apart.expected}", f"{second:{width}}: {apart.got}", apart.reason]
    if apart.wrong:
        lines.append(f"farthest apart at {list(apart.index)}: {apart.worst[0]:.8g} against {apart.worst[1]:.8g}")
    return lines
