"""The context managers ``prepare_debug`` and ``debug``: checks before anything runs, and the order of set-up."""

from __future__ import annotations

import atexit
import functools
import os
import shutil
import tempfile
import threading
import types
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar, Literal

from depyf.actions.debugger.pause import pause
from depyf.actions.debugger.program_pdb import Breakpoints
from depyf.actions.debugger.stepping.at_a_stop import AtAStop
from depyf.actions.debugger.stepping.compiled_inside import CompiledInside
from depyf.actions.debugger.stepping.followed_dispatch import Dispatching
from depyf.actions.debugger.stepping.interpreted_kernels import require_triton
from depyf.actions.debugger.stepping.level_files import LevelFiles
from depyf.actions.debugger.stepping.levels import LEVELS, Level, LevelRun
from depyf.actions.debugger.stepping.nonfinite import KINDS, NonFiniteWatch
from depyf.errors import DepyfError
from depyf.run.compile_stages import WRAPPER
from depyf.run.files.layout import MANIFEST, graph_file
from depyf.run.files.manifest import remove_old_dump
from depyf.run.files.writer import DumpWriter
from depyf.run.global_names import graph_name
from depyf.run.records import CompileKey, FunctionRecord
from depyf.safety.guarded import Door, guarded, problem, say, warn
from depyf.sources.live.ahead.dumped_code import dumped_code
from depyf.sources.live.caches.code_exchange import Stepping
from depyf.sources.live.entrances.call_watch import Watcher
from depyf.sources.live.entrances.program_errors import program_error
from depyf.sources.live.events.instruction_counter import InstructionCounter
from depyf.sources.live.inputs.input_recorder import limit_of
from depyf.sources.live.processes.forks import Forks, at_end_of_worker
from depyf.sources.live.processes.ranks import rank_directory
from depyf.sources.live.pure_access import attribute
from depyf.sources.live.recording.as_it_happens import OnEnded
from depyf.sources.live.recording.capture import Capture
from depyf.sources.live.recording.session import Session
from depyf.sources.live.recording.transform import current_compile_id
from depyf.sources.live.require import require_torch


class _Current:
    """The session that is open, and the last one that was closed, in this process."""

    lock: ClassVar[threading.Lock] = threading.Lock()
    active: ClassVar[Session | None] = None
    owner: ClassVar[weakref.ref[PrepareDebug] | None] = None
    """The context manager that entered ``active``; dead where the program dropped it without leaving it."""
    last: ClassVar[Session | None] = None
    watches_exit_of: ClassVar[int] = 0
    """The process whose exit is watched."""
    known: ClassVar[dict[str, Session]] = {}
    """Directory -> the session that wrote it: entering it again in the same process adds to the dump."""


def current_recording() -> tuple[str | None, bool]:
    """The directory of the recording that is active, or of the last one, if any; and whether one is active here."""
    active = _Current.active
    here = active is not None and active.capture.here
    session = active if here else _Current.last
    return (None if session is None else str(session.writer.directory)), here


def current_graph_name() -> str:
    """The prefix of the file names for the compilation in progress in this thread."""
    text = current_compile_id().replace("unknown", "")
    active = _Current.active
    key = active.capture.key(text) if active is not None and active.capture.here else CompileKey(0, text)
    return graph_name(key)


