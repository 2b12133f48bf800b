"""What each stage of passes did to a graph, and what two compilations of one function differ in.

Output: pairs of files, with the number of lines that only one of the two has; the page compares the texts itself.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from depyf.decompiler.emit.comments import comment
from depyf.run.compile_stages import BACKWARD, BEFORE_POST_GRAD, CAPTURED, FORWARD, JOINT, POST_GRAD, WRAPPER
from depyf.run.files.file_record import FileRecord
from depyf.run.records import CompileKey
from depyf.views.report.dump_view import DumpView

_AROUND = (
    ("Pre-grad passes", ("BEFORE_PRE_GRAD",), "AFTER_PRE_GRAD"),
    ("AOTAutograd: trace", ("AFTER_PRE_GRAD", CAPTURED), JOINT),
    ("AOTAutograd: trace", ("AFTER_PRE_GRAD", CAPTURED), FORWARD),
    ("AOTAutograd: forward", (JOINT,), FORWARD),
    ("AOTAutograd: backward", (JOINT,), BACKWARD),
    ("Joint passes", ("BEFORE_JOINT_GRAPH",), "AFTER_JOINT_GRAPH"),
    ("Post-grad passes", (BEFORE_POST_GRAD, FORWARD, BACKWARD), POST_GRAD),
)
"""Title, the stages that may come before (the nearest first), the stage after."""
_COMPARED = (
    ("transformed_code", "Transformed code"), (CAPTURED, "Captured graph"), (JOINT, "Joint graph"),
    (FORWARD, "Forward graph"), (BACKWARD, "Backward graph"), (POST_GRAD, "After the post-grad passes"),
    (WRAPPER, "Wrapper"),
)  # fmt: skip
_REMARK = comment("")
"""How the lines begin that depyf puts above a graph."""


def passes_panel(view: DumpView, other: DumpView | None) -> dict[str, Any] | None:
    """The data to compare two stages of a compilation; None where the dump has no two stages."""
    ranks = [("", view), *((f"rank_{rank}/", part) for rank, part in view.ranks.items())]
    passes = [one for rank, part in ranks for one in _passes(part, rank)]
    functions = [one for rank, part in ranks for one in _functions(part, rank)]
    return {"compilations": passes, "functions": functions} if passes or functions else None


def _passes(view: DumpView, rank: str) -> list[dict[str, Any]]:
    found = []
    for key in sorted({file.key for file in view.files if file.key is not None}, key=lambda key: key.order):
        pairs = [pair for title, before, after in _AROUND for pair in _pairs(view, key, title, before, after, rank)]
        if pairs:
            found.append(
                {"compile_id": key.text, "generation": key.generation, "rank": rank.rstrip("/"), "pairs": pairs}
            )
    return found


def _pairs(
    view: DumpView, key: CompileKey, title: str, before: tuple[str, ...], after: str, rank: str
) -> list[dict[str, Any]]:
    if title.endswith("trace") and after == FORWARD and view.of(key, stage=JOINT):
        return []  # the forward comes from the joint graph then
    found = []
    for file in view.of(key, stage=after, kind="graph"):
        first = _before(view, key, file, before)
        if first is not None:
            side = _side_of(view, first, file)
            found.append({
                "title": title + side, "before": rank + first.name, "after": rank + file.name,
                **_counts(view, first.name, file.name),
            })  # fmt: skip
    return found


def _before(view: DumpView, key: CompileKey, file: FileRecord, stages: tuple[str, ...]) -> FileRecord | None:
    """The graph that ``file`` was made from: the one that the manifest names, through others of no interest."""
    for stage in stages:
        files = view.of(key, stage=stage, kind="graph")
        named = [one for one in files if one.name in file.origins]
        if named or (files and stage not in (FORWARD, BACKWARD)):
            return named[0] if named else next((one for one in files if one.index == file.index), files[0])
    return None


def _side_of(view: DumpView, first: FileRecord, file: FileRecord) -> str:
    if file.stage != POST_GRAD or file.key is None or not view.of(file.key, stage=BACKWARD):
        return ""
    stages = {
        first.stage,
        *(one.stage for name in first.origins if (one := view.by_name.get(name)) is not None),
    }
    return ", backward" if BACKWARD in stages else ", forward" if FORWARD in stages else ""


def _counts(view: DumpView, before: str, after: str) -> dict[str, int]:
    """How many lines only one of the two has, comments on the graph left out."""
    one, two = (
        Counter(line for line in (view.text(name) or "").split("\n") if not line.startswith(_REMARK))
        for name in (before, after)
    )
    return {"removed": sum((one - two).values()), "added": sum((two - one).values())}


def _functions(view: DumpView, rank: str) -> list[dict[str, Any]]:
    """The functions with more than one compilation, and for each of these its file of each stage."""
    found = []
    for function in view.run.functions:
        ids = []
        for key in sorted((entry.key for entry in function.entries), key=lambda key: key.order):
            files = {}
            for stage, title in _COMPARED:
                kind = "transformed_code" if stage == "transformed_code" else ""
                own = view.of(key, kind=kind) if kind else view.of(key, stage=stage)
                for number, file in enumerate(own):
                    files[title + (f" {number + 1}" if number else "")] = rank + file.name
            if files:
                ids.append({"compile_id": key.text, "generation": key.generation, "files": files})
        if len(ids) > 1:
            found.append({"function": function.code.shown, "rank": rank.rstrip("/"), "ids": ids})
    return found
