"""What would let a guarded value change without another compilation.

Input: a value of which a guard failed, and the entry that was made then.  Output: advice, the best first: what the kind
of the guard says, or better where the entry knows what became of the value.
"""

from __future__ import annotations

from depyf.run.advice.advice import AdviceUse
from depyf.run.advice.for_guards import for_number_operand, for_specialised
from depyf.run.advice.number_operands import numbers_of
from depyf.run.advice.registry import applicable
from depyf.run.advice.source_names import named
from depyf.run.advice.symbol_places import places_of
from depyf.run.causes.guard_replay import FailedValue
from depyf.run.guards.known_kinds import advice
from depyf.run.records import EntryRecord

Uses = tuple[AdviceUse, ...]


class ValueAdvice:
    """The advice on values that differ in the call for which ``entry`` was made."""

    def __init__(self, entry: EntryRecord) -> None:
        self._places = places_of(entry.symbols)
        self._numbers = numbers_of(entry.guards)
        self._in_force = frozenset(entry.in_force)

    def on(self, failed: FailedValue) -> Uses:
        """() where nothing is known."""
        difference = failed.difference
        if difference is None:
            return ()
        name = named(difference.source)
        subject = f"{name}.size()[{difference.index}]" if difference.what == "size" else name
        line = self._places.fixed.get(subject) if difference.relation == "==" else None
        if name in self._numbers and not difference.what:
            found = for_number_operand(name)
        elif line is not None:
            found = for_specialised(subject, line)
        else:
            found = advice((difference,), failed.place)
        return applicable(found, self._in_force)
