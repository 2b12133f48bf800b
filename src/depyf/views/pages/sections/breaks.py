"""The section of ``index.md`` on graph breaks: each distinct one, with torch's words and the compilations that met it.

Input: the records of a run.  Output: lines of Markdown.
"""

from __future__ import annotations

from depyf.run.advice.registry import sentence
from depyf.run.causes.folding import folded_ids
from depyf.run.records import CompileKey
from depyf.run.run import DistinctBreak
from depyf.views.pages.markdown import code, message
from depyf.views.pages.sections.words import at


def break_lines(found: list[DistinctBreak]) -> list[str]:
    """A numbered list of the graph breaks."""
    return [line for number, broken in enumerate(found, 1) for line in _break(number, broken)]


def _break(number: int, broken: DistinctBreak) -> list[str]:
    record, met = broken.record, broken.ran_as_python
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
