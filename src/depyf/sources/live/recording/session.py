"""One run under ``prepare_debug``: listens, substitutes, writes.

``start`` attaches to torch, ``finish`` detaches and writes what can only be written at the end.  Between the two every
artifact is on disk as soon as torch has produced it, so a process that dies leaves a readable dump.
"""

from __future__ import annotations

import contextlib
import sys
import threading
import types
import weakref
from collections.abc import Callable, Iterator, Mapping, Set
from dataclasses import replace
from pathlib import Path
from typing import Any

from depyf.run.addresses import without_addresses
from depyf.run.advice.number_operands import number_read
from depyf.run.causes.stack_names import forget_texts
from depyf.run.compile_stages import CAPTURED, COMPILED_AUTOGRAD, POST_GRAD, WRAPPER
from depyf.run.files.layout import (
    INDEX,
    MANIFEST,
    graph_file,
    inputs_file,
    layer_index_file,
    layers_file,
    source_files,
    transformed_file,
)
from depyf.run.files.program_files import program_files
from depyf.run.files.writer import DumpWriter
from depyf.run.graphs.graph_facts import GraphFacts
from depyf.run.guards.guard_kind import tree_of
from depyf.run.guards.kinds.tensor_guard import layout_of
from depyf.run.guards.known_kinds import facts_in, kinds_of
from depyf.run.guards.program_words import in_program
from depyf.run.made import Made
from depyf.run.program_calls.checked_calls import CheckedCalls
from depyf.run.program_calls.compile_calls import CompileCall, with_inlined
from depyf.run.program_calls.program_error import ProgramError
from depyf.run.records import CompileKey, GraphRecord, slug
from depyf.run.run import Run, SourceRecord
from depyf.safety.escape import safe_name
from depyf.safety.guarded import Door, problem, warn
from depyf.safety.source_lines import source_text
from depyf.sources.live import page_access as live
from depyf.sources.live.ahead.ahead_functions import ahead_alive, ahead_entry, known_name, name_ahead, original_code
from depyf.sources.live.ahead.precompiled_records import PrecompiledRecords
from depyf.sources.live.caches.code_exchange import GraphMatch, graph_codes, match_graphs, step_text, steppable_wrappers
from depyf.sources.live.caches.entries import LiveEntry, cache_entries, guard_text
from depyf.sources.live.caches.live_graphs import compiled_functions, graphs_alive, live_code, wrapper_path
from depyf.sources.live.caches.seen_code import codes_seen, entries_alive, why_never_compiled
from depyf.sources.live.entrances.call_watch import CallWatch, Watcher
from depyf.sources.live.entrances.compile_listener import CompileCalls, switched_off
from depyf.sources.live.entrances.export_listener import FailedExports
from depyf.sources.live.guards.printed_guards import READER, parse_guards
from depyf.sources.live.inputs.failed_calls import FailedCalls
from depyf.sources.live.inputs.input_recorder import InputRecorder
from depyf.sources.live.processes.forks import Forks
from depyf.sources.live.recording.as_it_happens import MOST_SOURCE, AsItHappens, OnEnded
from depyf.sources.live.recording.cached_lines import with_lines_of_another_run
from depyf.sources.live.recording.capture import Capture
from depyf.sources.live.recording.formatted_graphs import Formatted, FormattedGraph
from depyf.sources.live.recording.loaded_code import loaded_files, text_of
from depyf.sources.live.recording.packed import Packed, pack, unpack
from depyf.sources.live.recording.snapshot import freeze, live_code_of
from depyf.sources.live.recording.transform import KEPT, TransformHook, decompile_made
from depyf.sources.live.recording.wrapper_lines import user_lines, with_user_lines
from depyf.sources.live.texts_in_force import listen, notes_of
from depyf.sources.live.wrapped import module_called
from depyf.sources.reports.builders import EntryBuilder, FunctionBuilder
from depyf.views.dump.whole_dump import pages_of, write_pages
from depyf.views.pages.full_code import caller_name, function_id
from depyf.views.pages.graph_inputs import inputs_page
from depyf.views.pages.graph_page import graph_page, quick_page, unchecked_page
from depyf.views.pages.index import provisional_page
from depyf.views.pages.kernels import kernels_in
from depyf.views.pages.layers import layers_pages

BEFORE = "it was compiled before prepare_debug was entered"
_NO_FILES: Mapping[str, None] = {}


