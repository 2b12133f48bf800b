"""``shapes.json``, ``memory.json`` and ``guards.json``: what the pages of the same names say, and the guards, as data.

Input: a ``Run``, and what is found in it.  Output: JSON texts, "" where there is nothing to say; the same run gives the
same text.
"""

from __future__ import annotations

import functools
import json
import linecache
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from depyf.run.files.manifest import indented
from depyf.run.memory.allocation_plan import AllocationPlan
from depyf.run.memory.graph_memory import GraphMemory, graph_memories
from depyf.run.memory.saved_tensors import KeptForBackward, SavedTensor
from depyf.run.records import CodeRecord, CompileKey, FunctionRecord, GuardRecord, Place
from depyf.run.run import Run
from depyf.run.shapes.shape_table import ConditionRow, Decision, FunctionShapes, SizeRow, shapes_of

_json = json.JSONEncoder(ensure_ascii=False).encode
"""As ``json.dumps``, which makes an encoder each time."""


@dataclass(frozen=True)
class RunFindings:
    """What several pages of a run tell: found once, when the first of them asks."""

    run: Run

    @functools.cached_property
    def shapes(self) -> tuple[tuple[FunctionRecord, FunctionShapes], ...]:
        """The functions with sizes that are no constants."""
        return tuple((function, table) for function in self.run.functions if (table := shapes_of(function)) is not None)

    @functools.cached_property
    def memories(self) -> tuple[GraphMemory, ...]:
        return tuple(graph_memories(self.run))


def shapes_data(found: RunFindings) -> str:
    """Each size of each function with what it may be, and what decided; then the conditions on several sizes."""
    if not found.shapes:
        return ""
    page = [{"frame": _key(CompileKey(*function.function)), **_shapes(table)} for function, table in found.shapes]
    return indented({"functions": page}) + "\n"


def _shapes(table: FunctionShapes) -> dict[str, Any]:
    return {
        **_function(table.code),
        "sizes": [_size(row) for row in table.sizes],
        "conditions": [_condition(row) for row in table.conditions],
        "choices": [_condition(row) for row in table.choices],
        "implied": table.implied,
    }


def _size(row: SizeRow) -> dict[str, Any]:
    return {
        "input": row.name.input, "dimension": row.name.dimension, "symbol": row.symbol, "may_be": row.allowed,
        "constant": row.constant, "entries": list(row.entries), "decided_by": _decisions(row.decisions),
    }  # fmt: skip


def _condition(row: ConditionRow) -> dict[str, Any]:
    return {"condition": row.text, "entries": list(row.entries), "decided_by": _decisions(row.decisions)}


def _decisions(decisions: Iterable[Decision]) -> list[dict[str, str]]:
    found = ({**_placed(d.place), "operator": d.operator, "choice": d.choice, "note": d.note} for d in decisions)
    return [{name: text for name, text in one.items() if text} for one in found]


def memory_data(found: RunFindings) -> str:
    """What each graph keeps for its backward, computes again, and the peak of what Inductor's code allocates; in bytes."""
    return indented({"graphs": [_memory(memory) for memory in found.memories]}) + "\n" if found.memories else ""


def _memory(memory: GraphMemory) -> dict[str, Any]:
    return {
        **_key(memory.key),
        **(_function(memory.code) if memory.code is not None else {}),
        "sizes": dict(memory.sizes),
        "kept": _kept(memory.kept) if memory.kept is not None else None,
        "forward": _plan(memory.forward),
        "backward": _plan(memory.backward),
    }


def _kept(kept: KeptForBackward) -> dict[str, Any]:
    return {
        "bytes": kept.bytes,
        "given_bytes": kept.given_bytes,
        "unknown": kept.unknown,
        "tensors": [_tensor(tensor) for tensor in kept.saved],
        "computed_again": [
            {**_placed(line.place), "operators": list(line.operators), "count": line.count, "bytes": line.bytes}
            for line in kept.recomputed
        ],
    }


def _tensor(tensor: SavedTensor) -> dict[str, Any]:
    told = {
        "of": tensor.of, "role": tensor.role, "operator": tensor.operator, "module": tensor.module,
        "formula": tensor.size.formula, **_placed(tensor.place),
    }  # fmt: skip
    return {
        "name": tensor.name, "type": tensor.size.type, "bytes": tensor.size.count, "kind": tensor.kind,
        **{name: text for name, text in told.items() if text}, **({"returned": True} if tensor.returned else {}),
    }  # fmt: skip


def _plan(plan: AllocationPlan | None) -> dict[str, Any] | None:
    if plan is None:
        return None
    return {"peak": plan.peak, "total": plan.total, "buffers": plan.buffers, "unknown": list(plan.unknown)}


def guards_data(found: RunFindings) -> str:
    """Each guard once, one line a guard; an entry lists those that it has, by their number."""
    numbers: dict[str, int] = {}
    entries = []
    for function in found.run.functions:
        for entry in function.entries:
            if entry.guards:
                own = [numbers.setdefault(_guard(guard), len(numbers)) for guard in entry.guards]
                key = _key(entry.key)
                entries.append(_json({**key, "state": entry.guard_state, "guards": own}))
    if not entries:
        return ""
    return (
        '{\n "entries": [\n  ' + ",\n  ".join(entries) + '\n ],\n "guards": [\n  ' + ",\n  ".join(numbers) + "\n ]\n}\n"
    )


def _guard(guard: GuardRecord) -> str:
    told = {
        "kind": guard.kind, "expression": guard.expression or guard.text, "source": guard.source, **_placed(guard.place),
        "why": guard.why, "value": guard.value,
    }  # fmt: skip
    page: dict[str, Any] = {name: text for name, text in told.items() if text}
    if guard.value:
        page["holds"] = guard.holds
    return _json(page)


def _function(code: CodeRecord) -> dict[str, str]:
    return {"function": code.shown, "from": f"{code.filename}:{code.line}"}


def _key(key: CompileKey) -> dict[str, Any]:
    return {"compile_id": key.text, "generation": key.generation}


def _placed(place: Place | None) -> dict[str, str]:
    """The line of the program, and its text."""
    if place is None:
        return {}
    text = place.text or linecache.getline(place.filename, place.line).strip()
    return {"at": f"{place.filename}:{place.line}", **({"line": text} if text else {})}
