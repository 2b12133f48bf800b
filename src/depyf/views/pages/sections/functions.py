"""The section of ``index.md`` on functions: what became of each compilation, those of one outcome in one line.

Input: the records of a run, by page.  Output: lines of Markdown.
"""

from __future__ import annotations

from depyf.run.causes.folding import counted, folded_ids
from depyf.run.made import Made
from depyf.run.records import LOGGED, CompileKey, EntryRecord, EntryState, FunctionRecord
from depyf.views.pages.markdown import code, message, plain
from depyf.views.pages.sections.words import at, link, where

Pages = dict[str, tuple[FunctionRecord, ...]]


def function_lines(pages: Pages) -> list[str]:
    """The list of functions, each with its resume functions."""
    lines = []
    for name, functions in pages.items():
        root = functions[0]
        lines.append(f"- {where(root.code)}{_remark(root)}: {link(name, name)}")
        for function in functions:
            what = f"after the break at line {function.code.line}: " if function.resume_of is not None else ""
            outcomes: dict[str, list[CompileKey]] = {}
            for entry in function.entries:
                outcomes.setdefault(outcome(entry), []).append(entry.key)
            lines += [f"  - {what}{folded_ids(keys)}: {told}" for told, keys in outcomes.items()]
    return lines


def _remark(function: FunctionRecord) -> str:
    """Describe a function that is not the user's: torch's wrapper around a callable object or a partial, or the graph
    of compiled autograd."""
    record = function.code
    if record.decorated is not None:
        return f", in its decorator's {code(record.qualname)} ({plain(record.filename)}:{record.line})"
    if (
        record.wrapped
        or record.qualname == "wrap_inline.<locals>.inner"
        and record.filename.endswith("external_utils.py")
    ):
        return ", torch's wrapper around a callable object"
    if not function.entries or not all(entry.key.text.startswith("!") for entry in function.entries):
        return ""
    traced = record.filename.startswith("<")
    return f", a backward that compiled autograd captured{'' if traced else ' calls it'}"


def outcome(entry: EntryRecord) -> str:
    """The outcome of one compilation, in words."""
    if entry.state is EntryState.UNFINISHED:
        return "being compiled when the process ended"
    if entry.failed:
        return "failed: torch raised an error" if entry.raised else "ran as ordinary Python"
    parts = [counted(len(entry.guards), "guard")] if entry.guards else []
    transformed, logged = entry.transformed, entry.guard_state == LOGGED
    if entry.before:
        parts.append("compiled before the recording began")
    elif transformed is not None and not transformed.substituted and entry.made is Made.CALL and not logged:
        parts.append(f"Dynamo's own bytecode runs: {message(transformed.reason)}")
    if entry.breaks:
        parts.append(counted(len(entry.breaks), "graph break"))
    if entry.gone:
        parts.append("no longer alive" if entry.made.apart else "no longer in torch's cache")
    return ", ".join([entry.made.words, *parts])


def unfinished_lines(pairs: list[tuple[FunctionRecord, EntryRecord]]) -> list[str]:
    """The compilations in progress when the process ended."""
    return [f"- {where(function.code)}, {folded_ids([entry.key])}" for function, entry in pairs]


def python_lines(pairs: list[tuple[FunctionRecord, EntryRecord]]) -> list[str]:
    """The functions without compiled code, with the reasons; functions with the same reason share a line."""
    found: dict[str, list[CompileKey]] = {}
    for function, entry in pairs:
        head, why = where(function.code), _why(entry)
        found.setdefault(f"- {head}, \0: {why}", []).append(entry.key)
    return [line.replace("\0", folded_ids(keys), 1) for line, keys in found.items()]


def _why(entry: EntryRecord) -> str:
    broken = next((b for b in reversed(entry.breaks) if b.skipped), entry.breaks[-1] if entry.breaks else None)
    if broken is None:
        place = f", {at(entry.error_at)}" if entry.error_at is not None else ""
        return message(entry.error or entry.failed) + place
    if broken.limit:
        return f"{message(broken.cause)}; why the entries did not fit stands under *Recompilations*"
    end = (
        "with `fullgraph=True` that is an error, and where `error_on_graph_break` is set"
        if entry.raised
        else "Dynamo cannot go on after a graph break in a loop"
        if broken.in_loop
        else "Dynamo cannot go on after a graph break there"
    )
    return f"{message(broken.cause)}, {at(broken.caller or broken.place)}; {end}"
