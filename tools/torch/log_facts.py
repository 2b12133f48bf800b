"""How much of a run the log of torch tells: the same program recorded both ways, fact by fact.

    python -m tools.torch.log_facts [PROGRAM ...]

Input: Python files that compile something; without any, examples and the programs of the tests.  Output: a table: of each kind of record
how many facts (fields that are not empty) of the live recording are equal in the run that was read from the log, how
many the log lacks, and how many differ; then the fields that are lacking, and all differences.  Exit status 1 where a
fact differs.
"""

from __future__ import annotations

import argparse
import ast
import dataclasses
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from depyf.actions.opened.opened_log import write_log_dump
from depyf.run.advice.advice import AdviceUse
from depyf.run.compile_stages import WRAPPER
from depyf.run.files.layout import RUN, graph_file
from depyf.run.files.reading import DumpError, read_file
from depyf.run.guards.kinds.opaque_guard import UNTOLD
from depyf.run.phase_times import PhaseTime
from depyf.run.records import (
    BreakRecord,
    CallerRecord,
    EntryRecord,
    FunctionRecord,
    GraphRecord,
    RecompileRecord,
    RefusalRecord,
    SymbolRecord,
)
from depyf.run.run import Run, SourceRecord, TimesRecord
from depyf.run.store.loading import load
from tools import ROOT

PROGRAMS = tuple(ROOT / "examples" / "tutorials" / name for name in ("train.py", "toy.py"))
_OF_RECORDING = {
    "Run.notes", "Run.not_reported", "Run.missing", "Run.began", "Run.forks", "Run.from_start", "EntryRecord.guard_state",
    "Run.of_log", "CodeRecord.disassembly", "TransformedRecord.reason", "TransformedRecord.substituted", "BreakRecord.text", "PhaseTime.start", "PhaseTime.thread", "VerdictRecord.reason",
    "TransformedRecord.needs", "TransformedRecord.definitions", "TransformedRecord.lines",
}  # fmt: skip
"""What is said of the recording, and not of the program, or is not stored with it."""
_PROVEN = "TransformedRecord.source"
"""A text that is proven on both sides, of the same bytecode: names of temporaries may differ.  The verdicts are facts."""
_WRAPPED = """\
import runpy, sys
import depyf
with depyf.prepare_debug({dump!r}):
    runpy.run_path({program!r}, run_name="__main__")
"""
_SUITE = """\
import contextlib, sys
sys.path.insert(0, {tests!r})
import torch, torch_programs
for program in torch_programs.PROGRAMS.values():
    torch._dynamo.reset()
    with contextlib.suppress(Exception):
        program(lambda made: torch.compile(made, backend="aot_eager"))
"""
"""The programs of the tests."""


@dataclass
class Comparison:
    """Facts by the field that holds them."""

    equal: Counter[str] = field(default_factory=Counter)
    more: Counter[str] = field(default_factory=Counter)
    """What the log tells and the recording did not see."""
    absent: Counter[str] = field(default_factory=Counter)
    different: list[tuple[str, str, object, object]] = field(default_factory=list)

    def compare(self, live: object, logged: object, name: str, where: str) -> None:
        """Two values of the field ``name``, each empty where it is not known."""
        if name == "Place.line":  # 0 is a line that is not known
            live, logged = live or None, logged or None
        if _is_empty(live) and _is_empty(logged):
            return
        if isinstance(logged, RecompileRecord) and any(one.what in UNTOLD for one in logged.differences):
            if live != logged:  # torch's reason names no guard
                self.absent.update(_facts(live, name))
                return
        if dataclasses.is_dataclass(live) and type(live) is type(logged):
            kind = type(live).__name__
            for one in dataclasses.fields(live):
                if f"{kind}.{one.name}" not in _OF_RECORDING:
                    self.compare(
                        getattr(live, one.name), getattr(logged, one.name), f"{kind}.{one.name}", f"{where}.{one.name}"
                    )
        elif _has_records(live) or _has_records(logged):
            ours, theirs = _by_key(live), _by_key(logged)
            for key in dict.fromkeys((*ours, *theirs)):
                self.compare(ours.get(key), theirs.get(key), name, f"{where}[{key}]")
        elif _is_empty(live):
            self.more.update(_facts(logged, name))
        elif _is_empty(logged) or (name == "CodeRecord.source" and str(logged).startswith("# It cannot be decompiled")):
            self.absent.update(_facts(live, name))
        elif live == logged or _is_torch_file(live, logged) or name == _PROVEN or _is_same_code(live, logged, name):
            self.equal.update(_facts(live, name))
        elif isinstance(live, str) and isinstance(logged, str) and live.startswith(f"{logged}; "):
            self.absent.update(_facts(live, name))  # told in part
        else:
            self.different.append((name, where, live, logged))


