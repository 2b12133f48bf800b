"""Which lines of a kernel compute which operations.

Input: the text of a kernel, and the operations of the graph that its calls compute.  Output: ``KernelLinks``.  A line
is matched with operations by what both do (``erf``, ``*`` with the constant 0.5), then by their inputs and their users:
lines and operations that could be the same are compared until nothing changes.  A line that could still be several
operations belongs to all of them if these have the same numbers, and else to the kernel as a whole.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from depyf.views.report.links.graph_lines import GraphNode
from depyf.views.report.links.kernel_text import KernelText
from depyf.views.report.links.operations import Numbers

_NONE: Numbers = frozenset()
_ASSIGNED = re.compile(
    r"^\s*(?:const )?(?:auto |float |double |bool |int64_t |int32_t )?(?P<name>tmp\w+) = (?P<value>.*?);?\s*$"
)
_ACCUMULATOR = "tmp_acc"
"""Begins the names in which C++ kernels add up: their ``+`` is no addition of the graph."""
_TEMPORARY = re.compile(r"\btmp\w+\b")
_LOAD = re.compile(r"\b(?:in|out|in_out)_ptr\w*\b")
_CONSTANT = re.compile(r"(?<![\w.])-?\d+\.?\d*(?:e[-+]?\d+)?(?![\w.])")
_CAST = re.compile(
    r"at::vec::Vectorized<[^>]*>\(\s*(tmp\w+)\s*\)|static_cast<[^>]*>\(\s*(tmp\w+)\s*\)|(tmp\w+)\.to\(|c10::convert<[^>]*>\((tmp\w+)\)|at::vec::convert<[^>]*>\((tmp\w+)\)|tl\.full\(|tl\.broadcast_to\((tmp\w+)"
)
_KINDS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("sigmoid", ("sigmoid",)), ("erf", ("erf",)), ("tanh", ("tanh",)), ("rsqrt", ("rsqrt",)), ("sqrt", ("sqrt",)),
    ("log1p", ("log1p",)), ("log", ("log",)), ("expm1", ("expm1",)), ("exp", ("exp", "exp2")), ("cos", ("cos",)),
    ("sin", ("sin",)), ("abs", ("abs",)), ("floor", ("floor",)), ("ceil", ("ceil",)),
    ("pow", ("pow",)), ("relu", ("relu",)),
    ("maximum", ("maximum", "relu", "amax", "clamp_min", "clamp", "max")),
    ("minimum", ("minimum", "amin", "clamp_max", "clamp", "min")),
    ("reduce", (
        "sum", "mean", "prod", "amax", "amin", "max", "min", "any", "all", "var", "var_mean", "std", "argmax", "argmin",
        "native_layer_norm", "_softmax", "_log_softmax",
    )),
    ("where", ("where", "masked_fill")), ("neg", ("neg",)), ("compare", ("le", "lt", "ge", "gt", "eq", "ne")),
    ("*", ("mul", "fma", "square", "addcmul")), ("/", ("div", "reciprocal", "mean", "var", "var_mean")),
    ("-", ("sub", "neg", "rsub")), ("+", ("add", "fma", "addcmul")),
)  # fmt: skip
"""What a line does -> the operators of torch that may do it."""
_ROUNDS = 12


@dataclass
class KernelLinks:
    """The operations that each line of a kernel computes (``direct``), and those of the whole kernel (``around``)."""

    direct: dict[int, Numbers] = field(default_factory=dict)
    around: dict[int, Numbers] = field(default_factory=dict)


@dataclass
class _KernelStep:
    """A line that assigns a temporary; ``reads`` are the steps that made its operands."""

    line: int
    kind: str
    reads: list[int]
    constants: frozenset[float]


def kernel_links(
    text: str, kernel: KernelText, calls: list[tuple[list[GraphNode], Numbers]], own: dict[str, Numbers]
) -> KernelLinks:
    """The links of a kernel's lines.  ``calls``: for each call, its operations and their numbers; ``own``: operation ->
    numbers."""
    found = KernelLinks()
    whole = _NONE.union(*(numbers for _, numbers in calls))
    if not whole or not kernel.first:
        return found
    found.direct[kernel.first] = whole
    lines = text.split("\n")
    for number in range(kernel.first, min(kernel.body[1], len(lines)) + 1):
        if lines[number - 1].strip(" {}();"):
            found.around[number] = whole
    if kernel.by_program:
        found.direct.update(found.around)
        return found
    steps = _steps(lines, kernel)
    for nodes, numbers in calls:
        if len(nodes) > 1:
            matched = _matched(steps, nodes)
            for step, names in zip(steps, matched):
                groups = {own.get(name, _NONE) for name in names}
                if len(groups) == 1 and (one := next(iter(groups))):
                    found.direct[step.line] = found.direct.get(step.line, _NONE) | one
        else:
            for step in steps:
                if step.kind:
                    found.direct[step.line] = found.direct.get(step.line, _NONE) | numbers
    return found


def _steps(lines: list[str], kernel: KernelText) -> list[_KernelStep]:
    made: dict[str, int] = {}
    same: dict[str, str] = {}
    """A temporary that is another one, in another type."""
    numbers: dict[str, frozenset[float]] = {}
    steps: list[_KernelStep] = []
    for number in range(kernel.body[0], min(kernel.body[1], len(lines)) + 1):
        match = _ASSIGNED.match(lines[number - 1])
        if match is None:
            continue
        name, value = match["name"], match["value"]
        names = [same.get(one, one) for one in _TEMPORARY.findall(value)]
        cast = _CAST.match(value)
        constant = _constants(value)
        if cast is not None or (not names and constant):
            same[name] = names[0] if names else name
            same[name] = same[name] if same[name] in made or same[name] in numbers else name
            numbers[name] = numbers.get(names[0], frozenset()) if names else constant
            if names and names[0] in made:
                made[name] = made[names[0]]
            continue
        same.pop(name, None)
        numbers.pop(name, None)
        if _LOAD.search(value) and not names:
            made.pop(name, None)  # what it loads belongs to the kernel that made it
            continue
        reads = list(dict.fromkeys(made[one] for one in names if one in made))
        known = frozenset().union(*(numbers.get(one, frozenset()) for one in names)) | (
            constant if names else frozenset()
        )
        kind = "reduce" if name.startswith(_ACCUMULATOR) else _kind(value)
        steps.append(_KernelStep(number, kind, reads, known))
        made[name] = len(steps) - 1
    return steps


def _constants(value: str) -> frozenset[float]:
    found = set()
    for word in _CONSTANT.findall(value):
        try:
            found.add(float(word))
        except ValueError:
            continue
    return frozenset(found)


def _kind(value: str) -> str:
    if "decltype" in value and "exp()" in value:
        return "sigmoid"
    if "? " in value or "blendv(" in value or "tl.where(" in value:
        return "where"
    for word, _ in _KINDS:
        if word.isalpha() or word[0].isalpha():
            if re.search(rf"\b{word}\w*\(", value) and not (word == "exp" and "expm1" in value):
                return word
    if re.search(r" (?:<=|>=|<|>|==|!=) ", value):
        return "compare"
    if re.search(r"= ?-tmp|^-tmp", value) or ".neg()" in value:
        return "neg"
    operator = re.search(r"\btmp\w+\)? ([-+*/]) ", value)
    return operator[1] if operator is not None else ""


_OPERATORS = dict(_KINDS)


def _matched(steps: list[_KernelStep], nodes: list[GraphNode]) -> list[set[str]]:
    """For each step the operations that it may be."""
    by_name = {node.name: node for node in nodes}
    users: dict[str, list[str]] = {}
    for node in nodes:
        for read in node.reads:
            users.setdefault(read, []).append(node.name)
    used_by: list[list[int]] = [[] for _ in steps]
    for number, step in enumerate(steps):
        for operand in step.reads:
            used_by[operand].append(number)
    may: list[set[str]] = []
    for step in steps:
        words = _OPERATORS.get(step.kind, ())
        fitting = {node.name for node in nodes if node.target.rpartition(".")[2] in words}
        if step.constants:
            exact = {name for name in fitting if step.constants & _constants_of(by_name[name])}
            fitting = exact or fitting
        may.append(fitting)
    for _ in range(_ROUNDS):
        before = [len(names) for names in may]
        for number, step in enumerate(steps):
            below = [may[read] for read in step.reads if may[read]]
            above = [may[user] for user in used_by[number] if may[user]]
            fitting = may[number]
            if below:
                fitting = {n for n in fitting if all(set(by_name[n].reads) & one for one in below)} or fitting
            if above:
                fitting = {n for n in fitting if all(set(users.get(n, ())) & one for one in above)} or fitting
            may[number] = fitting
        single: dict[str, int] = {}
        for number, names in enumerate(may):
            if len(names) == 1:
                single.setdefault(next(iter(names)), number)
        for number, names in enumerate(may):
            if len(names) > 1:
                may[number] = {name for name in names if name not in single} or names
        if before == [len(names) for names in may]:
            break
    return may


def _constants_of(node: GraphNode) -> frozenset[float]:
    return frozenset(node.constants)
