"""The state shared by the parts of a proof: the two codes, the values, and the assumptions made so far.

``equivalence`` walks, ``agreement`` compares the two sides, ``joins`` keeps what is known where paths meet.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from depyf.decompiler.bytecode import ops
from depyf.decompiler.bytecode.codeunit import CodeUnit
from depyf.decompiler.bytecode.lower import Lowered
from depyf.decompiler.generated.contract import NO_CONTRACT, GeneratorContract
from depyf.decompiler.verify.assumptions import (
    AGAIN_NOTE,
    BUILTIN_NOTE,
    CAUGHT_NOTE,
    FORGOTTEN_NOTE,
    HANDLED_NOTE,
    NAMESPACE_NOTE,
    PLAIN_NOTE,
    SET_NOTE,
    STABLE_NOTE,
    STAND_IN_NOTE,
    UNWIND_NOTE,
    VARIABLE_NOTE,
)
from depyf.decompiler.verify.promises.handed_on import HandedOn
from depyf.decompiler.verify.relation.facts import MAX_TRACKED, widest
from depyf.decompiler.verify.relation.sameness import Sameness
from depyf.decompiler.verify.relation.values import Values
from depyf.decompiler.verify.signature import looks_at_locals
from depyf.decompiler.verify.state.checked_code import CheckedCode
from depyf.decompiler.verify.state.proof_state import Pair
from depyf.decompiler.verify.verdict import LifetimeMismatch, Mismatch
from depyf.decompiler.verify.walk.promised import Promised, stable_globals
from depyf.decompiler.verify.walk.wide import makes_wide


class GaveUp(Exception):
    """The budget ran out; nothing was proven or refuted."""


@dataclass
class Proof:
    """What a successful walk leaves to be proven, and what it had to assume."""

    nested: list[tuple[CodeUnit, CodeUnit]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    steps: int = 0
    places: dict[int, int] = field(default_factory=dict)
    """Which instruction of the original each observable one of the recompiled code is."""


class Ground:
    """Both codes with their common values; the proof being made, to which assumptions are added.

    Input: as for ``equivalence.prove``.
    """

    def __init__(
        self,
        original: Lowered,
        recompiled: Lowered,
        is_temp: Callable[[str], bool],
        nested_proven: Callable[[CodeUnit, CodeUnit], bool],
        renames: Mapping[str, str] | None,
        stand_ins: Mapping[str, str] | None,
        bindings: Mapping[str, Any] | None,
        builtins: Mapping[str, Any],
        promises: GeneratorContract,
        variables: frozenset[str],
        lifetimes: bool,
        loose: Iterable[frozenset[Any]],
        handed: HandedOn,
    ) -> None:
        self.values = Values(original.unit.null_above_callable, loose)
        fixed = stable_globals(promises, original, recompiled)
        self.promised = self.values.promised = Promised(promises, self.values) if promises != NO_CONTRACT else None
        own = variables.__contains__ if variables else None
        watched = [pc for pc in handed.loads if pc not in handed.readings]
        self.a = CheckedCode(original, self.values, 0, own, bindings=fixed, passed=handed.passed, watched=watched)
        self.b = CheckedCode(
            recompiled, self.values, 1, is_temp, renames, {**fixed, **(bindings or {})}, stand_ins, builtins
        )
        self.values.tracked = max(MAX_TRACKED, widest(original.instrs), widest(recompiled.instrs))
        if self.promised is not None:
            self.promised.handed = handed
            self.promised.wide = promises.plain_keys and makes_wide(original)
            self.promised.one_by_one = recompiled.unit.adds_to_large_sets
        self.units = original.unit, recompiled.unit
        self.lifetimes = lifetimes
        self.proof = Proof()
        self.sameness = Sameness(self.values, nested_proven, self.proof.nested)
        self.rebinds_cells = any(instr.op == ops.MAKE_CELL for instr in (*original.instrs, *recompiled.instrs))
        if fixed:
            self.note(STABLE_NOTE)
        if variables:
            self.note(VARIABLE_NOTE)
        if self.b.namespace_temps:
            self.note(NAMESPACE_NOTE)
        if self.a.has_stand_ins or self.b.has_stand_ins:
            self.note(STAND_IN_NOTE)

    def note(self, text: str) -> None:
        if text not in self.proof.notes:
            self.proof.notes.append(text)

    def done(self) -> Proof:
        """The proof, once every path has been walked.

        Raises Mismatch where a bare ``raise`` would have done, LifetimeMismatch where a temporary would be observable.
        """
        for pc in [pc for pc, another in self.b.again.items() if not another]:
            raise Mismatch(f"recompiled {self.b.describe(pc)}: a bare raise adds no entry to the traceback")
        for text in self.promised.notes if self.promised is not None else ():
            self.note(text)
        if self.values.shuffles:
            self.note(SET_NOTE)
        if self.a.restores or self.b.restores:
            self.note(UNWIND_NOTE)
        if self.b.keeps:
            self.note(HANDLED_NOTE)
        if self.b.forgets and self.lifetimes:
            self.note(CAUGHT_NOTE)
        if not {CAUGHT_NOTE, FORGOTTEN_NOTE}.isdisjoint(self.proof.notes) and looks_at_locals(self.units[0]):
            raise LifetimeMismatch("what looks at its local variables sees a temporary")
        if self.b.again:
            self.note(AGAIN_NOTE)
        if self.b.builtins_named:
            self.note(BUILTIN_NOTE + ", ".join(sorted(self.b.builtins_named)))
        if self.b.formats or self._converts_alone():
            self.note(PLAIN_NOTE)
        return self.proof

    def _converts_alone(self) -> bool:
        """Whether the original converts a value without formatting it, which no text does (3.13+)."""
        instrs = self.a.instrs
        formatting = (ops.FORMAT, ops.BUILD_INTERPOLATION)
        return any(instr.op == ops.CONVERT and after.op not in formatting for instr, after in pairwise(instrs))

    def mismatch(self, pair: Pair, why: str) -> Mismatch:
        a, b = pair.a, pair.b
        where_a, where_b = self.a.describe(a.pc), self.b.describe(b.pc)
        return Mismatch(f"original {where_a} and recompiled {where_b}: {why}", a.pc)
