"""The tensors that a forward graph keeps for its backward graph, and what the backward computes again instead.

Input: the texts of both graphs as torch printed them, and the inputs of the captured graph.  Output:
``KeptForBackward``.  torch gives a value one name in both graphs: an input of the backward that the forward has is
kept, what both compute is computed again.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from depyf.run.graphs.graph_facts import InputFacts
from depyf.run.graphs.graph_source import Printed, read_printed
from depyf.run.graphs.program_comments import place_in
from depyf.run.graphs.value_types import Number
from depyf.run.memory.tensor_bytes import TensorBytes, tensor_bytes
from depyf.run.places.place import Place
from depyf.run.shapes.size_names import size_name

_STATEMENT = re.compile(r"(?P<name>\w+) = (?P<value>.+)$", re.S)
_CALL = re.compile(r"torch\.ops\.(?P<operator>[\w.]+?)(?:\.\w+)?\((?P<first>\w+)?")
_ITEM = re.compile(r"(?P<of>\w+)\[\d+\]$")
_RETURN = re.compile(r"^ *return [(\[]?(?P<items>[^)\]\n]*)", re.M)
_INDEX = re.compile(r"(?P<name>\w+): \"[^\"]*\"[,)]? *# +PlainAOTInput\(idx=(?P<index>\d+)\)")
_VIEWS = frozenset(
    "aten.view aten._unsafe_view aten.permute aten.t aten.transpose aten.expand aten.slice aten.select aten.squeeze "
    "aten.unsqueeze aten.as_strided aten.detach aten.alias aten.split aten.split_with_sizes aten.unbind aten.diagonal "
    "aten.unfold aten.lift_fresh aten.view_as_real aten.view_as_complex aten.real aten.imag aten.reshape "
    "prims.view_of prims.broadcast_in_dim".split()
)
KEPT, VIEW, GIVEN = "computed", "a view of", "given"


@dataclass(frozen=True, slots=True)
class SavedTensor:
    """One tensor that the backward gets from the forward."""

    name: str
    size: TensorBytes
    kind: str
    """``KEPT``: it takes memory; ``VIEW``: of ``of``, which is counted; ``GIVEN``: the program holds it anyway."""
    of: str = ""
    """The tensor that a view is of; of a given one, what the program calls it."""
    role: str = ""
    """``parameter``, ``buffer`` or ``input`` of a given one."""
    operator: str = ""
    place: Place | None = None
    returned: bool = False
    """The forward returns it to the program, too."""
    module: str = ""
    """The module of the program that computes it: ``self.h.0.mlp``."""


@dataclass(frozen=True, slots=True)
class Recomputed:
    """Operations that the backward does again, of one line of the program."""

    place: Place | None
    operators: tuple[str, ...]
    count: int
    bytes: int
    """What their results would take."""


@dataclass(frozen=True, slots=True)
class KeptForBackward:
    """``saved`` by size, the largest first."""

    saved: tuple[SavedTensor, ...]
    recomputed: tuple[Recomputed, ...]

    @property
    def bytes(self) -> int:
        """The bytes of all saved tensors that the program does not hold itself."""
        return sum(tensor.size.count or 0 for tensor in self.saved if tensor.kind == KEPT)

    @property
    def unknown(self) -> int:
        """The number of saved tensors whose size depends on values, and was unknown at compile time."""
        return sum(tensor.size.count is None for tensor in self.saved if tensor.kind == KEPT)

    @property
    def given_bytes(self) -> int:
        return sum(tensor.size.count or 0 for tensor in self.saved if tensor.kind == GIVEN)


@dataclass
class _Graph:
    """A printed graph: names in order, with what each is."""

    printed: Printed
    values: dict[str, str]
    """Name -> the expression that it is assigned."""

    @property
    def inputs(self) -> list[str]:
        return [name for name in self.printed.types if name not in self.values]

    def operator(self, name: str) -> str:
        call = _CALL.match(self.values.get(name, ""))
        if call is not None:
            return call["operator"]
        item = _ITEM.match(self.values.get(name, ""))
        return self.operator(item["of"]) if item is not None and item["of"] != name else ""

    def place(self, name: str) -> Place | None:
        for line in self.printed.comments.get(f"{name} = {self.values.get(name, '')}", ()):
            found = place_in(line)
            if found is not None:
                return found
        return None

    def root(self, name: str) -> str:
        """The tensor whose memory ``name`` is a view of; itself where it is none."""
        for _ in range(len(self.values) + 1):
            value = self.values.get(name, "")
            item = _ITEM.match(value)
            call = _CALL.match(self.values.get(item["of"], "") if item is not None else value)
            if call is None or call["operator"] not in _VIEWS or not call["first"]:
                return name
            name = call["first"]
        return name


def _read(text: str) -> _Graph:
    printed = read_printed(text)
    values: dict[str, str] = {}
    for statement in printed.statements:
        match = _STATEMENT.match(statement)
        if match is not None:
            values.setdefault(match["name"], match["value"])
    return _Graph(printed, values)


def kept_for_backward(
    forward: str,
    backward: str,
    given: Sequence[InputFacts],
    symbols: Mapping[str, Number],
    names: Mapping[str, str],
    modules: Mapping[str, str] = MappingProxyType({}),
) -> KeptForBackward:
    """What ``forward`` keeps for ``backward``; ``given``: the inputs of the captured graph, in order; ``modules``:
    operation of the forward -> path of the module that it belongs to."""
    before, after = _read(forward), _read(backward)
    own = set(before.inputs)
    outputs = _returned(forward)
    passed = [name for name in after.inputs if name in before.values or name in own]
    returned = set(outputs[: max(0, len(outputs) - len(passed))])
    shared = {before.root(other) for other in returned}
    places = {match["name"]: int(match["index"]) for match in _INDEX.finditer(forward)}
    found: list[SavedTensor] = []
    roots: dict[str, str] = {}
    for name in passed:
        size = tensor_bytes(after.printed.types.get(name, ""), symbols, names)
        if size is None:
            continue  # a number
        root = before.root(name)
        if root in own:
            source = _given(root, places, given, len(own))
            kind = GIVEN if root == name else VIEW
            shown = (size_name(source.source).text or source.name) if source is not None else root
            role = (source.role if source is not None else "input") if kind == GIVEN else ""
            found.append(SavedTensor(name, size, kind, shown, role, place=before.place(name)))
            continue
        kind, of = (KEPT, "") if root not in roots else (VIEW, roots[root])
        roots.setdefault(root, name)
        whole = tensor_bytes(before.printed.types.get(root, ""), symbols, names)
        if kind == KEPT and whole is not None and whole.count is not None and root != name:
            size = replace(size, count=whole.count, formula=whole.formula)
        found.append(
            SavedTensor(
                name, size, kind, of, "", before.operator(root), before.place(root) or before.place(name),
                name in returned or root in shared, modules.get(root, ""),
            )
        )  # fmt: skip
    order = {KEPT: 0, VIEW: 1, GIVEN: 2}
    found.sort(key=lambda tensor: (order[tensor.kind], -(tensor.size.count or 0)))
    return KeptForBackward(tuple(found), _recomputed(before, after, symbols, names))


def _given(name: str, places: Mapping[str, int], given: Sequence[InputFacts], inputs: int) -> InputFacts | None:
    """The input of the captured graph that ``primals_3`` is, where the text says so or they are as many."""
    index = places.get(name)
    number = name.removeprefix("primals_")
    if index is None and number.isdigit() and inputs == len(given):
        index = int(number) - 1
    return given[index] if index is not None and 0 <= index < len(given) else None


def _returned(text: str) -> list[str]:
    match = list(_RETURN.finditer(text))
    return [item.strip() for item in match[-1]["items"].split(",") if item.strip()] if match else []


def _recomputed(
    before: _Graph, after: _Graph, symbols: Mapping[str, Number], names: Mapping[str, str]
) -> tuple[Recomputed, ...]:
    """What both graphs compute, by line; views cost nothing."""
    found: dict[Place | None, list[tuple[str, int]]] = {}
    for name, value in after.values.items():
        operator = before.operator(name)
        if name not in before.values or not operator or operator in _VIEWS or _ITEM.match(value):
            continue
        size = tensor_bytes(before.printed.types.get(name, ""), symbols, names)
        found.setdefault(before.place(name), []).append((operator, (size.count or 0) if size is not None else 0))
    lines = [
        Recomputed(place, tuple(dict.fromkeys(operator for operator, _ in items)), len(items), sum(n for _, n in items))
        for place, items in found.items()
    ]
    return tuple(sorted(lines, key=lambda line: -line.bytes))
