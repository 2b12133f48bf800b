"""``depyf diff`` and ``depyf merge``: what is compared is in ``report.compare``; here it is asked for and printed."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from depyf.cli.exit_status import ExitStatus
from depyf.cli.from_dumps.log_argument import called
from depyf.cli.output import complain, tell, tell_json
from depyf.errors import DepyfError
from depyf.run.rank_groups import RankGroups, read_rank_groups
from depyf.run.store.codec import plain
from depyf.views.compare.difference_lines import first_change, listing, table
from depyf.views.compare.rank_group_lines import group_lines
from depyf.views.compare.stages import (
    Dump,
    DumpComparison,
    compare,
    compare_ranks,
    load,
    ranks_in,
    ranks_of_two,
)

SAME, DIFFERENT = 0, 1
DIFF_EPILOG = """\
examples:
  depyf diff dump_a dump_b
  depyf diff -u --stage Forward_graph dump_a dump_b
  depyf diff run_a run_b          (folders with rank_0, rank_1, ...: rank by rank)
  depyf diff model.aot dump       (what torch saved, against a run)
  depyf diff old.aot new.aot

exit status:
  0    the same, or alike
  1    they differ
  2    the command line is wrong, or there is no such stage
  4    not readable, or no dump; no compilation of the function that a file holds
  130  interrupted (Ctrl-C)
