"""Random source programs (``randomsource.py``) compiled, decompiled, proven and read beside their source.

    python -m tools.fuzz.sourcefuzz --version 3.13 --count 200 [--seed 0] [--optimize 2] [--no-lines]
    python -m tools.fuzz.sourcefuzz --version 3.13 --booleans        nested boolean expressions instead
    python -m tools.fuzz.sourcefuzz --version 3.13 --deep-booleans   deep ones whose operands repeat (deepbooleans.py)
    python -m tools.fuzz.sourcefuzz --version 3.13 --show SEED       one program: its source, our text, what differs
    python -m tools.fuzz.sourcefuzz --shrink SEED --list 'tree While'     the same, made small while it shows that

A module of ten functions a seed.  Counted are code objects without a proof, those that are not IDENTICAL, functions that
show an invented name (``invented.py``), code objects that the last resort shows, and functions whose syntax tree is not that of the source (``readdiff.py``).
Each kind is printed with its count and the seed of its smallest program.  ``--version`` starts that interpreter; 3.8 and 3.9, which depyf does not
run on, only compile.
"""

from __future__ import annotations

import argparse
import ast
import os
import subprocess
import sys
import time
import warnings
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from depyf.decompiler.bytecode.codeunit import CodeUnit
from depyf.decompiler.bytecode.files.unmarshal import loads
from depyf.decompiler.driver.pipeline import decompile_unit
from depyf.decompiler.verify.recompiling.worker import WorkerError, worker_for
from depyf.errors import DepyfError
from tools.cases import minimise
from tools.corpus import invented, readdiff
from tools.corpus.corpus import without_lines
from tools.corpus.triage import normal_form
from tools.env import interpreters
from tools.fuzz import deepbooleans, randombooleans, randomsource

HOST = sys.version_info[:2]
SECONDS = 30
"""For making a program small."""


@dataclass(frozen=True)
class Result:
    """One module; ``kinds`` has an entry (kind, function) for everything that is not as it should be."""

    source: str
    text: str
    codes: int
    identical: int
    functions: int
    alike: int
    kinds: tuple[tuple[str, str], ...]


def compiled(text: str, version: tuple[int, int], optimize: int) -> CodeUnit | None:
    """The module's code; None where the text is none that this version compiles."""
    try:
        if version == HOST:
            return CodeUnit.from_code(compile(text, "<random>", "exec", dont_inherit=True, optimize=optimize))
        unit = loads(worker_for(version).compile(text, 0, optimize), version)
    except (SyntaxError, WorkerError):
        return None
    assert isinstance(unit, CodeUnit)
    return unit


def examine(source: str, version: tuple[int, int], optimize: int = 0, lines: bool = True) -> Result | None:
    """What becomes of one program; None where it does not compile."""
    unit = compiled(source, version, optimize)
    if unit is None:
        return None
    if not lines:
        unit = without_lines(unit)
    try:
        result = decompile_unit(unit)
    except DepyfError as error:
        return Result(source, "", 1, 0, 0, 0, ((f"failed: {normal_form(str(error))}", "<module>"),))
    except Exception as error:
        return Result(source, "", 1, 0, 0, 0, ((f"internal: {type(error).__name__}: {error}", "<module>"),))
    kinds = []
    for verdict in result.verdicts:
        status = verdict.status.name
        if status != "IDENTICAL":
            kinds.append((f"{status}: {normal_form(verdict.difference or verdict.reason)}", verdict.qualname))
    kinds += [("invented", shown.qualname) for shown in invented.invented(result.source)]
    kinds += [("fallback", name) for name in result.fallbacks]
    count, found = readdiff.differences("", ast.parse(source), ast.parse(result.source))
    kinds += [(f"tree {difference.kind}", difference.name) for difference in found]
    same = sum(verdict.status.name == "IDENTICAL" for verdict in result.verdicts)
    return Result(source, result.source, len(result.verdicts), same, count, count - len(found), tuple(kinds))