class Session:
    """State of one ``prepare_debug``; usable afterwards by ``debug``."""

    def __init__(self, writer: DumpWriter, log_bytecode: bool, of_fork: bool = False, record: int = 0) -> None:
        """``record``: how many bytes of inputs of graphs are kept."""
        self.writer = writer
        self._of_fork = of_fork
        self.capture = Capture(self._write_graph, self._drop_graph, self._write_progress, on_told=self._told)
        self._journal: AsItHappens | None = None
        self.record: Run | None = None
        self.step_texts: dict[str, str] = {}
        """Graph file -> class text of the live module it was matched with."""
        self.level_graphs: list[GraphRecord] = []
        """What ``debug(level=...)`` added to the dump."""
        self.log_bytecode = log_bytecode
        self.at_end: Callable[[Path], object] | None = None
        """Called with the folder when the dump is written."""
        self.inputs = InputRecorder(writer, record)
        self._calls = FailedCalls()
        self._handle: Any = None
        self._formatted = Formatted(self._add_formatted, self.capture.note)
        self.compile_calls = CompileCalls(self._compile_call, self.capture.note, lambda: self.capture.hears)
        self._exports = FailedExports(self.capture.note)
        self._precompiled = PrecompiledRecords(self.capture, self._add_made)
        self.checked: dict[tuple[object, ...], CheckedCalls] = {}
        """The calls that were compared with Python, by place, function and entry."""
        self.checks: Callable[[Session], Watcher] | None = None
        """Makes who looks at the calls of the block that begins."""
        self.on_ended: OnEnded | None = None
        self.from_start = False
        """Nothing of the program has run before."""
        self.ended_by: ProgramError | None = None
        self._before: Set[tuple[int, str]] = frozenset()
        """Code object and compile id of what was compiled when recording began."""
        self._seen_before: Set[int] = frozenset()
        self._loaded_before: Mapping[str, None] = _NO_FILES
        self._packed: Packed | None = None
        self._edits: dict[CompileKey, dict[tuple[str, str], None]] = {}
        """Compile id -> stage and path of each edited file that ``depyf.edited`` put in."""
        self._end_edits: Callable[[], None] | None = None

    def start(self) -> None:
        from torch._dynamo.convert_frame import register_bytecode_hook

        self.wake()
        self._before = {(id(code), compile_id) for code, compile_id in entries_alive()}
        self._seen_before = {id(code) for code in codes_seen()}
        self._loaded_before = loaded_files()
        self._precompiled.begin()
        self.writer.begin()
        self.writer.write(INDEX, provisional_page())
        self._journal = AsItHappens(self.capture, self.writer, self.on_ended)
        self._journal.begin()
        self.capture.on_inputs = self.inputs.take if self.inputs.limit else None
        self.capture.start()
        self._formatted.start()
        checks, self.checks = self.checks, None
        if checks is not None:
            self.compile_calls.watch = CallWatch(checks(self), self.capture.note)
        self.compile_calls.start()
        self._exports.start()
        self._end_edits = listen(self._edited)
        made = self._watch_calls if self.inputs.limit else None
        hook = TransformHook(self.capture, self.writer, self.log_bytecode, made)
        self.capture.on_ahead = hook.made_ahead
        self._handle = register_bytecode_hook(hook)

    def finish(self) -> None:
        """Detach, then write; a problem becomes a note and one warning."""
        self.detach()
        complete, own = False, self.capture.here  # where a forked child leaves the block the dump is its parent's
        try:
            if own:
                with Door("the summary could not be written", self.capture.note):
                    complete = self._finish()
        finally:
            with Door("the dump could not be closed", self.capture.note):
                self.writer.end(complete)
        self._journal = None
        if own:
            self._warn(complete)
            self.sleep()

    def sleep(self) -> None:
        """Compress the records until they are needed again, and clear caches."""
        with Door("the records could not be packed", self.capture.note):
            self._before, self._seen_before, self._loaded_before = frozenset(), frozenset(), _NO_FILES
            for cache in (
                without_addresses,
                safe_name,
                slug,
                tree_of,
                kinds_of,
                facts_in,
                layout_of,
                in_program,
                number_read,
            ):
                cache.cache_clear()
            READER.forget()
            forget_texts()
            if self._packed is None:
                self._packed = pack(self)

    def wake(self) -> None:
        """Restore the records after ``sleep``."""
        packed, self._packed = self._packed, None
        if packed is not None:
            unpack(self, packed)

    def detach(self) -> None:
        """Remove all listeners."""
        handle, self._handle = self._handle, None
        end_edits, self._end_edits = self._end_edits, None
        for step in (
            *(step for step in (handle.remove if handle is not None else None, end_edits) if step is not None),
            self._calls.stop,
            self._formatted.stop,
            self.compile_calls.stop,
            self._stop_checking,
            self._exports.stop,
            self._precompiled.stop,
            self.capture.stop,
        ):
            with Door("torch still calls what listened", self.capture.note):
                step()

    def _stop_checking(self) -> None:
        watch, self.compile_calls.watch = self.compile_calls.watch, None
        if watch is not None:
            watch.stop()

    def _finish(self) -> bool:
        """Whether the manifest is written, so that all is."""
        self._add_compiled_before()
        self._add_ahead_before()
        self._add_loaded_entries()
        precompiled = self._precompiled.records()
        self._add_cached_wrappers()
        self._add_loaded_code()
        self._mark_edits()
        finished = self._final_graphs()
        elsewhere = with_lines_of_another_run(self.capture)
        for record in [graph.record for graph in self.capture.graphs]:
            name = graph_file(record)
            page = finished.get(name) or graph_page(record, elsewhere=name in elsewhere)
            if name not in finished:
                page = with_user_lines(page, user_lines(record.path))
            self.writer.write(name, page)
            if record.facts is not None and record.given is None:
                self.writer.write(inputs_file(record), inputs_page(record.facts))
            if record.given is not None or record.stage in (CAPTURED, COMPILED_AUTOGRAD):
                self._write_layers(record, page)
        run = freeze(self.capture, self._never_compiled())
        run = replace(
            run,
            compile_calls=with_inlined(self.compile_calls.records(), run.graphs),
            forks=Forks.folders(self.writer.directory),
            from_start=self.from_start,
            ended_by=self.ended_by,
            switched_off=switched_off(),
            failed_exports=self._exports.records(),
            checked=tuple(self.checked.values()),
            precompiled=precompiled,
        )
        self._remember_entries(run)
        run = self._write_sources(run)
        steppable = frozenset(self.step_texts) | steppable_wrappers(run.graphs)
        self.record, complete = write_pages(run, self.writer, self.capture.note, steppable, live.wrote)
        return complete

    def _edited(self, compile_id: str, stage: str, path: str) -> None:
        with Door(f"{path}: the pages do not say that it was used", self.capture.note):
            if self.capture.here:
                self._edits.setdefault(self.capture.key(compile_id), {})[stage, path] = None

    def _mark_edits(self) -> None:
        """The pages of a compilation with edited files say so."""
        for graph in self.capture.graphs:
            said = notes_of(self._edits.get(graph.record.key, {}), graph.record.stage)
            if said:
                graph.record = replace(graph.record, edited=said)

    def _write_layers(self, record: GraphRecord, page: str) -> None:
        with Door(f"the layers of {graph_file(record)} could not be written", self.capture.note):
            pages = layers_pages(record, page)
            for name, text in zip((layers_file(record), layer_index_file(record)), pages or ()):
                self.writer.write(name, text)

    def _write_sources(self, run: Run) -> Run:
        """Copies of the files of the program; what was copied while it ran may have had another number."""
        kept = []
        with Door("the files of the program could not be copied", self.capture.note):
            for path, name in source_files(program_files(run)).items():
                if (text := source_text(path, MOST_SOURCE)) and self.writer.write(name, text):
                    kept.append(SourceRecord(name, path))
            for name in self._journal.sources if self._journal is not None else ():
                if name not in {source.file for source in kept}:
                    self.writer.remove(name)
        return replace(run, sources=tuple(kept))

    def _add_compiled_before(self) -> None:
        """What was compiled before the recording began, as far as torch's caches still hold it."""
        for code in codes_seen():
            for entry in cache_entries(code):
                known = self.capture.entries.get(self.capture.key(entry.compile_id))
                if (id(code), entry.compile_id) not in self._before or (known is not None and known.closed):
                    continue
                if self._of_fork and self.capture.key(entry.compile_id).function not in self.capture.functions:
                    continue  # it is in the dump of the parent, and a worker has little time for its end
                key = self.capture.begin(code, entry.compile_id)
                builder = self.capture.entry(key)
                if builder.transformed is not None:
                    continue
                builder.before = True
                self._add_made(builder, code, entry, BEFORE)
                for record in graphs_alive(key, entry):
                    self.capture.add_graph(key, record.stage, record.text)

    def _add_ahead_before(self) -> None:
        """What was compiled ahead of time before the recording began, and lives: no event names it."""
        known = {id(own()) for own in self.capture.ahead.values()}
        fresh = [function for function in ahead_alive() if id(function) not in known]
        for number, function in enumerate(fresh if not self._of_fork else ()):
            entry, key = ahead_entry(function), self.capture.key(known_name(function))
            if not key.text or key.function in self.capture.functions:
                key = self.capture.key(f"ahead{number}/0")
            self.capture.begin(original_code(function), key.text)
            self.capture.ahead[key.function] = name_ahead(function, key.text, entry.made)
            builder = self.capture.entry(key)
            builder.before, builder.backend = True, str(entry.backend or "")
            builder.wrapped = module_called(original_code(function), parse_guards(guard_text(entry)))
            self._add_made(builder, original_code(function), entry, BEFORE)
            for record in graphs_alive(key, entry):
                self.capture.add_graph(key, record.stage, record.text)

    def _add_loaded_entries(self) -> None:
        """What torch has loaded while this was recorded: it tells the first id of each function, and no code."""
        for function in list(self.capture.functions):
            code = live_code_of(self.capture.functions[function])
            for entry in self.capture.live_entries(function) if code is not None else ():
                key = CompileKey(function[0], entry.compile_id)
                builder = self.capture.entry(key) if entry.made is Made.CALL_LOADED else None
                if builder is not None and builder.transformed is None:
                    self._add_made(builder, code, entry)

    def _add_made(self, builder: EntryBuilder, code: types.CodeType | None, entry: LiveEntry, why: str = "") -> None:
        """The code of an entry that did not come to the hook."""
        reason = why or KEPT[entry.made]
        function = self.capture.functions[builder.key.function].code
        work = decompile_made(builder.key, function, code, entry.code)
        self.writer.write(transformed_file(builder.key, function), work.page(reason).text)
        builder.closed, builder.made, builder.transformed = True, entry.made, work.record(reason)

    def _never_compiled(self) -> dict[types.CodeType, str]:
        """The functions that Dynamo met for the first time while recording, and left alone."""
        known = {(b.code.filename, b.code.line, b.code.name) for b in self.capture.functions.values()}
        fresh = [
            code
            for code in codes_seen()
            if id(code) not in self._seen_before and (code.co_filename, code.co_firstlineno, code.co_name) not in known
        ]
        return why_never_compiled(fresh)

    def _final_graphs(self) -> dict[str, str]:
        """The pages of the graphs that are alive, in the form in which they can be stepped through."""
        pages: dict[str, str] = {}
        for match in self.live_graphs():
            record = match.record
            try:
                text = step_text(match)
                page = unchecked_page(record, text, exact=match.exact)
                steppable = bool(graph_codes(self.writer.path(graph_file(record)), page, match.module))
            except Exception as error:  # one graph that cannot be aligned keeps the text torch printed
                self.capture.note(f"{graph_file(record)}: not steppable: {problem(error)}")
                continue
            if steppable:
                pages[graph_file(record)] = page
                self.step_texts[graph_file(record)] = page
        return pages

    def _add_cached_wrappers(self) -> None:
        """Inductor's output for graphs of which none was reported (they were compiled in a subprocess)."""
        reported: dict[CompileKey, list[str]] = {}
        for graph in self.capture.graphs:
            if graph.record.stage == WRAPPER:
                reported.setdefault(graph.record.key, []).append(graph.record.text)
        cache = getattr(sys.modules.get("torch._inductor.codecache"), "PyCodeCache", None)
        for function in list(self.capture.functions) if getattr(cache, "modules", True) else ():
            for entry in self.capture.live_entries(function):
                key = self.capture.key(entry.compile_id)
                made = live_code(compiled_functions(entry)).compiled
                known = reported.get(key, [])
                for compiled in made if len(known) < len(made) else ():
                    post_grad = getattr(compiled, "inductor_post_grad_graph_str", None)
                    wrapper = str(getattr(compiled, "source_code", None) or "")
                    if wrapper not in known:
                        self.capture.add_graph(key, POST_GRAD, str(post_grad or ""))
                        self.capture.add_graph(key, WRAPPER, wrapper, wrapper_path(wrapper))

    def _add_loaded_code(self) -> None:
        """What Inductor loaded and did not report: it belongs to no compile id."""
        wrappers = [graph.record for graph in self.capture.graphs if graph.record.stage == WRAPPER]
        known = {*self._loaded_before, *(wrapper.path for wrapper in wrappers)}
        fresh = [path for path in loaded_files() if path not in known]
        reported = [wrapper.text for wrapper in wrappers]
        reported += [kernel.text for text in reported for kernel in kernels_in(text, "")] if fresh else []
        for path in fresh:
            text = text_of(path)
            if not any(other.rstrip().endswith(text.strip()) for other in reported):
                self.capture.add_graph(self.capture.key(""), WRAPPER, text, path)

    def live_graphs(self) -> list[GraphMatch]:
        """Each captured graph that is still alive, with its GraphModule."""
        self.wake()
        found: list[GraphMatch] = []
        with self.capture.lock:
            functions = list(self.capture.functions)
            graphs: dict[tuple[object, str], list[GraphRecord]] = {}
            for graph in self.capture.graphs:
                graphs.setdefault((graph.record.key.function, graph.record.key.text), []).append(graph.record)
        for function in functions:
            for entry in self.capture.live_entries(function):
                own = graphs.get((function, entry.compile_id), ())
                found += match_graphs(own, live_code(compiled_functions(entry)))
        return found

    def dispatchers(self) -> list[tuple[Path, list[tuple[FunctionBuilder, str, weakref.ref[Any] | None]]]]:
        """The pages that are written, each with its functions, the names of their dispatchers on it, and what is called
        where that was compiled ahead of time."""
        known, ahead = self.capture.functions, self.capture.ahead
        pages = pages_of(self.record).items() if self.record is not None else ()
        return [
            (path, [(known[f.function], caller_name(f), ahead.get(f.function)) for f in functions if f.entries])
            for path, functions in ((self.writer.path(name), functions) for name, functions in pages)
            if path.exists()
        ]

    def _remember_entries(self, run: Run) -> None:
        live.forget(str(self.writer.directory))
        for record in run.functions:
            code = live_code_of(self.capture.functions[record.function])
            given_up = any(entry.transformed for entry in record.entries) and not self.capture.live_entries(
                record.function
            )
            if code is not None and not given_up:  # after a reset there is nothing left to ask
                ahead = self.capture.ahead.get(record.function)
                live.remember(str(self.writer.directory), function_id(record.function), code, record, ahead=ahead)

    def _add_formatted(self, compile_id: str, graph: FormattedGraph) -> None:
        if self.capture.here:
            key = self.capture.key(compile_id)
            attempt = self.capture.entry(key).attempt
            self.capture.add_graph(
                key, graph.stage, graph.text, attempt=attempt, facts=GraphFacts(layers=graph.layers), given=graph.given
            )  # fmt: skip

    def _write_graph(self, record: GraphRecord) -> None:
        """Write the text as torch reported it, while torch compiles; the page is finished on exit."""
        self.writer.write(graph_file(record), quick_page(record))
        if self._journal is not None:
            self._journal.graph(record)

    def _told(self, key: CompileKey) -> None:
        if self._journal is not None:
            self._journal.told(key)

    def compared(self, calls: CheckedCalls) -> None:
        """A call of the program was compared with Python."""
        self.checked[calls.place, calls.function, calls.key] = calls
        if self._journal is not None and self.capture.here:
            self._journal.checked(calls)

    @contextlib.contextmanager
    def unheard(self) -> Iterator[None]:
        """While the block lasts, compilations in this thread are not recorded: depyf itself makes them."""
        before, self.capture.deaf = self.capture.deaf, threading.get_ident()
        loaded = loaded_files()
        try:
            yield
        finally:
            self.capture.deaf = before
            self._loaded_before = {**self._loaded_before, **{f: None for f in loaded_files() if f not in loaded}}

    def _compile_call(self, call: CompileCall) -> None:
        if self._journal is not None and self.capture.here:
            self._journal.compile_call(call)

    def _watch_calls(self, key: CompileKey, made: types.CodeType, scope: dict[str, Any] | None = None) -> None:
        def told(position: int, arguments: tuple[Any, ...], error: BaseException) -> None:
            own = [graph.record for graph in self.capture.graphs_of.get(key, ()) if graph.record.stage == CAPTURED]
            if self.capture.here and position < len(own):
                self.inputs.take_failed(own[position], arguments, error)

        self._calls.watch(made, told, scope)

    def _write_progress(self, key: CompileKey) -> None:
        self.writer.append(INDEX, f"- {key.label}\n")

    def _drop_graph(self, record: GraphRecord) -> None:
        self.writer.remove(graph_file(record))
        self.inputs.drop(record)
        if self._journal is not None:
            self._journal.dropped(record)

    def _warn(self, complete: bool) -> None:
        missing = [*self.writer.problems, *self.capture.notes]
        if not missing:
            return
        text = f"depyf: the dump in {self.writer.directory} is incomplete: {missing[0]}"
        if len(missing) > 1:
            text += f" (and {len(missing) - 1} more" + (f", see {MANIFEST})" if complete else ")")
        warn(text)
