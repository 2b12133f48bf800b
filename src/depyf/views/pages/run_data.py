"""``shapes.json``, ``memory.json`` and ``guards.json``: what the pages of the same names say, and the guards, as data.

Input: a ``Run``, and what is found in it.  Output: JSON texts, "" where there is nothing to say; the same run gives the
same text.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from depyf.run.bill.guard_bill import FunctionGuards, guard_bill
from depyf.run.bill.traffic import Traffic, traffic_of
from depyf.run.causes.stack_names import shown_names
from depyf.run.files.manifest import indented
from depyf.run.memory.allocation_plan import AllocationPlan
from depyf.run.memory.graph_memory import GraphMemory, graph_memories
from depyf.run.memory.memory_file import (
    MemoryFile,
    StoredAgain,
    StoredKept,
    StoredMemory,
    StoredPlan,
    StoredTensor,
)
from depyf.run.memory.saved_tensors import KeptForBackward, SavedTensor
from depyf.run.places.place import Place
from depyf.run.records import CompileKey, FunctionRecord, GuardRecord
from depyf.run.run import Run
from depyf.run.shapes.shape_table import ConditionRow, Decision, FunctionShapes, SizeRow, shapes_of
from depyf.run.store.codec import plain
from depyf.views.pages.sections.words import line_text

_json = json.JSONEncoder(ensure_ascii=False).encode
"""As ``json.dumps``, which makes an encoder each time."""


@dataclass(frozen=True)
class RunFindings:
    """Results that several pages of a run use, each computed at the first access."""

    run: Run
    line_of: Callable[[Place | None], str] = line_text
    """The text of a line of the program."""

    @functools.cached_property
    def shapes(self) -> tuple[tuple[FunctionRecord, FunctionShapes], ...]:
        """The functions with dynamic sizes, each with its table of sizes."""
        return tuple((function, table) for function in self.run.functions if (table := shapes_of(function)) is not None)

    @functools.cached_property
    def stack_names(self) -> dict[tuple[int, str], dict[str, str]]:
        """For each resume function what to call its ``___stack`` variables."""
        return shown_names(self.run)

    @functools.cached_property
    def guards(self) -> tuple[FunctionGuards, ...]:
        """The cost of the guards of each function."""
        return guard_bill(self.run)

    @functools.cached_property
    def traffic(self) -> Traffic:
        return traffic_of(self.run)

    @functools.cached_property
    def memories(self) -> tuple[GraphMemory, ...]:
        return tuple(graph_memories(self.run))


def shapes_data(found: RunFindings) -> str:
    """The dynamic sizes of each function as JSON text: allowed values, what decided, and conditions on several
    sizes."""
    if not found.shapes:
        return ""
    page = [shape_rows(function, table, table.code.shown, found) for function, table in found.shapes]
    return indented({"functions": page}) + "\n"


def shape_rows(function: FunctionRecord, table: FunctionShapes, title: str, found: RunFindings) -> dict[str, Any]:
    """The table of one function as JSON values.  ``title``: the name of the function."""

    def size(row: SizeRow) -> dict[str, Any]:
        return {
            "name": row.name.text, "input": row.name.input, "dimension": row.name.dimension, "symbol": row.symbol,
            "may_be": row.allowed, "constant": row.constant, "entries": list(row.entries),
            "decided_by": decided(row.decisions),
        }  # fmt: skip

    def condition(row: ConditionRow) -> dict[str, Any]:
        return {"condition": row.text, "entries": list(row.entries), "decided_by": decided(row.decisions)}

    def decided(decisions: Iterable[Decision]) -> list[dict[str, str]]:
        parts = (
            {
                "at": _at(d.place), "line": found.line_of(d.place), "operator": d.operator, "choice": d.choice,
                "note": d.note,
            }
            for d in decisions
        )  # fmt: skip
        return [{name: text for name, text in one.items() if text} for one in parts]

    return {
        "frame": _key(CompileKey(*function.function)),
        "function": title,
        "from": _at(Place(table.code.filename, table.code.line)),
        "sizes": [*map(size, table.sizes)],
        "conditions": [*map(condition, table.conditions)],
        "choices": [*map(condition, table.choices)],
        "implied": table.implied,
    }


def memory_data(found: RunFindings) -> str:
    """The memory of each graph in bytes as JSON text: kept for the backward, recomputed, and the peak of Inductor's
    buffers."""
    stored = tuple(_memory(memory, found) for memory in found.memories)
    return indented(plain(MemoryFile(stored))) + "\n" if stored else ""


def _memory(memory: GraphMemory, found: RunFindings) -> StoredMemory:
    code = memory.code
    return StoredMemory(
        compile_id=memory.key.text,
        generation=memory.key.generation,
        function=code.shown if code is not None else "",
        at=f"{code.filename}:{code.line}" if code is not None else "",
        sizes=dict(memory.sizes),
        kept=_kept(memory.kept, found) if memory.kept is not None else None,
        forward=_plan(memory.forward),
        backward=_plan(memory.backward),
    )


def _kept(kept: KeptForBackward, found: RunFindings) -> StoredKept:
    return StoredKept(
        bytes=kept.bytes,
        given_bytes=kept.given_bytes,
        unknown=kept.unknown,
        tensors=tuple(_tensor(tensor, found) for tensor in kept.saved),
        computed_again=tuple(
            StoredAgain(
                at=_at(line.place), line=found.line_of(line.place), operators=line.operators, count=line.count,
                bytes=line.bytes,
            )
            for line in kept.recomputed
        ),
    )  # fmt: skip


def _tensor(tensor: SavedTensor, found: RunFindings) -> StoredTensor:
    return StoredTensor(
        name=tensor.name, type=tensor.size.type, bytes=tensor.size.count, kind=tensor.kind, of=tensor.of,
        role=tensor.role, operator=tensor.operator, module=tensor.module, formula=tensor.size.formula,
        at=_at(tensor.place), line=found.line_of(tensor.place), returned=tensor.returned,
    )  # fmt: skip


def _plan(plan: AllocationPlan | None) -> StoredPlan | None:
    if plan is None:
        return None
    return StoredPlan(peak=plan.peak, total=plan.total, buffers=plan.buffers, unknown=plan.unknown)


def guards_data(found: RunFindings) -> str:
    """The guards as JSON text, each once on a line; an entry lists the numbers of its guards."""
    numbers: dict[str, int] = {}
    entries = []
    for function in found.run.functions:
        for entry in function.entries:
            if entry.guards or entry.left_out:
                own, without = (
                    [numbers.setdefault(_guard(guard, found), len(numbers)) for guard in guards]
                    for guards in (entry.guards, entry.left_out)
                )
                page: dict[str, Any] = {**_key(entry.key), "state": entry.guard_state, "guards": own}
                entries.append(_json({**page, "left_out": without} if without else page))
    if not entries:
        return ""
    return (
        '{\n "entries": [\n  ' + ",\n  ".join(entries) + '\n ],\n "guards": [\n  ' + ",\n  ".join(numbers) + "\n ]\n}\n"
    )


def _guard(guard: GuardRecord, found: RunFindings) -> str:
    told = {
        "kind": guard.kind, "expression": guard.expression or guard.text, "source": guard.source,
        "at": _at(guard.place), "line": found.line_of(guard.place), "why": guard.why, "value": guard.value,
        "left_out_by": guard.left_out_by,
    }  # fmt: skip
    page: dict[str, Any] = {name: text for name, text in told.items() if text}
    if guard.value:
        page["holds"] = guard.holds
    return _json(page)


def _key(key: CompileKey) -> dict[str, Any]:
    return {"compile_id": key.text, "generation": key.generation}


def _at(place: Place | None) -> str:
    return f"{place.filename}:{place.line}" if place is not None else ""
