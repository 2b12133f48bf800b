"""How fast the decompiler is (``make bench``): against ``ast.unparse(ast.parse(source))``, against code size, against its peers.

    python -m tools.bench.bench [--files 40] [--peers 20] [--no-growth] [--sizes 10000 30000 100000]

First table: whole standard library modules, CPU seconds for the text, for the proof and for both, as multiples of what
``ast.unparse(ast.parse(source))`` takes for the same files in the same run.  Second table: how the work grows, counted in calls,
see ``growth.py``.  Third table: this decompiler, both builds of it, beside the others, see ``peers.py`` (``--peers 0`` leaves
them out).  With ``--sizes``, one table more: microseconds per instruction of one function of so many instructions, of mixed
statements and of one kind each, the garbage collector's time included.
"""

from __future__ import annotations

import argparse
import ast
import functools
import gc
import random
import sys
import sysconfig
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tools.bench import growth, peers, shapes

REFERENCE = 0.1
"""CPU seconds that ``reference()`` takes on the machine that the figures are given for."""


def cpu(work: Callable[[], Any]) -> float:
    """CPU seconds of one run, the collector out of the way."""
    gc.collect()
    gc.disable()
    try:
        started = time.process_time()
        work()
        return time.process_time() - started
    finally:
        gc.enable()


def unit_of(source: bytes | str) -> Any:
    from depyf.decompiler.bytecode.codeunit import CodeUnit

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return CodeUnit.from_code(compile(source, "bench", "exec", dont_inherit=True))


def measure(unit: Any) -> tuple[float, float]:
    """CPU seconds for the text alone and for text and proof."""
    from depyf.decompiler.driver.pipeline import decompile_unit
    from depyf.decompiler.options import Options

    text = cpu(lambda: decompile_unit(unit, Options(verify=False)))
    both = cpu(lambda: decompile_unit(unit, Options()))
    return text, both


def instructions(unit: Any) -> int:
    from depyf.decompiler.bytecode.codeunit import CodeUnit
    from depyf.decompiler.bytecode.lower import lower

    return len(lower(unit).instrs) + sum(instructions(const) for const in unit.consts if isinstance(const, CodeUnit))


