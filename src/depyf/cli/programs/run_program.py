"""``depyf run``: ``depyf.prepare_debug`` around a whole program, without changing it.

Input: a script or module and its arguments.  Output: the dump, and one line on standard error that says where it is.
``sys.argv``, ``sys.path``, ``__main__``, the exit status and the traceback of an exception are those of
``python script.py args``; what depyf itself adds to a traceback is cut off.
"""

from __future__ import annotations

import atexit
import builtins
import functools
import importlib.machinery
import importlib.util
import io
import os
import pkgutil
import signal
import sys
import threading
import types
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from depyf.cli.input_errors import InputError
from depyf.cli.output import complain, tell
from depyf.cli.programs.check_option import Check
from depyf.errors import DepyfError
from depyf.run.files.layout import INDEX
from depyf.safety.guarded import Door, say, warn
from depyf.sources.live.require import require_torch

if TYPE_CHECKING:
    from depyf.run.records import EntryRecord, FunctionRecord
    from depyf.sources.live.recording.as_it_happens import OnEnded


def run_program(
    target: str,
    arguments: Sequence[str],
    is_module: bool,
    folder: str,
    with_report: bool = False,
    record: bool | int = False,
    check: Check | None = None,
    live: bool = False,
) -> int:
    """Run it, and say what to fix first; returns the exit status, or raises SystemExit as the program did.

    ``with_report``: write the page of ``depyf report`` into the dump, too; DepyfError, before the program runs, where a
    library for it is missing.  ``record``: as that of ``prepare_debug``.
    ``check``: which calls are compared with Python; ``live``: say what is compiled as it happens.
    """
    if with_report:
        from depyf.views.report.report_page import needs_libraries

        needs_libraries()

    def at_end() -> None:
        _tell_what_happened(Path(folder))
        if with_report:
            _write_report(Path(folder))

    return record_program(target, arguments, is_module, folder, at_end, record, check, _tells_each() if live else None)


def _tells_each() -> OnEnded:
    """Says of each compilation, on standard error, what it was and why torch made it."""
    from depyf.actions.following.compilation_lines import CompilationLines
    from depyf.sources.live.processes.ranks import current_rank, rank_count

    lines = CompilationLines(f"rank {current_rank()}" if (rank_count() or 1) > 1 else "")

    def ended(function: FunctionRecord, entry: EntryRecord, seconds: float | None) -> None:
        told = lines.lines(function, entry, seconds)
        if told:
            say("\n".join(told))

    return ended


def _write_report(folder: Path) -> None:
    """The page of this process's dump; the status stays that of the program if it cannot be written."""
    from depyf.sources.live.processes.ranks import rank_directory
    from depyf.views.report.report_page import report_in

    try:
        page = report_in(rank_directory(folder))
    except DepyfError as error:
        complain(error)
    else:
        tell("", f"The report: {page}", error=True)


def record_program(
    target: str,
    arguments: Sequence[str],
    is_module: bool,
    folder: str,
    at_end: Callable[[], None],
    record: bool | int = False,
    check: Check | None = None,
    on_ended: OnEnded | None = None,
    measures_guards: bool = False,
    counts_instructions: bool = False,
) -> int:
    """As ``run_program``, but call ``at_end`` when the dump is written.  ``measures_guards``: measure the time of
    guards; ``counts_instructions``: count what the processor runs while torch compiles."""
    require_torch()
    from depyf.contexts import PrepareDebug

    prepare = PrepareDebug(folder, True, False, record=record)
    if check is not None:
        from depyf.actions.comparing.checked_run import CheckedRun

        prepare.checks = functools.partial(CheckedRun, check.every, check.seconds)
    prepare.on_ended = on_ended
    prepare.measures_guards = measures_guards
    prepare.counts_instructions = counts_instructions
    prepare.gives_way = True  # the program may have such contexts of its own
    program = _prepared(target, arguments, is_module)
    prepare.__enter__()  # a DepyfError here is ours to report: nothing of the program has run

    def end() -> None:
        prepare.__exit__(None, None, None)
        sys.stdout.flush()
        at_end()

    ending = _Ending(end, prepare.failed)
    try:
        return _run(program, ending)
    finally:
        ending.main_thread_ended()


def run_edited_program(target: str, arguments: Sequence[str], is_module: bool, folder: str, compares: bool) -> int:
    """Run it with the edited files of the dump in ``folder``, and say what was used; ``compares``: and what that
    changed.

    DepyfError where an edited file is wrong, which ends the program, or was never used.
    """
    require_torch()
    from depyf.actions.edit.edit_error import EditError
    from depyf.actions.edit.edited.edited_run import Edited

    edited = Edited(folder, quiet=True, compares=compares)
    program = _prepared(target, arguments, is_module)
    edited.__enter__()
    came_to_its_end = False

    def end() -> None:
        sys.stdout.flush()
        lines = str(edited.comparison()).split("\n") if compares else edited.lines()
        tell("", *lines, error=True)
        missing = edited.end()
        if missing is not None and came_to_its_end:
            if ending.late:
                complain(missing)  # the status is told by now
            else:
                raise missing

    ending = _Ending(end)
    try:
        status = _run(program, ending, (EditError,))
        came_to_its_end = status == 0
        return status
    except SystemExit as error:
        came_to_its_end = not error.code
        raise
    finally:
        ending.main_thread_ended()


