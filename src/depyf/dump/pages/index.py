"""``index.md``: what happened, at a glance.

Input: a ``RunRecord`` and the names of the files written.  Output invariant: the same run gives the same text; every
graph break, recompilation and function that ran as ordinary Python is on it, with the user's line.
"""

from __future__ import annotations

import linecache

from depyf.dump.advice.registry import sentence
from depyf.dump.compile_stages import BY_EVENT, CAPTURED, COLUMNS, FORWARD, WRAPPER
from depyf.dump.files.layout import MEMORY, SHAPES, TIMINGS, graph_file
from depyf.dump.pages.call_tree import call_tree_section
from depyf.dump.pages.markdown import code, message, plain
from depyf.dump.pages.memory import memory_section
from depyf.dump.pages.shapes import shapes_section
from depyf.dump.records import (
    BreakRecord,
    CodeRecord,
    CompileKey,
    EntryRecord,
    FunctionRecord,
    GraphRecord,
    Place,
    RunRecord,
    values_beside,
)
from depyf.safety.escape import cut, one_line

Pages = dict[str, tuple[FunctionRecord, ...]]


def index_page(run: RunRecord, pages: Pages, kernels: dict[str, int]) -> str:
    """The whole page; ``kernels`` counts the kernel files of each compile id."""
    entries = sorted(((f, e) for f in run.functions for e in f.entries), key=lambda pair: pair[1].key.order)
    compiled = [(f, e) for f, e in entries if not e.failed]
    eager = [(f, e) for f, e in entries if e.failed and not e.raised]
    errors = [(f, e) for f, e in entries if e.failed and e.raised]
    breaks = distinct_breaks(run)
    again = [(f, e) for f, e in entries if e.recompiles]
    graphs = len({graph.key for graph in run.graphs if graph.stage in (CAPTURED, FORWARD, WRAPPER)})
    parts = [
        "# What torch.compile did",
        f"torch {run.torch_version}, Python {run.python_version}. Every file here is described in `manifest.json`; "
        f"compile times, which differ in every run, are in `{TIMINGS}`.",
        f"- {_count(len(compiled), 'compilation')}, {_count(graphs, 'graph')}\n"
        f"- {_count(len(breaks), 'distinct graph break')}\n"
        f"- {_count(sum(not e.failed for _, e in again), 'recompilation')}\n"
        f"- {_count(len(eager), 'time')} a function ran as ordinary Python"
        + (f"\n- {_count(len(errors), 'error')} that torch raised instead of compiling" if errors else ""),
    ]
    sections = (
        ("Nothing was compiled", [] if run.functions or run.never_compiled else [_NOTHING]),
        ("Functions", _functions(pages)),
        ("Call tree", call_tree_section(run)),
        ("Ran as ordinary Python", [_eager(f, e) for f, e in eager]),
        ("Errors that torch raised", [_eager(f, e) for f, e in errors]),
        ("Never compiled", [f"- {_where(c)}: {message(why)}" for c, why in run.never_compiled]),
        ("Graphs of no compiled function", _alone(run)),
        ("Graph breaks", [_break(n, *found) for n, found in enumerate(breaks, 1)]),
        ("Recompilations", [_recompile(f, e) for f, e in again]),
        ("Dynamic shapes", shapes_section(run, SHAPES)),
        ("Kept for the backward", memory_section(run, MEMORY)),
        ("Stages", _stages(run, kernels)),
        ("Forked processes that compiled, too", [f"- {_link(name, name + '/index.md')}" for name in run.forks]),
        (f"Not reported by torch {run.torch_version}", [f"- {what}" for what in run.not_reported]),
        ("Notes", [f"- {message(note)}" for note in run.notes]),
    )
    for title, lines in sections:
        if lines:
            parts.append(f"## {title}\n\n" + "\n".join(lines))
    return "\n\n".join(parts) + "\n"


_LONGEST_LINE = 160
"""Of a line of the program so much is shown: the same line may be the place of very many symbols."""
_NOTHING = """\
No function came to Dynamo while this was recorded. That is so where

- no compiled function was called, or all that they call for was compiled before and is gone from torch's caches;
- compiling is switched off (`TORCH_COMPILE_DISABLE=1`, `torch.compiler.set_stance("force_eager")`);
- what was called is torch's own code, which Dynamo passes over where no function of yours calls it: a
  `torch.nn.Sequential` compiled in place (`module.compile()`) runs as ordinary Python, `torch.compile(module)` compiles it."""


