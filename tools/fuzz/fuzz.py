"""Random control-flow graphs: each one decompiled, proven, and run against the original (``make fuzz N=100000``).

    python -m tools.fuzz.fuzz --count 1000 [--seed 0] [--version 3.13] [--processes 2]

Seeds from 100000 on are "wild" programs (``randomcfg``), from 200000 on "hostile" ones (``hostilecfg``), from
300000 on random stack programs (``rangecfg``), from 400000 on mutants of compiled functions (``mutantcfg``), from 500000 on goto programs (``gotocfg``), and from
1000000 on the kinds take turns (``--kinds plain,wild``).

A program passes when every verdict is a proof, and original and decompiled function do the same on several inputs: the
same calls of the tracer with the same arguments, seeing the same exception being handled, and the same end.  Where the
original does not end or does not do the same twice, the proof is all there is: such programs are counted apart.  It is
assembled for the interpreter that runs this; ``--version`` starts another one.  Failures print the seed:
``python -m tools.fuzz.fuzz --show SEED`` shows that program's bytecode and text.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import random
import re
import signal
import subprocess
import sys
import time
import types
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tools.corpus.triage import normal_form
from tools.env import interpreters
from tools.fuzz import contained
from tools.fuzz.bytecode import assembler, gotocfg, hostilecfg, mutantcfg, randomcfg, rangecfg

RUNS = 4
SECONDS, MEGABYTES = 2, 500
"""What the runs of an original may take; its decompiled function may take more."""
NOT_COMPARED = "not comparable"
CALL_LIMIT = 60
ADDRESS = re.compile(r" at 0x[0-9a-f]+")
"""Where an object lies is no behaviour of a program."""
KINDS: dict[str, Callable[[int], types.CodeType]] = {
    "plain": lambda seed: randomcfg.make(seed, wild=False),
    "wild": lambda seed: randomcfg.make(seed, wild=True),
    "hostile": hostilecfg.make,
    "ranges": rangecfg.make,
    "mutants": mutantcfg.make,
    "gotos": gotocfg.make,
}
MIXED = 1_000_000
"""Seeds from here on take the kinds of ``--kinds`` in turn."""
mixed = tuple(KINDS)


class Tracer:
    """What the programs call: records, then answers with a number, None, or an exception; by the seed alone."""

    def __init__(self, seed: int, contexts: bool = True) -> None:
        self.random = random.Random(seed)
        self.contexts = contexts
        self.events: list[object] = []
        self.raising = [0.0, 0.1, 0.3, 0.6][seed % 4]

    def __enter__(self) -> object:
        return self("enter")

    def __exit__(self, kind: object, error: object, _trace: object) -> object:
        return self("exit", type(error).__name__)

    def __await__(self) -> Iterator[object]:
        return (yield self("await"))

    def __call__(self, *args: object) -> object:
        handled = sys.exc_info()[1] if self.contexts else None
        given = [
            ADDRESS.sub("", arg) if isinstance(arg, str) else arg if isinstance(arg, int | None) else type(arg).__name__
            for arg in args
        ]
        self.events.append((given, None if handled is None else (type(handled).__name__, shown(handled))))
        if len(self.events) > CALL_LIMIT or self.random.random() < self.raising:
            kind = self.random.choice([ValueError, ValueError, KeyError, KeyboardInterrupt])
            raise kind(f"call {len(self.events)}")
        return self.random.choice([0, 1, 2, 3, None])


def shown(error: BaseException) -> str:
    """An exception; ``list.extend`` and a ``*`` in a display complain in different words, which the verdict says."""
    text = ADDRESS.sub("", str(error))
    return re.sub(r"Value after \* must be an iterable, not (\w+)", r"'\1' object is not iterable", text)


def shape(value: object) -> str:
    """A value without the address of an object in it, nor the name of the function that made it."""
    return re.sub(r" at 0x[0-9a-f]+|\w+\.<locals>\.", "", repr(value))


def observe(function: Callable[..., Any], seed: int, contexts: bool = True) -> list[object]:
    """The events of one run and how it ended, with the chain of exceptions that were being handled.

    A generator has an exception state of its own: what a handler without a clean-up leaves handled ends with it.
    """
    return next(_observed(function, seed, contexts))


def _observed(function: Callable[..., Any], seed: int, contexts: bool) -> Iterator[list[object]]:
    tracer = Tracer(seed, contexts)
    try:
        result = function(tracer, seed % 3, 1, None, [7, 8])
        if isinstance(result, (types.GeneratorType, types.CoroutineType)):
            sent: list[object] = [None, 5, None, 0]
            for step in range(CALL_LIMIT):
                tracer.events.append(("yields", shape(result.send(sent[step % 4] if step else None))))
            tracer.events.append("goes on")
            result.close()
        else:
            tracer.events.append(shape(result))
    except BaseException as error:
        chain: BaseException | None = error
        for _ in range(100):
            if chain is None:
                break
            tracer.events.append(f"raised {type(chain).__name__} {shown(chain)}")
            if not contexts:
                break
            chain = chain.__cause__ or chain.__context__
    yield tracer.events


def load(source: str) -> Callable[..., Any]:
    namespace: dict[str, Any] = {}
    exec(compile(source, "decompiled", "exec", dont_inherit=True), namespace)
    function: Callable[..., Any] = namespace["f"]
    return function


def make(seed: int) -> types.CodeType:
    """Program number ``seed``, of the kind that goes with the number."""
    if seed >= MIXED:
        return KINDS[mixed[seed % len(mixed)]](seed)
    kind = (
        "gotos"
        if seed >= gotocfg.FIRST
        else "mutants"
        if seed >= mutantcfg.FIRST
        else "ranges"
        if seed >= rangecfg.FIRST
        else "hostile"
        if seed >= hostilecfg.FIRST
        else "wild"
        if seed >= randomcfg.WILD
        else "plain"
    )
    return KINDS[kind](seed)


def check(seed: int) -> str:
    """What is wrong with program ``seed``; empty when nothing is."""
    return judge(make(seed))


def judge(code: types.CodeType) -> str:
    """What is wrong with the decompiled text of a program; empty when nothing is."""
    from depyf.decompiler.bytecode.codeunit import CodeUnit
    from depyf.decompiler.driver.pipeline import decompile_unit
    from depyf.decompiler.verify.assumptions import AGAIN_NOTE, TESTED_NOTE, UNWIND_NOTE

    try:
        result = decompile_unit(CodeUnit.from_code(code))
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    for verdict in result.verdicts:
        if not verdict.proven:
            return f"{verdict.status.value}: {verdict.reason}"
    assumed = any(note in result.verdicts[0].reason for note in (UNWIND_NOTE, AGAIN_NOTE, TESTED_NOTE))
    # no literal gives a cell itself, or AssertionError without a look at the globals: the text alone is not complete then
    complete = not re.search(r"__cell_|__const_|\b(?:len|type|iter|hasattr|BaseException)_\d", result.source)
    function = None if complete or result.code is None else types.FunctionType(result.code, {})
    return compare(code, function or load(result.source), contexts=not assumed)


def compare(code: types.CodeType, function: Callable[..., Any], contexts: bool = True) -> str:
    """Run both; ``contexts`` says whether the exceptions handled at each call, and those after the last, must agree.

    A program that does not end, that needs memory without end, or that shows where its objects lie (the letters of an
    address) can be compared with nothing.
    """
    original = types.FunctionType(code, {})
    before = contained.peak_megabytes()

    def both(say: contained.Say) -> None:
        expected = [observe(original, run, contexts) for run in range(RUNS)]
        say((time.process_time(), contained.peak_megabytes() - before))
        for run, events in enumerate(expected):
            if observe(function, run, contexts) != events:
                say((run, _varies(original, run, contexts, events)))
                return

    done = contained.contained(both, 4 * SECONDS, 4 * MEGABYTES)
    if not done.said:
        return f"{NOT_COMPARED}: the original ends {done.ended}"
    spent, *differs = done.said
    assert isinstance(spent, tuple)
    if spent[0] > SECONDS or spent[1] > MEGABYTES:
        return f"{NOT_COMPARED}: the original needs more than {SECONDS} s or {MEGABYTES} MB"
    if differs:
        assert isinstance(differs[0], tuple)
        run, varies = differs[0]
        return f"{NOT_COMPARED}: the original varies" if varies else f"runs differently on input {run}"
    return f"the decompiled function ends {done.ended}" if done.ended else ""


def _varies(original: Callable[..., Any], run: int, contexts: bool, events: list[object]) -> bool:
    """Whether the original does not do the same each time, its objects being elsewhere: the order of a set may show it."""
    elsewhere: list[object] = []
    for size in range(60):
        elsewhere += [
            (object(), iter([]), iter(()), slice(size), {}, set(), size / 2, str(size)) for _ in range(size % 11)
        ]
        if observe(original, run, contexts) != events:
            return True
    return False


class OutOfTime(BaseException):
    pass


def guarded(seed: int, limit: int = 20) -> tuple[int, str]:
    def alarm(_signal: int, _frame: types.FrameType | None) -> None:
        raise OutOfTime

    sys.setrecursionlimit(20000)
    warnings.simplefilter("ignore", SyntaxWarning)  # `is` with a literal is what the program does
    signal.signal(signal.SIGPROF, alarm)
    signal.setitimer(signal.ITIMER_PROF, limit)  # of CPU time: others may use this machine
    try:
        return seed, check(seed)
    except OutOfTime:
        return seed, "time limit"
    except Exception as error:
        return seed, f"{type(error).__name__}: {error}"
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def sweep(seeds: range, processes: int) -> Iterator[tuple[int, str]]:
    if processes == 1:
        yield from map(guarded, seeds)
        return
    with multiprocessing.get_context("fork").Pool(processes, maxtasksperchild=2000) as pool:
        yield from pool.imap_unordered(guarded, seeds, chunksize=16)


def logged(log: Path, first: int, count: int, processes: int) -> int:
    """A run that can be stopped and gone on with: one line a hundred programs, and one for each that does not pass."""
    version = f"{sys.version_info[0]}.{sys.version_info[1]}"
    lines = log.read_text().splitlines() if log.exists() else []
    done = {int(words[1]) for words in map(str.split, lines) if words[:1] == [version] and words[3:4] == ["passed"]}
    failed = 0
    for start in range(first, first + count, 100):
        if start in done:
            continue
        bad = [(seed, reason) for seed, reason in sweep(range(start, start + 100), processes) if reason]
        failed += sum(not reason.startswith(NOT_COMPARED) for _, reason in bad)
        with log.open("a") as out:
            for seed, reason in sorted(bad):
                what = "" if reason.startswith(NOT_COMPARED) else "failed "
                out.write(f"{version} {seed} {what}{normal_form(reason)}\n")
            out.write(f"{version} {start} {100 - len(bad)} passed\n")
    return 1 if failed else 0


def show(seed: int) -> None:
    import dis

    from depyf.decompiler.bytecode.codeunit import CodeUnit
    from depyf.decompiler.driver.pipeline import decompile_unit

    code = make(seed)
    dis.dis(code)
    print(decompile_unit(CodeUnit.from_code(code)).source)
    print(guarded(seed)[1] or "passes")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0, help="the first one")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--version", help="run in this interpreter: 3.11 to 3.14")
    parser.add_argument("--show", type=int, help="print one program instead")
    parser.add_argument(
        "--log", help="append the result of each hundred programs to this file; what is there is not run again"
    )
    parser.add_argument("--kinds", default=",".join(KINDS), help=f"of the programs from seed {MIXED} on")
    options = parser.parse_args()
    global mixed
    mixed = tuple(options.kinds.split(","))
    wanted = options.version or f"{sys.version_info[0]}.{sys.version_info[1]}"
    written = [f"{major}.{minor}" for major, minor in assembler.SUPPORTED]
    if wanted not in written:
        raise SystemExit(f"fuzz: programs are written for {', '.join(written)}, not for {wanted}")
    unknown = sorted({*mixed} - {*KINDS})
    if unknown:
        raise SystemExit(f"fuzz: no kind {unknown[0]!r}; there are {', '.join(KINDS)}")
    if options.version and options.version != f"{sys.version_info[0]}.{sys.version_info[1]}":
        python = interpreters.find(options.version)
        if python is None:
            raise SystemExit(f"fuzz: no Python {options.version} on this machine")
        rest = [word for word in sys.argv[1:] if word not in ("--version", options.version)]
        return subprocess.run(
            [python, "-m", "tools.fuzz.fuzz", *rest], env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
        ).returncode
    if options.show is not None:
        show(options.show)
        return 0
    if options.log:
        return logged(Path(options.log), options.seed, options.count, options.processes)
    started = time.monotonic()
    reasons: Counter[str] = Counter()
    smallest: dict[str, int] = {}
    for seed, reason in sweep(range(options.seed, options.seed + options.count), options.processes):
        if reason:
            kind = normal_form(reason)
            reasons[kind] += 1
            smallest[kind] = min(seed, smallest.get(kind, seed))
    apart = sum(count for reason, count in reasons.items() if reason.startswith(NOT_COMPARED))
    failed = sum(reasons.values()) - apart
    for reason, count in sorted(reasons.items(), key=lambda item: (-item[1], item[0]))[:40]:
        print(f"{count:6}  seed {smallest[reason]}: {reason}")
    version = f"{sys.version_info[0]}.{sys.version_info[1]}"
    seconds = time.monotonic() - started
    print(
        f"Python {version}: {options.count - failed - apart} of {options.count} programs proven and run alike,"
        f" {apart} proven and not comparable, {failed} failed, {seconds:.0f} s"
    )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