def _is_torch_file(live: object, logged: object) -> bool:
    """Whether both are one file of torch: each of the sources names it in full where it knows its folder."""
    names = [str(one) for one in (live, logged) if isinstance(one, str) and one.endswith(".py")]
    short = min(names, key=len, default="")
    whole = max(names, key=len, default="")
    return len(names) == 2 and "/torch/" in whole and whole.endswith(f"/{short}")


def _is_same_code(live: object, logged: object, name: str) -> bool:
    """Whether two sources of one function differ in remarks alone, in what torch calls parameters that are not read, and in
    what a page has instead of statements that another page shows."""
    if name != "CodeRecord.source":
        return False
    try:
        one, two = (next(reversed(ast.parse(str(text)).body), None) for text in (live, logged))
    except SyntaxError:
        return False
    if not isinstance(one, ast.FunctionDef) or not isinstance(two, ast.FunctionDef):
        return False
    for ours, theirs in zip(_parameters(one), _parameters(two)):
        if theirs.arg.startswith("_unused_"):
            ours.arg = theirs.arg
    last = one.body[-1]
    if isinstance(last, ast.Return) and isinstance(last.value, ast.Call) and ast.unparse(last.value).endswith("...)"):
        del one.body[-1]
        del two.body[len(one.body) :]
    return list(map(ast.dump, one.body)) == list(map(ast.dump, two.body)) and ast.dump(one.args) == ast.dump(two.args)


def _parameters(tree: ast.FunctionDef) -> list[ast.arg]:
    return [node for node in ast.walk(tree) if isinstance(node, ast.arg)]


def _facts(value: object, name: str) -> Iterator[str]:
    """The name of the field of each fact in ``value``."""
    if dataclasses.is_dataclass(value):
        for one in dataclasses.fields(value):
            if not _is_empty(inner := getattr(value, one.name)):
                yield from _facts(inner, f"{type(value).__name__}.{one.name}")
    elif _has_records(value):
        assert isinstance(value, tuple)
        for one in value:
            yield from _facts(one, name)
    else:
        yield name


def _is_empty(value: object) -> bool:
    return value is None or value is False or (isinstance(value, (str, tuple)) and not value)


def _has_records(value: object) -> bool:
    return isinstance(value, tuple) and any(
        dataclasses.is_dataclass(one) or (isinstance(one, tuple) and any(map(dataclasses.is_dataclass, one)))
        for one in value
    )


_KEYS = {
    AdviceUse: lambda one: one.id,
    FunctionRecord: lambda one: one.function,
    EntryRecord: lambda one: one.key.label,
    GraphRecord: lambda one: (one.key.label, one.stage, one.index),
    SymbolRecord: lambda one: one.name,
    BreakRecord: lambda one: one.identity,
    RecompileRecord: lambda one: one.entry,
    RefusalRecord: lambda one: one.entry,
    TimesRecord: lambda one: one.key.label,
    PhaseTime: lambda one: one.name,
    CallerRecord: lambda one: one.function or str(one.place),
    SourceRecord: lambda one: one.path,
}


def _by_key(values: object) -> dict[object, object]:
    """The records by what names them; those of a kind without a name by their place."""
    found: dict[object, object] = {}
    for place, one in enumerate(values if isinstance(values, tuple) else ()):
        key = _KEYS[type(one)](one) if type(one) in _KEYS else place
        found[key if key not in found else (key, place)] = one
    return found


def _suite(folder: Path) -> Path:
    path = folder / "programs_of_the_tests.py"
    path.write_text(_SUITE.format(tests=str(ROOT / "tests" / "torch")), encoding="utf-8")
    return path


