"""The section of ``index.md`` on stages.

Input: the records of a run.  Output: lines of Markdown.
"""

from __future__ import annotations

from depyf.run.causes.folding import folded_ids
from depyf.run.compile_stages import BY_EVENT, COLUMNS
from depyf.run.records import CompileKey, GraphRecord
from depyf.run.run import Run
from depyf.safety.escape import one_line
from depyf.views.pages.markdown import plain


def stage_lines(run: Run, kernels: dict[str, int]) -> list[str]:
    """A table: what torch reported for each compile id, and what its caches answered."""
    graphs: dict[str, list[GraphRecord]] = {}
    for graph in run.graphs:
        graphs.setdefault(graph.key.slug, []).append(graph)
    if not graphs:
        return []
    own = sorted({graph.stage for graph in run.graphs} - set(BY_EVENT.values()))  # the program's backend gave the name
    stages = (*COLUMNS, *((stage, stage.replace("_", " ")) for stage in own))
    used = [(stage, name) for stage, name in stages if any(graph.stage == stage for graph in run.graphs)]
    caches = {e.key.slug: e.caches for f in run.functions for e in f.entries}
    head = ["compile id", *(plain(name) for _, name in used), "kernels", "caches"]
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    rows: dict[str, list[CompileKey]] = {}
    for slug, mine in graphs.items():
        counts = [str(sum(graph.stage == stage for graph in mine) or "-") for stage, _ in used]
        answers = ", ".join(
            dict.fromkeys(
                f"{c.cache} {c.status}{f' ({plain(one_line(c.reason))})' if c.reason else ''}"
                for c in caches.get(slug, ())
            )
        )
        row = " | ".join([*counts, str(kernels.get(slug, 0) or "-"), answers or "-"])
        rows.setdefault(row, []).append(mine[0].key)
    lines += [f"| {folded_ids(keys, len(keys))} | {row} |" for row, keys in rows.items()]
    warm = [slug for slug, found in caches.items() if any(c.status == "hit" for c in found)]
    if warm:
        lines += [
            "",
            "Where a cache answered *hit*, torch did not run the passes again: their graphs (before and after",
            (
                "the pre-grad and joint passes, before the post-grad passes) "
                "are reported only by the run that filled the cache."
            ),
        ]
    return lines
