"""``depyf diff`` and ``depyf merge``: what is compared is in ``report.compare``; here it is asked for and printed."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from depyf.cli.outcome import Exit
from depyf.errors import DepyfError
from depyf.report.compare import Comparison, compare, compare_ranks, first_change, listing, load, ranks_in, table
from depyf.report.happened import events_apart

SAME, DIFFERENT = 0, 1
_UNFINISHED = "has not finished: it died, or was killed, while it recorded; compared is what torch had reported by then"


def run_diff(options: argparse.Namespace) -> int:
    """Exit status 0: the same, or alike; 1: different; 4: not readable."""
    try:
        found = compare(load(options.first), load(options.second), strict=options.strict)
    except DepyfError as error:
        print(f"depyf: {error}", file=sys.stderr)
        return Exit.UNREADABLE
    if options.stage is not None and options.stage not in found.stages:
        print(
            f"depyf: no stage {options.stage!r} in these dumps; they have: {', '.join(found.stages)}", file=sys.stderr
        )
        return Exit.USAGE
    if options.json:
        print(json.dumps(found.to_json(diffs=options.unified), indent=1))
        return SAME if found.equal else DIFFERENT
    _heading(found)
    _events(found)
    print("\n".join(table(found)))
    _differences(found, options.stage, options.unified)
    return SAME if found.equal else DIFFERENT


def run_merge(options: argparse.Namespace) -> int:
    """Exit status as for ``diff``."""
    try:
        dumps, over = ranks_in(options.folder)
        found = compare_ranks(dumps, options.folder)
    except DepyfError as error:
        print(f"depyf: {error}", file=sys.stderr)
        return Exit.UNREADABLE
    equal = all(comparison.equal for _, comparison in found)
    if options.json:
        ranks = {str(rank): comparison.to_json(diffs=options.unified) for rank, comparison in found}
        print(json.dumps({"equal": equal, "ranks": ranks}, indent=1))
        return SAME if equal else DIFFERENT
    lowest = found[0][1].first
    print(f"{options.folder}: {len(found) + 1} ranks, each against {lowest.folder.name} ({len(lowest.files)} files)")
    for rank in over:
        print(f"rank {rank}: left out, it is of another run with more ranks")
    if not lowest.finished:
        print(f"{lowest.folder.name}: {_UNFINISHED}")
    for rank, comparison in found:
        if not comparison.second.finished:
            print(f"rank {rank}: {_UNFINISHED}")
        if comparison.equal:
            print(f"rank {rank}: the same (device numbers apart)")
            continue
        print(f"rank {rank}: diverges (1 is {lowest.folder.name}, 2 is {comparison.second.folder.name})")
        _events(comparison, "  ")
        for line in table(comparison):
            print("  " + line)
        _differences(comparison, None, options.unified, "  ")
    return SAME if equal else DIFFERENT


def _heading(found: Comparison) -> None:
    for number, dump in enumerate((found.first, found.second), 1):
        what = f"torch {dump.torch}, Python {dump.python}" if dump.finished else _UNFINISHED
        print(f"{number}: {dump.folder} ({what}, {len(dump.files)} files)")
    print()


def _events(found: Comparison, pad: str = "") -> None:
    """What happened differently, before what the files say of it."""
    lines = events_apart(found.first.functions, found.second.functions)
    for line in lines:
        print(pad + line)
    if lines:
        print()


def _differences(found: Comparison, stage: str | None, unified: bool, pad: str = "") -> None:
    chosen = [item for item in found.differences if stage is None or item.stage == stage]
    if found.equal:
        print(f"\n{pad}the two {'mean' if found.alike else 'are'} the same")
        return
    print()
    alone = found.alone()
    for compile_id, item in found.first_by_compile_id().items():
        if compile_id in alone:
            print(f"{pad}{compile_id}: only in {'1' if item.where == 'first' else '2'}")
            continue
        print(f"{pad}{compile_id or 'other files'}: they part at {item.stage} ({item.file})")
        for line in first_change(item):
            print(f"{pad}    {line}")
    print()
    for line in listing(chosen, () if stage is not None else alone):
        print(pad + line)
    if unified:
        for item in chosen:
            print()
            print("\n".join(item.diff))


def add_parsers(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """``run``, ``diff`` and ``merge``."""
    run = commands.add_parser(
        "run",
        help="a program, with what torch.compile does in it dumped",
        description="Run a Python program under depyf.prepare_debug, without changing it.  Its arguments, output, exit "
        "status and exceptions are its own.  Under torchrun each rank writes DIR/rank_N.",
    )
    run.add_argument("--out", default="depyf_dump", metavar="DIR", help="where the dump goes (default: depyf_dump)")
    run.add_argument("-m", dest="module", action="store_true", help="PROGRAM is a module, as for python -m")
    run.add_argument("program", metavar="PROGRAM", help="a script, a folder with __main__.py, or (-m) a module")
    run.add_argument("arguments", nargs=argparse.REMAINDER, metavar="...", help="the program's own arguments")

    diff = commands.add_parser(
        "diff",
        help="what differs between two dumps, stage by stage",
        description="Compare two dumps: two runs, two torch versions, two ranks.  Files that differ only in "
        "comments, layout, bytecode or released names are alike.  Exit status 0: the same, or alike; 1: they differ; 4: "
        "not readable.",
    )
    diff.add_argument("first", type=Path, metavar="DIR1")
    diff.add_argument("second", type=Path, metavar="DIR2")
    diff.add_argument("-u", "--unified", action="store_true", help="print the differences themselves")
    diff.add_argument("--stage", metavar="STAGE", help="list only this stage (as in the table)")
    diff.add_argument("--strict", action="store_true", help="every character counts: no two files are alike")
    diff.add_argument("--json", action="store_true", help="print one JSON document")

    merge = commands.add_parser(
        "merge",
        help="where the ranks of a distributed run diverge",
        description="Compare the rank_N dumps in DIR with that of the lowest rank; numbers of devices do not count.  "
        "Exit status as for diff.",
    )
    merge.add_argument("folder", type=Path, metavar="DIR")
    merge.add_argument("-u", "--unified", action="store_true", help="print the differences themselves")
    merge.add_argument("--json", action="store_true", help="print one JSON document")


def run_run(options: argparse.Namespace) -> int:
    from depyf.cli.run_program import run_program

    return run_program(options.program, options.arguments, options.module, options.out)
