"""``depyf.edited``: from the start of the block to its end.

Each stage has a module: what torch makes is compared with what it made when the dump was written, and where it is the same
and its file was edited, the edited file takes its place.  Nothing that is compiled in the block outlives it.
"""

from __future__ import annotations

import contextlib
import os
import threading
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

from depyf.bytecode.host.written_names import qualified_name
from depyf.dump.compile_stages import CAPTURED
from depyf.dynamo.edited.graph_stage import replace_graph, run_as_file
from depyf.dynamo.edited.program_backends import ProgramBackends
from depyf.dynamo.recording.ranks import rank_directory
from depyf.dynamo.recording.transform import current_compile_id
from depyf.dynamo.require import require_torch
from depyf.dynamo.stepping.level_files import printed
from depyf.dynamo.stepping.levels import no_caches
from depyf.edit.edit_error import EditError
from depyf.edit.edited_files import edited_dump
from depyf.edit.uses import EditedCompilation, Uses
from depyf.safety.guarded import Door, say, warn


class Edited:
    """See ``depyf.edited``."""

    def __init__(self, folder: str | os.PathLike[str], quiet: bool = False) -> None:
        self._folder = folder
        self._quiet = quiet
        self.run: EditedRun | None = None

    def __enter__(self) -> Edited:
        require_torch()
        run = EditedRun(Uses(edited_dump(rank_directory(Path(self._folder)))))
        run.start()
        self.run = run
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: types.TracebackType | None
    ) -> Literal[False]:
        run = self.run
        if run is None:
            return False
        with Door("depyf: the end of depyf.edited()", warn):
            run.stop()
        if not self._quiet:
            for line in self.lines():
                say(line)
        missing = run.uses.missing()
        if missing is not None and error is None:
            raise missing
        if missing is not None:  # the program's own error is the one to see
            say(f"depyf: {missing}")
        return False

    def lines(self) -> list[str]:
        """What was used so far, a line a file."""
        if self.run is None:
            return []
        uses = self.run.uses
        return (
            uses.lines()
            if uses.dump.files
            else [f"edited: no file in {uses.dump.folder} differs from what was written"]
        )


class EditedRun:
    """The edits of one block while they are in force."""

    def __init__(self, uses: Uses) -> None:
        self.uses = uses
        self._backends = ProgramBackends(self._on_frame, self._compile)
        self._now = threading.local()
        self._error: EditError | None = None
        self._stages = contextlib.ExitStack()

    def start(self) -> None:
        self._backends.start()

    def stop(self) -> None:
        self._backends.stop()
        self._stages.close()

    def _on_frame(self, code: types.CodeType, compile_it: Callable[[], Any]) -> Any:
        """Torch compiles ``code`` now: an error of an edited file is raised as it is, whatever torch makes of it."""
        before = getattr(self._now, "frame", None)
        self._now.frame = _FrameAtWork(code)
        try:
            result = compile_it()
        except Exception:
            if self._error is None:
                raise
            result = None
        finally:
            self._now.frame = before
        error, self._error = self._error, None
        if error is not None:
            raise error from None
        return result

    @property
    def compilation(self) -> EditedCompilation | None:
        """What torch compiles in this thread."""
        frame = getattr(self._now, "frame", None)
        if frame is None:
            return None
        if frame.compilation is None:
            frame.compilation = self.uses.begin(qualified_name(frame.code), current_compile_id())
        found: EditedCompilation = frame.compilation
        return found

    def _compile(self, backend: Callable[..., Any], gm: Any, example_inputs: Any) -> Any:
        """In the place of ``backend``: the captured graph, as it was edited, for the program's own backend."""
        compilation = self.compilation
        file = None
        if compilation is not None:
            file = self.uses.file_for(compilation, CAPTURED, printed(gm))
            if file is not None:
                self.checked(replace_graph, file, gm)
        with no_caches():
            compiled = backend(gm, example_inputs)
        if file is not None:
            run_as_file(file, gm, compiled)
            return counted(compiled, lambda: self.uses.called([file]))
        return compiled

    def checked(self, step: Callable[..., Any], *args: Any) -> Any:
        """``step(*args)``; what is wrong with a file is kept, for torch wraps the errors of backends."""
        try:
            return step(*args)
        except EditError as error:
            self._error = error
            raise


class _FrameAtWork:
    def __init__(self, code: types.CodeType) -> None:
        self.code = code
        self.compilation: EditedCompilation | None = None


def counted(call: Callable[..., Any], tell: Callable[[], None]) -> Callable[..., Any]:
    """``call``, which tells of each of its calls; torch's calling convention is kept."""

    def counting(*args: Any, **kwargs: Any) -> Any:
        tell()
        return call(*args, **kwargs)

    counting.__dict__.update(getattr(call, "__dict__", {}) if isinstance(call, types.FunctionType) else {})
    return counting
