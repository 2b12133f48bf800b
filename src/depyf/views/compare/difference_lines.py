"""A comparison of two dumps as lines: a table of the stages, the first change of a file, a list of the files.

Input: a ``DumpComparison`` and its differences.  Output: lines for people.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from depyf.views.compare.line_diff import changed_lines
from depyf.views.compare.stages import DumpComparison, StageDifference


def table(comparison: DumpComparison) -> list[str]:
    """The summary, one line per stage."""
    lines = [f"{'stage':18} {'same':>6} {'alike':>6} {'differ':>7} {'only 1':>7} {'only 2':>7}"]
    for stage in comparison.stages:
        same, alike, differ, one, two = comparison.counts(stage)
        lines.append(f"{stage:18} {same:6} {alike or '-':>6} {differ or '-':>7} {one or '-':>7} {two or '-':>7}")
    if comparison.alike:
        lines += ["", f"{len(comparison.alike)} alike: they differ in comments, places, layout, bytecode or "
                  "released names only; --strict compares all"]  # fmt: skip
    return lines


def first_change(item: StageDifference, width: int = 150) -> list[str]:
    """The first line that differs, on both sides; [] where only one side has the file.  Long lines are cut around the
    difference."""
    if item.where != "both":
        return []
    found = list(zip("-+", item.values or ()))
    if not found:
        telling = [(sign, text) for sign, text in changed_lines(item.diff) if _tells(text)]
        found = [next(((one, text) for one, text in telling if one == sign), ("", "")) for sign in "-+"]
    lines = [sign + text for sign, text in found if sign]
    parts = [line[1:] for line in lines] if any(len(line) > width for line in lines) else []
    at = next((i for i, (one, two) in enumerate(zip(*parts)) if one != two), 0) if len(parts) == 2 else 0
    return [_around(line, at, width) for line in lines]


def _around(line: str, at: int, width: int) -> str:
    """``line``, at most ``width`` long, with what stands from column ``at`` of the text on, after its sign."""
    sign, text = line[0], line[1:]
    indent = len(text) - len(text.lstrip())
    start = max(indent, at - width // 3) if at > width // 2 and len(text) >= width else indent
    text = text[:indent] + ("..." if start > indent else "") + text[start:]
    return sign + (text if len(text) < width else text[: width - 4] + "...")


def _tells(text: str) -> bool:
    """Whether a line of a page is more than an import or nothing."""
    return bool(text.strip()) and not text.lstrip().startswith(("from ", "import "))


def listing(differences: Sequence[StageDifference], alone: Collection[tuple[str, str]] = ()) -> list[str]:
    """One line for each file that differs.  All files of a compile id in ``alone``, which one side lacks, take one
    line."""
    words = {"both": "differs", "first": "only in 1", "second": "only in 2"}
    single = [item for item in differences if (item.compile_id, item.where) not in alone]
    width = max((len(item.file) for item in single), default=0)
    lines = [f"{words[item.where]:10} {item.file:{width}}  -{item.removed} +{item.added}" for item in single]
    for compile_id, side in alone:
        mine = [item for item in differences if (item.compile_id, item.where) == (compile_id, side)]
        if mine:
            lines.append(f"{words[side]:10} {compile_id}: {len(mine)} file{'s' * (len(mine) > 1)}")
    return lines