def recorded(program: Path, folder: Path) -> tuple[Run, Run]:
    """The run of ``program`` as it was recorded live, and as the dump of its log has it."""
    dump, logs, opened = folder / "dump", folder / "logs", folder / "opened"
    code = _WRAPPED.format(dump=str(dump), program=str(program))
    environment = {**os.environ, "TORCH_TRACE": str(logs), "TORCHINDUCTOR_CACHE_DIR": str(folder / "cache")}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    if not (dump / RUN).exists():  # a program may end with an error
        raise SystemExit(f"{program}: {done.stderr[-2000:]}")
    if not logs.exists():
        return whole(dump), Run("", "")  # nothing was compiled
    write_log_dump(logs, opened)
    return whole(dump), whole(opened)


def whole(folder: Path) -> Run:
    """The run in a dump, with the pages of its graphs, and each rest of a function by the function that it is of."""
    run = load(folder)
    places = {one.function: (0, f"{one.code.filename}:{one.code.line}") for one in run.functions}
    return dataclasses.replace(
        run,
        graphs=tuple(dataclasses.replace(graph, text=_page(graph, folder)) for graph in run.graphs),
        functions=tuple(
            dataclasses.replace(one, resume_of=places.get(one.resume_of) if one.resume_of else None)
            for one in run.functions
        ),
    )


def _page(graph: GraphRecord, folder: Path) -> str:
    """The operations of a graph: around them the dump has what the facts say, and the form in which it is stepped
    through; of a wrapper all, but for remarks."""
    try:
        lines = read_file(folder, graph_file(graph)).splitlines()
    except DumpError:
        return ""
    if graph.stage == WRAPPER:
        return "\n".join(line.partition("  # ")[0].rstrip() for line in lines).strip()
    kept = [line.partition("  # ")[0].split(";")[0].strip() for line in lines]
    ends = (at for at, line in enumerate(kept) if line.startswith(("def sample_inputs", "if __name__")))
    return "\n".join(line for line in kept[: next(ends, len(kept))] if " = torch." in line)


def compared(live: Run, logged: Run) -> Comparison:
    """Fact by fact."""
    found = Comparison()
    found.compare(live, logged, "Run", "run")
    return found


def table(found: Comparison) -> str:
    """As Markdown, by kind of record."""
    kinds = {
        name.partition(".")[0]
        for name in (*found.equal, *found.absent, *found.more, *(one[0] for one in found.different))
    }
    lines = ["| record | equal | lacking | different | only in the log |", "|---|---:|---:|---:|---:|"]
    wrong = Counter(name for name, *_ in found.different)
    for kind in sorted(kinds):
        counts = [
            sum(count for name, count in one.items() if name.partition(".")[0] == kind)
            for one in (found.equal, found.absent, wrong, found.more)
        ]
        lines.append(f"| {kind} | {counts[0]} | {counts[1]} | {counts[2]} | {counts[3]} |")
    total = sum(found.equal.values()), sum(found.absent.values()), len(found.different)
    share = total[0] / max(1, sum(total))
    lines.append(f"| all ({share:.1%} equal) | {total[0]} | {total[1]} | {total[2]} | {sum(found.more.values())} |")
    return "\n".join(lines)


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", nargs="*", type=Path)
    parser.add_argument("--most", type=int, default=40, help="differences that are printed")
    options = parser.parse_args(argv)
    whole = Comparison()
    for program in options.programs or [*PROGRAMS, None]:
        with tempfile.TemporaryDirectory(prefix="depyf-log-") as folder:
            place = program.absolute() if program is not None else _suite(Path(folder))
            found = compared(*recorded(place, Path(folder)))
        total = sum(found.equal.values()), sum(found.absent.values()), len(found.different)
        print(f"{place.name}: {total[0]} equal, {total[1]} lacking, {total[2]} different", flush=True)
        whole.equal.update(found.equal)
        whole.absent.update(found.absent)
        whole.more.update(found.more)
        whole.different += found.different
    print(f"\n{table(whole)}\n\nlacking:")
    for name, count in whole.absent.most_common():
        print(f"  {count:6} {name}")
    for name, where, live, logged in whole.different[: options.most]:
        print(f"different: {name} at {where}\n    live {str(live)[:300]!r}\n    log  {str(logged)[:300]!r}")
    return 1 if whole.different else 0


if __name__ == "__main__":
    raise SystemExit(main())
