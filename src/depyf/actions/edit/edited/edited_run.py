"""``depyf.edited``: from the start of the block to its end.

Each stage has a module: what torch makes is compared with what it made when the dump was written, and where it is the
same and its file was edited, the edited file takes its place.  Nothing that is compiled in the block outlives it.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal, TypeVar

from depyf.actions.debugger.stepping.levels import no_caches
from depyf.actions.edit.edit_error import EditError
from depyf.actions.edit.edited.aot_stages import AotStages
from depyf.actions.edit.edited.build_errors import edit_error_in
from depyf.actions.edit.edited.edit_trial import EditedGraph, EditedNodes, input_values, plain_copy, tried
from depyf.actions.edit.edited.edited_comparison import EditedComparison
from depyf.actions.edit.edited.graph_stage import exchanged
from depyf.actions.edit.edited.guards_stage import exchange_guards
from depyf.actions.edit.edited.inductor_stages import InductorStages
from depyf.actions.edit.edited.program_backends import ProgramBackends
from depyf.actions.edit.edited.transformed_stage import edited_code
from depyf.actions.edit.edited.transformed_trial import transformed_tried
from depyf.actions.edit.edited_file import EditedFile
from depyf.actions.edit.edited_files import edited_dump
from depyf.actions.edit.uses import EditedCompilation, Uses
from depyf.errors import DepyfError
from depyf.run.compile_stages import CAPTURED
from depyf.safety.guarded import Door, say, warn
from depyf.sources.live.origins.probes import clean_copy
from depyf.sources.live.processes.ranks import rank_directory
from depyf.sources.live.recording.code_record import code_record
from depyf.sources.live.recording.transform import current_compile_id
from depyf.sources.live.require import require_torch
from depyf.sources.live.target import find_target
from depyf.sources.live.texts_in_force import put_in_force, take_out_of_force

_R = TypeVar("_R")


class Edited:
    """The context manager of ``depyf.edited``."""

    def __init__(self, folder: str | os.PathLike[str], quiet: bool = False, compares: bool = False) -> None:
        """``quiet``: the caller says what was used; ``compares``: each graph is compared with the original."""
        self._folder = folder
        self._quiet = quiet
        self._compares = compares
        self.run: EditedRun | None = None

    def __enter__(self) -> Edited:
        require_torch()
        run = EditedRun(Uses(edited_dump(rank_directory(Path(self._folder)))), self._compares)
        run.start()
        self.run = run
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: types.TracebackType | None
    ) -> Literal[False]:
        missing = self.end()
        if not self._quiet:
            for line in self.lines():
                say(line)
        if missing is not None and error is None:
            raise missing
        if missing is not None:  # the program's own error is the one to see
            say(f"depyf: {missing}")
        return False

    def end(self) -> DepyfError | None:
        """Undo all edits.  Returns the error for an edited file that was never used; None for none."""
        if self.run is None:
            return None
        with Door("depyf: the end of depyf.edited()", warn):
            self.run.stop()
        return self.run.uses.missing()

    def lines(self) -> list[str]:
        """One line for each edited file: how it was used so far."""
        if self.run is None:
            return []
        uses = self.run.uses
        return (
            uses.lines()
            if uses.dump.files
            else [f"edited: no file in {uses.dump.folder} differs from what was written"]
        )

    def comparison(self) -> EditedComparison:
        """The comparisons made so far."""
        run = self.run
        return EditedComparison(
            tuple(run.trials or ()) if run is not None else (),
            tuple(self.lines()),
            tuple(run.first_nodes) if run is not None else (),
        )


def compare_edited(
    fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], folder: str | os.PathLike[str]
) -> EditedComparison:
    """See ``depyf.compare``."""
    import torch

    compiled = fn if find_target(fn).backend is not None else torch.compile(fn)
    with Edited(folder, quiet=True, compares=True) as edited:
        compiled(*args, **kwargs)
    return edited.comparison()


class EditedRun:
    """The edits of one block while they are in force."""

    def __init__(self, uses: Uses, compares: bool = False) -> None:
        self.uses = uses
        self.trials: list[EditedGraph] | None = [] if compares else None
        """What was compared with the original; None where nothing is to be."""
        self.first_nodes: list[str] = []
        self._pairs: dict[str, EditedNodes] = {}
        self._tried_codes: set[str] = set()
        self._inductor = InductorStages(self)
        self._parts = (ProgramBackends(self._on_frame, self._compile), AotStages(self), self._inductor)
        self._now = threading.local()
        self._error: EditError | None = None
        self._hook: Any = None
        self._texts: list[str] = []

    def start(self) -> None:
        from torch._dynamo import convert_frame
        from torch._dynamo.convert_frame import register_bytecode_hook

        self._hook = register_bytecode_hook(self._transformed)
        convert_frame._bytecode_hooks.move_to_end(self._hook.id, last=False)  # a recording sees what was edited
        self._texts = [str(file.path) for file in self.uses.dump.files if file.kind == "transformed_code"]
        for path in self._texts:
            put_in_force(path)
        for part in self._parts:
            part.start()

    def stop(self) -> None:
        if self._hook is not None:
            self._hook.remove()
        for path in self._texts:
            take_out_of_force(path)
        self.uses.ended()
        for part in self._parts:
            with Door("depyf: the end of depyf.edited()", warn):
                part.stop()

    def _transformed(self, code: types.CodeType, made: types.CodeType) -> types.CodeType | None:
        """Torch's bytecode hook: the code to run in the place of ``made``; None for ``made`` itself."""
        compilation = self.compilation
        if compilation is None:
            return None
        return self.checked(edited_code, self.uses, compilation, code, made, self._code_called)

    def _code_called(
        self, file: EditedFile, compilation: EditedCompilation, edited: types.CodeType, made: types.CodeType
    ) -> None:
        """Edited transformed code begins: where results are compared, it is compared at its first call."""
        self.uses.called([file])
        trials = self.trials
        if trials is None or self.uses.paused or file.name in self._tried_codes:
            return
        frame: types.FrameType | None = sys._getframe()
        while frame is not None and frame.f_code is not edited:
            frame = frame.f_back
        if frame is None:
            return
        self._tried_codes.add(file.name)
        self.uses.paused = True
        try:
            trials.append(transformed_tried(compilation.function, compilation.compile_id, frame, made, edited))
        finally:
            self.uses.paused = False

    def _on_frame(self, code: types.CodeType, local: dict[str, Any], compile_it: Callable[[], Any]) -> Any:
        """Torch compiles ``code`` now: an error of an edited file is raised as it is, whatever torch makes of it."""
        before = getattr(self._now, "frame", None)
        self._now.frame = _FrameAtWork(code)
        try:
            try:
                result = compile_it()
            except Exception:
                if self._error is None:
                    raise
                result = None
            error, self._error = self._error, None
            if error is not None:
                raise error from None
            self._exchange_guards(result, local)
        finally:
            self._now.frame = before
        return result

    def _exchange_guards(self, result: Any, local: dict[str, Any]) -> None:
        """``result``: what torch's compiler of frames returns; an entry of torch's cache is made of it next."""
        made = getattr(result, "guarded_code", result)
        compilation = self.compilation
        if compilation is not None and getattr(made, "guard_manager", None) is not None:
            exchange_guards(self.uses, compilation, made, local)

    @property
    def compilation(self) -> EditedCompilation | None:
        """The compilation in progress in this thread; None for none."""
        graph: EditedCompilation | None = getattr(self._now, "graph", None)
        if graph is not None:
            return graph
        frame = getattr(self._now, "frame", None)
        if frame is None:
            return None
        if frame.compilation is None:
            frame.compilation = self.uses.begin(code_record(frame.code).qualname, current_compile_id())
        found: EditedCompilation = frame.compilation
        return found

    def _compile(self, backend: Callable[..., Any], gm: Any, example_inputs: Any) -> Any:
        """In the place of ``backend``: the captured graph, as it was edited, for the program's own backend."""
        compilation = self.compilation
        if compilation is None:
            return backend(gm, example_inputs)
        tries = self.trials is not None and self.uses.is_edited(compilation.function)
        original = clean_copy(gm) if tries else None
        file = exchanged(self, compilation, CAPTURED, gm)
        with no_caches():
            made = backend(gm, example_inputs)
        compiled = self.counted(made, [file] if file is not None else [])
        return self._tried_first(compilation, backend, original, compiled) if tries else compiled

    def _tried_first(
        self, compilation: EditedCompilation, backend: Any, original: Any, compiled: Callable[..., Any]
    ) -> Callable[..., Any]:
        """``compiled``, compared with the original at its first call."""
        import torch

        trials = self.trials if self.trials is not None else []
        waiting = [True]

        def first_tried(*args: Any, **kwargs: Any) -> Any:
            if waiting and not kwargs and not self.uses.paused:
                waiting.clear()
                self.uses.paused = True
                try:
                    name = compilation.function, compilation.compile_id
                    trials.append(tried(*name, backend, original, compiled, args))
                finally:
                    self.uses.paused = False
            return compiled(*args, **kwargs)

        made: Callable[..., Any] = torch._dynamo.disable(first_tried)
        return made

    def exchanged_graph(self, file: EditedFile, before: Any, after: Any, lines: dict[str, int]) -> None:
        """A graph was edited: where results are compared, its nodes are, too, at its first call."""
        if self.trials is not None:
            self._pairs[file.name] = EditedNodes(before, plain_copy(after), lines, input_values(after))

    def _look_at_nodes(self, files: list[EditedFile], args: tuple[Any, ...]) -> None:
        inputs = tuple(args[0]) if len(args) == 1 and isinstance(args[0], list) else args
        for file in files:
            pair = self._pairs.pop(file.name, None)
            if pair is not None:
                with Door(f"depyf: the nodes of {file.name} could not be compared", say):
                    found = pair.first(inputs)
                    if found is not None:
                        name, line, apart = found
                        self.first_nodes.append(f"first node that differs: {name}, {file.path}:{line}: {apart.reason}")

    def counted(self, made: Any, files: list[EditedFile]) -> Any:
        """``made``, which torch will call, wrapped to count its calls for the edited ``files`` in it."""
        if not files:
            return made
        call = None if isinstance(made, types.FunctionType) else getattr(made, "current_callable", None)

        def tell(args: tuple[Any, ...]) -> None:
            self.uses.called(files)
            if self._pairs:
                self._look_at_nodes(files, args)

        if call is None:
            return counted(made, tell)
        made.current_callable = counted(call, tell)  # Inductor's own kind of object
        return made

    @contextlib.contextmanager
    def compiling(self, compilation: EditedCompilation) -> Iterator[None]:
        """While the block lasts, this thread compiles for ``compilation``, such as a backward when it is first
        needed."""
        before = getattr(self._now, "graph", None)
        self._now.graph = compilation
        try:
            yield
        finally:
            self._now.graph = before

    @contextlib.contextmanager
    def own_errors(self, compilation: EditedCompilation) -> Iterator[None]:
        """While the block lasts, an error of an edited file is raised as EditError, not as the error torch makes of
        it."""
        try:
            yield
        except Exception as error:
            found = edit_error_in(error, compilation.replaced, self._inductor.failed)
            if found is None:
                raise
            if getattr(self._now, "frame", None) is not None:
                self._error = found
            raise found from None

    def checked(self, step: Callable[..., _R], *args: Any) -> _R:
        """Call ``step`` with the arguments.  An EditError is kept as well as raised, because torch wraps errors of
        backends."""
        try:
            return step(*args)
        except EditError as error:
            if getattr(self._now, "frame", None) is not None:
                self._error = error
            raise


class _FrameAtWork:
    def __init__(self, code: types.CodeType) -> None:
        self.code = code
        self.compilation: EditedCompilation | None = None


def counted(call: Callable[..., Any], tell: Callable[[tuple[Any, ...]], None]) -> Callable[..., Any]:
    """``call``, which tells of the arguments of each of its calls; torch's calling convention is kept."""

    def counting(*args: Any, **kwargs: Any) -> Any:
        tell(args)
        return call(*args, **kwargs)

    if not isinstance(call, types.FunctionType):
        return counting
    counting.__dict__.update(vars(call))
    if not hasattr(call, "_torchdynamo_disable"):
        return counting
    import torch

    disabled: Callable[..., Any] = torch._dynamo.disable(counting)  # torch did that to a backward
    return disabled
