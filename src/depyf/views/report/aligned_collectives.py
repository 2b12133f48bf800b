"""The collectives in the graphs of each rank, aligned.

Input: the dumps of the ranks of a run.  Output: rows, one for each collective, with what each rank has there; a rank
that lacks it, or has another one, makes the row one that differs.  Graphs stand in the order of their compile ids.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from depyf.run.compile_stages import BACKWARD, CAPTURED, FORWARD
from depyf.run.files.file_record import FileRecord
from depyf.run.graphs.program_comments import place_in
from depyf.views.report.dump_view import DumpView

_LINE = re.compile(
    r"^ +\w+(?:: \"(?P<type>[^\"]*)\")? = "
    r"torch\.(?:ops\.(?:_c10d_functional(?:_autograd)?|c10d|_dtensor)|distributed(?:\.\w+)*)"
    r"\.(?P<operator>\w+)(?:\.\w+)?\((?P<arguments>.*?)\)(?:;.*)?$"
)
_CONSTANT = re.compile(r"'[^']*'|\[[^\]]*\]|\b\d+\b")
_DEVICE = re.compile(r"(?:cuda|xpu|cpu|hpu)(?::\d+)?$")
_WAITS = ("wait_tensor",)
_MOST = 4000
"""Collectives of one rank that are aligned."""


@dataclass(frozen=True, slots=True)
class Collective:
    """A call of a collective operator in a graph."""

    operator: str
    type: str
    constants: str
    at: str
    code: str
    id: str
    generation: int
    stage: str
    file: str
    line: int

    @property
    def same_as(self) -> tuple[str, str, str]:
        """A key that is equal for equal collectives on several ranks."""
        return self.operator, self.type, self.constants

    def to_json(self) -> dict[str, Any]:
        return {
            "type": self.type, "constants": self.constants, "id": self.id, "generation": self.generation,
            "stage": self.stage, "file": self.file, "line": self.line, "operator": self.operator,
        }  # fmt: skip


@dataclass
class AlignedRow:
    """The collective of each rank at one position of the sequence."""

    first: Collective
    of: dict[int, Collective] = field(default_factory=dict)

    def to_json(self, ranks: list[int]) -> dict[str, Any]:
        here = [self.of.get(rank) for rank in ranks]
        alike = None not in here and len({found.same_as for found in here if found is not None}) == 1
        return {
            "operator": self.first.operator, "at": self.first.at, "line": self.first.code, "differs": not alike,
            "cells": [found.to_json() if found is not None else None for found in here],
        }  # fmt: skip


def aligned(ranks: Mapping[int, DumpView]) -> list[dict[str, Any]]:
    """A row for each collective, in the order of the graphs."""
    rows: list[AlignedRow] = []
    for rank, view in ranks.items():
        rows = _merged(rows, rank, collectives_of(view)[:_MOST])
    return [row.to_json(list(ranks)) for row in rows]


def _merged(rows: list[AlignedRow], rank: int, own: list[Collective]) -> list[AlignedRow]:
    matcher = difflib.SequenceMatcher(
        None, [row.first.same_as for row in rows], [found.same_as for found in own], autojunk=False
    )
    merged: list[AlignedRow] = []
    for _, start, end, first, last in matcher.get_opcodes():
        for offset in range(max(end - start, last - first)):
            row = rows[start + offset] if start + offset < end else None
            found = own[first + offset] if first + offset < last else None
            if row is None and found is not None:
                row = AlignedRow(found)
            if row is not None:
                if found is not None:
                    row.of[rank] = found
                merged.append(row)
    return merged


def collectives_of(view: DumpView) -> list[Collective]:
    """The collectives in AOTAutograd's graphs; in the captured graphs where there are none."""
    graphs = [file for file in view.files if file.kind == "graph" and file.key is not None]
    lowered = {file.key for file in graphs if file.stage in (FORWARD, BACKWARD)}
    chosen = [f for f in graphs if f.stage in (FORWARD, BACKWARD) or (f.stage == CAPTURED and f.key not in lowered)]
    found: list[Collective] = []
    for file in sorted(chosen, key=_order):
        found += _in_text(file, view.text(file.name) or "")
    return found


def _order(file: FileRecord) -> tuple[Any, ...]:
    return file.key.order if file.key is not None else (), file.stage == BACKWARD, file.index


def _in_text(file: FileRecord, text: str) -> list[Collective]:
    found: list[Collective] = []
    key = file.key
    at = code = ""
    for number, line in enumerate(text.split("\n"), 1):
        if line.lstrip().startswith("#"):
            if place := place_in(line):
                at, code = f"{place.filename}:{place.line}", place.text
        elif (match := _LINE.match(line)) and match["operator"] not in _WAITS and key is not None:
            constants = ", ".join(_CONSTANT.findall(match["arguments"]))
            kind = _DEVICE.sub("", match["type"] or "")
            found.append(
                Collective(
                    match["operator"],
                    kind,
                    constants,
                    at,
                    code,
                    key.text,
                    key.generation,
                    file.stage,
                    file.name,
                    number,
                )
            )
    return found
