"""What is compiled by itself inside the object that ``depyf.explain`` was asked about: what is alike, once.

Input: the parts of an object, and the run of what torch has for them.  Output: ``InsideObject`` records.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from depyf.run.causes.folding import counted
from depyf.run.records import CodeRecord, FunctionRecord
from depyf.run.run import Run
from depyf.sources.live.compiled_parts import CompiledPart
from depyf.sources.live.pure_access import short_name
from depyf.sources.reports.library_files import of_libraries

_FEW = 3


@dataclass(frozen=True, slots=True)
class InsideObject:
    """Parts of one class, with one function that runs them."""

    paths: tuple[str, ...]
    """``layers.0``: how the object reaches each."""
    kind: str
    module: bool
    in_place: bool
    """``compile()`` was called of the modules."""
    function: FunctionRecord
    """What runs them; without entries where torch made none."""

    @property
    def passed_over(self) -> bool:
        """Whether the parts are modules of torch compiled in place, for which torch compiles nothing."""
        return self.in_place and not self.function.entries and of_libraries(self.function.code.filename)

    @property
    def named(self) -> str:
        """``3 modules (Block: layers.0, layers.1, layers.2)``."""
        shown = self.paths if len(self.paths) <= _FEW else (self.paths[0], "...", self.paths[-1])
        names = " ".join(shown) if len(self.paths) > _FEW else ", ".join(shown)
        return f"{counted(len(self.paths), 'module' if self.module else 'function')} ({self.kind}: {names})"

    def lines(self) -> list[str]:
        """The lines about these parts, to stand below the object."""
        if self.function.entries:
            return [f"compiled inside: {self.named}"]
        asked = "compile() was called on" if self.in_place else "torch.compile was given"
        made = f"{asked} {self.named}; torch has no compiled code for {'it' if len(self.paths) == 1 else 'them'}"
        if not self.passed_over:
            return [f"{made} (never called, or torch has dropped it)"]
        return [
            made,
            f"torch passes over {self.function.code.qualname} of its own where compile() was called on the module: "
            "torch.compile(module) in its place compiles it",
        ]

    def to_json(self) -> dict[str, Any]:
        return {
            "paths": list(self.paths),
            "kind": self.kind,
            "function": self.function.code.shown,
            "in_place": self.in_place,
            "compile_ids": [entry.key.text for entry in self.function.entries],
        }


def parts_inside(run: Run, parts: Sequence[CompiledPart]) -> tuple[InsideObject, ...]:
    """The compiled parts of an object, those of the same class and function grouped."""
    functions = {_place(function.code): function for function in run.functions}
    alike: dict[tuple[str, bool, tuple[str, int, str]], list[CompiledPart]] = {}
    for part in parts:
        code = part.target.code
        place = code.co_filename, code.co_firstlineno, code.co_name
        alike.setdefault((part.kind, part.in_place, place), []).append(part)
    return tuple(
        InsideObject(tuple(p.path for p in same), kind, same[0].module, in_place, functions[place])
        for (kind, in_place, place), same in alike.items()
    )


def object_record(fn: Any) -> FunctionRecord:
    """The record that stands for an object without a function of its own to run."""
    kind = short_name(type(fn))
    return FunctionRecord((0, "?"), CodeRecord(kind, kind, "", 0, (), (), (), None, None, ()), ())


def _place(code: CodeRecord) -> tuple[str, int, str]:
    return code.filename, code.line, code.name