"""
MERGE_EPILOG = (
    DIFF_EPILOG.replace("diff dump_a dump_b", "merge dump")
    .replace("diff -u --stage Forward_graph dump_a dump_b", "merge -u dump")
    .replace("  depyf diff run_a run_b          (folders with rank_0, rank_1, ...: rank by rank)\n", "")
    .replace("  depyf diff model.aot dump       (what torch saved, against a run)\n", "")
    .replace("  depyf diff old.aot new.aot\n", "")
    .replace("; no compilation of the function that a file holds", "")
    .replace(", or there is no such stage", "")
)
_UNFINISHED = "has not finished: it died, or was killed, while it recorded; compared is what torch had reported by then"


def run_diff(options: argparse.Namespace) -> int:
    """Exit status 0: the same, or alike; 1: different; 4: not readable."""
    try:
        if options.first.is_file() or options.second.is_file():
            return _diff_of_files(options)
        ranks = ranks_of_two(options.first, options.second)
        if ranks is not None:
            return _diff_of_ranks(options, *ranks)
        found = compare(
            load(options.first, called(options, options.first)),
            load(options.second, called(options, options.second)),
            strict=options.strict,
        )
    except DepyfError as error:
        complain(error)
        return ExitStatus.UNREADABLE
    if options.stage is not None and options.stage not in found.stages:
        return _no_stage(options.stage, found.stages)
    if options.json:
        tell_json(found.to_json(diffs=options.unified))
        return SAME if found.equal else DIFFERENT
    _heading(found)
    _events(found)
    tell(*table(found))
    _differences(found, options.stage, options.unified)
    return SAME if found.equal else DIFFERENT


def _diff_of_files(options: argparse.Namespace) -> int:
    """Where one side is what torch saved."""
    from depyf.actions.opened.artefact_diff import artefact_diff, comparison_lines

    found = artefact_diff(options.first, options.second, options.strict)
    if options.stage is not None:
        names = [part.name for part in found.parts]
        if options.stage not in names:
            return _no_stage(options.stage, names)
        found = replace(found, parts=tuple(part for part in found.parts if part.name == options.stage))
    if options.json:
        tell_json(found.to_json(diffs=options.unified))
    else:
        tell(*comparison_lines(found, options.unified))
    return SAME if found.equal else DIFFERENT


def _no_stage(stage: str, stages: Iterable[str]) -> int:
    complain(f"no stage {stage!r} in these dumps; they have: {', '.join(stages)}")
    return ExitStatus.USAGE


def _of_rank(options: argparse.Namespace, whole: Path, folder: Path) -> Dump:
    logs = called(options, whole)
    return load(folder, logs / folder.name if logs is not None else None)


def _diff_of_ranks(options: argparse.Namespace, one: dict[int, Path], two: dict[int, Path]) -> int:
    """Two runs of several ranks, each rank against that of the same number."""
    found = {
        rank: compare(
            _of_rank(options, options.first, one[rank]),
            _of_rank(options, options.second, two[rank]),
            strict=options.strict,
        )
        for rank in sorted(one.keys() & two.keys())
    }
    stages = dict.fromkeys(stage for comparison in found.values() for stage in comparison.stages)
    if options.stage is not None and options.stage not in stages:
        return _no_stage(options.stage, stages)
    alone = {rank: 1 if rank in one else 2 for rank in sorted(one.keys() ^ two.keys())}
    equal = not alone and all(comparison.equal for comparison in found.values())
    if options.json:
        sides = {
            f"only_{name}": [r for r, side in alone.items() if side == n] for n, name in ((1, "first"), (2, "second"))
        }
        ranks = {str(rank): comparison.to_json(diffs=options.unified) for rank, comparison in found.items()}
        tell_json({"equal": equal, **sides, "ranks": ranks})
        return SAME if equal else DIFFERENT
    for number, (folder, ranks_there) in enumerate(((options.first, one), (options.second, two)), 1):
        tell(f"{number}: {called(options, folder) or folder} ({len(ranks_there)} rank{'s' * (len(ranks_there) != 1)})")
    for rank in sorted({*one, *two}):
        if rank in alone:
            tell(f"rank {rank}: only in {alone[rank]}")
            continue
        comparison = found[rank]
        for number, dump in enumerate((comparison.first, comparison.second), 1):
            if not dump.finished:
                tell(f"rank {rank} of {number}: {_UNFINISHED}")
        if comparison.equal:
            tell(f"rank {rank}: the two {'mean' if comparison.alike else 'are'} the same")
            continue
        tell(f"rank {rank}: differs")
        _events(comparison, "  ")
        tell(*("  " + line for line in table(comparison)))
        _differences(comparison, options.stage, options.unified, "  ")
    return SAME if equal else DIFFERENT


def run_merge(options: argparse.Namespace) -> int:
    """Exit status 0: all ranks equal or alike; 1: different; 4: not readable."""
    try:
        dumps, over = ranks_in(options.folder, called(options, options.folder))
        groups = read_rank_groups(options.folder)
        if groups is not None and len(dumps) == 1:
            return _all_alike(options, groups)
        found = compare_ranks(dumps, options.folder)
    except DepyfError as error:
        complain(error)
        return ExitStatus.UNREADABLE
    equal = all(comparison.equal for _, comparison in found)
    if options.json:
        ranks = {str(rank): comparison.to_json(diffs=options.unified) for rank, comparison in found}
        told = {"groups": plain(groups)} if groups is not None else {}
        tell_json({"equal": equal, "ranks": ranks, **told})
        return SAME if equal else DIFFERENT
    if groups is not None:
        tell(*group_lines(groups), "")
    lowest = found[0][1].first
    logs = called(options, options.folder) or options.folder
    tell(f"{logs}: {len(found) + 1} ranks, each against {lowest.folder.name} ({len(lowest.files)} files)")
    for rank in over:
        tell(f"rank {rank}: left out, it is of another run with more ranks")
    if not lowest.finished:
        tell(f"{lowest.folder.name}: {_UNFINISHED}")
    for rank, comparison in found:
        if not comparison.second.finished:
            tell(f"rank {rank}: {_UNFINISHED}")
        if comparison.equal:
            tell(f"rank {rank}: the same (device numbers apart)")
            continue
        tell(f"rank {rank}: diverges (1 is {lowest.folder.name}, 2 is {comparison.second.folder.name})")
        _events(comparison, "  ")
        for line in table(comparison):
            tell("  " + line)
        _differences(comparison, None, options.unified, "  ")
    return SAME if equal else DIFFERENT


def _all_alike(options: argparse.Namespace, groups: RankGroups) -> int:
    """Where the logs of all ranks tell the same, there is a dump of one."""
    if options.json:
        tell_json({"equal": True, "ranks": {}, "groups": plain(groups)})
    else:
        tell(*group_lines(groups))
    return SAME


def _heading(found: DumpComparison) -> None:
    for number, dump in enumerate((found.first, found.second), 1):
        what = f"torch {dump.torch}, Python {dump.python}" if dump.finished else _UNFINISHED
        tell(f"{number}: {dump.name} ({what}, {len(dump.files)} files)")
    tell()


def _events(found: DumpComparison, pad: str = "") -> None:
    """What happened differently, before what the files say of it."""
    lines = found.events
    for line in lines:
        tell(pad + line)
    if lines:
        tell()


def _differences(found: DumpComparison, stage: str | None, unified: bool, pad: str = "") -> None:
    chosen = [item for item in found.differences if stage is None or item.stage == stage]
    if found.equal:
        tell("", f"{pad}the two {'mean' if found.alike else 'are'} the same")
        return
    tell()
    alone = found.alone()
    for (compile_id, side), item in found.first_by_compile_id().items():
        if (compile_id, side) in alone:
            tell(f"{pad}{compile_id}: only in {'1' if side == 'first' else '2'}")
            continue
        tell(f"{pad}{compile_id or 'other files'}: they part at {item.stage} ({item.file})")
        for line in first_change(item):
            tell(f"{pad}    {line}")
    tell()
    for line in listing(chosen, () if stage is not None else alone):
        tell(pad + line)
    if unified:
        for item in chosen:
            tell("", *item.diff)


def add_diff(parser: argparse.ArgumentParser) -> None:
    """The arguments of ``diff``."""
    parser.description = (
        "Compare two dumps: two runs, two torch versions, two ranks, or two runs of several ranks, rank by rank.  "
        "A file is what torch saved (save_compiled_function, an entry of its caches): its code, guards, graphs and "
        "kernels are compared, and nothing of it is executed or loaded.  "
        "Functions are paired by name and code, wherever they stand.  Files that differ only in comments, lines, "
        "layout, bytecode or released names are alike.  Exit status 0: the same, or alike; 1: they differ; "
        "4: not readable."
    )
    parser.epilog = DIFF_EPILOG
    parser.add_argument(
        "first", type=Path, metavar="DIR1", help="a dump, a folder with rank_0, rank_1, ..., or a saved file"
    )
    parser.add_argument("second", type=Path, metavar="DIR2", help="the one to compare it with")
    parser.add_argument("-u", "--unified", action="store_true", help="print the differences themselves")
    parser.add_argument("--stage", metavar="STAGE", help="list only this stage (as in the table)")
    parser.add_argument("--strict", action="store_true", help="every character counts: no two files are alike")
    parser.add_argument("--json", action="store_true", help="print one JSON document")


def add_merge(parser: argparse.ArgumentParser) -> None:
    """The arguments of ``merge``."""
    parser.description = (
        "Compare the rank_N dumps in DIR with that of the lowest rank; numbers of devices do not count.  "
        "Exit status as for diff."
    )
    parser.epilog = MERGE_EPILOG
    parser.add_argument("folder", type=Path, metavar="DIR", help="a folder with rank_0, rank_1, ...")
    parser.add_argument("-u", "--unified", action="store_true", help="print the differences themselves")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
