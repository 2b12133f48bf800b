"""Which programs ``depyf doctor --fix`` mends without a hand: a table, and the patches.

    python -m tools.torch.fixed_programs                          programs of the advice tests, of advice that is an edit
    python -m tools.torch.fixed_programs --all                    of any advice: another way out may be one
    python -m tools.torch.fixed_programs /work/shared/answers     scripts in a folder
    python -m tools.torch.fixed_programs --only mark-dynamic --diff
    python -m tools.torch.fixed_programs examples/agent --edited MINE    what an agent, or a person, made of them

A program of ``tests/torch/advice_programs.py`` is a script with what that program needs (``advice_alone.py``).
*fixed*: nothing is left that an edit was kept for, and less is compiled, broken or given up.  *wrong*: with the patch the
program returns or prints something else, or fails; the patched program is run once more for that, beside the one as it is.
With ``--edited`` nothing is fixed: files of the same names are judged in the same way.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tests" / "support"))

import with_torch
from depyf.actions.doctor.returned_values import first_difference
from depyf.actions.doctor.trial import DoctorProgram, run_once
from depyf.actions.fixing.all_edits import EDITS
from depyf.actions.fixing.fix_program import Fixes, fix_program
from depyf.actions.fixing.same_effects import other_line
from depyf.errors import DepyfError
from depyf.run.run import RunTotals
from tools.torch.advice_alone import program_alone

ADVICE = ROOT / "tests" / "torch" / "advice_programs.py"


def programs(folders: list[str], only: list[str] | None, any_advice: bool = False) -> dict[str, str]:
    """Name -> text."""
    if folders:
        files = [file for folder in folders for file in sorted(Path(folder).glob("*.py"))]
        return {file.stem: file.read_text() for file in files if not only or file.stem in only}
    text = ADVICE.read_text()
    names = [name for name in re.findall(r'^@needs\("([\w-]+)"', text, re.M) if not only or name in only]
    return {name: program_alone(text, name) for name in names if only or any_advice or name in EDITS}


def fixed(name: str, text: str, folder: Path, most: int) -> tuple[Fixes | None, str]:
    script = folder / f"{re.sub(r'[^0-9A-Za-z]', '_', name)}.py"
    script.write_text(text)
    os.chdir(folder)
    try:
        return fix_program(DoctorProgram(str(script), (), False), folder / "work", most=most), ""
    except DepyfError as error:
        return None, str(error)


def judged(
    before_texts: Mapping[str, str],
    after_texts: Mapping[str, str],
    folder: Path,
    by_others: bool = False,
    numbers: bool = False,
    more: bool = False,
) -> tuple[RunTotals, RunTotals, str]:
    """What both do, and what is another with the edits; "" where nothing is, so far as runs show it.  ``by_others``:
    compiled functions may be others now, and what is printed decides; ``numbers``: a number may be a tensor now;
    ``more``: they may return further values."""
    ran = []
    for number, texts in enumerate((before_texts, after_texts)):
        place = folder / f"again_{number}"
        place.mkdir()
        for path, text in texts.items():
            (place / Path(path).name).write_text(text)
        script = place / Path(next(iter(texts))).name
        program = DoctorProgram(str(script), (), False)
        printed = place / "printed"
        measured = run_once(program, (), place / "run", place / "dump", compare=True, shown=False, printed=printed)
        ran.append((measured, printed.read_bytes().replace(os.fsencode(place), b"")))
    (before, said), (after, says) = ran
    if before.status:
        problem = after.problem if after.status else ""
    elif after.status:
        problem = after.problem
    else:
        lines, others = (text.decode("utf-8", "replace").splitlines() for text in (said, says))
        other = other_line(lines, others)
        printed = f"it prints something else: {other}" if other else ""
        mended = after.totals.errors < before.totals.errors  # the program caught them
        returned = first_difference(before.calls or {}, after.calls or {}, numbers, mended, more)
        problem = printed if by_others else returned or printed
    return before.totals, after.totals, problem


def numbers(before: RunTotals, after: RunTotals) -> str:
    pairs = [(before.compilations, after.compilations), (before.breaks, after.breaks),
             (before.ran_as_python, after.ran_as_python), (before.errors, after.errors)]  # fmt: skip
    return " | ".join(f"{one} -> {other}" if one != other else str(one) for one, other in pairs)


def judge_edited(known: Mapping[str, str], edited: Path) -> int:
    """Edits by others."""
    better = bad = 0
    for name, text in known.items():
        mine = edited / f"{name}.py"
        if not mine.is_file() or mine.read_text() == text:
            print(f"| {name} | | | | | not edited |", flush=True)
            continue
        with tempfile.TemporaryDirectory() as made:
            script = str(Path(made) / f"{name}.py")
            before, after, problem = judged({script: text}, {script: mine.read_text()}, Path(made), by_others=True)
        less = (after.breaks + after.ran_as_python + after.errors, after.compilations) < (
            before.breaks + before.ran_as_python + before.errors, before.compilations
        )  # fmt: skip
        better += less and not problem
        bad += bool(problem)
        verdict = f"WRONG: {problem}" if problem else "better" if less else "no better"
        print(f"| {name} | {numbers(before, after)} | {verdict} |", flush=True)
    print(f"{better} of {len(known)} programs better, {bad} wrong edits")
    return 1 if bad else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="*")
    parser.add_argument("--all", action="store_true", help="programs whose own advice is no edit, too")
    parser.add_argument("--only", action="append", metavar="NAME")
    parser.add_argument("--most", type=int, default=6)
    parser.add_argument("--diff", action="store_true", help="print the patches")
    parser.add_argument("--edited", type=Path, metavar="FOLDER", help="judge the files there")
    options = parser.parse_args()
    os.environ.setdefault("PYTHONHASHSEED", "0")
    os.environ["PYTHONPATH"] = f"{ROOT / 'src'}{os.pathsep}{os.environ.get('PYTHONPATH', '')}".rstrip(os.pathsep)
    sys.executable = with_torch.command(dict(os.environ))
    mended = broken = count = 0
    print(
        "| program | compilations | breaks | as Python | errors | edits kept |\n|---|---|---|---|---|---|", flush=True
    )
    if options.edited is not None:
        return judge_edited(programs(options.folders, options.only), options.edited.resolve())
    for name, text in programs(options.folders, options.only, options.all).items():
        count += 1
        with tempfile.TemporaryDirectory() as made:
            fixes, problem = fixed(name, text, Path(made), options.most)
            if fixes is None or not fixes.kept:
                tried = (
                    "" if fixes is None else "; ".join(f"{one.patch.way.text[:40]}: {one.why}" for one in fixes.tried)
                )
                why = problem or (fixes.difference if fixes is not None else "")
                print(f"| {name} | | | | | none{f': {why or tried}' if why or tried else ''} |", flush=True)
                continue
            mended += 1
            cells = numbers(fixes.base.totals, fixes.last.totals)
            tensors = any(one.patch.makes_tensors for one in fixes.kept)
            more = any(one.patch.returns_more for one in fixes.kept)
            _, _, bad = judged(dict(fixes.before), fixes.after, Path(made), numbers=tensors, more=more)
            broken += bool(bad)
            kept = "; ".join(one.patch.way.text[:60] for one in fixes.kept)
            print(f"| {name} | {cells} | {kept}{f' WRONG: {bad}' if bad else ''} |", flush=True)
            if options.diff:
                print(f"```diff\n{fixes.diff}```", flush=True)
    print(f"{mended} of {count} programs fixed, {broken} wrong patches")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
