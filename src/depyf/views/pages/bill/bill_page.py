"""``bill.md``: what the compiled code costs, line by line; ``bill.json`` is the same as data.

Input: what is found in a ``Run``.  Output invariant: the same run gives the same text; a number is torch's own, or
counted from what torch says, and a table says which.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from depyf.run.bill.lowering import CostKind
from depyf.run.bill.traffic import Traffic, TrafficCost
from depyf.run.causes.folding import counted, folded_ids
from depyf.run.files.manifest import indented
from depyf.run.installed_files import library_file
from depyf.run.memory.tensor_bytes import shown_bytes
from depyf.run.observations.memory_traffic import LEAST
from depyf.run.places.place import Place
from depyf.run.store.codec import plain as as_json
from depyf.safety.escape import cut
from depyf.views.pages.markdown import code, message, plain
from depyf.views.pages.run_data import RunFindings
from depyf.views.pages.sections.words import link

_MOST_ROWS = 20
_LONGEST = 60
_TRAFFIC = """\
What the loops of Inductor, and the kernels of libraries that it calls, read and write in one call of each graph, at \
the sizes that it was compiled
for. A loop is what Inductor fuses operations into: on a GPU one Triton kernel, on a CPU a part of a C++ kernel, \
which may hold several. A buffer counts once for each
loop or kernel that uses it; caches of the processor are not looked at. The bytes are torch's own count."""
_GUARDS = """\
What each call is asked before anything is computed, by the line that needs the guard. *Failed*: so many of them kept \
an entry from running in
a call that was recorded. What the checks take is in `timings.json`: `guards_of_one_call` as torch measured it (once, \
with cold caches)."""
_FEWEST_GUARDS = 30
_CACHED = """\
Of {graphs} nothing is known here: the code came from a cache of torch, or another process made it. \
With `TORCHINDUCTOR_FX_GRAPH_CACHE=0` Inductor makes it anew."""
_TABLES = (
    (
        CostKind.NOT_FUSED, "Not fused",
        "Pairs that use the same memory: two loops, or a loop and a kernel of a library. Inductor considered to make "
        "one of the two, and left it. *Bytes* is what one would not move.",
        "with",
    ),
    (CostKind.FALLBACK, "Not compiled", "Operators that run as eager's kernels: they read and write all of this.", ""),
    (CostKind.COPY, "Copies", "Kernels, or parts of kernels, that compute nothing.", ""),
    (
        CostKind.REALISED, "Between kernels",
        "Values that one kernel writes and others read again. What a library's kernel makes or reads has to be there.",
        "read by",
    ),
    (CostKind.PARTITION, "Outside of CUDA graphs", "What torch runs between the CUDA graphs of a graph.", ""),
)  # fmt: skip


def bill_page(found: RunFindings) -> str:
    """The text of ``bill.md``; "" where no cost is known."""
    parts = [*_guards(found), *_traffic(found.traffic)]
    return "\n\n".join(["# The bill", *parts]) + "\n" if parts else ""


def bill_data(found: RunFindings) -> str:
    """The costs as JSON text; "" where none is known."""
    if not found.traffic.graphs and not found.guards:
        return ""
    page = {
        "guards": [as_json(one) for one in found.guards],
        **({"traffic": as_json(found.traffic)} if found.traffic.graphs else {}),
    }
    return indented(page) + "\n"


def bill_section(found: RunFindings, page: str) -> list[str]:
    """The lines for the index, [] where the costs are small.  ``page``: the file name of ``bill.md``."""
    traffic = found.traffic
    if traffic.bytes < LEAST:
        return []
    parts = [
        f"{shown_bytes(sum(cost.bytes for cost in costs))} {what}"
        for kind, what in (
            (CostKind.NOT_FUSED, "for what is not fused"),
            (CostKind.FALLBACK, "for operators that are not compiled"),
            (CostKind.COPY, "for copies"),
        )
        if (costs := traffic.of(kind))
    ]
    more = f": {', '.join(parts)}" if parts else ""
    return [f"- the kernels move {shown_bytes(traffic.bytes)} in a call{more}; by line in {link(page, page)}"]


