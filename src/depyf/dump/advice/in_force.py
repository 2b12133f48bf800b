"""Leaves out advice that is followed already, or that this torch does not know.

Input: the advice for a case, and the options that were as advised when torch reported the case (``dynamo/events/torch_options.py``
reads them).  Output: what can still help.
"""

from __future__ import annotations

from collections.abc import Iterable

from depyf.dump.advice.advice import AdviceUse, Switch, SwitchKind
from depyf.dump.advice.registry import ADVICE, use

SWITCHES: tuple[Switch, ...] = tuple(
    dict.fromkeys(advice.switch for advice in ADVICE.values() if advice.switch is not None)
)


def option_key(switch: Switch, use: AdviceUse) -> str:
    """The key of an option that is as advised: its name, with the function where it is a set of functions."""
    return f"{switch.name}:{use.value(switch.value)}" if switch.kind is SwitchKind.ADD else switch.name


def applicable(uses: Iterable[AdviceUse], in_force: frozenset[str]) -> tuple[AdviceUse, ...]:
    """Without what is in force; what a second switch would add to the first takes its place."""
    left: list[AdviceUse] = []
    for given in uses:
        switch = ADVICE[given.id].switch
        dynamic = "assume_static_by_default" in in_force
        if given.id == "mark-dynamic" and dynamic:  # every size is a symbol: something needs the value
            left.append(use("fixed-value", name=f"{given.value('tensor')}.size()[{given.value('dimension')}]"))
        elif switch is None or not {option_key(switch, given), switch.name + ":"} & in_force:
            left.append(given)
        elif given.id == "unspecialised-int" and not dynamic:  # the first change still compiles a second time
            left.append(use("compile-dynamic"))
    return tuple(dict.fromkeys(left))
