"""Graphs that ``torch.compiler.precompile`` captured or loaded, in ``index.md``.

Input: the records of a run.  Output: lines of Markdown; nothing where there are none.
"""

from __future__ import annotations

from depyf.run.compile_stages import CAPTURED, WRAPPER
from depyf.run.files.layout import graph_file
from depyf.run.program_calls.precompiled_graphs import PrecompiledGraph
from depyf.run.run import Run
from depyf.views.pages.markdown import code
from depyf.views.pages.sections.words import at, link

_FEW = 8
"""So many checks of a graph are in the index."""


def precompiled_lines(run: Run) -> list[str]:
    """Each graph with its files, and what its driver wants of a call."""
    lines = []
    for one in run.precompiled:
        files = [
            graph_file(graph) for graph in run.graphs if graph.key == one.key and graph.stage in (CAPTURED, WRAPPER)
        ]
        shown = "".join(f", {link(name, name)}" for name in files)
        lines.append(f"- {_of(one)}: {one.key.label}, traced by make_fx, backend {one.backend}, no guards{shown}")
        if one.file:
            lines.append(f"  - written to {code(one.file)}; `depyf open` shows what is in it")
        lines.append("  - a call that has not all of this raises `PrecompileError`:")
        lines += [f"    - {code(check)}" for check in one.checks[:_FEW]]
        more = len(one.checks) - _FEW
        lines += [f"    - and {more} more"] if more > 0 else []
    return lines


def _of(one: PrecompiledGraph) -> str:
    if one.loaded:
        return "loaded"
    place = f" ({at(one.place)})" if one.place is not None else ""
    return f"{code(one.function)}{place}" if one.function else "a callable"
