"""What a recording found out of a call while torch compiled it: what a wrapper calls, what fixes a marked size.

Input: nothing.  Output: plain data, and records in terms of it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from depyf.run.advice.advice import AdviceUse
from depyf.run.advice.source_names import of_wrapped
from depyf.run.guards.difference import Difference
from depyf.run.records import RecompileRecord, RefusalRecord


@dataclass(frozen=True, slots=True)
class WrappedCall:
    """The object that a wrapper calls."""

    name: str
    """``net (Sequential)``: the variable, where a global one holds it, and the class."""
    parameters: tuple[str, ...] = ()
    """What the positional arguments of the wrapper are called in the object's function."""

    def spoken(self, text: str) -> str:
        """``text`` with the wrapper's variables replaced by those of the wrapped object's function."""
        return of_wrapped(text, self.parameters)

    def about(self, record: RecompileRecord) -> RecompileRecord:
        """``record`` with the wrapper's variables replaced likewise."""
        advice = tuple(
            AdviceUse(use.id, tuple((name, self.spoken(value)) for name, value in use.values)) for use in record.advice
        )
        differences = self.of_differences(record.differences)
        return replace(record, guard=self.spoken(record.guard), advice=advice, differences=differences)

    def about_refusal(self, record: RefusalRecord) -> RefusalRecord:
        """``record`` with the wrapper's variables replaced in all failed guards."""
        failed = (
            replace(one, guard=self.spoken(one.guard), differences=self.of_differences(one.differences))
            for one in record.failed
        )
        return replace(record, failed=tuple(failed))

    def of_differences(self, differences: tuple[Difference, ...]) -> tuple[Difference, ...]:
        """``differences`` with the wrapper's variables replaced."""
        return tuple(
            replace(one, source=self.spoken(one.source), others=tuple(map(self.spoken, one.others)))
            for one in differences
        )


@dataclass(frozen=True, slots=True)
class PinnedSize:
    """A size marked dynamic that other, unmarked tensors fix."""

    by: tuple[tuple[str, int], ...]
    """The tensors that have the same size, and the dimension of each."""
    value: int

    @property
    def words(self) -> str:
        """The sentence added to torch's error."""
        sizes = " and ".join(f"{name}.size({index})" for name, index in self.by)
        return f"{sizes} must be the same and {'is' if len(self.by) == 1 else 'are'} not marked"
