"""``memory.md``: what training keeps for the backward, and what Inductor's code allocates at once.

Input: what is found in a ``Run``.  Output invariant: the same run gives the same text; what the texts of torch do not
say is said to be unknown.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from depyf.run.memory.allocation_plan import AllocationPlan
from depyf.run.memory.graph_memory import GraphMemory
from depyf.run.memory.saved_tensors import GIVEN, KEPT, VIEW, KeptForBackward, SavedTensor
from depyf.run.memory.tensor_bytes import shown_bytes
from depyf.views.pages.markdown import code, plain
from depyf.views.pages.run_data import RunFindings
from depyf.views.pages.sections.words import function_name
from depyf.views.pages.shapes import folded, line_of

_MOST_ROWS, _MOST_LINES = 40, 12

_LEGEND = """\
What the forward of each compiled graph keeps until its backward has run, the largest first: \
from the graphs of AOTAutograd, before
Inductor. *computed* takes separate memory; a *view* shares that of what it names; \
*given* is a parameter, a buffer or an input, which
the program holds anyway. What is *computed again* is not kept: the backward repeats these operations."""
_PLANNED = """\
*Planned peak* is the most that is alive at once of what the code of Inductor allocates \
(its lines `empty_strided...`, `del` and
`# reuse`); a backward holds what was kept, and the gradients that it is given, until it deletes them. \
Inductor reports no figure of its
own by default. Parameters and inputs, and what kernels and libraries allocate inside, are not in it."""
_UNPLANNED = "No graph was compiled by Inductor, so there is no plan of allocations: *planned peak* is missing."


def memory_page(found: RunFindings) -> str:
    """The text of ``memory.md``; "" where no memory is known."""
    memories = found.memories
    if not memories:
        return ""
    planned = any(memory.forward is not None for memory in memories)
    head = "| graph | kept for the backward | given anyway | computed again | peak of the forward | of the backward |"
    table = [head, "|---|---|---|---|---|---|", *map(_row, memories)]
    parts = ["# Memory", _LEGEND, _PLANNED if planned else _UNPLANNED, "\n".join(table)]
    alike: dict[tuple[object, ...], list[GraphMemory]] = {}
    for memory in memories:
        if memory.kept is not None:
            tensors = tuple(
                (t.name, t.kind, t.operator, t.place) for t in sorted(memory.kept.saved, key=lambda t: t.name)
            )
            alike.setdefault((memory.key.function, tensors), []).append(memory)
    for first, *others in alike.values():
        assert first.kept is not None
        parts += _graph(first, first.kept)
        if others:
            labels = folded([memory.key.label for memory in others])
            parts.append(f"{labels}: the same tensors, for other sizes.")
    return "\n\n".join(parts) + "\n"


def memory_section(found: RunFindings, page: str) -> list[str]:
    """A line or two for the index.  ``page``: the file name of ``memory.md``."""
    memories = [memory for memory in found.memories if memory.kept is not None]
    if not memories:
        return []
    largest = memories[0]
    assert largest.kept is not None
    kept = [tensor for tensor in largest.kept.saved if tensor.kind == KEPT]
    text = f"- {_title(largest)} keeps {_kept_bytes(largest.kept)} for its backward in {_count(len(kept), 'tensor')}"
    most = next(iter(_groups(largest.kept)), [])
    if most and most[0].place is not None and largest.code is not None:
        count = f" in {len(most)}" if len(most) > 1 else ""
        text += f", the most ({shown_bytes(_bytes(most))}{count}) of {line_of(most[0].place, largest.code.filename)}"
    more = f"; {_count(len(memories) - 1, 'other training graph')}" if len(memories) > 1 else ""
    return [f"{text}{more}: [{page}]({page})"]


def _kept_bytes(kept: KeptForBackward) -> str:
    unknown = f" and {_count(kept.unknown, 'tensor')} of unknown size" if kept.unknown else ""
    return shown_bytes(kept.bytes) + unknown


def _count(number: int, what: str) -> str:
    return f"{number} {what}" + ("" if number == 1 else "s")


def _title(memory: GraphMemory) -> str:
    if memory.code is None:
        return memory.key.label
    name = function_name(memory.code)
    return f"{name}{'' if name.endswith('`') else ','} {memory.key.label}"


def _row(memory: GraphMemory) -> str:
    kept = memory.kept
    cells = [_title(memory)]
    if kept is None:
        cells += ["no backward", "", ""]
    else:
        again = sum(line.bytes for line in kept.recomputed)
        cells += [_kept_bytes(kept), shown_bytes(kept.given_bytes), shown_bytes(again) if again else "-"]
    cells += [_peak(memory.forward), _peak(memory.backward)]
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _peak(plan: AllocationPlan | None) -> str:
    if plan is None:
        return "-"
    unknown = f", without {', '.join(map(plain, plan.unknown[:3]))}" if plan.unknown else ""
    return f"{shown_bytes(plan.peak)} in {_count(plan.buffers, 'buffer')}{unknown}"


def _graph(memory: GraphMemory, kept: KeptForBackward) -> list[str]:
    home = memory.code.filename if memory.code is not None else ""
    title = f"## {_title(memory)}" + (f" ({plain(home)}:{memory.code.line})" if memory.code is not None else "")
    sizes = ", ".join(f"{code(name)} = {value}" for name, value in memory.sizes)
    lines = (
        [f"For {sizes}, as in the call that was compiled.\n"]
        if sizes and any(t.size.formula for t in kept.saved)
        else []
    )
    groups = _groups(kept)
    lines += ["| bytes | tensor | name | what | made by |", "|---|---|---|---|---|"]
    lines += [_tensors(group, home) for group in groups[:_MOST_ROWS]]
    rest = [tensor for group in groups[_MOST_ROWS:] for tensor in group]
    if rest:
        lines.append(f"| {shown_bytes(_bytes(rest))} | {len(rest)} more, smaller ones | | | |")
    parts = [title, "\n".join(lines)]
    given = [tensor for tensor in kept.saved if tensor.kind == GIVEN]
    notes = []
    if given:
        roles = [
            _count(sum(t.role == role for t in given), role)
            for role in ("parameter", "buffer", "input")
            if any(t.role == role for t in given)
        ]
        notes.append(f"- Given, no memory more: {', '.join(roles)}, {shown_bytes(kept.given_bytes)}: {_names(given)}.")
    again = kept.recomputed
    if again:
        total = sum(line.bytes for line in again)
        notes.append(f"- Computed again in the backward, {shown_bytes(total)} not kept:")
        for line in again[:_MOST_LINES]:
            where = f", {line_of(line.place, home)}" if line.place is not None else ""
            operators = ", ".join(code(operator.removeprefix("aten.")) for operator in line.operators[:6])
            more = f" and {len(line.operators) - 6} more" if len(line.operators) > 6 else ""
            notes.append(f"  - {shown_bytes(line.bytes)}: {_count(line.count, 'operation')} ({operators}{more}){where}")
        if len(again) > _MOST_LINES:
            notes.append(f"  - {len(again) - _MOST_LINES} more lines")
    return [*parts, "\n".join(notes)] if notes else parts


def _groups(kept: KeptForBackward) -> list[list[SavedTensor]]:
    """Those that one line makes with one operator in one size, in modules that differ by their numbers alone: the
    layers of a model; those that take most first."""
    found: dict[tuple[object, ...], list[SavedTensor]] = {}
    for tensor in kept.saved:
        if tensor.kind != GIVEN:
            of = tensor.of if tensor.kind == VIEW else ""
            alike = (
                tensor.kind,
                tensor.operator,
                tensor.place,
                _NUMBER.sub("*", tensor.module),
                tensor.size.type,
                of,
                tensor.returned,
            )
            found.setdefault(alike, []).append(tensor)
    return sorted(found.values(), key=lambda group: (group[0].kind != KEPT, -_bytes(group)))


_NUMBER = re.compile(r"\b\d+\b")


def _bytes(tensors: Sequence[SavedTensor]) -> int:
    return sum(tensor.size.count or 0 for tensor in tensors if tensor.kind == KEPT)


def _tensors(group: Sequence[SavedTensor], home: str) -> str:
    first, count = group[0], len(group)
    times = f"{count} × " if count > 1 else ""
    size = "0 B" if first.kind != KEPT else "?" if first.size.count is None else shown_bytes(_bytes(group))
    if first.size.formula and first.kind == KEPT:
        size += f" = {times}{code(first.size.formula)}"
    what = "computed" if first.kind == KEPT else f"{first.kind} {code(first.of)}"
    what += ", also returned" if first.returned else ""
    made = code(first.operator.removeprefix("aten.")) if first.operator else ""
    place = line_of(first.place, home) if first.place is not None else ""
    module = first.module if len({tensor.module for tensor in group}) == 1 else _NUMBER.sub("*", first.module)
    names = ", ".join(code(tensor.name) for tensor in group[:3]) + (", ..." if count > 3 else "")
    made_by = ", ".join(part for part in (place, made, code(module) if module else "") if part)
    cells = [size, times + code(first.size.type), names, what, made_by]
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _names(given: Sequence[SavedTensor], most: int = 6) -> str:
    names = [code(tensor.of) for tensor in given[:most]]
    return ", ".join(names) + (f" and {len(given) - most} more" if len(given) > most else "")
