"""``index.md``: what to fix first, and what happened, on a screen or two.

Input: what is found in a ``Run`` and the names of the files written.  Output invariant: the same run gives the same
text; every graph break, recompilation and function that ran as ordinary Python is in it, with the user's line, or on a
page that it links to.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from depyf.run.causes.cause import Cause
from depyf.run.causes.folding import counted
from depyf.run.compile_stages import CAPTURED
from depyf.run.files.layout import (
    BILL,
    BREAKS,
    CAUSES,
    FUNCTIONS,
    GUARDS,
    INDEX,
    MEMORY,
    PYTHON,
    RECOMPILATIONS,
    REST,
    SHAPES,
    STAGES,
    TIMINGS,
    graph_file,
)
from depyf.run.global_names import PACKAGE
from depyf.run.observations.all_observations import observations_of
from depyf.run.observations.compiled_differs import checked_line, not_compared
from depyf.run.records import EntryState, GraphRecord
from depyf.run.run import Run, totals_of
from depyf.views.pages.bill.bill_page import bill_section
from depyf.views.pages.call_tree import call_tree_section
from depyf.views.pages.markdown import message
from depyf.views.pages.memory import memory_section
from depyf.views.pages.run_data import RunFindings
from depyf.views.pages.sections.breaks import break_lines
from depyf.views.pages.sections.fix_first import IN_INDEX, left_out, what_to_fix
from depyf.views.pages.sections.functions import Pages, function_lines, python_lines, unfinished_lines
from depyf.views.pages.sections.guards_left_out import left_out_lines, served_lines
from depyf.views.pages.sections.precompiled_section import precompiled_lines
from depyf.views.pages.sections.recompilations import recompile_lines
from depyf.views.pages.sections.stage_table import stage_lines
from depyf.views.pages.sections.totals import BREAK, words_of
from depyf.views.pages.sections.without_guard import count_without_guard, without_guard_lines
from depyf.views.pages.sections.words import link, where, with_cells
from depyf.views.pages.shapes import shapes_section

SCREENS = 90
"""Lines of the index; the longest sections move to pages until it has no more."""


@dataclass(frozen=True, slots=True)
class IndexSection:
    """A section of the index.  A long one moves to ``page``, and ``summary`` takes its place."""

    title: str
    lines: Sequence[str]
    page: str = ""
    summary: str = ""

    @property
    def height(self) -> int:
        return sum(1 + line.count("\n") for line in self.lines)


def index_pages(found: RunFindings, causes: tuple[Cause, ...], pages: Pages, kernels: dict[str, int]) -> dict[str, str]:
    """``index.md`` and the pages that it needs, by file name; ``kernels`` counts the kernel files of each compile
    id."""
    run = found.run
    empty, eager = run.of_state(EntryState.NOTHING), run.of_state(EntryState.PYTHON)
    errors, unfinished = run.of_state(EntryState.FAILED), run.of_state(EntryState.UNFINISHED)
    breaks = run.breaks
    again = [(f, e) for f, e in run.entries if e.recompiles]
    words = words_of(totals_of([run]))
    happened = [
        f"- {words.compilations}, {counted(run.graph_count, 'graph')}",
        *(f"- {text}" for text in (words.breaks, words.recompilations, words.ran_as_python)),
        *(f"- {text}" for text in (words.errors, words.unfinished, checked_line(run.checked).rstrip(".")) if text),
        *(f"  - {message(text)}" for checked in run.checked for text in not_compared(checked)),
        f"- {_versions(run)}. Every file here is described in `manifest.json`; "
        f"compile times, which differ in every run, are in `{TIMINGS}`.",
    ]
    observations = observations_of(run)
    first = what_to_fix(causes, observations)
    left = left_out(causes, IN_INDEX)
    if left > 0:
        first.append(f"\n{counted(left, 'cause')} that {'costs' if left == 1 else 'cost'} less: {link(CAUSES, CAUSES)}")
    sections = [
        IndexSection("Fix first", first if first and first[0] else []),
        IndexSection("What each call costs", [] if first and first[0] else first[3:]),
        IndexSection("What happened", happened),
        IndexSection("Nothing was compiled", [] if _anything(run) else [_NOTHING]),
        IndexSection("Call tree", call_tree_section(run)),
        IndexSection("Functions", function_lines(pages), FUNCTIONS, counted(len(pages), "function")),
        IndexSection("Precompiled", precompiled_lines(run), REST, counted(len(run.precompiled), "graph")),
        IndexSection("Being compiled when the process ended", unfinished_lines(unfinished)),
        IndexSection("Failed: torch raised an error", python_lines(errors), PYTHON, counted(len(errors), "error")),
        IndexSection("Ran as ordinary Python", python_lines(eager), PYTHON, counted(len(eager), "time")),
        IndexSection("Nothing to compile", python_lines(empty), PYTHON, counted(len(empty), "function")),
        IndexSection(
            "Never compiled",
            [f"- {where(c)}: {message(why)}" for c, why in run.never_compiled],
            PYTHON,
            counted(len(run.never_compiled), "function"),
        ),
        IndexSection(
            "Graphs of no compiled function", _alone(run), REST, "for `torch.export`, AOTInductor or the like"
        ),
        IndexSection("Graph breaks", break_lines(breaks), BREAKS, counted(len(breaks), BREAK)),
        IndexSection(
            "Recompilations",
            recompile_lines(again, found.stack_names),
            RECOMPILATIONS,
            counted(len(again), "recompilation"),
        ),
        IndexSection(
            "Guards left out",
            left_out_lines(pages),
            GUARDS,
            counted(sum(bool(entry.left_out) for _, entry in run.entries), "compilation"),
        ),
        IndexSection("Served for these values alone", served_lines(pages)),
        IndexSection(
            "Values without a guard",
            without_guard_lines(pages),
            GUARDS,
            counted(count_without_guard(pages), "function"),
        ),
        IndexSection("Dynamic shapes", shapes_section(found, SHAPES)),
        IndexSection("Memory traffic", bill_section(found, BILL)),
        IndexSection("Kept for the backward", memory_section(found, MEMORY)),
        IndexSection("Stages", stage_lines(run, kernels), STAGES, "graphs, kernels and caches of each compile id"),
        IndexSection(
            "Forked processes that compiled, too",
            [f"- {link(name, name + '/index.md')}" for name in run.forks],
            REST,
            counted(len(run.forks), "process", "processes"),
        ),
        IndexSection(
            "Not in a log of torch" if run.of_log else f"Not reported by torch {run.torch_version}",
            [f"- {what}" for what in run.not_reported],
            REST,
            "what a log does not tell" if run.of_log else "what this torch does not tell",
        ),
        IndexSection("Notes", [f"- {message(note)}" for note in run.notes], REST, counted(len(run.notes), "note")),
    ]
    sections = [section for section in sections if section.lines]
    moved = _too_long(sections)
    shown = [_shown(section) for section in sections if section not in moved]
    links = [f"- {section.title}: {link(section.page, section.page)}, {section.summary}" for section in moved]
    shown += ["## On pages by themselves\n\n" + "\n".join(links)] if links else []
    title = (
        ["# What torch.compile did"] if run.finished else ["# What torch.compile did before the process ended", _ENDED]
    )
    made = {INDEX: "\n\n".join([*title, *shown]) + "\n"}
    for section in moved:
        text = f"## {section.title}\n\n" + "\n".join(section.lines) + "\n"
        made[section.page] = f"{made[section.page]}\n{text}" if section.page in made else text
    if left > 0:
        made[CAUSES] = "## Fix first\n\n" + "\n".join(what_to_fix(causes, observations, len(causes))) + "\n"
    return {name: with_cells(text, run.cells) for name, text in made.items()}


def _anything(run: Run) -> bool:
    return bool(run.functions or run.never_compiled or run.graphs or run.precompiled)


def _versions(run: Run) -> str:
    """A log of an older torch does not name them."""
    known = [f"torch {run.torch_version}" if run.torch_version else "a torch that its log does not name"]
    known += [f"Python {run.python_version}"] if run.python_version else []
    return ", ".join(known)


_ALWAYS = 10
"""Lines of a section that stays in the index."""


def _too_long(sections: list[IndexSection]) -> list[IndexSection]:
    """The sections that move to a page, in their order: the longest ones, until the rest fits."""
    moved: list[IndexSection] = []
    by_height = sorted(sections, key=lambda section: -section.height)
    height = sum(section.height + 3 for section in sections)
    for section in by_height:
        if height > SCREENS and section.page and section.height > _ALWAYS:
            moved.append(section)
            height -= section.height - 1
    return [section for section in sections if section in moved]


def _shown(section: IndexSection) -> str:
    return f"## {section.title}\n\n" + "\n".join(section.lines)


_ENDED = """\
The process was killed, or left by `os._exit`, before the recording ended. What was known by then is here; \
not the values that
guards looked at in the end, and not where the operations of the graphs come from."""
_NOTHING = """\
No function came to Dynamo while this was recorded. That is so where