def modules(count: int) -> list[Path]:
    """Top-level modules of the standard library, evenly spread over their sizes."""
    paths = sorted(
        Path(sysconfig.get_paths()["stdlib"]).glob("*.py"), key=lambda path: (path.stat().st_size, path.name)
    )
    return [paths[i * len(paths) // count] for i in range(count)]


def stdlib_table(count: int) -> None:
    from depyf.errors import DepyfError

    control = text = both = 0.0
    instrs = 0
    for path in modules(count):
        source = path.read_bytes()
        unit = unit_of(source)
        try:
            seconds = measure(unit)
        except DepyfError as error:
            print(f"left out {path.name}: {error}", file=sys.stderr)
            continue
        control += min(cpu(lambda: ast.unparse(ast.parse(source))) for _ in range(3))  # noqa: B023
        instrs += instructions(unit)
        text += seconds[0]
        both += seconds[1]
    print(f"{count} standard library modules, {instrs} instructions")
    print(f"{'':28}{'CPU s':>8}{'ratio':>8}{'s/100k instrs':>15}")
    rows = [("ast.unparse(ast.parse())", control), ("text", text), ("proof", both - text), ("text and proof", both)]
    for name, seconds_of in rows:
        print(f"{name:28}{seconds_of:8.2f}{seconds_of / control:8.1f}{seconds_of / instrs * 1e5:15.2f}")


def big_function(statements: int, seed: int = 0) -> str:
    """A function with loops, branches, handlers and calls in it; its size is linear in ``statements``."""
    pick = random.Random(seed)
    shapes = [
        "    {x} = {y} + f({z}, k={y})",
        "    {x}.attr[{y}] = [{z}, {x}]",
        "    if {x} and not {y} or {z} < 3:\n        {x} = g({y})\n    else:\n        {z} -= 1",
        "    for {x} in {y}:\n        if {x}:\n            break\n        h({x})\n    else:\n        {z} = None",
        "    while {x} > {y}:\n        {x} = step({x})\n        if {z}:\n            continue\n        h({x}, {z})",
        "    try:\n        {x} = f({y})\n    except ValueError as e:\n        log(e, {z})\n    finally:\n        {y} = 0",
        "    with {x} as {y}:\n        use({y})",
        "    {x} = [{y} * i for i in {z} if i]",
    ]
    names = ["a", "b", "c", "d"]
    lines = ["def big(a, b, c, d):"]
    for _ in range(statements):
        x, y, z = pick.sample(names, 3)
        lines.append(pick.choice(shapes).format(x=x, y=y, z=z))
    return "\n".join(lines) + "\n"


def reference() -> float:
    """CPU seconds of a fixed piece of work: how fast this machine is just now, other loads and all."""
    started = time.process_time()
    pairs = [(i, str(i)) for i in range(150_000)]
    table = {text: number for number, text in pairs}
    del pairs, table
    return time.process_time() - started


def steady(work: Callable[[], Any], times: int) -> float:
    """CPU seconds of ``times`` runs, the collector as a program has it, each run as if the machine were always as fast."""
    total = 0.0
    gc.collect()
    before = reference()
    for _ in range(times):
        started = time.process_time()
        work()
        took = time.process_time() - started
        after = reference()
        total += took / (before + after)
        before = after
    return total * 2 * REFERENCE


def scale_table(sizes: list[int], only: list[str], rounds: int) -> None:
    """Microseconds per instruction, text and proof, as one function grows; ``growth`` is the largest over the least.

    What is small is run as often as makes it as much work as what is large, in turns, so that a slow minute of the machine
    falls on both.  The proof compiles the text; ``ours`` is the growth of the time without that one call of ``compile()``,
    ``CPython`` that of what ``compile``, ``ast.parse`` and ``ast.unparse`` take for the text that the function was made from.
    """
    from depyf.decompiler.driver.pipeline import decompile_unit
    from depyf.decompiler.options import Options

    makers: dict[str, Callable[[int], str]] = {"mixed": big_function}
    makers.update({shape: functools.partial(shapes.text, shape) for shape in shapes.SHAPES})
    heads = "".join(f"{size:>12}" for size in sizes)
    print(f"\n{'us per instruction, of which proof':26}{heads}{'growth':>9}{'ours':>9}{'CPython':>9}")
    for name, make in makers.items():
        if only and name not in only:
            continue
        per_unit = instructions(unit_of(make(40))) / 40
        sources = [make(max(1, int(size / per_unit))) for size in sizes]
        units = [unit_of(source) for source in sources]
        texts = [decompile_unit(unit, Options(verify=False)).source for unit in units]
        counts = [instructions(unit) for unit in units]
        found = [(float("inf"),) * 4] * len(sizes)
        for _ in range(rounds):
            for at, (unit, source, text, count) in enumerate(zip(units, sources, texts, counts, strict=True)):
                times = max(1, round(counts[-1] / count))
                works = (
                    lambda: decompile_unit(unit, Options(verify=False)),  # noqa: B023
                    lambda: decompile_unit(unit, Options()),  # noqa: B023
                    lambda: (ast.unparse(ast.parse(source)), unit_of(source)),  # noqa: B023
                    lambda: compile(text, "bench", "exec", dont_inherit=True),  # noqa: B023
                )
                seconds = [steady(work, times) / times / count * 1e6 for work in works]
                found[at] = tuple(map(min, found[at], seconds))
        cells = "".join(f"{both:7.1f}{both - text:5.1f}" for text, both, _, _ in found)
        columns = ([both for _, both, _, _ in found], [row[1] - row[3] for row in found], [row[2] for row in found])
        grown = "".join(f"{max(column) / min(column):9.2f}" for column in columns)
        print(f"{name:26}{cells}{grown}", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=int, default=40)
    parser.add_argument("--sizes", type=int, nargs="*", default=[])
    parser.add_argument("--no-growth", dest="growth", action="store_false", help="without the second table")
    parser.add_argument("--shapes", nargs="*", default=[], help="only these, of the table of sizes")
    parser.add_argument("--rounds", type=int, default=2, help="of the table of sizes; the least counts")
    parser.add_argument("--peers", type=int, default=20, help="files for the comparison with the peers")
    options = parser.parse_args()
    sys.setrecursionlimit(20000)
    if options.files:
        stdlib_table(options.files)
    if options.growth:
        growth.table([], [])
    if options.peers:
        peers.table(options.peers)
    if options.sizes:
        scale_table(options.sizes, options.shapes, options.rounds)
    return 0


if __name__ == "__main__":
    sys.exit(main())
