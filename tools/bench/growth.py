"""How the work grows with what it is done for: one table, counted in calls (part of ``make bench``).

    python -m tools.bench.growth [--only instructions breaks guards layers recompilations] [--shapes "early returns"]

Counted are the calls that depyf's functions make, of functions in C, too: no other load on the machine changes them.  Each work
is done at three sizes, n, 2n and 4n.  A row says how many more calls each further unit (an instruction, a graph break, ...) takes
from n to 2n, and from 2n to 4n, and how much the second is of the first: 1 is linear, 2 quadratic.  Of instructions, text and
proof; of breaks, guards, layers and recompilations, what ``prepare_debug`` does inside its block, and what it does when that is left.
A recompilation has a guard that failed for each older one of its function: these are its units.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from types import FrameType
from typing import Any

os.environ.setdefault("HF_HUB_OFFLINE", "1")

from tools.bench import shapes

OURS = os.path.join("", "depyf", "")
SIZES = (1, 2, 4)
INSTRUCTIONS, BREAKS, GUARDS, LAYERS, RECOMPILATIONS = 1_000, 5, 8, 4, 12
"""The smallest size of each."""
Row = tuple[str, float, float]
"""A name, and the calls for each further unit, in the first step and in the second."""


class Counter:
    """Counts the calls made by functions of depyf while it is the profiler of this thread."""

    def __init__(self) -> None:
        self.calls = 0
        self._is_ours: dict[object, bool] = {}

    def __call__(self, frame: FrameType, event: str, arg: object) -> None:
        if event in ("call", "c_call"):
            code, caller = frame.f_code, frame.f_back
            if code.co_filename == "<string>" and caller is not None:  # a dataclass made it: it is its caller's
                code = caller.f_code
            ours = self._is_ours.get(code)
            if ours is None:
                ours = self._is_ours[code] = OURS in code.co_filename
            self.calls += ours

    def __enter__(self) -> Counter:
        sys.setprofile(self)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(None)


def of_instructions(only: list[str]) -> Iterator[Row]:
    from depyf.decompiler.driver.pipeline import decompile_unit
    from tools.bench.bench import big_function, instructions, unit_of

    makers: dict[str, Callable[[int], str]] = {"mixed statements": big_function}
    for name in shapes.SHAPES:
        makers[name] = lambda count, name=name: shapes.text(name, count)  # type: ignore[misc]
    for name, make in makers.items():
        if only and name not in only:
            continue
        count = max(1, round(INSTRUCTIONS / (instructions(unit_of(make(8))) / 8)))
        found = []
        for unit in [unit_of(make(times * count)) for times in SIZES]:
            with Counter() as counter:
                decompile_unit(unit)
            found.append((instructions(unit), counter.calls))
        yield f"instruction, {name}", *steps(found)


def steps(found: list[tuple[int, int]]) -> Iterator[float]:
    """Of sizes and calls: how many more calls a further unit takes, from each size to the next."""
    for (size, calls), (larger, more) in pairwise(found):
        yield (more - calls) / (larger - size)


def with_breaks(count: int) -> str:
    """A function with ``count`` graph breaks."""
    steps = "".join(f"    x = torch.sin(x) + {i}\n    probe(x)\n" for i in range(count))
    return f"import torch\nprobe = torch._dynamo.disable(lambda x: None)\ndef run(x):\n{steps}    return x\nargs = (torch.ones(3),)\n"


def with_guards(count: int) -> str:
    """A function whose result depends on ``count`` globals of the module, each of which is guarded."""
    names = "".join(f"g{i} = {i}\n" for i in range(count))
    uses = "".join(f"    x = x + (1 if g{i} == {i} else 2)\n" for i in range(count))
    return f"import torch\n{names}def run(x):\n{uses}    return x\nargs = (torch.ones(3),)\n"


def with_layers(count: int) -> str:
    """A model of ``count`` layers."""
    return (
        "import torch\n"
        f"run = torch.nn.Sequential(*[torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.ReLU()) for _ in range({count})])\n"
        "args = (torch.ones(2, 3),)\n"
    )


def with_recompilations(count: int) -> str:
    """A function that is compiled ``count`` times, for another reason than the time before."""
    return (
        "import torch\ntorch._dynamo.config.recompile_limit = torch._dynamo.config.accumulated_recompile_limit = 1000\n"
        "dynamic = False\ndef run(x, number, mode):\n    return x + number + len(mode)\n"
        f"calls = [(torch.ones(n % 4 + 2), n - n % 3, 'm' * (n // 60)) for n in range({count})]\n"
    )


def failed_guards(count: int) -> int:
    """How many guards fail while a function is compiled ``count`` times."""
    return count * (count - 1) // 2


DUMPED: dict[str, tuple[Callable[[int], str], int, str, Callable[[int], int]]] = {
    "breaks": (with_breaks, BREAKS, "break", int),
    "guards": (with_guards, GUARDS, "guard", int),
    "layers": (with_layers, LAYERS, "layer", int),
    "recompilations": (with_recompilations, RECOMPILATIONS, "guard that failed", failed_guards),
}
"""For each: a program, the smallest size, what the unit is called, how many of them a size has."""


def of_dumps(only: list[str]) -> Iterator[Row]:
    for what, (make, small, name, units) in DUMPED.items():
        if only and what not in only:
            continue
        captured(make(2))  # what is done once
        found = [(units(times * small), captured(make(times * small))) for times in SIZES]
        yield f"{name}, in the block", *steps([(size, inside) for size, (inside, _) in found])
        yield f"{name}, when it is left", *steps([(size, leaving) for size, (_, leaving) in found])


def captured(source: str) -> tuple[int, int]:
    """The calls that depyf makes in the block in which a program is compiled, and when the block is left."""
    import torch

    import depyf

    torch._dynamo.reset()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "program.py"
        path.write_text(source, encoding="utf-8")
        program: dict[str, Any] = {"__name__": "program", "__file__": str(path)}
        exec(compile(source, str(path), "exec"), program)
        run = torch.compile(program["run"], backend="eager", dynamic=program.get("dynamic"))
        context = depyf.prepare_debug(Path(folder) / "dump")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with Counter() as inside:
                context.__enter__()
                for args in program.get("calls") or [program["args"]]:
                    run(*args)
            with Counter() as leaving:
                context.__exit__(None, None, None)
    return inside.calls, leaving.calls


def table(only: list[str], names: list[str]) -> None:
    print(f"\n{'calls of depyf for each further':48}{'n to 2n':>9}{'2n to 4n':>9}{'growth':>9}")
    rows: list[Iterator[Row]] = []
    if not only or "instructions" in only:
        rows.append(of_instructions(names))
    rows.append(of_dumps(only))
    for part in rows:
        for name, few, many in part:
            print(f"{name:48}{few:9.0f}{many:9.0f}{many / few:9.2f}", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="*", default=[], choices=["instructions", *DUMPED])
    parser.add_argument("--shapes", nargs="*", default=[], help="only these")
    options = parser.parse_args()
    sys.setrecursionlimit(20000)
    table(options.only, options.shapes)
