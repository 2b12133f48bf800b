"""The files of one ``depyf.debug(level=...)``: dumped ones where they say what runs, new ones where they do not.

Input: what torch compiles at the forced level, piece by piece.  Output invariant: a live function gets the name and
lines of a file only if that file's text has the function's very bytecode (``stepping.graph_codes``).
"""

from __future__ import annotations

import re
import types
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from depyf.actions.debugger.pause import pause_for_new_file
from depyf.actions.debugger.stepping.interpreted_kernels import Interpreting
from depyf.actions.debugger.stepping.nonfinite import modules_of
from depyf.decompiler.bytecode.codeunit import nested_codes
from depyf.run.compile_stages import WRAPPER
from depyf.run.files.layout import graph_file, kernel_file, transformed_file
from depyf.run.files.manifest import KernelFile, with_level_graph, with_level_kernel
from depyf.run.files.reading import MANIFEST, read_manifest
from depyf.run.graphs.graph_source import importable, read_printed
from depyf.run.records import FunctionRecord, GraphRecord
from depyf.safety.guarded import Door, say
from depyf.sources.live.caches.code_exchange import (
    GraphMatch,
    Stepping,
    graph_codes,
    loaded_modules,
    match_graphs,
    step_text,
)
from depyf.sources.live.caches.live_graphs import LiveCode
from depyf.sources.live.recording import substitute
from depyf.sources.live.recording.session import Session
from depyf.sources.live.recording.transform import current_compile_id, decompile_made
from depyf.sources.live.recording.wrapper_lines import user_lines, with_user_lines
from depyf.views.pages.function_pages import transformed_page
from depyf.views.pages.graph_page import graph_page
from depyf.views.pages.kernels import kernels_in

Instrument = Callable[[types.CodeType, str, dict[str, str]], types.CodeType]
"""(code of a graph, text of its file, module path per node) -> the code to run: with checks added, on the same
lines."""