def provisional_page() -> str:
    """What stands in the index while the program runs, and stays there if it dies; finished compile ids are added."""
    return (
        "# What torch.compile did: not finished\n\n"
        "The program is still inside `prepare_debug`, or it died there. The transformed code and the graphs that torch\n"
        "had reported are in this folder; guards and summaries are written on exit. Compile ids finished:\n\n"
    )


def distinct_breaks(run: RunRecord) -> list[tuple[BreakRecord, dict[str, list[str]]]]:
    """Each graph break once, with the compile ids that met it, and how much of the function ran as ordinary Python then."""
    found: dict[tuple[str, int, str], tuple[BreakRecord, dict[CompileKey, str]]] = {}
    for function in run.functions:
        for entry in function.entries:
            for record in entry.breaks:
                if record.limit:
                    continue
                _, met = found.setdefault(record.identity, (record, {}))
                ran = "the whole function" if record.skipped else "the rest of the function" if record.cut else ""
                met[entry.key] = ran or met.get(entry.key, "")
    breaks = []
    for record, met in found.values():
        parts: dict[str, list[str]] = {"": []}
        for key, ran in sorted(met.items(), key=lambda pair: pair[0].order):
            parts[""].append(key.label)
            if ran:
                parts.setdefault(ran, []).append(key.label)
        breaks.append((record, parts))
    return breaks


def _count(number: int, what: str) -> str:
    return f"{number} {what}" + ("" if number == 1 else "s")


def _functions(pages: Pages) -> list[str]:
    lines = []
    for name, functions in pages.items():
        root = functions[0]
        lines.append(f"- {_where(root.code)}{_remark(root)}: {_link(name, name)}")
        for function in functions:
            what = f"after the break at line {function.code.line}: " if function.resume_of is not None else ""
            for entry in function.entries:
                lines.append(f"  - {what}{entry.key.label}: {_outcome(entry)}")
    return lines


def _alone(run: RunRecord) -> list[str]:
    """Graphs that were captured and not compiled in the place of a function: ``torch.export`` asks for them."""
    known = {function.function for function in run.functions}
    return [
        f"- {graph.key.label}: {_link(graph_file(graph), graph_file(graph))}, captured for `torch.export` or by a caller like it"
        for graph in run.graphs
        if graph.stage == CAPTURED and graph.key.function not in known
    ]


def _remark(function: FunctionRecord) -> str:
    """What a function is that is none of the user's: torch's stand-in for ``__call__`` of an object, or for a partial, which
    is compiled as part of it; the graph that compiled autograd has captured and compiles."""
    record = function.code
    if record.decorated is not None:
        inner = record.decorated
        return f", the decorated {code(inner.function)} ({plain(inner.filename)}:{inner.line})"
    if record.qualname == "wrap_inline.<locals>.inner" and record.filename.endswith("external_utils.py"):
        return ", torch's wrapper around a callable object"
    if not function.entries or not all(entry.key.text.startswith("!") for entry in function.entries):
        return ""
    traced = record.filename.startswith("<")
    return f", a backward that compiled autograd captured{'' if traced else ' calls it'}"


def _outcome(entry: EntryRecord) -> str:
    if entry.failed:
        return "torch raised an error" if entry.raised else "ran as ordinary Python"
    parts = [f"{_count(len(entry.guards), 'guard')}"] if entry.guards else []
    transformed = entry.transformed
    if entry.before:
        parts.append("compiled before the recording began")
    elif transformed is not None and not transformed.substituted:
        parts.append(f"Dynamo's own bytecode runs: {message(transformed.reason)}")
    if entry.breaks:
        parts.append(_count(len(entry.breaks), "graph break"))
    if entry.guard_state != "live":
        parts.append("no longer in torch's cache")
    return ", ".join(["compiled", *parts])


def _eager(function: FunctionRecord, entry: EntryRecord) -> str:
    where = f"{_where(function.code)}, {entry.key.label}"
    broken = next((b for b in reversed(entry.breaks) if b.skipped), entry.breaks[-1] if entry.breaks else None)
    if broken is None:
        return f"- {where}: {message(entry.failed)}"
    if broken.limit:
        return f"- {where}: {message(broken.cause)}; why the entries did not fit stands under *Recompilations*"
    end = (
        "with `fullgraph=True` that is an error, and where `error_on_graph_break` is set"
        if entry.raised
        else "Dynamo cannot go on after a graph break in a loop"
        if broken.in_loop
        else "Dynamo cannot go on after a graph break there"
    )
    return f"- {where}: {message(broken.cause)}, {_at(broken.caller or broken.place)}; {end}"


