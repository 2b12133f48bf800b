"""Predicted numbers of compilations against measured ones, on random programs of one line.

    python -m tools.fuzz.predictions [--count 100] [--seed 0]

A program is called with slices of one tensor and a number, all of which may change from call to call.  Each way out that is
one setting of ``torch.compile``, or marks, is followed in the program, and its compilations are counted.  A prediction that
does not hold is printed with its seed.
"""

from __future__ import annotations

import argparse
import logging
import random
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from depyf.api import prepare_debug
from depyf.run.causes.collect import causes_of
from depyf.run.causes.ways_out import WayOut
from depyf.run.run import Run
from depyf.run.store.loading import load

BODIES = (
    "x * 2 + n", "x + y", "x.sum(0) + y.sum()", "torch.cat([x, y]).sum()", "x.sum() + y.sum()", "x.sum() * len(y)",
    "(x.reshape(-1, 2) @ torch.ones(2, 3)).sum() + y.sum() * n", "torch.zeros(x.shape[0]) + n", "x.sum() + y.shape[0] * n",
    "x + 1 if x.shape[0] > 5 else y.sum() - x", "x + n if n > 2 else x * y.sum()", "x.view(x.shape[0], 1) * y",
    "torch.arange(x.shape[0]) + n", "torch.full((n + 1,), 1.0) + x.sum()", "x.sum() if x.shape[0] % 2 == 0 else x.sum() * n",
    "x * y if x.shape == y.shape else x.sum() + y.sum()",
)  # fmt: skip
SIZES = (0, 1, 2, 3, 4, 6, 8)


@dataclass(frozen=True)
class Call:
    """Where the two slices begin, how long they are, and the number."""

    starts: tuple[int, int]
    sizes: tuple[int, int]
    number: int


@dataclass(frozen=True)
class Outcome:
    """A way out that was followed: what was predicted, and what was measured; None where torch raised an error."""

    way: WayOut
    measured: int | None

    @property
    def holds(self) -> bool:
        assert self.way.prediction is not None
        return self.measured is not None and self.way.prediction.holds(self.measured)


def program(seed: int) -> tuple[str, list[Call]]:
    """One line on ``x``, ``y`` and ``n``, and the calls."""
    rng = random.Random(seed)
    body = rng.choice(BODIES)
    sizes = [rng.choice(SIZES if rng.random() < 0.3 else SIZES[2:]) for _ in range(3)]
    calls = []
    for _ in range(rng.choice((2, 3, 4, 6))):
        first = rng.choice(sizes) * (2 if "reshape" in body else 1)
        second = first if body == "x + y" or rng.random() < 0.4 else rng.choice(sizes)
        starts = [rng.choice((0, 1, 5)) if rng.random() < 0.2 else 0 for _ in range(2)]
        calls.append(Call((starts[0], starts[1]), (first, second), rng.choice((2, 3, 5)) if rng.random() < 0.3 else 3))
    return body, calls


def recorded(
    body: str, calls: Sequence[Call], folder: Path, marks: Sequence[tuple[str, int]] = (), **options: Any
) -> Run:
    """Run the program and load the dump in ``folder``.  Raises what the program raises."""
    import torch

    names: dict[str, Any] = {"torch": torch}
    exec(f"def f(x, y, n):\n    return {body}\n", names)
    data = torch.arange(64.0)
    torch._dynamo.reset()
    with prepare_debug(str(folder)):
        compiled: Callable[..., Any] = torch.compile(names["f"], backend="eager", **options)
        for number, call in enumerate(calls):
            x, y = (data[start : start + size] for start, size in zip(call.starts, call.sizes))
            for name, dimension in marks if number == 0 else ():
                torch._dynamo.mark_dynamic({"x": x, "y": y}[name], dimension)
            compiled(x, y, call.number)
    return load(folder)


def outcomes(seed: int, folder: Path) -> list[Outcome]:
    """What became of each prediction for the program of ``seed``; () where Python raises an error in it."""
    body, calls = program(seed)
    try:
        before = recorded(body, calls, folder / "before")
    except (RuntimeError, IndexError, ValueError):  # sizes that do not go together
        return []
    found = []
    for way in (way for cause in causes_of(before) for way in cause.ways if way.prediction is not None):
        followed = {use.id for use in way.uses}
        marks = [(use.value("tensor"), use.value("dimension")) for use in way.uses if use.id == "mark-dynamic"]
        options: dict[str, Any] = {}
        if followed == {"compile-dynamic"}:
            options = {"dynamic": True}
        elif followed != {"mark-dynamic"} or not all(name in "xy" and at.isdigit() for name, at in marks):
            continue
        place = folder / f"after{len(found)}"
        try:
            after = recorded(body, calls, place, [(name, int(at)) for name, at in marks], **options)
        except Exception:
            found.append(Outcome(way, None))
        else:
            found.append(Outcome(way, after.compilations))
    return found


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0, help="the first seed")
    options = parser.parse_args(argv)
    logging.disable(logging.CRITICAL)
    tried = wrong = 0
    for seed in range(options.seed, options.seed + options.count):
        with tempfile.TemporaryDirectory() as folder:
            for one in outcomes(seed, Path(folder)):
                tried += 1
                if not one.holds:
                    wrong += 1
                    print(f"seed {seed}: {one.way.text}: {one.way.predicted}; measured: {one.measured}")
                    print(f"    {program(seed)}")
    print(f"{tried} predictions, {wrong} wrong")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
