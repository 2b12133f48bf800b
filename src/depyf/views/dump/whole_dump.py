"""All pages of a dump that are made of the run alone, and its two indexes: ``run.jsonl`` and ``manifest.json``.

Input: a ``Run``, and the writer of its folder.  Output: whether the manifest was written, so that all is there.  A page
that fails is left out, and told of in the notes; ``run.jsonl`` comes last but one, so that its notes are all of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from depyf.run.causes.collect import causes_of
from depyf.run.compile_stages import ORDER, WRAPPER
from depyf.run.files.layout import (
    BILL,
    BILL_DATA,
    CALL_TREE,
    GUARDS_DATA,
    MANIFEST,
    MEMORY,
    MEMORY_DATA,
    RUN,
    SHAPES,
    SHAPES_DATA,
    TIMINGS,
    full_code_files,
    graph_file,
    kernel_file,
    nodes_file,
    original_file,
    transformed_file,
)
from depyf.run.files.line_table import LineTable
from depyf.run.files.manifest import KernelFile, manifest_page
from depyf.run.files.timings import timings_page
from depyf.run.files.writer import DumpWriter
from depyf.run.graphs.node_origins import nodes_page
from depyf.run.records import CompileKey, FunctionRecord, GraphRecord, GuardRecord
from depyf.run.run import Run
from depyf.run.store.lines import run_page
from depyf.safety.guarded import Door
from depyf.views.pages.bill.bill_page import bill_data, bill_page
from depyf.views.pages.call_tree import call_tree_page
from depyf.views.pages.full_code import full_code_page
from depyf.views.pages.function_pages import original_page, transformed_lines
from depyf.views.pages.index import index_pages
from depyf.views.pages.kernels import CALLS_IN_CPP, kernels_in
from depyf.views.pages.memory import memory_page
from depyf.views.pages.run_data import RunFindings, guards_data, memory_data, shapes_data
from depyf.views.pages.sections.words import line_text
from depyf.views.pages.shapes import shapes_page

_SUMMARIES: tuple[tuple[str, Callable[[RunFindings], str]], ...] = (
    (CALL_TREE, lambda found: call_tree_page(found.run)), (SHAPES, shapes_page), (SHAPES_DATA, shapes_data),
    (MEMORY, memory_page), (MEMORY_DATA, memory_data), (GUARDS_DATA, guards_data), (BILL, bill_page),
    (BILL_DATA, bill_data),
)  # fmt: skip


def write_pages(
    run: Run,
    writer: DumpWriter,
    note: Callable[[str], None],
    steppable: frozenset[str] = frozenset(),
    wrote: Callable[[Path, str], None] = lambda path, page: None,
) -> tuple[Run, bool]:
    """Write all pages of a run; returns the run with added notes, and whether the manifest was written.  ``note`` gets
    a line on each error; ``steppable``: the files in which breakpoints stop; ``wrote``: called with each written page
    of a function."""
    notes: dict[str, None] = dict.fromkeys(run.notes)

    def noted(text: str) -> None:
        note(text)
        notes[text] = None

    pages = pages_of(run)
    lines: dict[str, LineTable] = {}
    for name, functions in pages.items():
        page = full_code_page(functions[0], functions[1:])
        lines[name] = page.lines
        if writer.write(name, page.text):
            wrote(writer.path(name), page.text)
    for function in run.functions:
        writer.write(original_file(function.function, function.code), original_page(function))
        for entry in function.entries:
            if entry.transformed is not None:
                table = transformed_lines(entry.key, function.code, entry.transformed)
                if table is not None:
                    lines[transformed_file(entry.key, function.code)] = table
    _write_origins(run, writer, noted)
    kernels = _write_kernels(run, writer)
    writer.write(TIMINGS, timings_page(run.times, run.began))
    counts = Counter(kernel.wrapper.key.slug for name, kernel in kernels.items() if not name.endswith(CALLS_IN_CPP))
    found = RunFindings(run)
    for name, page_of in _SUMMARIES:
        with Door(f"{name} could not be written", noted):
            if text := page_of(found):
                writer.write(name, text)
    causes = causes_of(run)
    for name, text in index_pages(found, causes, pages, counts).items():
        writer.write(name, text)
    if writer.problems:
        noted("not written: " + "; ".join(writer.problems))
    run = replace(run, notes=tuple(notes))
    writer.write(RUN, run_page(_with_lines(run)))
    manifest = manifest_page(run, causes, pages, frozenset(writer.written), steppable, kernels, writer.texts, lines)
    return run, writer.write(MANIFEST, manifest)


def _with_lines(run: Run) -> Run:
    """With the texts of the lines that its guards name: those of torch itself are in no file of the dump."""
    known: dict[GuardRecord, GuardRecord] = {}

    def told(guard: GuardRecord) -> GuardRecord:
        if guard.place is None or guard.place.text:
            return guard
        if guard not in known:
            known[guard] = replace(guard, place=replace(guard.place, text=line_text(guard.place)))
        return known[guard]

    return replace(
        run,
        functions=tuple(
            replace(
                function,
                entries=tuple(replace(entry, guards=tuple(map(told, entry.guards))) for entry in function.entries),
            )
            for function in run.functions
        ),
    )


def pages_of(run: Run) -> dict[str, tuple[FunctionRecord, ...]]:
    """full_code file -> (function, the resume functions that continue it)."""
    known = {function.function for function in run.functions}
    roots = [f for f in run.functions if f.resume_of is None or f.resume_of not in known]
    names = full_code_files(tuple(root.code for root in roots))
    pages: dict[str, tuple[FunctionRecord, ...]] = {}
    continued: dict[tuple[int, str] | None, list[FunctionRecord]] = {}
    for function in run.functions:
        continued.setdefault(function.resume_of, []).append(function)
    for name, root in zip(names, roots):
        pages[name] = (root, *continued.get(root.function, ()))
    return pages


def _write_origins(run: Run, writer: DumpWriter, note: Callable[[str], None]) -> None:
    """Where each operation of the graphs comes from."""
    of_key: dict[CompileKey, list[GraphRecord]] = {}
    for graph in run.graphs:
        of_key.setdefault(graph.key, []).append(graph)
    for key, graphs in of_key.items():
        with Door(f"{nodes_file(key)} could not be written", note):
            graphs.sort(
                key=lambda graph: (ORDER.index(graph.stage) if graph.stage in ORDER else len(ORDER), graph.index)
            )
            known = [(graph_file(graph), graph.origins) for graph in graphs if graph.origins is not None]
            if page := nodes_page(known):
                writer.write(nodes_file(key), page)


def _write_kernels(run: Run, writer: DumpWriter) -> dict[str, KernelFile]:
    """Each kernel of each wrapper as a separate file; file -> the kernel."""
    found: dict[str, KernelFile] = {}
    for wrapper in run.graphs:
        for kernel in kernels_in(wrapper.text, graph_file(wrapper)) if wrapper.stage == WRAPPER else ():
            name = kernel_file(wrapper, kernel.name, kernel.suffix)
            if writer.write(name, kernel.text):
                found[name] = KernelFile(wrapper, kernel.name, kernel.called_at)
    return found