def _at(place: Place | None) -> str:
    if place is None:
        return "in a line that torch did not name"
    text = place.text or linecache.getline(place.filename, place.line).strip()
    text = cut(text, _LONGEST_LINE)
    return f"{plain(place.filename)}:{place.line}" + (f" {code(text)}" if text else "")


def _where(record: CodeRecord) -> str:
    return f"{code(record.qualname)} ({plain(record.filename)}:{record.line})"


def _link(text: str, target: str) -> str:
    return f"[{plain(text)}]({target})"


def _break(number: int, record: BreakRecord, parts: dict[str, list[str]]) -> str:
    lines = [f"{number}. {_at(record.caller or record.place)}: {message(record.cause)}"]
    if record.caller is not None:
        lines.append(f"   - there, in {_at(record.place)}")
    number_of_torch = f" ({record.code})" if record.code else ""
    lines.append(f"   - torch: {message(record.reason)}{number_of_torch}")
    if record.explanation and record.explanation != record.cause:
        lines.append(f"   - {message(record.explanation)}")
    lines += [f"   - torch says: {message(hint)}" for hint in record.hints]
    lines += [f"   - to avoid it: {message(sentence(record.advice))}"] if record.advice else []
    ids = parts[""]
    last = f"   - met in {', '.join(ids)}"
    for part, ends in parts.items():
        if part:
            which = "" if ends == ids else f" in {', '.join(ends)}"
            last += f"; {part} ran as ordinary Python{which}"
    lines.append(last)
    return "\n".join(lines)


def _recompile(function: FunctionRecord, entry: EntryRecord) -> str:
    end = "torch raised an error" if entry.raised else "it ran as ordinary Python"
    ran = f" (not compiled again: {end})" if entry.failed else ""
    lines = [f"- {code(function.code.qualname)}, {entry.key.label}{ran}:"]
    for record in entry.recompiles:
        values = values_beside(record.guard, record.expected, record.actual)
        place = f" ({_at(record.place)})" if record.place else ""
        lines.append(
            f"  - {plain(record.entry or 'an earlier entry')} did not fit: {code(record.guard)}{place}{message(values)}"
        )
        if record.advice and record is entry.recompiles[0]:
            lines.append(f"    - to avoid it: {message(sentence(record.advice))}")
    return "\n".join(lines)


def _stages(run: RunRecord, kernels: dict[str, int]) -> list[str]:
    """A table: what torch reported for each compile id, and what its caches answered."""
    graphs: dict[str, list[GraphRecord]] = {}
    for graph in run.graphs:
        graphs.setdefault(graph.key.slug, []).append(graph)
    if not graphs:
        return []
    own = sorted({graph.stage for graph in run.graphs} - set(BY_EVENT.values()))  # the program's backend gave the name
    stages = (*COLUMNS, *((stage, stage.replace("_", " ")) for stage in own))
    used = [(stage, name) for stage, name in stages if any(graph.stage == stage for graph in run.graphs)]
    caches = {e.key.slug: e.caches for f in run.functions for e in f.entries}
    head = ["compile id", *(plain(name) for _, name in used), "kernels", "caches"]
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for slug, mine in graphs.items():
        counts = [str(sum(graph.stage == stage for graph in mine) or "-") for stage, _ in used]
        answers = ", ".join(
            dict.fromkeys(
                f"{c.cache} {c.status}{f' ({plain(one_line(c.reason))})' if c.reason else ''}"
                for c in caches.get(slug, ())
            )
        )
        lines.append(
            "| " + " | ".join([mine[0].key.label, *counts, str(kernels.get(slug, 0) or "-"), answers or "-"]) + " |"
        )
    warm = [slug for slug, found in caches.items() if any(c.status == "hit" for c in found)]
    if warm:
        lines += ["", "Where a cache answered *hit*, torch did not run the passes again: their graphs (before and after",
                  "the pre-grad and joint passes, before the post-grad passes) are reported only by the run that filled the cache."]  # fmt: skip
    return lines
