"""All advice by its id, and the text of one in a case."""

from __future__ import annotations

from collections.abc import Iterable

from depyf.dump.advice.advice import Advice, AdviceUse, filled
from depyf.dump.advice.break_advice import ASKED_FOR, OUTSIDE, SIDE_EFFECTS, VALUES_OF_TENSORS
from depyf.dump.advice.recompile_advice import OBJECTS, SETTINGS, SIZES, TENSORS, VALUES

ADVICE: dict[str, Advice] = {
    advice.id: advice
    for group in (
        SIZES, TENSORS, VALUES, OBJECTS, SETTINGS, VALUES_OF_TENSORS, SIDE_EFFECTS, OUTSIDE, ASKED_FOR,
    )
    for advice in group
}  # fmt: skip


def use(id: str, **values: str) -> AdviceUse:
    """The advice of that id with these values; KeyError where there is none, or where a value is missing."""
    missing = set(ADVICE[id].names) - set(values)
    if missing:
        raise KeyError(f"{id} needs {', '.join(sorted(missing))}")
    return AdviceUse(id, tuple(values.items()))


def text_of(use: AdviceUse) -> str:
    """The advice in words; "" for an id that is unknown here (a dump of another depyf)."""
    advice = ADVICE.get(use.id)
    return "" if advice is None else filled(advice.text, use)


def sentence(uses: Iterable[AdviceUse]) -> str:
    """All of them in one sentence; "" where there are none."""
    return "; or ".join(text for text in map(text_of, uses) if text)