- no compiled function was called, or all that they call for was compiled before and is gone from torch's caches;
- compiling is switched off (`TORCH_COMPILE_DISABLE=1`, `torch.compiler.set_stance("force_eager")`);
- what was called is torch's own code, which Dynamo passes over where no function of yours calls it: a
  `torch.nn.Sequential` compiled in place (`module.compile()`) runs as ordinary Python, \
`torch.compile(module)` compiles it."""


def provisional_page() -> str:
    """The index while the program runs.  It stays if the process dies; compile ids are appended when they finish."""
    return (
        "# What torch.compile did: not finished\n\n"
        "The program is still inside `prepare_debug`, or it died there. The transformed code and the "
        "graphs that torch\n"
        "had reported are in this folder; guards and summaries are written on exit. Compile ids finished:\n\n"
    )


def _alone(run: Run) -> list[str]:
    """Graphs that were captured and not compiled in the place of a function: ``torch.export`` asks for them.  Of what
    torch reports without saying what it is of, the first one of each compile id."""
    known = {function.function for function in run.functions} | {one.key.function for one in run.precompiled}
    lines, told = [], set()
    for graph in run.graphs:
        if graph.stage == CAPTURED and graph.key.function not in known:
            told.add(graph.key)
            lines.append(f"- {graph.key.label}: {_file(graph)}, captured for `torch.export` or by a caller like it")
    for graph in run.graphs:
        if graph.key.function not in known and graph.key not in told:
            told.add(graph.key)
            package = graph.key.text.startswith(PACKAGE)
            what = "compiled by AOTInductor for a package" if package else "torch does not say what it is of"
            lines.append(f"- {graph.key.label}: {_file(graph)}; {what}")
    return lines


def _file(graph: GraphRecord) -> str:
    return link(graph_file(graph), graph_file(graph))