class PrepareDebug:
    """See ``depyf.prepare_debug``."""

    def __init__(
        self,
        dump_src_dir: str | os.PathLike[str],
        clean_wild_fx_code: bool,
        log_bytecode: bool,
        at_end: Callable[[Path], object] | None = None,
        record: bool | int = False,
    ) -> None:
        """``at_end`` is given the folder of the dump when it is written; what it raises becomes a warning."""
        self._directory = dump_src_dir
        self._log_bytecode = log_bytecode
        self._at_end = at_end
        self._record = limit_of(record)
        self._session: Session | None = None
        self.checks: Callable[[Session], Watcher] | None = None
        """Makes who compares calls with Python."""
        self.on_ended: OnEnded | None = None
        self.gives_way = False
        """``depyf run``: the program's own contexts take its place while they last."""
        self.suspended = False
        """One of them did."""
        self.measures_guards = False
        """The process is one that depyf started: what guards take is measured."""
        self.counts_instructions = False
        """What the processor runs while torch compiles is counted."""
        self._behind: PrepareDebug | None = None

    def __enter__(self) -> None:
        with Door("depyf: nothing is recorded, the program runs without it", warn, lets=True):
            self._enter()

    def _enter(self) -> None:
        with _Current.lock:
            active, owner = _Current.active, _Current.owner
        if active is not None and not active.capture.here:
            _forget(active)
        elif active is not None and owner is not None and owner() is None:
            _leave(active)  # entered by hand, and then dropped: it can no longer be left
        self._behind = _made_room()
        try:
            self._begin()
        except BaseException:
            behind, self._behind = self._behind, None
            _go_on(behind)
            raise

    def _begin(self) -> None:
        with _Current.lock:
            if _Current.active is not None:
                raise DepyfError(
                    f"depyf.prepare_debug is already active (it writes to {_Current.active.writer.directory}): leave "
                    "it before entering another"
                )
            require_torch()
            session = _session(DumpWriter.open(_place(self._directory)), self._log_bytecode, self._record)
            session.at_end = self._at_end
            session.checks = self.checks
            session.on_ended = self.on_ended
            session.capture.measures_guards = self.measures_guards
            session.capture.instruction_counter = InstructionCounter() if self.counts_instructions else None
            session.from_start = self.gives_way and not self.suspended
            session.ended_by = None
            _begin(session)
            self._session = session
            _Current.owner = weakref.ref(self)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: types.TracebackType | None
    ) -> Literal[False]:
        self.failed(error)
        session, self._session = self._session, None
        with Door("depyf: the recording could not be ended", warn):
            if session is not None and session is _Current.active:
                _leave(session)
                _go_on(self._behind)
        return False

    def failed(self, error: BaseException | None) -> None:
        """Record the error that ended the program."""
        session = self._session
        if error is not None and session is not None and session is _Current.active:
            with Door("depyf: the error that ended the program is not recorded", warn):
                session.ended_by = program_error(error)


def _made_room() -> PrepareDebug | None:
    """The recording that was suspended for a context that is about to be entered."""
    owner = _Current.owner() if _Current.owner is not None else None
    if _Current.active is None or owner is None or not owner.gives_way:
        return None
    owner.__exit__(None, None, None)
    owner.suspended = True
    return owner


def _go_on(behind: PrepareDebug | None) -> None:
    """Resume the suspended recording, into the same dump."""
    if behind is not None:
        behind.__enter__()


def _begin(session: Session) -> None:
    try:
        session.start()
        session.capture.in_child = _dump_of_child
        Forks.watch(_in_child)
        _watch_exit()
    except BaseException:
        session.detach()
        raise
    _Current.active = session


@guarded("a forked child")
def _in_child() -> None:
    """A forked child has no other threads: a lock that one of them held would never be released."""
    _Current.lock = threading.Lock()


def _forget(session: Session) -> None:
    """In a forked child: the dump belongs to the parent alone."""
    session.detach()
    session.writer.end(complete=False)
    with _Current.lock:
        if _Current.active is session:
            _Current.active = _Current.owner = None
        _Current.known.clear()


@guarded("what a forked child compiles is not recorded")
def _dump_of_child() -> Capture | None:
    """A forked child compiles something: it gets a separate dump, below that of its parent."""
    parent = _Current.active
    if parent is None or parent.capture.here:
        return None
    folder = parent.writer.directory
    way = Forks.folder(folder).relative_to(folder)
    parent.writer.note(way.as_posix())
    _forget(parent)
    writer = DumpWriter.open(folder, way)
    remove_old_dump(writer.directory)
    session = Session(writer, parent.log_bytecode, of_fork=True, record=parent.inputs.limit)
    with _Current.lock:
        _begin(session)
    return session.capture


def _watch_exit() -> None:
    """Be called at the exit of this process, from the first block on: ``atexit`` keeps the slot of what is taken out of
    it."""
    if _Current.watches_exit_of != os.getpid():
        _Current.watches_exit_of = os.getpid()
        atexit.register(leave_at_exit)
        at_end_of_worker(leave_at_exit)