class LevelFiles:
    """Finds or writes the file for each piece of code of a level.  ``stepping`` exchanges the code, and undoes it."""

    def __init__(self, session: Session, stepping: Stepping, level: str, instrument: Instrument | None) -> None:
        self._level = level
        self._session = session
        self._stepping = stepping
        self._instrument = instrument
        self._used: set[str] = set()
        self._found: dict[str, str] = {}
        """What is compiled now -> the compilation of the dump whose graph it is."""
        self._new: list[str] = []
        """The files that the user has not been told of."""

    def pause(self) -> None:
        """Let the user set breakpoints in the files that are new.

        Not where torch compiles: with its modes on, what is typed at the prompt gives tensors without values, and
        stepping leads through the compiler.
        """
        new, self._new = self._new, []
        if new:
            pause_for_new_file(", ".join(new))

    def pauses(self) -> bool:
        """Whether there are new files to announce before the compiled code runs."""
        return bool(self._new)

    def note(self, text: str) -> None:
        """Print what could not be done; the program continues."""
        say(f"depyf: {text}")

    def graph(self, stage: str, module: Any, compile_id: str, text: str = "") -> None:
        """``module`` is about to run as the graph of ``stage``: make it run as lines of a file.

        ``text``: torch's printing of it, where it was printed before its calling convention changed.
        """
        with Door(f"{stage} of {compile_id} cannot be stepped through", self.note):
            self._graph(stage, module, compile_id, text)

    def _graph(self, stage: str, module: Any, compile_id: str, text: str) -> None:
        with_forward(module)
        live = LiveCode((module,), (), ())
        text = text or printed(module)
        for dumped in self._dumped(stage, compile_id, text):
            path = self._session.writer.path(graph_file(dumped))
            exact = any(match.exact for match in match_graphs([dumped], live))
            if exact and self._exchange(path, path.read_text(), module):
                self._used.add(path.name)
                self._found.setdefault(compile_id, dumped.key.text)
                return
        record = self._new_record(stage, text, compile_id)
        path = self._session.writer.path(graph_file(record))
        page = graph_page(record, step_text(GraphMatch(record, module, True, read_printed(importable(record.text)))))
        if not self._session.writer.write(path.name, page) or not self._exchange(path, page, module):
            self.note(f"{stage} of {compile_id}: what runs cannot be written as a file to step through")
            return
        self._remember(record)
        if self._instrument is None:  # who waits for a NaN wants no other stop
            self._new.append(str(path))

    def _exchange(self, path: Path, text: str, module: Any) -> bool:
        codes = graph_codes(path, text, module)
        paths = {type(part).__dict__.get("forward"): modules_of(part.graph) for part in _graphs_in(module)}
        for function, code in codes:
            known = paths.get(function, {})
            self._stepping.exchange(function, self._instrument(code, text, known) if self._instrument else code)
        return bool(codes)

    def _dumped(self, stage: str, compile_id: str, text: str) -> list[GraphRecord]:
        """The dumped graphs of this stage that do not say other sizes than ``text``: first those of the same function,
        then those that nothing else runs as."""
        function = compile_id.rpartition("/")[0]
        lines = read_printed(importable(text)).annotated  # without the parameters, which torch prints in several ways
        found = []
        for record in self._all():
            said = read_printed(importable(record.text)).annotated if record.stage == stage else {}
            if record.stage == stage and all(said[line] == lines[line] for line in said.keys() & lines.keys()):
                found.append(record)
        return sorted(found, key=lambda r: (r.key.text.rpartition("/")[0] != function, graph_file(r) in self._used))

    def _all(self) -> list[GraphRecord]:
        return [*(graph.record for graph in self._session.capture.graphs), *self._session.level_graphs]

    def _remember(self, record: GraphRecord) -> None:
        """A new file: used, known to the next ``debug``, and in the manifest."""
        self._used.add(graph_file(record))
        self._session.level_graphs.append(record)
        self._list(partial(with_level_graph, record=record, level=self._level))

    def _list(self, added: Callable[[dict[str, Any]], str]) -> None:
        writer = self._session.writer
        writer.write(MANIFEST, added(read_manifest(writer.directory).page))

    def _new_record(self, stage: str, text: str, compile_id: str, path: str = "") -> GraphRecord:
        key = self._session.capture.key(compile_id)
        index = 0
        while self._session.writer.path(graph_file(GraphRecord(key, stage, index, ""))).exists():
            index += 1
        return GraphRecord(key, stage, index, text, path)

    def wrapper(self, path: str, compile_id: str) -> None:
        """Inductor wrote and loaded ``path``: make it run as lines of a dumped file with the same text."""
        try:
            text = read(path)
            wrappers = [record for record in self._all() if record.stage == WRAPPER]
            record = next((record for record in wrappers if same_wrapper(record.text, text)), None)
            new = record is None
            if record is None:
                record = self._new_record(WRAPPER, text, compile_id, path)
                page = with_user_lines(graph_page(record), user_lines(path))
                self._session.writer.write(graph_file(record), page)
                self._remember(record)
            self._found.setdefault(compile_id, record.key.text)
            target = self._session.writer.path(graph_file(record))
            self._stepping.wrapper(target, path, text)
            if new:
                self._new.append(str(target))
        except Exception as error:
            self.note(f"the wrapper of {compile_id} cannot be stepped through: {type(error).__name__}: {error}")

    def kernels(self, path: str, compile_id: str, interpreting: Interpreting) -> None:
        """The Triton kernels of the wrapper ``path``, which ``wrapper`` has seen: make them run as lines of files."""
        wrappers = [record for record in self._all() if record.stage == WRAPPER and path]
        record = next((record for record in wrappers if same_wrapper(record.text, read(path))), None)
        found = [k for k in kernels_in(record.text, graph_file(record)) if k.suffix == "py"] if record else []
        if record is None or not found:
            self.note(f"the code generated for {compile_id} calls no Triton kernel: level='wrapper' shows all there is")
            return
        fresh = []
        for kernel in found:
            target = self._session.writer.path(kernel_file(record, kernel.name, kernel.suffix))
            if not target.exists():
                fresh.append(target)
            self._session.writer.write(target.name, kernel.text)  # it will be run: no file of another origin is
            listed = KernelFile(record, kernel.name, kernel.called_at)
            self._list(partial(with_level_kernel, name=target.name, kernel=listed, level=self._level))
            for module in loaded_modules(path):
                interpreting.put(module, kernel.name, target)
        self._new += map(str, fresh)

    def transformed(self, code: types.CodeType, made: types.CodeType) -> types.CodeType | None:
        """The proven code for ``made`` with the lines of the dumped file that has the same text; None for none."""
        function = self._function_of(code)
        graph = self._found.get(current_compile_id())
        for entry in (
            sorted(function.entries, key=lambda entry: entry.key.text != graph) if function is not None else ()
        ):
            if function is None or entry.transformed is None or not entry.transformed.substituted:
                continue
            work = decompile_made(entry.key, function.code, code, made)
            if work.found is None or work.reason or not same_lines(work.record("").source, entry.transformed.source):
                continue
            page = transformed_page(entry.key, function.code, entry.transformed, "")
            path = self._session.writer.path(transformed_file(entry.key, function.code))
            recompiled = work.found.compile_at(str(path), page.first_line, nested_codes(made))
            candidate = substitute.with_original_codes(made, substitute.like(made, recompiled))
            if not (substitute.refuse(code, made, candidate) or substitute.refuse_constants(made, candidate)):
                return candidate
        return None

    def _function_of(self, code: types.CodeType) -> FunctionRecord | None:
        run = self._session.record
        if run is None:
            return None
        place = (code.co_name, code.co_filename, code.co_firstlineno)
        return next((f for f in run.functions if (f.code.name, f.code.filename, f.code.line) == place), None)


def _graphs_in(module: Any) -> list[Any]:
    return [part for part in module.modules() if hasattr(part, "graph")]


_COUNTER = re.compile(r"(?<=_)\d+\b")


def same_lines(one: str, other: str) -> bool:
    """Whether two texts say the same line by line, the counters apart in the names that Dynamo makes for globals."""
    return _COUNTER.sub("N", one).splitlines() == _COUNTER.sub("N", other).splitlines()


_AOT_ID = re.compile(r"^# AOT ID: .*$", re.MULTILINE)


def same_wrapper(one: str, other: str) -> bool:
    """Whether two generated modules are the same, the comment apart that counts the compilations of the process."""
    return _AOT_ID.sub("#", one) == _AOT_ID.sub("#", other)


def read(path: str) -> str:
    return Path(path).read_text(encoding="utf-8")


def printed(module: Any) -> str:
    """torch's own printing of a graph, as its trace log has it."""
    return str(module.print_readable(print_output=False, include_stride=True, include_device=True))


def with_forward(module: Any) -> None:
    """Make torch.fx write the ``forward`` of a lazy GraphModule, and of those in it, now rather than at the first
    call."""
    for part in module.modules():
        recompile = getattr(part, "real_recompile", None)  # torch.fx._lazy_graph_module
        if recompile is not None:
            recompile()
