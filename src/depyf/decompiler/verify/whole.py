"""The whole proof of one decompiled code object: signature, identity, else bisimulation, then everything nested.

Input: the original and the recompiled ``CodeUnit``.  Output: one ``Verdict`` per code object of the original, its own
first, then those nested in it in order of appearance.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from itertools import pairwise
from types import MappingProxyType
from typing import Any, NamedTuple

from depyf.decompiler.bytecode import ops
from depyf.decompiler.bytecode.codeunit import CO_OPTIMIZED, CodeUnit, nested_units, units
from depyf.decompiler.bytecode.edits.splice import without
from depyf.decompiler.bytecode.lower import Lowered, lower, lowered_once
from depyf.decompiler.bytecode.tables.set_order import compared, varies
from depyf.decompiler.bytecode.variables.slots import shares_names, with_borrowed_marked
from depyf.decompiler.bytecode.variables.told_apart import told_apart
from depyf.decompiler.generated.contract import NO_CONTRACT, GeneratorContract
from depyf.decompiler.verify.assumptions import (
    ASSIGNED_NOTE,
    CONTAINERS_NOTE,
    FEATURE_NOTE,
    FUNCTIONS_NOTE,
    IMPORT_NOTE,
    ITERABLE_NOTE,
    LISTS_NOTE,
    NAME_NOTE,
    QUALNAME_NOTE,
    SEED_NOTE,
    STRINGS_NOTE,
    VARIABLE_NOTE,
    VARIABLE_ORDER_NOTE,
)
from depyf.decompiler.verify.features import without_builtins, without_imports
from depyf.decompiler.verify.identical import Pairs, first_difference, same_bytes, same_instructions
from depyf.decompiler.verify.keyword_defaults import OTHER_DEFAULTS, finds_other_defaults
from depyf.decompiler.verify.promises.handed_on import handed_on
from depyf.decompiler.verify.signature import (
    NAMED,
    NO_CLASS,
    SHOWN,
    called_otherwise,
    hides_class,
    iterable_renamed,
    looked_for,
    looks,
    named_otherwise,
    other_names,
    parameter_renames,
    qualname_difference,
    same_order,
    signature_difference,
)
from depyf.decompiler.verify.state.proof import GaveUp, Proof
from depyf.decompiler.verify.verdict import LifetimeMismatch, Mismatch, Status, Verdict
from depyf.decompiler.verify.walk.equivalence import prove
from depyf.decompiler.verify.walk.promised import added_variables, locals_of
from depyf.errors import BytecodeError
from depyf.safety.budget import TooMuchWork
from depyf.safety.depth import any_depth_of, part_of_work


def verify(
    original: CodeUnit,
    recompiled: CodeUnit,
    temp_prefix: str = "__temp_",
    *,
    lifetimes: bool = True,
    renames: Mapping[str, str] | None = None,
    stand_ins: Mapping[str, str] | None = None,
    bindings: Mapping[str, Any] | None = None,
    builtins: Mapping[str, Any] = MappingProxyType({}),
    promises: GeneratorContract = NO_CONTRACT,
    features: Collection[str] = (),
    imported: Mapping[str, str] = MappingProxyType({}),
    loose: Collection[frozenset[Any]] = (),
    lowered: Mapping[int, Lowered] = MappingProxyType({}),
    matches: dict[int, Counterpart] | None = None,
) -> tuple[Verdict, ...]:
    """Prove that ``recompiled`` means the same as ``original``; one verdict per code object of ``original``, itself
    first.

    - Locals of ``recompiled`` whose name contains ``temp_prefix`` (a class body mangles it), and that ``original`` does
      not have, are temporaries.
    - ``renames``: other local names of ``recompiled`` -> original ones that are no identifiers.  ``stand_ins``: the
      same for names of the module, which nothing else has.
    - ``bindings``: global names of ``recompiled`` -> the constants that they denote.
    - ``builtins``: the same for builtins that ``original`` looks up by the same name, but elsewhere.
    - ``promises``: the contract of the program that wrote ``original``; its ``variables`` are those of ``original``
      itself.
    - With ``lifetimes``, code that keeps an object alive longer or shorter than the original is UNVERIFIED, not proven.
    - ``features``: names under which the text alone imports features of ``__future__``; ``imported``: names under which
      it imports builtins -> their own names.
    - ``loose``: constant sets whose iteration order no text gives.
    - ``lowered``: id of a code unit -> its lowered code, so that it is not lowered again.
    - ``matches`` is filled: id of a code unit of ``recompiled`` that is proven -> what it was proven against.

    Raises nothing for code that differs: a difference, or no proof, is a verdict.
    """
    checker = _Checker(
        temp_prefix,
        lifetimes,
        renames or {},
        stand_ins or {},
        bindings or {},
        builtins,
        promises,
        features,
        imported,
        loose,
    )
    checker.lowered.update(lowered)
    checker.matches = matches
    original = told_apart(original, checker.lowered, generated=promises is not NO_CONTRACT)
    return tuple(checker.report(original, recompiled, None))


SPLIT = (
    "where an exception goes depends on whether a Python function raised it, as the protection changes right at a call"
    " (3.13+): only the same instructions do the same"
)


class Counterpart(NamedTuple):
    """What a code unit was proven to be the same as."""

    original: CodeUnit
    offsets: tuple[tuple[int, int], ...]
    """Of the observable instructions, or of all: the offset, and that of the instruction of ``original`` that it is."""


class _Checker:
    def __init__(
        self,
        prefix: str,
        lifetimes: bool,
        renames: Mapping[str, str],
        stand_ins: Mapping[str, str],
        bindings: Mapping[str, Any],
        builtins: Mapping[str, Any],
        promises: GeneratorContract,
        features: Collection[str],
        imported: Mapping[str, str],
        loose: Collection[frozenset[Any]],
    ) -> None:
        self.loose = loose
        self.features = features
        self.imported = imported
        self.promises = promises
        self.builtins = builtins
        self.prefix = prefix
        self.lifetimes = lifetimes
        self.renames = renames
        self.stand_ins = stand_ins
        self.bindings = bindings
        self.lowered: dict[int, Lowered] = {}
        self.by_slot: dict[int, tuple[CodeUnit, Lowered]] = {}
        self.matches: dict[int, Counterpart] | None = None
        self.done: dict[tuple[int, int], tuple[Verdict, Pairs]] = {}
        self.above: dict[tuple[int, int], tuple[CodeUnit, CodeUnit] | None] = {}

    @any_depth_of(2)
    def report(
        self, original: CodeUnit, recompiled: CodeUnit, parent: tuple[CodeUnit, CodeUnit] | None
    ) -> list[Verdict]:
        """The verdict of a pair, then those of the pairs nested in it."""
        verdict, pairs = self.own(original, recompiled, parent)
        others: dict[int, list[CodeUnit]] = {}
        for left, other in pairs:
            others.setdefault(id(left), []).append(other)
        nested: list[Verdict] = []
        broken: Verdict | None = None
        for unit in nested_units(original):
            reports = [self.report(unit, other, (original, recompiled)) for other in others.get(id(unit), ())]
            if reports:
                found = min(reports, key=_trust)
            elif verdict.proven:
                reason = "unreachable: never created"
                found = [Verdict(inner.qualname, Status.EQUIVALENT, reason) for inner in units(unit)]
            else:
                other_unit = _namesake(unit, original, recompiled)
                if other_unit is None:
                    reason = "has no counterpart in the recompiled code"
                    found = [Verdict(inner.qualname, Status.UNVERIFIED, reason) for inner in units(unit)]
                else:
                    found = [_guessed(item) for item in self.report(unit, other_unit, (original, recompiled))]
            nested.extend(found)
            if broken is None:
                broken = next((item for item in found if not item.proven), None)
        if verdict.proven and broken is not None:
            reason = f"nested {broken.qualname} is not proven"
            verdict = replace(verdict, status=Status.UNVERIFIED, reason=reason, line=broken.line)
        return [verdict, *nested]

    def _around(self, parent: tuple[CodeUnit, CodeUnit] | None) -> list[tuple[CodeUnit, CodeUnit]]:
        """``parent`` and what that is nested in."""
        found = []
        while parent is not None:
            found.append(parent)
            parent = self.above.get((id(parent[0]), id(parent[1])))
        return found

    def own(
        self, original: CodeUnit, recompiled: CodeUnit, parent: tuple[CodeUnit, CodeUnit] | None
    ) -> tuple[Verdict, Pairs]:
        key = (id(original), id(recompiled))
        self.above.setdefault(key, parent)
        found = self.done.get(key)
        if found is None:
            try:
                with part_of_work(original.qualname, len(original.code)):
                    found = self._own(original, recompiled, parent)
            except TooMuchWork as error:
                found = Verdict(original.qualname, Status.UNVERIFIED, str(error), original.firstlineno), []
            self.done[key] = found
        return found

    def _own(
        self, original: CodeUnit, recompiled: CodeUnit, parent: tuple[CodeUnit, CodeUnit] | None
    ) -> tuple[Verdict, Pairs]:
        name = original.qualname
        around: list[tuple[CodeUnit, CodeUnit]] = []
        difference = signature_difference(original, recompiled, self.renames)
        if not difference and parent is not None:
            around = self._around(parent)
            difference = qualname_difference(original, recompiled, around)
        if difference:
            return Verdict(name, Status.WRONG, difference, original.firstlineno), []
        named: tuple[str, ...] = (QUALNAME_NOTE,) if called_otherwise(original, recompiled, around) else ()
        if named_otherwise(original, recompiled, parent is not None):
            named = (*named, NAME_NOTE)
        renames = {**self.renames, **parameter_renames(original, recompiled)}
        if looked_for(original, recompiled, renames):
            return Verdict(name, Status.UNVERIFIED, NAMED, original.firstlineno), []
        if hides_class(original):
            return Verdict(name, Status.UNVERIFIED, NO_CLASS, original.firstlineno), []
        if parent is not None and self._finds_other_defaults(original, recompiled, around):
            return Verdict(name, Status.UNVERIFIED, OTHER_DEFAULTS, original.firstlineno), []
        named = (*named, *other_names(original, recompiled, renames))
        if not self.bindings:
            pairs = same_bytes(original, recompiled)
            # where they differ, code that is never reached may have left them in the same place
            if pairs is not None and not any(signature_difference(*pair) for pair in pairs):
                seeded = self._seeded(original)
                self._matched(original, recompiled, ((at, at) for at in range(0, len(original.code), 2)))
                return Verdict(
                    name, Status.EQUIVALENT if named else Status.IDENTICAL, "; ".join((*named, *seeded))
                ), pairs
        try:
            left, right = self._by_slot(original), self._by_slot(recompiled)
        except BytecodeError as unread:
            return Verdict(name, Status.UNVERIFIED, str(unread)), []
        handed = handed_on(left, self.promises)
        noted = named
        if self.features and parent is None:
            right = without_imports(right, self.features)
            noted = (*noted, FEATURE_NOTE)
        if self.imported and parent is None:
            right = without_builtins(right, self.imported)
            noted = (*noted, IMPORT_NOTE)
        if iterable_renamed(original, recompiled):
            noted = (*noted, ITERABLE_NOTE)
        if left.leaks != right.leaks:
            return Verdict(
                name, Status.UNVERIFIED, "it lets StopIteration out of a generator, which no source does"
            ), []
        if left.starts_late != right.starts_late:
            reason = "its frame begins without RESUME, so that a traceback may lack it, which no source does"
            return Verdict(name, Status.UNVERIFIED, reason), []
        if original.flags & CO_OPTIMIZED and not same_order(left, right, renames):
            if looks(original).at_all:
                return Verdict(name, Status.UNVERIFIED, SHOWN, original.firstlineno), []
            noted = (*noted, VARIABLE_ORDER_NOTE)
        seen = without(left, handed.passed) if handed.passed else left
        pairs = same_instructions(seen, right)
        seeded = self._seeded(original)
        if (left.split or right.split) and (pairs is None or left.split != right.split):
            return Verdict(name, Status.UNVERIFIED, SPLIT, original.firstlineno), []
        if pairs is not None:
            self._matched(original, recompiled, ((b.offset, a.offset) for a, b in zip(seen.instrs, right.instrs)))
            return Verdict(
                name,
                Status.EQUIVALENT if noted or handed.flags else Status.IDENTICAL,
                _in_words(named, handed.flags, (*noted, *seeded)),
            ), pairs
        own_names = {*original.varnames, *original.names, *original.cellvars, *original.freevars}
        prefix = self.prefix
        variables = added_variables(left, self.promises) if parent is None else None
        mentioned = (locals_of(left) | set(handed.readings.values())) - (variables or frozenset())

        def is_temp(local: str) -> bool:
            if variables is not None:  # nothing looks for a local variable that the original never mentions
                return local not in mentioned
            return prefix in local and local not in own_names

        def nested_proven(unit: CodeUnit, other: CodeUnit) -> bool:
            return all(item.proven for item in self.report(unit, other, (original, recompiled)))

        def walk(lifetimes: bool) -> Proof:
            return prove(
                left,
                right,
                is_temp,
                nested_proven=nested_proven,
                renames=renames,
                stand_ins=self.stand_ins,
                bindings=self.bindings,
                builtins=self.builtins,
                promises=self.promises,
                variables=variables or frozenset(),
                lifetimes=lifetimes,
                loose=self.loose,
                handed=handed,
            )

        try:
            proof = walk(self.lifetimes)
        except LifetimeMismatch as otherwise:
            return self._same_but_lifetimes(name, left, otherwise, walk)
        except Mismatch as mismatch:
            return self._wrong(name, left, mismatch), []
        except GaveUp as spent:
            return Verdict(name, Status.UNVERIFIED, str(spent)), []
        self._matched(
            original, recompiled, ((right.instrs[b].offset, left.instrs[a].offset) for b, a in proof.places.items())
        )
        different = first_difference(seen, right)
        return Verdict(
            name,
            Status.EQUIVALENT,
            _in_words(named, handed.flags, (*noted, *seeded, *proof.notes)),
            difference=different,
        ), proof.nested

    def _finds_other_defaults(
        self, original: CodeUnit, recompiled: CodeUnit, around: list[tuple[CodeUnit, CodeUnit]]
    ) -> bool:
        try:
            maker = self._lower(around[0][0])
        except BytecodeError:
            return False  # it is not proven itself
        return finds_other_defaults(original, recompiled, maker, [unit for unit, _ in around])

    def _matched(self, original: CodeUnit, recompiled: CodeUnit, offsets: Iterable[tuple[int, int]]) -> None:
        if self.matches is not None and id(recompiled) not in self.matches:
            self.matches[id(recompiled)] = Counterpart(original, tuple(offsets))

    def _same_but_lifetimes(
        self, name: str, left: Lowered, difference: LifetimeMismatch, walk: Callable[[bool], Proof]
    ) -> tuple[Verdict, Pairs]:
        """Lifetimes are part of the relation, so this is no proof; but the meaning is not another one either."""
        found = self._wrong(name, left, difference)
        try:
            proof = walk(False)
        except Mismatch as error:
            return self._wrong(name, left, error), []
        except GaveUp:
            return found, []
        return replace(found, status=Status.UNVERIFIED), proof.nested

    def _seeded(self, unit: CodeUnit) -> tuple[str, ...]:
        """The note where something may depend on the order of a constant set that the seed of the process fills."""
        if not any(map(varies, unit.consts)):
            return ()
        try:
            instrs = self._lower(unit).instrs
        except BytecodeError:
            return ()
        loads = [(op.arg, after.op) for op, after in pairwise(instrs) if op.op == ops.LOAD_CONST and varies(op.arg)]
        told = any(use != ops.CONTAINS or type(value) is frozenset and compared(value) for value, use in loads)
        return (SEED_NOTE,) if told else ()

    def _wrong(self, name: str, left: Lowered, error: Mismatch) -> Verdict:
        line = left.instrs[error.pc].line if error.pc >= 0 else left.unit.firstlineno
        return Verdict(name, Status.WRONG, error.reason, line)

    def _lower(self, unit: CodeUnit) -> Lowered:
        """The lowered code of ``unit``."""
        return lowered_once(self.lowered, unit)

    def _by_slot(self, unit: CodeUnit) -> Lowered:
        """The same, where one name never means two slots: on both sides what a comprehension borrows has a name of its
        own."""
        if not shares_names(unit):
            return self._lower(unit)
        found = self.by_slot.get(id(unit))
        if found is None:
            found = self.by_slot[id(unit)] = unit, lower(with_borrowed_marked(unit))
        return found[1]


_RESUMING = (LISTS_NOTE, VARIABLE_NOTE, STRINGS_NOTE, FUNCTIONS_NOTE, CONTAINERS_NOTE, ASSIGNED_NOTE)
"""What is assumed of resume functions, which is said first."""


def _in_words(named: tuple[str, ...], flags: bool, notes: Collection[str]) -> str:
    """The assumptions of a proof as its reason; ``flags``: flags for tracing are passed over."""
    first = [note for note in _RESUMING if (flags if note == VARIABLE_NOTE else note in notes)]
    return "; ".join(dict.fromkeys((*named, *first, *notes)))


def _trust(verdicts: list[Verdict]) -> int:
    """Worst first: a code object that was matched with several must be proven against each."""
    return min(TRUST.index(verdict.status) for verdict in verdicts)


TRUST = (Status.WRONG, Status.FAILED, Status.UNVERIFIED, Status.EQUIVALENT, Status.IDENTICAL)


def _guessed(verdict: Verdict) -> Verdict:
    """The reason why two codes paired by name alone differ: unreachable code may have the same name."""
    return replace(verdict, status=Status.UNVERIFIED) if verdict.status is Status.WRONG else verdict


def _namesake(unit: CodeUnit, original: CodeUnit, recompiled: CodeUnit) -> CodeUnit | None:
    """The nested code of the same name and rank, to report on what a failed walk did not reach.

    One with other parameters is something else: text that has no translation keeps a lambda for its variables' scopes.
    """
    rank = [item for item in nested_units(original) if item.name == unit.name].index(unit)
    others = [item for item in nested_units(recompiled) if item.name == unit.name]
    found = others[rank] if rank < len(others) else None
    return None if found is None or signature_difference(unit, found) else found