def _leave(session: Session) -> None:
    try:
        session.finish()
    finally:
        with _Current.lock:
            if _Current.active is session:
                _Current.active = _Current.owner = None
                _Current.last = session
    at_end, session.at_end = session.at_end, None
    if at_end is not None and session.capture.here:
        with Door("depyf: the report is not there", warn):
            at_end(Path(session.writer.directory))


@guarded("the recording could not be ended")
def leave_at_exit() -> None:
    """Write the dump when the program ends inside a block that was entered by hand."""
    if _Current.active is not None and _Current.active.capture.here:
        _leave(_Current.active)


def _place(directory: Any) -> Any:
    """The rank's own folder; something that is no path at all is left to the writer to complain about."""
    if not isinstance(directory, (str, os.PathLike)):
        return directory
    place = rank_directory(directory)
    if place != Path(directory) and place.is_symlink():
        raise DepyfError(f"{place} is a symbolic link: depyf does not write through it")
    return place


def _session(writer: DumpWriter, log_bytecode: bool, record: int) -> Session:
    """A session for the writer's directory: the one that filled it earlier in this process, else a new one."""
    place = os.path.realpath(writer.directory)
    known = _Current.known.get(place)
    if known is not None and known.capture.here and writer.path(MANIFEST).exists():
        known.log_bytecode, known.inputs.limit = log_bytecode, record
        return known
    remove_old_dump(writer.directory)
    session = Session(writer, log_bytecode, record=record)
    _Current.known[place] = session
    return session


def _dump_of_what_is_compiled(*, even_nothing: bool) -> Session | None:
    """A new dump in a separate folder; None, and no folder, where nothing is compiled."""
    folder = tempfile.mkdtemp(prefix="depyf-")
    with PrepareDebug(folder, True, False):
        pass
    session = _Current.last
    if session is not None:
        session.wake()
    if not even_nothing and (session is None or session.record is None or not session.record.functions):
        shutil.rmtree(folder, ignore_errors=True)
        session = _Current.last = None
    return session


