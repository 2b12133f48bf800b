"""All advice by its id, the text of one in a case, and which of it can still help."""

from __future__ import annotations

from collections.abc import Iterable

from depyf.run.advice.advice import Advice, AdviceUse, Switch, SwitchKind, filled
from depyf.run.advice.break_advice import ASKED_FOR, NOT_THE_PROGRAMS, OUTSIDE, SIDE_EFFECTS, VALUES_OF_TENSORS
from depyf.run.advice.recompile_advice import OBJECTS, SETTINGS, SIZES, TENSORS, VALUES

ADVICE: dict[str, Advice] = {
    advice.id: advice
    for group in (
        SIZES, TENSORS, VALUES, OBJECTS, SETTINGS, VALUES_OF_TENSORS, SIDE_EFFECTS, OUTSIDE, ASKED_FOR,
        NOT_THE_PROGRAMS,
    )
    for advice in group
}  # fmt: skip
SWITCHES: tuple[Switch, ...] = tuple(
    dict.fromkeys(advice.switch for advice in ADVICE.values() if advice.switch is not None)
)
"""The options that advice sets; ``sources/live/events/torch_options.py`` reads which are as advised."""


def use(id: str, **values: str) -> AdviceUse:
    """The advice ``id`` with these values.  KeyError for an unknown id or a missing value."""
    missing = set(ADVICE[id].names) - set(values)
    if missing:
        raise KeyError(f"{id} needs {', '.join(sorted(missing))}")
    return AdviceUse(id, tuple(values.items()))


def text_of(use: AdviceUse) -> str:
    """The advice in words; "" for an id that is unknown here (a dump of another depyf)."""
    advice = ADVICE.get(use.id)
    return "" if advice is None else filled(advice.text, use)


def is_remedy(use: AdviceUse) -> bool:
    """Whether the advice changes something about the recompilations or breaks."""
    return bool(text_of(use)) and ADVICE[use.id].remedy


def is_mark(use: AdviceUse) -> bool:
    """Whether the advice marks a dimension of a tensor (``mark_dynamic`` and the like)."""
    switch = ADVICE[use.id].switch
    return switch is not None and switch.kind is SwitchKind.MARK


def is_option(use: AdviceUse) -> bool:
    """Whether it is an option of torch, for all functions and values."""
    switch = ADVICE[use.id].switch
    return switch is not None and switch.kind in (SwitchKind.CONFIG, SwitchKind.COMPILING)


def sentence(uses: Iterable[AdviceUse]) -> str:
    """The texts of ``uses`` in one sentence; "" for none."""
    return "; or ".join(text for text in map(text_of, uses) if text)


def option_key(switch: Switch, use: AdviceUse) -> str:
    """The key of an option that is as advised: its name, with the function where it is a set of functions."""
    return f"{switch.name}:{use.value(switch.value)}" if switch.kind is SwitchKind.ADD else switch.name


STATIC = "dynamic=False"
"""The key that says that nothing becomes a symbol when it changes."""
DECLARED = "dynamic_shapes="
"""The key of a compilation with declared sizes (``dynamic_shapes=``)."""
_BY_SYMBOL = frozenset("compile-dynamic mark-dynamic dynamic-parameters unspecialised-int fixed-value".split())
"""Advice on what would be a symbol but for dynamic=False."""


def applicable(uses: Iterable[AdviceUse], in_force: frozenset[str]) -> tuple[AdviceUse, ...]:
    """The advice for a case without what is followed already, or what this torch does not know.

    ``in_force`` has the keys of the options that were as advised when torch reported the case.  What a second switch
    would add to the first takes its place.
    """
    left: list[AdviceUse] = []
    for given in uses:
        switch = ADVICE[given.id].switch
        dynamic = "assume_static_by_default" in in_force
        if DECLARED in in_force and given.id in _UNDECLARED:
            left += _declared(given)
            continue
        if given.id == "mark-dynamic" and dynamic:  # every size is a symbol: something needs the value
            left.append(use("fixed-value", name=f"{given.value('tensor')}.size()[{given.value('dimension')}]"))
        elif switch is None or not {option_key(switch, given), switch.name + ":"} & in_force:
            left.append(given)
        elif given.id == "unspecialised-int" and not dynamic:  # the first change still compiles a second time
            left.append(use("compile-dynamic"))
    if STATIC in in_force and any(given.id in _BY_SYMBOL for given in left):
        # parameters and numbers of modules are symbols only if that is left out, too
        own = [given for given in left if given.id in ("dynamic-parameters", "unspecialised-int")]
        left = [*own, use("no-static"), *(given for given in left if given.id not in _BY_SYMBOL)]
    return tuple(dict.fromkeys(left))


_UNDECLARED = frozenset("mark-dynamic mark-unbacked compile-dynamic condition".split())
"""Advice that does nothing, or raises, where sizes are declared."""


def _declared(given: AdviceUse) -> list[AdviceUse]:
    """What takes its place there: a number of a declared size is outside of the range that is declared."""
    if given.id == "condition":
        return [use("declared-bound")]
    named = given.id != "compile-dynamic"
    return [use("declare-size", **{name: given.value(name) for name in ("tensor", "dimension")})] if named else []
