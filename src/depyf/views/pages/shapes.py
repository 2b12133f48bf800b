"""``shapes.md``: which size of which input may be what, and what decided it.

Input: what is found in a ``Run``.  Output invariant: the same run gives the same text; each fact stands once for a
function, however many compilations share it.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from depyf.run.causes.stack_names import in_words
from depyf.run.graphs.graph_text import short_path
from depyf.run.places.place import Place
from depyf.run.records import CodeRecord
from depyf.run.shapes.shape_table import (
    KEPT_CONSTANT,
    ConditionRow,
    Decision,
    FunctionShapes,
    SizeRow,
)
from depyf.views.pages.markdown import code, plain
from depyf.views.pages.run_data import RunFindings
from depyf.views.pages.sections.words import function_name, line_text

_LONGEST_LINE = 100
_MOST_LISTED = 24
"""Conditions and choices of one function on the page; the manifest has them all."""

_LEGEND = """\
Which size of which input may be what, without a recompilation. \
A size that is no symbol is a constant of the compiled code.
*may be* is what all guards leave in the end; *decided by* is the line of the program and the operator that asked, \
in the order in
which torch came by. A symbol is never 0 or 1: torch compiles these sizes on their own. \
Where *torch's choice* stands, no operator
needs the condition: torch asked to choose between two ways, and the compiled code is for the one that it took."""


_UNBACKED = "(unbacked)"
_SPECIAL = (
    (
        _UNBACKED,
        "\nA symbol that begins with `u` may be 0 and 1, too: torch knows nothing of it but what is declared or asked.",
    ),
    ("._base", "\n`y._base` is the tensor that `y` is a view of."),
    (
        "___stack",
        "\n`(value of line 7)`, or a call, is a value that the function had computed there before a graph break.",
    ),
)


def shapes_page(found: RunFindings) -> str:
    """The whole page; "" where no size is a symbol."""
    if not found.shapes:
        return ""
    inputs = [row.name.text for _, table in found.shapes for row in table.sizes]
    if any(row.symbol.startswith("u") for _, table in found.shapes for row in table.sizes):
        inputs.append(_UNBACKED)
    legend = _LEGEND + "".join(text for mark, text in _SPECIAL if any(mark in name for name in inputs))
    parts = ["# Dynamic shapes", legend]
    names = found.stack_names
    for function, table in found.shapes:
        parts.append(f"## {function_name(table.code)} ({plain(table.code.filename)}:{table.code.line})")
        parts += [in_words(part, names.get(function.function, {})) for part in _function(table)]
    return "\n\n".join(parts) + "\n"


def shapes_section(found: RunFindings, page: str) -> list[str]:
    """Some lines for the index: what is constant or bounded, by function; ``page`` is the name of ``shapes.md``."""
    lines = []
    names = found.stack_names
    for function, table in found.shapes:
        lines.append(in_words(f"- {function_name(table.code)}: {_summary(table)}", names.get(function.function, {})))
    if len(lines) > _MOST_FUNCTIONS:
        more = len(lines) - _MOST_FUNCTIONS
        lines = [*lines[:_MOST_FUNCTIONS], f"- and {more} more function{'' if more == 1 else 's'}"]
    return [*lines, f"\nEach size, and the line that decided: [{page}]({page})"] if lines else []


_MOST_FUNCTIONS = 4
_MOST_IN_SUMMARY = 4


def _summary(table: FunctionShapes) -> str:
    """``x.size(1)`` 2 to 16 / 17 or more: those with the narrowest ranges first."""
    found: dict[str, dict[str, None]] = {}
    for row in table.sizes:
        if not row.constant and not row.allowed.startswith("= "):
            found.setdefault(row.name.text, {})[row.allowed] = None
    told = [f"{code(name)} {' / '.join(allowed)}" for name, allowed in found.items() if not {*allowed} <= _FREE]
    free = [code(name) for name, allowed in found.items() if {*allowed} <= _FREE]
    parts = [*told[:_MOST_IN_SUMMARY]]
    if len(told) > _MOST_IN_SUMMARY:
        parts.append(f"{len(told) - _MOST_IN_SUMMARY} more sizes with conditions")
    if free:
        parts.append(f"{_some(free, 3)} free")
    equal = sum(row.equality for row in table.conditions) + sum(row.allowed.startswith("= ") for row in table.sizes)
    if equal:
        parts.append(f"{equal} {'sizes' if equal > 1 else 'size'} tied to another")
    return "; ".join(parts)


_FREE = {"2 or more", "0 or more", "any", "any number"}


def _function(table: FunctionShapes) -> list[str]:
    free = [row for row in table.sizes if _is_free(row)]
    free = free if len(free) > _MOST_FREE else []
    shown = [row for row in table.sizes if not _kept_constant(row) and not (free and _is_free(row))]
    lines = ["| input | size | symbol | may be | in | decided by |", "|---|---|---|---|---|---|"]
    last: tuple[str, str] | None = None
    for row in shown:
        here = (row.name.input, row.name.dimension)
        cells = [code(row.name.input), row.name.dimension or "the number"] if here != last else ["", ""]
        last = here
        allowed = f"= {code(row.allowed[2:])}" if row.allowed.startswith("= ") else row.allowed
        allowed += ", a constant" if row.constant else ""
        decided = _all_decided(row.decisions, table.code)
        cells += [row.symbol, allowed, folded(row.entries), decided]
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    parts = ["\n".join(lines)]
    constants: dict[tuple[str, ...], list[str]] = {}
    for row in table.sizes:
        if _kept_constant(row):
            constants.setdefault(row.entries, []).append(f"{code(row.name.text)} = {row.allowed}")
    rest = [
        f"- In {folded(entries)} {_some(sizes)}: torch takes a size for a constant until it has changed."
        for entries, sizes in constants.items()
    ]
    if free:
        rest.append(f"- Numbers that may be anything: {_some([code(row.name.text) for row in free], 3)}.")
    rest += _conditions("", table.conditions, table.code) + _conditions("torch's choice: ", table.choices, table.code)
    if table.implied:
        rest.append(
            f"- {table.implied} more conditions of torch's say nothing new: "
            "they held for all of the values above that were tried."
        )
    return [*parts, "\n".join(rest)] if rest else parts


_MOST_FREE = 2
"""More numbers without a condition (counters of a model's normalisations) are one line."""


def _is_free(row: SizeRow) -> bool:
    """Whether it is a number without a condition."""
    return not row.name.dimension and row.allowed in ("any", "any number")


def _kept_constant(row: SizeRow) -> bool:
    return any(decision.note == KEPT_CONSTANT for decision in row.decisions)


def _some(sizes: Sequence[str], most: int = 8) -> str:
    more = f" and {len(sizes) - most} more" if len(sizes) > most else ""
    return ", ".join(sizes[:most]) + more


def _conditions(kind: str, rows: Sequence[ConditionRow], function: CodeRecord) -> list[str]:
    """Those that the same line asked for in one line, each with the entries that have it."""
    grouped: dict[str, dict[tuple[str, ...], list[str]]] = {}
    for row in rows:
        decided = _all_decided(row.decisions, function)
        grouped.setdefault(decided, {}).setdefault(row.entries, []).append(code(row.text))
    lines = []
    for decided, found in grouped.items():
        told = [f"{_some(texts, 3)} ({folded(entries)})" for entries, texts in found.items()]
        lines.append(f"- {decided or 'torch'}: {_some(told)}")
    if len(lines) > _MOST_LISTED:
        lines = [*lines[:_MOST_LISTED], f"- {kind}{len(lines) - _MOST_LISTED} more lines like these (`manifest.json`)"]
    return lines


def _all_decided(decisions: Sequence[Decision], function: CodeRecord) -> str:
    """Each line of the program once, with what it asked for."""
    found: dict[str, dict[str, dict[str, None]]] = {}
    for decision in decisions:
        place = line_of(decision.place, function.filename) if decision.place is not None else ""
        why = f"torch's choice: {decision.choice}" if decision.choice else plain(decision.note)
        operators = found.setdefault(place, {})
        operators.setdefault(code(decision.operator) if decision.operator else "", {})[why] = None
    parts = []
    for place, operators in found.items():
        words = []
        for operator, whys in operators.items():
            own = "; ".join(why for why in whys if why)
            words.append(f"{operator} ({own})" if operator and own else operator or own)
        parts.append(", ".join(part for part in (place, *words) if part))
    return "; ".join(part for part in parts if part)


def line_of(place: Place, home: str) -> str:
    """A line with its text; the file by its last name where it is ``home``, else without the folders of an
    installation."""
    name = (
        os.path.basename(place.filename)
        if place.filename == home
        else short_path(place.filename, os.path.dirname(home))
    )
    text = line_text(place)
    text = text if len(text) <= _LONGEST_LINE else text[: _LONGEST_LINE - 3] + "..."
    return f"{plain(name)}:{place.line}" + (f" {code(text)}" if text else "")


def folded(labels: Sequence[str]) -> str:
    """Compile ids with their runs: ``0/1 to 0/4, 2/0``."""
    runs: list[list[str]] = []
    for label in labels:
        previous = runs[-1][-1].rpartition("/") if runs else ("", "", "")
        own = label.rpartition("/")
        if own[0] == previous[0] and own[2].isdigit() and previous[2].isdigit() and int(own[2]) == int(previous[2]) + 1:
            runs[-1].append(label)
        else:
            runs.append([label])
    return ", ".join(f"{run[0]} to {run[-1]}" if len(run) > 2 else ", ".join(run) for run in runs)
