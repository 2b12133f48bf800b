"""The values that sizes may have when all conditions on several of them hold together.

Input: conditions on several sizes, and what each size may be by itself.  Output: for the sizes of which the conditions
leave a few values only, these; a size of which values far above all numbers remain is left out.  All combinations of a
window of values are tried, as the guards would be run.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence

from depyf.run.shapes.size_expression import NO_VALUE, Program, SizeExpression, evaluator

_WINDOW = {2: 48, 3: 14}
"""Number of sizes that share conditions -> so many values of each are tried, from the least on."""
_FAR = 1000
_FEW = 64


def jointly_allowed(
    conditions: Sequence[SizeExpression], lowest: Mapping[str, int], known: Mapping[str, Sequence[int]]
) -> dict[str, list[int]]:
    """Size -> its values.  ``lowest``: the least that each size may be; ``known``: single values that it certainly may
    be tried with, the one that was compiled for among them."""
    found: dict[str, list[int]] = {}
    for names, own in _groups(conditions):
        if len(names) in _WINDOW and all(name in lowest for name in names):
            found.update(_tried(names, own, lowest, known))
    return found


def _groups(conditions: Sequence[SizeExpression]) -> Iterable[tuple[list[str], list[SizeExpression]]]:
    """Conditions that share sizes, with those sizes."""
    groups: list[tuple[set[str], list[SizeExpression]]] = []
    for condition in conditions:
        names, own = set(condition.names), [condition]
        apart = []
        for group in groups:
            if names.isdisjoint(group[0]):
                apart.append(group)
            else:
                names, own = names | group[0], [*group[1], *own]
        groups = [*apart, (names, own)]
    return [(sorted(names), own) for names, own in groups]


def _tried(
    names: Sequence[str],
    conditions: Sequence[SizeExpression],
    lowest: Mapping[str, int],
    known: Mapping[str, Sequence[int]],
) -> dict[str, list[int]]:
    each = _WINDOW[len(names)]
    numbers = {n for condition in conditions for n in condition.numbers if n > 1}
    domains = []
    for name in names:
        start = lowest[name]
        some = {*range(start, start + each), *known.get(name, ())}
        some |= {n + d for n in numbers for d in (-1, 0, 1) if n + d >= start}
        far = max([*some, *numbers]) + _FAR
        domains.append(sorted({*some, far, far + 1, far + 2}))
    programs = [evaluator(condition) for condition in conditions]
    possible: dict[str, set[int]] = {name: set() for name in names}
    for values in itertools.product(*domains):
        chosen: dict[str, float] = dict(zip(names, values))
        if all(_holds(program, chosen) for program in programs):
            for name, value in zip(names, values):
                possible[name].add(value)
    return {
        name: sorted(possible[name])
        for name, domain in zip(names, domains)
        if possible[name] and len(possible[name]) <= _FEW and max(possible[name]) < max(domain[:-3])
    }


def _holds(program: Program, chosen: Mapping[str, float]) -> bool:
    try:
        return bool(program(dict(chosen)))
    except (*NO_VALUE, KeyError):
        return True
