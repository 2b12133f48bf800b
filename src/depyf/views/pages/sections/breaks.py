"""The section of ``index.md`` on graph breaks: each distinct one, with torch's words and the compilations that met it.

Input: the records of a run.  Output: lines of Markdown.
"""

from __future__ import annotations

from depyf.run.advice.registry import sentence
from depyf.run.causes.folding import folded_ids
from depyf.run.records import BreakRecord, CompileKey, RunRecord
from depyf.views.pages.markdown import code, message
from depyf.views.pages.sections.words import at

Met = dict[CompileKey, str]
"""Compilation -> how much of its function ran as ordinary Python after the break."""


def distinct_breaks(run: RunRecord) -> list[tuple[BreakRecord, Met]]:
    """Each graph break once, with what met it."""
    found: dict[tuple[str, int, str], tuple[BreakRecord, Met]] = {}
    for function in run.functions:
        for entry in function.entries:
            for record in entry.breaks:
                if record.limit:
                    continue
                _, met = found.setdefault(record.identity, (record, {}))
                ran = "the whole function" if record.skipped else "the rest of the function" if record.cut else ""
                met[entry.key] = ran or met.get(entry.key, "")
    return list(found.values())


def break_lines(found: list[tuple[BreakRecord, Met]]) -> list[str]:
    """A numbered list of them."""
    return [line for number, (record, met) in enumerate(found, 1) for line in _break(number, record, met)]


def _break(number: int, record: BreakRecord, met: Met) -> list[str]:
    module = f" in {code(record.module)}" if record.module else ""
    lines = [f"{number}. {at(record.caller or record.place)}{module}: {message(record.cause)}"]
    if record.caller is not None:
        lines.append(f"   - there, in {at(record.place)}")
    number_of_torch = f" ({record.code})" if record.code else ""
    lines.append(f"   - torch: {message(record.reason)}{number_of_torch}")
    if record.explanation and record.explanation != record.cause:
        lines.append(f"   - {message(record.explanation)}")
    lines += [f"   - torch says: {message(hint)}" for hint in record.hints]
    lines += [f"   - to avoid it: {message(sentence(record.advice))}"] if record.advice else []
    last = f"   - met in {folded_ids(met)}"
    parts: dict[str, list[CompileKey]] = {}
    for key, ran in met.items():
        if ran:
            parts.setdefault(ran, []).append(key)
    for part, ends in sorted(parts.items(), reverse=True):
        which = "" if len(ends) == len(met) else f" in {folded_ids(ends)}"
        last += f"; {part} ran as ordinary Python{which}"
    return [*lines, last]