class Debug:
    """See ``depyf.debug``."""

    def __init__(self, level: str | None = None, stop_on: str | None = None) -> None:
        if level is not None and level not in LEVELS:
            raise DepyfError(f"depyf.debug(level={level!r}): the levels are {', '.join(map(repr, LEVELS))}")
        if stop_on is not None and stop_on not in KINDS:
            raise DepyfError(f"depyf.debug(stop_on={stop_on!r}): it stops on {' or '.join(map(repr, KINDS))}")
        if stop_on is not None and level in ("wrapper", "kernel"):
            raise DepyfError(
                "depyf.debug(stop_on=...) watches the lines of graphs; "
                "a wrapper and its kernels compute several nodes at once. Use "
                'level="aot" (the default with stop_on) or level="graph"'
            )
        self._level: Level | None = level if level is not None or stop_on is None else "aot"
        self._watch = NonFiniteWatch(stop_on) if stop_on is not None else None
        self._stepping: Stepping | None = None
        self._run: LevelRun | None = None
        self._dispatching: Dispatching | None = None
        self._inside: CompiledInside | None = None
        self._at_a_stop: AtAStop | None = None
        self._breakpoints = Breakpoints()
        self._directory = ""
        self._session: Session | None = None
        self._behind: PrepareDebug | None = None

    def __enter__(self) -> None:
        with Door("depyf: nothing is stepped through, the program runs without it", warn, lets=True):
            self._behind = _made_room()
            try:
                self._begin()
            except BaseException:  # the user quits the debugger here: without a block there is no exit
                self.__exit__(None, None, None)
                raise

    def _begin(self) -> None:
        if _Current.active is not None and _Current.active.capture.here:
            raise DepyfError("depyf.debug() cannot be entered inside depyf.prepare_debug: leave that first")
        require_torch()
        if self._level == "kernel":
            require_triton()
        session = _Current.last or _dump_of_what_is_compiled(even_nothing=self._level is not None)
        if session is None:
            raise DepyfError(
                "depyf.debug() needs a dump to step through: first run the code once under "
                "`with depyf.prepare_debug(directory):`, or ask for a level, as in depyf.debug(level='aot')"
            )
        self._session = session
        session.wake()
        self._directory = str(session.writer.directory)
        self._stepping = stepping = Stepping() if self._level else redirect(session)
        self._at_a_stop = AtAStop()
        self._at_a_stop.start()
        self._breakpoints.start()
        if self._level is not None:
            instrument = self._watch.instrument if self._watch is not None else None
            self._run = LevelRun(self._level, session, LevelFiles(session, stepping, self._level, instrument))
            self._run.start()
        else:
            self._inside = CompiledInside()
            self._inside.start()
        self._dispatching = Dispatching(own=self._level is not None)
        self._dispatching.start(session)
        for note in self._dispatching.notes:
            say(f"depyf: {note}")
        if self._watch is None:
            follows = self._dispatching.follows and any(not _apart(function) for function in _functions(session))
            pause(str(session.writer.directory), stepping.steppable, self._level, follows, *ahead_names(session))

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: types.TracebackType | None
    ) -> Literal[False]:
        begun = self._dispatching, self._run, self._inside, self._at_a_stop
        self._dispatching = self._run = self._inside = self._at_a_stop = None
        steps: list[Callable[[], object]] = [part.stop for part in begun if part is not None]
        if self._directory:
            steps.append(functools.partial(self._breakpoints.stop, self._directory))
        if self._stepping is not None:
            steps.append(self._stepping.restore)
            self._stepping = None
        session, self._session = self._session, None
        if session is not None:
            steps.append(session.sleep)
        if self._watch is not None and session is not None and error is None and self._watch.nothing_found:
            steps.append(functools.partial(say, f"depyf: {self._watch.nothing_found}"))
        behind, self._behind = self._behind, None
        steps.append(functools.partial(_go_on, behind))
        for step in steps:
            with Door("depyf: the end of depyf.debug()", warn):
                step()
        return False


def _functions(session: Session) -> tuple[FunctionRecord, ...]:
    return tuple(one for one in (session.record.functions if session.record is not None else ()) if one.entries)


def _apart(function: FunctionRecord) -> bool:
    """It was compiled ahead of time, and is called by itself."""
    return any(entry.made.apart for entry in function.entries)


def ahead_names(session: Session) -> tuple[list[str], list[str]]:
    """The functions that were compiled ahead of time: those that run as text of the dump, and the others."""
    stepped: list[str] = []
    others: list[str] = []
    for function in _functions(session):
        if _apart(function):
            live = session.capture.ahead[function.function]() if function.function in session.capture.ahead else None
            own = attribute(live, "fn")
            found = own is not None and _is_in(session, own.__code__)
            ids = ", ".join(entry.key.label for entry in function.entries)
            (stepped if found else others).append(f"{function.code.shown} ({ids})")
    return stepped, others


def _is_in(session: Session, code: types.CodeType) -> bool:
    return code.co_filename.startswith(str(session.writer.directory))


def redirect(session: Session) -> Stepping:
    """Point the live graph functions of ``session`` at its files."""
    stepping = Stepping()
    try:
        for match in session.live_graphs():
            name = graph_file(match.record)
            if name in session.step_texts:
                stepping.graph(session.writer.path(name), session.step_texts[name], match.module)
        for reference in session.capture.ahead.values():
            function = attribute(reference(), "fn")
            code = dumped_code(function.__code__) if function is not None else None
            if code is not None and _is_in(session, code):
                stepping.exchange(function, code)
        done: set[str] = set()
        for record in session.record.graphs if session.record is not None else ():
            if record.stage == WRAPPER and record.path and record.path not in done:
                done.add(record.path)
                stepping.wrapper(session.writer.path(graph_file(record)), record.path, record.text)
    except Exception as error:  # what cannot be redirected runs as before
        stepping.notes.append(problem(error))
    for note in stepping.notes:
        say(f"depyf: {note}")
    return stepping