def _prepared(target: str, arguments: Sequence[str], is_module: bool) -> Callable[[], None]:
    """What runs the program; ``sys.argv`` and ``__main__`` are its own from now on."""
    code, main = _module(target) if is_module else _script(target)
    sys.argv = [str(main.__file__) if is_module else target, *arguments]
    sys.modules["__main__"] = main
    return lambda: exec(code, main.__dict__)


class _Ending:
    """What is done when the program has ended: with its main thread, or where other threads go on, with the last of
    these.

    The interpreter waits for these, and calls the functions of ``atexit`` then.
    """

    def __init__(self, end: Callable[[], None], failed: Callable[[BaseException], None] = lambda _: None) -> None:
        """``failed``: told of the exception that ended the program, before ``end``."""
        self._end = end
        self.failed = failed
        self.late = False
        """It was done at the exit of the process."""

    def main_thread_ended(self) -> None:
        here = threading.current_thread()
        self.late = any(thread is not here and not thread.daemon for thread in threading.enumerate())
        if not self.late:
            self._end()

    def at_exit(self) -> None:
        from depyf.contexts import leave_at_exit

        leave_at_exit()  # of a block that the program has not left
        if self.late:
            with Door("depyf: the end of the program could not be told", warn):
                self._end()


def _run(program: Callable[[], None], ending: _Ending, ours: tuple[type[BaseException], ...] = ()) -> int:
    """Run the program; returns its exit status.  Exceptions of the types ``ours`` reach the caller."""
    interrupted: list[BaseException] = []
    atexit.register(_end_as_interrupted, interrupted)  # called last, after those of the program
    atexit.register(ending.at_exit)
    return _guarded(program, interrupted, ending.failed, ours)


def _guarded(
    program: Callable[[], None],
    interrupted: list[BaseException],
    failed: Callable[[BaseException], None],
    ours: tuple[type[BaseException], ...] = (),
) -> int:
    """Status 0, or that of an uncaught exception, shown without the frames of depyf, which ``failed`` is told of;
    ``interrupted`` is told of one that means that the program was interrupted."""
    try:
        program()
    except SystemExit as error:
        failed(error)
        raise
    except BaseException as error:
        if isinstance(error, ours):
            raise
        own = error.__traceback__
        traceback = own.tb_next.tb_next if own is not None and own.tb_next is not None else None
        error.__traceback__ = traceback
        failed(error)
        sys.excepthook(type(error), error, traceback)
        if isinstance(error, KeyboardInterrupt):
            interrupted.append(error.with_traceback(None))
        return 1
    return 0


def _end_as_interrupted(interrupted: list[BaseException]) -> None:
    """End as the interpreter does: the shell sees that the program was interrupted."""
    if interrupted:
        sys.stdout.flush()
        sys.stderr.flush()
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)


def _script(path: str) -> tuple[types.CodeType, types.ModuleType]:
    whole = os.path.join(
        os.getcwd(), path
    )  # absolute since Python 3.9, otherwise as it was typed; argv[0] is as it was typed
    if pkgutil.get_importer(whole) is not None:
        return _importable(path, whole)
    _begin_path(os.path.dirname(os.path.realpath(whole)))
    try:
        with io.open_code(whole) as file:
            source = file.read()
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from error
    if path.endswith(".pyc"):
        sourceless = importlib.machinery.SourcelessFileLoader("__main__", whole)
        try:
            code = sourceless.get_code("__main__")
        except (ImportError, EOFError, ValueError) as error:
            raise InputError(f"cannot read {path}: {error}") from error
        if code is not None:
            return code, _main_module(whole, sourceless)
    return _compiled(source, whole), _main_module(whole, importlib.machinery.SourceFileLoader("__main__", whole))


def _importable(path: str, whole: str) -> tuple[types.CodeType, types.ModuleType]:
    """A folder or an archive with a ``__main__``: it is what the path begins with."""
    spec = importlib.machinery.PathFinder.find_spec("__main__", [whole])
    code = _code_of(spec, "__main__")
    if spec is None or code is None:
        raise InputError(f"cannot read {path}: it has no __main__.py")
    if getattr(sys.flags, "safe_path", False):
        sys.path.insert(0, whole)
    else:
        sys.path[0] = whole
    return code, _main_module(str(spec.origin), spec.loader, spec)


def _begin_path(folder: str) -> None:
    """``sys.path[0]`` is the program's, where Python puts one there."""
    if not getattr(sys.flags, "safe_path", False):
        sys.path[0] = folder


