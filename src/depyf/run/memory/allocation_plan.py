"""What a wrapper that Inductor generated allocates, and how much of it is alive at once: its own plan, read from its
text.

Input: the text of the wrapper.  Output: ``AllocationPlan``.  Nothing is executed: the lines that allocate, rename and
delete are parsed.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from depyf.run.graphs.value_types import Number
from depyf.run.memory.tensor_bytes import item_bytes, size_value, storage_bytes
from depyf.run.shapes.size_expression import read_size_expression
from depyf.safety.unheard import parse

_ALLOCATES = re.compile(r"empty_strided(?:_\w+)?$")
_OF_INTEREST = re.compile(
    r"empty_strided|^ *del |; del |reinterpret_tensor\(|= torch\.ops\.|= extern_kernels\.|assert_size_stride\("
    r"|alloc_from_pool|^ *\w+ = \w+(?:\[\d+\])?(?:$|;)|= args$"
)


@dataclass(frozen=True, slots=True)
class AllocationPlan:
    """The buffers that a wrapper allocates.  ``peak``: the most bytes alive at once; ``buffers``: their number."""

    peak: int
    total: int
    """All that is allocated, one after the other."""
    buffers: int
    reused: int
    unknown: tuple[str, ...] = ()
    """Operators that allocate their result themselves, in a size that the text does not say."""


class _Memory:
    """The storages while the text is read; several names may hold one."""

    def __init__(self) -> None:
        self.of: dict[str, int] = {}
        self.items: dict[str, str] = {}
        """One of several results of an operator -> all of them."""
        self.told: set[str] = set()
        self.holders: dict[int, int] = {}
        self.sizes: dict[int, int] = {}
        self.alive = self.peak = self.total = self.buffers = self.reused = 0

    def allocate(self, name: str, size: int, counted: bool = True) -> None:
        self.drop(name)
        storage = len(self.sizes)
        self.sizes[storage], self.holders[storage], self.of[name] = size, 1, storage
        self.alive += size
        self.peak = max(self.peak, self.alive)
        if counted:
            self.total += size
            self.buffers += 1

    def rename(self, name: str, source: str) -> None:
        storage = self.of.get(source)
        if storage is not None:
            self.holders[storage] += 1
            self.drop(name)
            self.of[name] = storage

    def drop(self, name: str) -> None:
        storage = self.of.pop(name, None)
        if storage is not None:
            self.holders[storage] -= 1
            if not self.holders[storage]:
                self.alive -= self.sizes[storage]


def allocation_plan(
    text: str, symbols: Mapping[str, Number], given: Mapping[str, int], types: Mapping[tuple[int, ...], str]
) -> AllocationPlan | None:
    """The plan of ``call`` in ``text``; None where it is none that is understood.

    ``given``: inputs that the graph holds until it deletes them (saved tensors, gradients), with their bytes;
    ``types``: the dtype of each shape in the graph, for results of operators that allocate themselves.
    """
    lines = list(_lines_of_call(text))
    if not lines or "def partition_" in text:
        return None
    memory, unknown = _Memory(), dict[str, str]()
    known = dict(symbols)
    for line in lines:
        if not _OF_INTEREST.search(line):
            continue
        try:
            statements = parse(line.strip()).body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue
        for statement in statements:
            _step(statement, memory, known, given, unknown, types)
    if not memory.buffers and not unknown:
        return None
    return AllocationPlan(
        memory.peak,
        memory.total,
        memory.buffers,
        memory.reused,
        tuple(dict.fromkeys(operator for name, operator in unknown.items() if name not in memory.told)),
    )


def _lines_of_call(text: str) -> Iterator[str]:
    """The body of the last function ``call``; a statement on several lines is joined."""
    lines = text.splitlines()
    start = max((n for n, line in enumerate(lines) if re.match(r" *def call\((?:self, )?args\)", line)), default=-1)
    if start < 0:
        return
    indent = len(lines[start]) - len(lines[start].lstrip())
    for line in lines[start + 1 :]:
        if line.strip() and len(line) - len(line.lstrip()) <= indent:
            return
        yield line


def _step(
    statement: ast.stmt,
    memory: _Memory,
    symbols: dict[str, Number],
    given: Mapping[str, int],
    unknown: dict[str, str],
    types: Mapping[tuple[int, ...], str],
) -> None:
    if isinstance(statement, ast.Delete):
        for target in statement.targets:
            if isinstance(target, ast.Name):
                memory.drop(target.id)
        return
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        _sized(statement.value, memory, symbols, unknown, types)
        return
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return
    target, value = statement.targets[0], statement.value
    if isinstance(value, ast.Name) and value.id == "args" and isinstance(target, (ast.Tuple, ast.List)):
        for item in target.elts:
            if isinstance(item, ast.Name) and item.id in given:
                memory.allocate(item.id, given[item.id], counted=False)
        return
    if not isinstance(target, ast.Name):
        return
    if isinstance(value, ast.Name):
        memory.rename(target.id, value.id)
        memory.reused += value.id in memory.of
        if value.id in symbols:
            symbols[target.id] = symbols[value.id]
        return
    if isinstance(value, ast.Subscript) and isinstance(value.value, ast.Name) and value.value.id in unknown:
        unknown[target.id] = unknown[value.value.id]
        memory.items[target.id] = value.value.id
        return
    if isinstance(value, ast.Call):
        name = _called(value.func)
        first = value.args[0] if value.args else None
        if _ALLOCATES.search(name):
            _allocated(target.id, value, memory, symbols)
        elif name.endswith("reinterpret_tensor") and isinstance(first, ast.Name):
            memory.reused += first.id in memory.of
            memory.rename(target.id, first.id)
        elif name.startswith(("torch.ops.", "extern_kernels.", "aten.")) and "alloc_from_pool" not in name:
            unknown[target.id] = name.removeprefix("torch.ops.").removeprefix("extern_kernels.")


def _allocated(name: str, call: ast.Call, memory: _Memory, symbols: Mapping[str, Number]) -> None:
    if len(call.args) < 3:
        return
    shape, stride = _tuple(call.args[0], symbols), _tuple(call.args[1], symbols)
    width = item_bytes(ast.unparse(call.args[2]))
    size = storage_bytes(shape, stride, width) if width is not None else None
    memory.allocate(name, size or 0)


def _sized(
    call: ast.Call,
    memory: _Memory,
    symbols: Mapping[str, Number],
    unknown: dict[str, str],
    types: Mapping[tuple[int, ...], str],
) -> None:
    """``assert_size_stride(buf0, (2, 4), (4, 1))`` says the size of what an operator has allocated."""
    if _called(call.func) != "assert_size_stride" or len(call.args) < 3 or not isinstance(call.args[0], ast.Name):
        return
    name = call.args[0].id
    if name not in unknown:
        return
    shape, stride = _tuple(call.args[1], symbols), _tuple(call.args[2], symbols)
    width = item_bytes(types.get(tuple(size or 0 for size in shape), ""))
    size = storage_bytes(shape, stride, width) if width is not None else None
    if size is not None:
        del unknown[name]
        memory.told.add(memory.items.get(name, ""))  # torch says the size of each result that is used
        memory.allocate(name, size)


def _tuple(node: ast.expr, symbols: Mapping[str, Number]) -> tuple[int | None, ...]:
    items = node.elts if isinstance(node, (ast.Tuple, ast.List)) else []
    return tuple(size_value(read_size_expression(ast.unparse(item)), symbols) for item in items)


def _called(function: ast.expr) -> str:
    return ast.unparse(function) if isinstance(function, (ast.Name, ast.Attribute)) else ""
