"""Functions that random programs and other people's libraries led to, minimised, for what is written in Dynamo's place.

``CALLS`` maps a name to a call of one of them, as in ``frame_shapes``.
"""

from __future__ import annotations

import collections
from collections.abc import Callable
from typing import Any

import torch
from torch import nn


@torch._dynamo.disable
def apart(value=None):
    return value


@torch._dynamo.disable
def refuses(number):
    if number:
        raise ValueError(number)


class Caching(nn.Module):
    """The keys of the dict that is passed are read one after the other, and nothing else holds them (whisper)."""

    def __init__(self):
        super().__init__()
        self.first = nn.ModuleDict({"key": nn.Linear(2, 2), "value": nn.Linear(2, 2)})
        self.second = nn.ModuleDict({"key": nn.Linear(2, 2), "value": nn.Linear(2, 2)})

    def forward(self, x, cache):
        for block in (self.first, self.second):
            for name in ("key", "value"):
                x = cache[block[name]] = block[name](x)
        return x


def value_for_another_branch(x, flag):
    """What the other branch would return stays on Dynamo's list during the call."""
    y = x.sum()
    y = apart() if not flag > 1 else y
    return y


def generator_over_a_choice(x, number):
    """After a ``try`` that breaks, the user's code runs as it is."""
    y = torch.sin(x)
    try:
        refuses(number)
    finally:
        z = y + 1
    return sum(part * 2 for part in [x, y, z][2].clamp(min=0.5))


def comprehensions_of_one_name(x, numbers):
    """The first comprehension is in no code that is left: none of the others stands for it."""
    total = sum([apart(part) for part in x])
    for number in numbers:
        parts = [part * 2.0 for part in (x, total)]
        try:
            refuses(len(parts) + len([(last := x), 1]) + number - 4)
        except ValueError:
            if len(numbers) > 3:
                break
            parts = [part * 3 for part in [apart(item) for item in torch.sin(last)]]
    return parts


def joined(*values, **named):
    return sum(values) - sum(named.values())


def name_on_the_stack(x):
    """The keyword whose value is being computed is on the stack as a string."""
    return joined(first=apart(x), *(torch.sin(x),), second=x)  # noqa: B026


def half_filled_arguments(x, parts, named):
    return joined(*parts, apart(x), *parts, last=apart(x) + 1, **named)


def half_filled_displays(x, parts, named):
    """Each break stands between the items of a container."""
    shown = [*parts, apart(x), *(torch.sin(x), *parts, apart(x) + 1)]
    named = {**named, "key": apart(x), "second": apart(x) * 2}
    return shown, named, {1, *apart((2, 3)), len(apart(parts))}


class Sums:
    def __init__(self):
        self.whole = torch.zeros(2)
        self.parts = {"one": torch.zeros(2)}


def halves_of_assignments(x, sums, number):
    total = 1.0
    total += apart(x).sum() * 2
    sums.whole -= apart(x) + total
    sums.parts["one"] *= apart(x) if number else x
    x += apart(x) * x
    return x + total


def sums_with_an_end(x, numbers):
    """From 2.14 on torch goes on in the middle of such loops."""
    total = 0.0
    for number in numbers:
        total += apart(x) * number
        if total.sum() > 40:
            break
        x = x * 2
    else:
        total = total * 2
    return x + total


def comprehensions_in_a_loop(x, numbers):
    for number in numbers:
        try:
            x = x + sum([apart(item) for item in (x, x + number)])
        except ValueError:
            continue
        x = x.sin()
    return x


def deletes_behind_breaks(x, parts):
    """torch 2.13 hands the values of such frames on in a list."""
    whole = torch.cat([x, *parts])
    scale = apart(x) * whole.sum() + len(parts)
    scale -= apart(x).sum()
    del whole
    with torch.no_grad():
        shown = [*parts, apart(scale), scale]
        del scale
    return shown


def matched_behind_breaks(x, parts):
    """On 3.11 Dynamo writes tests for None out."""
    match [x, apart(parts)]:
        case (int(), _) if x.sum() > 1:
            x = x * 2
        case (torch.Tensor(shape=(n,)), [None, *rest]):
            x = x * (n + len(rest))
        case _:
            x = x * 3
    match apart(parts[0]), None:
        case (None, None) as found:
            return x + len(found)
        case (int(), None):
            return x
    return x + 1


def strings_around_breaks(x, parts):
    shown = f"{len(parts)!r:>3} and {apart(3)} or {len(parts)}{apart(2):>{apart(4)}}"
    shown += "%s %r %s" % (len(parts), apart(3), len(shown))
    return x + len(f"{apart(shown)=} {shown!s}")


class Items(collections.OrderedDict):
    """Dynamo fills one in a loop, after the graph (what models of transformers return is such a dict)."""


@torch._dynamo.disable
def apart_by_name(value, *, first=None, second=None):
    return value + 1


def filled_before_keywords(x):
    y = torch.sin(x)
    made = Items(hidden=y, state=None)
    return apart_by_name(x, first=y, second={"image": made}) + made["hidden"]


def defaults_around_breaks(x):
    y = 3

    def inner(a: apart(int), v=2, w=apart(3), *, b: apart(str) = apart(4), c=5, d=apart(0) or 6) -> apart(None):  # noqa: B008
        return a + v + w + b + c + d + y

    return inner(x) + (lambda a, v=apart(1), *, b=apart(2), c=7: a + b)(x)  # noqa: B008


CALLS: dict[str, Callable[[Callable[[Any], Any]], Any]] = {
    "caching": lambda compiled: compiled(Caching())(torch.ones(2), {}),
    "value_for_another_branch": lambda compiled: compiled(value_for_another_branch)(torch.ones(2), 1),
    "name_on_the_stack": lambda compiled: compiled(name_on_the_stack)(torch.ones(2)),
    "halves_of_assignments": lambda compiled: compiled(halves_of_assignments)(torch.ones(2), Sums(), 1),
    "sums_with_an_end": lambda compiled: compiled(sums_with_an_end)(torch.ones(2), [1, 2, 3]),
    "comprehensions_in_a_loop": lambda compiled: compiled(comprehensions_in_a_loop)(torch.ones(2), [1, 2]),
    "deletes_behind_breaks": lambda compiled: compiled(deletes_behind_breaks)(torch.ones(2), [torch.ones(2)]),
    "matched_behind_breaks": lambda compiled: compiled(matched_behind_breaks)(torch.ones(2), [None, 1]),
    "strings_around_breaks": lambda compiled: compiled(strings_around_breaks)(torch.ones(2), [1]),
    "half_filled_arguments": lambda compiled: compiled(half_filled_arguments)(torch.ones(2), [torch.ones(2)], {"a": 1}),
    "half_filled_displays": lambda compiled: compiled(half_filled_displays)(torch.ones(2), [torch.ones(2)], {"a": 1}),
    "generator_over_a_choice": lambda compiled: compiled(generator_over_a_choice)(torch.ones(2), 0),
    "filled_before_keywords": lambda compiled: compiled(filled_before_keywords)(torch.ones(2)),
    "defaults_around_breaks": lambda compiled: compiled(defaults_around_breaks)(torch.ones(2)),
    "comprehensions_of_one_name": lambda compiled: compiled(comprehensions_of_one_name)(torch.ones(2), [0, 1]),
}