def _code_of(spec: importlib.machinery.ModuleSpec | None, name: str) -> types.CodeType | None:
    loader = spec.loader if spec is not None else None
    found = loader.get_code(name) if loader is not None and hasattr(loader, "get_code") else None
    return found if isinstance(found, types.CodeType) else None


def _compiled(source: bytes, filename: str) -> types.CodeType:
    try:
        return compile(source, filename, "exec", dont_inherit=True)
    except (SyntaxError, ValueError) as error:
        error.__traceback__ = None
        sys.excepthook(type(error), error, None)
        raise SystemExit(1) from None


def _module(name: str) -> tuple[types.CodeType, types.ModuleType]:
    _begin_path(os.getcwd())
    try:
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.submodule_search_locations is not None:
            name += ".__main__"
            spec = importlib.util.find_spec(name)
    except (ImportError, AttributeError, ValueError) as error:
        raise InputError(f"no module named {name}: {error}") from error
    code = _code_of(spec, name)
    if spec is None or code is None:
        raise InputError(f"no module named {name}, or it has no code")
    return code, _main_module(str(spec.origin), spec.loader, spec)


def _main_module(file: str, loader: Any, spec: importlib.machinery.ModuleSpec | None = None) -> types.ModuleType:
    """``__main__`` with what this Python puts there, in its order: what it has put into our own."""
    own = vars(sys.modules["__main__"])
    main = types.ModuleType("__main__")
    main.__loader__, main.__spec__ = loader, spec
    main.__package__ = spec.parent if spec is not None else None
    found = {"__annotations__": {}, "__builtins__": builtins, "__file__": file, "__cached__": spec and spec.cached}
    vars(main).update({name: value for name, value in found.items() if name in own or name in _ALWAYS})
    return main


_ALWAYS = ("__builtins__", "__file__")


def _tell_what_happened(folder: Path) -> None:
    """What to fix first, and where to read more."""
    complain(_where_to_look(folder))
    from depyf.views.pages.sections.fix_first import with_heading

    lines, spent, checked = _fix_first(folder)
    if lines:
        tell("", *with_heading(lines), error=True)
    if spent:
        tell("", *spent, error=True)
    if checked:
        tell("", checked, error=True)


def _fix_first(folder: Path) -> tuple[list[str], list[str], str]:
    """The most expensive causes, with the seconds that they took, where the time of compiling went, and what was
    compared with Python; of a distributed run those of the first rank."""
    from depyf.run.causes.collect import causes_of
    from depyf.run.observations.all_observations import observations_of
    from depyf.run.observations.compiled_differs import checked_line
    from depyf.run.store.loading import load
    from depyf.sources.live.processes.ranks import current_rank, rank_directory
    from depyf.views.pages.bill.compile_time import compile_time_lines, guard_lines
    from depyf.views.pages.print_style import TERMINAL
    from depyf.views.pages.sections.fix_first import ON_TERMINAL, left_out, what_to_fix

    if current_rank():
        return [], [], ""
    own = rank_directory(folder)
    try:
        run = load(own)
    except DepyfError:
        return [], [], ""
    causes = causes_of(run)
    lines = what_to_fix(causes, observations_of(run), ON_TERMINAL, TERMINAL, run.seconds_of)
    left = left_out(causes, ON_TERMINAL)
    lines += [f"and {left} more in {own / INDEX}"] if left > 0 else []
    return lines, [*compile_time_lines(run), *guard_lines(run)], checked_line(run.checked)


def _where_to_look(folder: Path) -> str:
    """The first thing to read in the dump, or why there is nothing; each rank of a distributed run says where its own
    is."""
    from depyf.sources.live.processes.ranks import current_rank, rank_directory
    from depyf.views.compare.stages import dumps_in

    first = rank_directory(folder)
    try:
        first = first if (first / "manifest.json").exists() else next(iter(dumps_in(folder).values()))
    except DepyfError:
        return f"nothing was written to {folder}"
    pages = sorted(path.name for path in first.glob("full_code_for_*.py"))
    if not pages and (ahead := _made_ahead(first)):
        return ahead
    if not pages:
        return f"torch compiled nothing while the program ran; {first / 'manifest.json'} has the notes"
    entry = INDEX if (first / INDEX).exists() else pages[0]
    rank, merge = (
        (f"rank {current_rank()}: ", f"; `depyf merge {folder}` compares the ranks") if first != folder else ("", "")
    )
    return f"{rank}{len(pages)} compiled function{'s' if len(pages) > 1 else ''}; read {first / entry} first{merge}"


def _made_ahead(folder: Path) -> str:
    """The sentence that the graphs in a dump were made ahead of time; "" for none."""
    from depyf.run.causes.folding import counted
    from depyf.run.observations.all_observations import made_ahead_by
    from depyf.run.store.loading import load

    try:
        run = load(folder)
    except DepyfError:
        return ""
    if not run.graph_count:
        return ""
    graphs = counted(run.graph_count, "graph")
    return f"{graphs} made ahead of time ({made_ahead_by([run])}); read {folder / INDEX} first"
