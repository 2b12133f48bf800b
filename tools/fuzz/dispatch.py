"""What ``depyf.why`` says of a call against what the call then does, on random programs.

    python -m tools.fuzz.dispatch [--count 100] [--seed 0]

A function of one to four lines reads its arguments, globals, attributes, a module and containers; between its calls some of
these change.  Before each call but the first ``depyf.why`` is asked; then it is seen which cache entry ran, or whether one was
compiled.  An answer that does not hold is printed with its seed.
"""

from __future__ import annotations

import argparse
import logging
import random
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

HEAD = """
import torch
FLAG, SCALE, TABLE, NAMES = True, 3, {"a": 1, "b": 2}, ["p", "q"]
class Box:
    k = 2
    def __init__(self): self.v, self.items, self.t = 1, [1, 2], torch.ones(3)
BOX = Box()
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.lin, self.alpha, self.act = torch.nn.Linear(3, 3), 2, None
    def forward(self, x):
        y = self.lin(x) * self.alpha
        if self.training: y = y + 1
        return y if self.act is None else self.act(y)
NET = Net()
def helper(x, k=1): return x + k
def broken(x):
    torch._dynamo.graph_break()
    return x * 2
def f(x, y, n, r, d, l, s, o, g):
"""
LINES = (
    "x = x + n", "x = x * SCALE", "x = x + TABLE['a']", "x = x * len(NAMES)", "x = x + BOX.v", "x = x + BOX.k", "x = x + len(BOX.items)",
    "x = x + BOX.t.sum()", "x = x if FLAG else x - 1", "x = x + d['a']", "x = x + sum(d.values())", "x = x + len(d)",
    "x = x + (l[0] if l else 0)", "x = x * len(l)", "x = x + (1 if s == 'one' else 2)", "x = x + (x.shape[0] if x.shape[0] > 3 else 1)",
    "x = NET(x.reshape(-1, 3)) if x.numel() % 3 == 0 else x", "x = helper(x, n)", "x = broken(x)", "torch._dynamo.graph_break()",
    "x = x + float(x.sum()) * 0", "print(end='')", "x = x + (0 if o is None else o)", "x = x.sum(0, keepdim=True) if x.dim() > 1 else x",
    "x = x + y.sum()", "x = x + (y if y.shape == x.shape else 1)", "x = x + (1 if x.requires_grad else 2)", "x = x.to(torch.float32)",
    "x = x + (1 if torch.is_grad_enabled() else 0)", "x = x + r * 2", "x = x * (1 if r > 0.5 else 2)", "x = x + g.v", "x = x + len(g.items)",
)  # fmt: skip
Space = dict[str, Any]


@dataclass(frozen=True)
class Wrong:
    """An answer that did not hold."""

    step: int
    what: str
    said: str
    lines: Sequence[str]


def arguments(rng: random.Random, space: Space) -> list[Any]:
    """Of one call."""
    import torch

    shape = rng.choice(((3,), (6,), (2, 3), (4, 3)))
    x = torch.randn(*shape, requires_grad=rng.random() < 0.2)
    x = x.detach().double() if rng.random() < 0.1 else x
    y = torch.randn(*(shape if rng.random() < 0.5 else (3,)))
    table = {"a": rng.choice((1, 2)), **({"b": 4} if rng.random() < 0.3 else {})}
    box = rng.choice((space["BOX"], space["Box"]()))
    others = [[1] * rng.choice((0, 1, 2)), rng.choice(("one", "two")), rng.choice((None, 1, 2.5)), box]
    return [x, y, rng.choice((1, 2, 5)), rng.choice((0.25, 0.75)), table, *others]


def change(rng: random.Random, space: Space, args: list[Any]) -> None:
    """Something that the program reads, or nothing."""
    import torch

    def of_call() -> None:
        new, at = arguments(rng, space), rng.randrange(9)
        args[at] = new[at]
        args[1] = new[1] if at == 0 else args[1]

    changes: tuple[Callable[[], object], ...] = (
        lambda: space.update(SCALE=rng.choice((3, 4))), lambda: space.update(FLAG=not space["FLAG"]),
        lambda: space["TABLE"].update(a=rng.choice((1, 2, 3))), lambda: space["NAMES"].append("r"),
        lambda: setattr(space["BOX"], "v", rng.choice((1, 2, 3))), lambda: space["BOX"].items.append(1),
        lambda: setattr(space["BOX"], "t", torch.ones(rng.choice((3, 4)))), lambda: space["NET"].train(not space["NET"].training),
        lambda: setattr(space["NET"], "alpha", rng.choice((2, 3, 2.5))), lambda: setattr(space["Box"], "k", rng.choice((2, 3))),
        lambda: setattr(space["NET"], "act", rng.choice((None, torch.relu, torch.sigmoid))), of_call, of_call, of_call,
    )  # fmt: skip
    for one in rng.sample(changes, rng.choice((0, 1, 1, 2))):
        one()


def answers(seed: int) -> Iterator[Wrong | None]:
    """For each answer None where it held."""
    import torch
    from torch._dynamo.eval_frame import _debug_get_cache_entry_list as entries
    from torch._dynamo.utils import counters

    import depyf

    rng = random.Random(seed)
    lines = [rng.choice(LINES) for _ in range(rng.randint(1, 4))]
    space: Space = {}
    exec(HEAD + "".join(f"    {line}\n" for line in lines) + "    return x\n", space)
    torch._dynamo.reset()
    function = space["f"]
    compiled = torch.compile(function, backend="eager", dynamic=rng.choice((None, None, None, True, False)))
    args = arguments(rng, space)
    for step in range(rng.randint(3, 6)):
        with torch.set_grad_enabled(rng.random() > 0.15):
            said = depyf.why(compiled, *args) if step else None
            before, frames, failed = len(entries(function.__code__)), counters["frames"]["total"], False
            try:
                compiled(*args)
            except (RuntimeError, TypeError):  # sizes that do not go together
                failed = True
        now = entries(function.__code__)
        if said is not None:
            first = str(now[0].compile_id) if now else None
            what = _wrong(said, first, len(now) > before, counters["frames"]["total"] > frames, failed)
            yield Wrong(step, what, str(said), lines) if what else None
        change(rng, space, args)


def _wrong(said: Any, first: str | None, compiled: bool, anything: bool, failed: bool) -> str:
    """``first``: the entry at the front afterwards, which is the one that ran; ``anything``: some frame was compiled."""
    if said.runs is None:
        return "" if compiled or failed or "Python" in said.otherwise else "nothing was compiled"
    if compiled:
        return "another one was compiled"
    if said.runs != first:
        return f"{first} ran"
    return "something was compiled inside" if anything and not said.compiled_again and not said.continues_in else ""


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0, help="the first seed")
    options = parser.parse_args(argv)
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    asked = wrong = 0
    for seed in range(options.seed, options.seed + options.count):
        for found in answers(seed):
            asked += 1
            if found is not None:
                wrong += 1
                print(f"seed {seed}, call {found.step}: {found.what}; {found.lines}\n{found.said}\n")
    print(f"{asked} answers, {wrong} wrong")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
