"""What the guards and the inputs of graphs say about the values of a call, as a tree for each variable.

Input: guard expressions, and for graphs where each input came from.  Output: ``GuardedValues``: from a path to what is
known there (type, value, tensor), enough to make arguments like those the function was compiled for.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from depyf.run.graphs.graph_facts import InputFacts
from depyf.run.guards.guard_kind import GuardFact, arguments, called
from depyf.run.guards.guarded_path import BUFFER, MODULE, PARAMETER, Path, Step, about_code, path_of
from depyf.run.guards.known_kinds import facts_in
from depyf.safety.unheard import parse


@dataclass(slots=True)
class Known:
    """What guards and recorded inputs tell of one value.  Every field may be empty."""

    kind: str = ""
    """The qualified name of its type."""
    value: str = ""
    """Its text, for a value that has one."""
    tensor: dict[str, Any] | None = None
    """``size``, ``stride``, ``dtype``, ``requires_grad`` as a guard has them."""
    input: tuple[str, str] | None = None
    """The graph that takes it, and the name of its input there."""
    range: tuple[float, float] | None = None
    """The smallest and the largest element that was passed."""
    hook: str = ""
    module: str = ""
    """The name of the module that it is."""
    length: int | None = None
    keys: dict[int, str] = field(default_factory=dict)
    parts: dict[Step, Known] = field(default_factory=dict)

    def at(self, step: Step) -> Known:
        return self.parts.setdefault(step, Known())

    @property
    def is_model(self) -> bool:
        """Whether it is an ``nn.Module``: it has what only these have."""
        return self.kind.startswith("torch.nn.modules.") or any(
            kind in (MODULE, PARAMETER, BUFFER) or key in ("_modules", "_parameters", "_buffers")
            for kind, key in self.parts
        )

    @property
    def empty(self) -> bool:
        return self == Known()


class GuardedValues:
    """What is known of each variable, by its mapping ("L" or "G") and name."""

    def __init__(self) -> None:
        self.roots: dict[tuple[str, str], Known] = {}
        self.same: list[tuple[ast.expr, ast.expr, Path, Path]] = []
        """Places that hold the same object."""

    def at(self, path: Path) -> Known:
        known = self.roots.setdefault((path.mapping, path.name), Known())
        for step in path.steps:
            known = known.at(step)
        return known

    def find(self, path: Path) -> Known | None:
        known = self.roots.get((path.mapping, path.name))
        for step in path.steps:
            known = known.parts.get(step) if known is not None else None
        return known

    def weight(self, node: ast.expr) -> int:
        """The number of facts known about the value at a path."""
        path = path_of(node)
        known = self.find(path) if path is not None else None
        if known is None:
            return 0
        return len(known.parts) + sum(map(bool, (known.kind, known.value, known.tensor, known.input)))

    def read_guard(self, expression: str, renamed: Mapping[str, Path] | None = None, hook: str = "") -> None:
        """Add what the guard says; ``renamed``: where the local variables of a resume function come from (others are
        not looked at)."""
        tree = parse(expression, mode="eval").body
        if about_code(tree):
            return
        for fact in _facts(tree):
            _add(fact, self, renamed, hook)

    def read_input(self, graph: str, item: InputFacts, renamed: Mapping[str, Path] | None = None) -> None:
        """Add that the input ``item`` of a graph comes from where the dump says."""
        if not item.source:
            return
        try:
            path = place(path_of(parse(item.source, mode="eval").body), renamed)
        except SyntaxError:
            return
        if path is None or about_size(path):
            return
        known = self.at(path)
        if item.kind != "tensor":
            if not known.value and item.value is not None:
                known.value = repr(item.value)
            return
        if known.input is None:
            known.input = graph, item.name
        facts = item.tensor
        if facts is not None:
            known.range = item.passed
            passed_on = {
                "dtype": facts.dtype, "size": list(facts.shape), "stride": list(facts.strides),
                "requires_grad": facts.requires_grad,
            }  # fmt: skip
            known.tensor = passed_on if known.tensor is None else _merged(known.tensor, passed_on)


def about_size(path: Path) -> bool:
    """Whether the path leads to a size of a tensor, which is known from the tensor itself."""
    return any(key in ("shape", "size") for _, key in path.steps)


def place(path: Path | None, renamed: Mapping[str, Path] | None) -> Path | None:
    """``path`` with the variables of a resume function replaced by those of the original function; None where that is
    not possible."""
    if path is None or renamed is None or path.mapping == "G":
        return path
    start = renamed.get(path.name)
    return Path(start.mapping, start.name, start.steps + path.steps) if start is not None else None


def _add(fact: GuardFact, values: GuardedValues, renamed: Mapping[str, Path] | None, hook: str) -> None:
    """Add what a guard says about one value."""
    path = place(path_of(fact.node), renamed)
    if path is None:
        return
    if fact.name == "same":
        other = place(path_of(fact.value), renamed)
        if other is not None and renamed is None and path != other:
            values.at(path), values.at(other)
            values.same.append((fact.node, fact.value, path, other))
        return
    known = values.at(path)
    if fact.name == "tensor":
        known.tensor = fact.value if known.tensor is None else {**fact.value, **_merged(known.tensor, fact.value)}
    elif fact.name == "key":
        known.keys.setdefault(*fact.value)
    elif fact.name == "hook":
        known.hook = known.hook or hook
    elif fact.name == "length":
        known.length = fact.value if known.length is None else known.length
    elif not getattr(known, fact.name):
        setattr(known, fact.name, fact.value)


def _merged(new: dict[str, Any], old: dict[str, Any] | None) -> dict[str, Any]:
    """Sizes that a guard leaves open, as the first call had them."""
    if old is None:
        return new
    kept = dict(new)
    for name in ("size", "stride"):
        was = old.get(name)
        if was and len(was) == len(new.get(name, ())):
            kept[name] = [w if n is None else n for n, w in zip(new[name], was)]
    return kept


def _facts(tree: ast.expr) -> Iterator[GuardFact]:
    """``is_module`` is a check of packages alone."""
    if called(tree) == "is_module":
        value, name = arguments(tree)[:2]
        yield GuardFact("module", value, ast.literal_eval(name))
    else:
        yield from facts_in(ast.unparse(tree))
