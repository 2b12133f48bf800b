"""Guards that a filter left out, on the page of a function and in ``index.md``.

Input: the records of a run.  Output: comments, and lines of Markdown; nothing where all guards are asked.
"""

from __future__ import annotations

from collections.abc import Mapping

from depyf.decompiler.emit.comments import comments
from depyf.run.causes.folding import counted, folded_ids
from depyf.run.guards.broken_guards import RISKY, GuardsLeftOut, LeftOutGuard, left_out
from depyf.run.guards.served_values import RAISES, is_stored, served_values
from depyf.run.places.place import Place
from depyf.run.records import EntryRecord, FunctionRecord
from depyf.safety.escape import one_line
from depyf.views.pages.markdown import code, message
from depyf.views.pages.sections.words import at, link, where

_FEW = 5
"""So many of an entry are in the index."""
_OF_OTHERS = "on state, modules and functions that the program does not change"


def left_out_comments(function: FunctionRecord, entry: EntryRecord) -> list[str]:
    """The comments below the guards of an entry on guards that a filter left out; [] for none."""
    found = left_out(function, entry)
    if not found.count:
        return []
    lines = [f"Left out, {_guards(found)}: {found.who}. No call is asked them:"]
    for guard in found.guards:
        lines.append(f"  {one_line(guard.said)}{_written(guard.record.place)}{_risky(guard)}")
        lines += [f"    runs all the same: {one_line(way.text)}" for way in guard.ways]
    lines += [f"  {_rest(found)}"] if found.rest else []
    return [comments(lines)]


def left_out_lines(pages: Mapping[str, tuple[FunctionRecord, ...]]) -> list[str]:
    """The section of ``index.md`` on guards that a filter left out, by compilation."""
    lines = []
    for name, functions in pages.items():
        for function in functions:
            for entry in function.entries:
                found = left_out(function, entry)
                if not found.count:
                    continue
                who = f"{_guards(found)} left out ({message(found.who)})"
                lines.append(f"- {where(function.code)}, {folded_ids([entry.key])}: {who}; {link(name, name)}")
                for guard in found.guards[:_FEW]:
                    line = f" at {at(guard.record.place)}" if guard.record.place is not None else ""
                    line += _risky(guard)
                    lines.append(f"  - {code(guard.said)}{line}; runs all the same: {code(guard.ways[0].text)}")
                more = len(found.guards) - _FEW
                lines += [f"  - {counted(more, 'more', 'more')}; the page has them all"] if more > 0 else []
    return lines


def _risky(guard: LeftOutGuard) -> str:
    return f", {RISKY}" if guard.risky else ""


def served_comments(function: FunctionRecord, entry: EntryRecord) -> list[str]:
    """The comments on values that an artefact serves alone, below the guards of its first entry; [] for none."""
    first = next((one for one in function.entries if is_stored(one)), None)
    found = served_values(function) if entry is first else ()
    lines = [f"Of torch.compiler.precompile: {RAISES}:"] if found else []
    for one in found:
        lines.append(f"  {one_line(one.said)}{_written(one.record.place)}")
        lines += [f"    raises: {one_line(way.text)}" for way in one.ways]
    return [comments(lines)] if lines else []


def served_lines(pages: Mapping[str, tuple[FunctionRecord, ...]]) -> list[str]:
    """The section of ``index.md`` on values that an artefact of ``torch.compiler.precompile`` serves alone."""
    lines = []
    for name, functions in pages.items():
        for function in functions:
            found = served_values(function)
            if not found:
                continue
            lines.append(f"- {where(function.code)}: {RAISES}; {link(name, name)}")
            for one in found:
                line = f" at {at(one.record.place)}" if one.record.place is not None else ""
                line += "".join(f"; raises: {code(way.text)}" for way in one.ways)
                lines.append(f"  - {code(one.said)}{line}")
    return lines


def _guards(found: GuardsLeftOut) -> str:
    return counted(found.count, "guard")


def _rest(found: GuardsLeftOut) -> str:
    return f"and {counted(found.rest, 'guard')} {_OF_OTHERS}" if found.guards else f"all {_OF_OTHERS}"


def _written(place: Place | None) -> str:
    return "" if place is None else f"  ({place.filename.rpartition('/')[2]}:{place.line})"