def _guards(found: RunFindings) -> list[str]:
    """How many guards a call is asked, and which of them ever failed."""
    bills = [one for one in found.guards if one.guards >= _FEWEST_GUARDS]
    if not bills:
        return []
    parts = ["## Guards", _GUARDS]
    for one in bills[:_MOST_ROWS]:
        failed = f"{one.failed} of them kept an entry from running" if one.failed else "none of them ever failed"
        left = f", {counted(one.left_out, 'guard')} left out" if one.left_out else ""
        parts.append(
            f"{code(one.function)}, {one.key.label}: {counted(one.guards, 'guard')} in the latest of "
            f"{counted(one.entries, 'entry', 'entries')}; {failed}{left}."
        )
        files = {line.place.filename for line in one.lines if line.place is not None}
        rows = ["| guards | failed | line |", "|---|---|---|"]
        for line in one.lines:
            place = line.place
            shown = None if place is None else replace(place, text=found.line_of(place))
            told = _line(shown, files).replace("|", "\\|") or "torch names no line"
            rows.append(f"| {line.guards} | {line.failed or ''} | {told} |")
        parts.append("\n".join(rows))
    return parts


def _traffic(traffic: Traffic) -> list[str]:
    cached = [_CACHED.format(graphs=counted(traffic.cached, "graph"))] if traffic.cached else []
    if not traffic.graphs:
        return []
    whole = (
        f"{shown_bytes(traffic.bytes)} in {counted(traffic.kernels, 'loop')} of Inductor and "
        f"{counted(traffic.library, 'kernel')} of libraries."
    )
    parts = ["## Memory traffic", _TRAFFIC, whole, *cached]
    for kind, title, legend, other in _TABLES:
        costs = traffic.of(kind)
        if costs:
            parts += [f"### {title}", legend, _table(costs, traffic.bytes, other)]
            if kind is CostKind.NOT_FUSED:
                parts.append(_reasons(traffic))
    return parts


def _reasons(traffic: Traffic) -> str:
    rows = ["By reason:", ""]
    for words, (times, size) in traffic.reasons().items():
        rows.append(f"- {shown_bytes(size)} in {counted(times, 'pair')}: {message(words)}")
    return "\n".join(rows)


def _table(costs: Sequence[TrafficCost], whole: int, other: str) -> str:
    files = {line.filename for cost in costs for line in (cost.line, cost.other) if line is not None}
    heads = ["bytes", "share", "line", "operators", *([other] if other else []), "why", "in"]
    rows = ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
    rows += [_row(cost, whole, bool(other), files) for cost in costs[:_MOST_ROWS]]
    rest = costs[_MOST_ROWS:]
    if rest:
        empty = " | " * (len(heads) - 3)
        rows.append(f"| {shown_bytes(sum(cost.bytes for cost in rest))} | | {len(rest)} more, smaller ones{empty} |")
    return "\n".join(rows)


def _row(cost: TrafficCost, whole: int, other: bool, files: set[str]) -> str:
    times = f" in {cost.times}" if cost.times > 1 else ""
    cells = [
        shown_bytes(cost.bytes) + times,
        f"{100 * cost.bytes / whole:.0f} %" if whole else "",
        _line(cost.line, files),
        _operators(cost.operators),
    ]
    cells += [_line(cost.other, files) or _operators(cost.other_operators)] if other else []
    cells += [message(cost.words), folded_ids(cost.keys)]
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _line(line: Place | None, files: set[str]) -> str:
    if line is None:
        return ""
    name = library_file(line.filename)
    short = name.replace("\\", "/").rpartition("/")[2]
    alike = {file for file in files if file.replace("\\", "/").rpartition("/")[2] == short}
    name = short if len(alike) <= 1 else name
    text = f" {code(cut(line.text, _LONGEST))}" if line.text else ""
    return f"{plain(name)}:{line.line}{text}"


def _operators(operators: Sequence[str]) -> str:
    shown = ", ".join(code(name.removeprefix("aten.")) for name in operators[:3])
    return shown + (f" and {len(operators) - 3} more" if len(operators) > 3 else "")