def show(result: Result | None) -> None:
    if result is None:
        print("does not compile")
        return
    if not result.kinds:
        print("nothing differs")
        return
    wanted = {name.split(".")[0] for _, name in result.kinds}
    for text in (result.source, result.text):
        for node in ast.parse(text).body:
            if not wanted or "<module>" in wanted or getattr(node, "name", "<module>") in wanted:
                print("\n".join(text.splitlines()[node.lineno - 1 : node.end_lineno]))
        print("# ---- decompiled" if text is result.source else "# ----")
    for kind, name in result.kinds:
        print(f"# {name}: {kind}")


def shrunk(source: str, wanted: str, version: tuple[int, int], optimize: int, lines: bool) -> str:
    """The smallest program found with a kind that contains ``wanted``."""

    def holds(text: str) -> bool:
        result = examine(text, version, optimize, lines)
        return result is not None and any(wanted in kind for kind, _ in result.kinds)

    return minimise.minimise(source, holds, SECONDS)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--version", default=f"{HOST[0]}.{HOST[1]}")
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0, help="the first one")
    parser.add_argument("--functions", type=int, default=10, help="in each module")
    parser.add_argument("--optimize", type=int, default=0)
    parser.add_argument("--no-lines", action="store_true", help="empty the line tables first")
    parser.add_argument("--show", type=int, help="print one program instead")
    parser.add_argument("--shrink", type=int, help="and make it small first, as long as it shows the kind of --list")
    parser.add_argument("--booleans", action="store_true", help="programs of boolean expressions (randombooleans.py)")
    parser.add_argument("--deep-booleans", action="store_true", help="deep ones of few names (deepbooleans.py)")
    parser.add_argument("--file", type=Path, help="a program of yours instead of a random one")
    parser.add_argument("--list", help="print seed and function of each kind that contains this")
    options = parser.parse_args()
    major, minor = options.version.split(".")
    version = int(major), int(minor)
    if version != HOST and version >= (3, 10):
        python = interpreters.find(options.version)
        if python is None:
            raise SystemExit(f"sourcefuzz: no Python {options.version} on this machine")
        return subprocess.run(
            [python, "-m", "tools.fuzz.sourcefuzz", *sys.argv[1:]], env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
        ).returncode
    warnings.simplefilter("ignore")
    make = randombooleans.make if options.booleans else randomsource.make
    make = deepbooleans.make if options.deep_booleans else make
    settings = (version, options.optimize, not options.no_lines)
    if options.show is not None or options.shrink is not None or options.file:
        seed = options.show if options.shrink is None else options.shrink
        source = options.file.read_text() if options.file else make(seed, version, options.functions)
        if options.shrink is not None:
            source = shrunk(source, options.list or "", *settings)
        show(examine(source, *settings))
        return 0
    started = time.monotonic()
    kinds: Counter[str] = Counter()
    example: dict[str, int] = {}  # the smallest program of each kind
    sizes: dict[str, int] = {}
    programs = codes = identical = functions = alike = 0
    for seed in range(options.seed, options.seed + options.count):
        result = examine(make(seed, version, options.functions), *settings)
        if result is None:
            continue
        programs += 1
        codes, identical = codes + result.codes, identical + result.identical
        functions, alike = functions + result.functions, alike + result.alike
        for kind, name in result.kinds:
            kinds[kind] += 1
            if len(result.source) < sizes.setdefault(kind, 1_000_000):
                sizes[kind], example[kind] = len(result.source), seed
            if options.list and options.list in kind:
                print(f"seed {seed}: {name}: {kind}", flush=True)
    for kind, number in sorted(kinds.items(), key=lambda item: (-item[1], item[0])):
        print(f"{number:5}  seed {example[kind]}: {kind}")
    proven = ("EQUIVALENT", "tree", "invented", "fallback")
    unproven = sum(number for kind, number in kinds.items() if not kind.startswith(proven))
    print(
        f"Python {options.version}: {programs} programs, {codes} code objects, {unproven} without a proof,"
        f" {identical / max(codes, 1):.2%} IDENTICAL, {kinds['invented']} with an invented name, {kinds['fallback']} shown by the last resort;"
        f" {functions} functions, {alike / max(functions, 1):.2%} with the tree of the source; {time.monotonic() - started:.0f} s"
    )
    return 1 if unproven else 0


if __name__ == "__main__":
    sys.exit(main())
