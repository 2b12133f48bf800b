"""Guards that a program may leave out, by functions that torch has for it.

Input: nothing.  Output: names below ``torch.compiler``, what each leaves out, and what must not change then.  None is
recommended before ``depyf doctor --try --guards`` has run the program with it, and compared what it returned.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class GuardFilter:
    """A predefined ``guard_filter_fn`` of ``torch.compiler``."""

    name: str
    """``torch.compiler.NAME``."""
    risk: str
    """What the compiled code does not notice any more."""

    @property
    def text(self) -> str:
        """The filter as a program writes it."""
        return f"torch.compile(..., options={{'guard_filter_fn': torch.compiler.{self.name}}})"


GUARD_FILTERS = (
    GuardFilter(
        "skip_guard_on_inbuilt_nn_modules_unsafe",
        "an attribute of a module of torch's own (nn.Linear, nn.LayerNorm) that changes after the first call",
    ),
    GuardFilter(
        "skip_guard_on_all_nn_modules_unsafe",
        "an attribute of any module that changes after the first call: train() and eval() as well",
    ),
    GuardFilter("skip_guard_on_globals_unsafe", "a global that is rebound, or changes, after the first call"),
)
"""The least daring first."""

FEWEST = 100
"""Guards of an entry: with fewer there is little to change."""
LEAST = 30.0
"""Microseconds of a call that guards have to take before it is worth to leave some out."""
GAIN = 0.2
"""The share of them that a filter has to save."""
