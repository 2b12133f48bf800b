"""Whatever goes wrong inside depyf, the program goes on, with the same results; what is meant for it comes through."""

import errno
import importlib
import io
import logging
import os
import shutil
import signal
import sys
import warnings

import pytest
import torch
from dumps import run_python
from torch._dynamo import convert_frame

import depyf
import depyf.testing
from depyf.contexts import _Current
from depyf.safety.guarded import Door, guarded, say, warn

pytestmark = [pytest.mark.torch, pytest.mark.filterwarnings("ignore")]


def program():
    """Compiles, breaks a graph, compiles again, goes backward."""

    def f(x, n):
        y = x.sin() * n
        torch._dynamo.graph_break()
        return y.cos().sum()

    torch._dynamo.reset()
    compiled = torch.compile(f, backend="aot_eager")
    x = torch.arange(4.0, requires_grad=True)
    results = [compiled(x, n) for n in (2, 3)]
    results[0].backward()
    return [result.tolist() for result in results], x.grad.tolist()


WANTED = program()

INSIDE = [
    "depyf.sources.live.recording.capture:Capture.handle", "depyf.sources.live.recording.capture:Capture.begin", "depyf.sources.live.recording.capture:Capture.start",
    "depyf.sources.live.recording.capture:Capture.stop", "depyf.sources.live.recording.capture:facts_of", "depyf.sources.live.recording.capture:decorated",
    "depyf.sources.live.recording.capture:code_record", "depyf.sources.live.recording.capture:call_values", "depyf.sources.live.recording.capture:Capture.note",
    "depyf.sources.live.events.listening:read_event", "depyf.sources.live.events.listening:_data", "depyf.sources.live.events.listening:_text",
    "depyf.sources.live.events.listening:is_read", "depyf.sources.live.recording.transform:decompile_made", "depyf.sources.live.recording.transform:generated_options",
    "depyf.sources.live.recording.transform:substitute.refuse", "depyf.sources.live.recording.transform:transformed_page", "depyf.decompiler.driver.pipeline:decompile_code",
    "depyf.run.files.writer:DumpWriter.write", "depyf.run.files.writer:DumpWriter.append", "depyf.run.files.writer:write_whole",
    "depyf.run.files.writer:DumpWriter.begin", "depyf.run.files.writer:DumpWriter.end", "depyf.run.files.writer:_put",
    "depyf.sources.live.recording.session:freeze", "depyf.views.dump.whole_dump:index_pages", "depyf.views.dump.whole_dump:manifest_page",
    "depyf.views.dump.whole_dump:full_code_page", "depyf.sources.live.recording.session:graph_page", "depyf.views.dump.whole_dump:original_page",
    "depyf.sources.live.recording.session:codes_seen", "depyf.sources.live.recording.session:cache_entries", "depyf.sources.live.recording.session:live_code",
    "depyf.sources.live.recording.session:step_text", "depyf.sources.live.recording.session:live.remember", "depyf.sources.live.recording.session:Session.start",
    "depyf.sources.live.recording.session:Session._finish", "depyf.sources.live.recording.session:Session.__init__", "depyf.sources.live.recording.session:Session._warn",
    "depyf.sources.live.recording.formatted_graphs:Formatted.start", "depyf.sources.live.recording.formatted_graphs:Formatted.stop",
    "depyf.contexts:Forks.watch", "depyf.contexts:at_end_of_worker", "depyf.contexts:remove_old_dump",
    "depyf.contexts:_session", "depyf.contexts:rank_directory", "depyf.sources.reports.guards.guard_text:GuardReader.guards",
    "depyf.sources.reports.entry_facts:parse_break", "depyf.views.dump.whole_dump:causes_of", "depyf.sources.live.recording.as_it_happens:entry_record",
    "depyf.sources.live.recording.as_it_happens:program_files", "depyf.run.store.journal:line_of",
    "depyf.sources.live.recording.capture:traced_module", "depyf.safety.guarded:problem", "depyf.safety.guarded:_level",
]  # fmt: skip


TELLING = [place for place in INSIDE if place.partition(":")[2] in (
    "_session", "rank_directory", "remove_old_dump", "Session.start", "Session.__init__", "Capture.start", "Formatted.start",
    "Forks.watch", "at_end_of_worker", "DumpWriter.begin", "codes_seen", "DumpWriter.write")]  # fmt: skip
"""What entering a block calls: a ``DepyfError`` tells the program there what is wrong."""


class UnprintableError(Exception):
    def __str__(self):
        raise ValueError("not even this")


ERRORS = (RecursionError("deep"), MemoryError(), ValueError("I/O operation on closed file."), UnprintableError(),
          depyf.DepyfError("ours"), OSError(errno.ENOSPC, "No space left on device"))  # fmt: skip


def put_in(monkeypatch, place, error):
    """Make the function at ``module:name`` raise ``error``; what it is called with is let go."""
    module, _, name = place.partition(":")
    owner = importlib.import_module(module)
    *path, last = name.split(".")
    for part in path:
        owner = getattr(owner, part)

    def fails(*args, **kwargs):
        raise error

    assert hasattr(owner, last), place
    monkeypatch.setattr(owner, last, fails)


@pytest.fixture(autouse=True)
def nothing_stays():
    """Hooks and the current session are as before, whatever failed."""
    hooks = dict(convert_frame._bytecode_hooks)
    handlers = list(logging.getLogger("torch.__trace").handlers)
    utils = torch._dynamo.utils.lazy_format_graph_code
    yield
    left = dict(convert_frame._bytecode_hooks)
    convert_frame._bytecode_hooks.clear()
    convert_frame._bytecode_hooks.update(hooks)
    logging.getLogger("torch.__trace").handlers = handlers
    torch._dynamo.utils.lazy_format_graph_code = utils
    active, _Current.active = _Current.active, None
    assert active is None
    assert left == hooks


@pytest.mark.parametrize("place", INSIDE)
def test_a_fault_inside(tmp_path, monkeypatch, place):
    error = ERRORS[INSIDE.index(place) % len(ERRORS)]  # one each: what is caught does not depend on the class
    if isinstance(error, depyf.DepyfError) and place in TELLING:
        error = ERRORS[0]
    with monkeypatch.context() as patched:
        put_in(patched, place, error)
        with depyf.prepare_debug(tmp_path):
            assert program() == WANTED
    assert _Current.active is None


def test_the_next_recording_is_whole(tmp_path, monkeypatch):
    with monkeypatch.context() as patched:
        put_in(patched, "depyf.sources.live.recording.session:Session._finish", ERRORS[0])
        with depyf.prepare_debug(tmp_path):
            program()
    with depyf.prepare_debug(tmp_path):
        assert program() == WANTED
    assert (tmp_path / "manifest.json").exists()


@pytest.mark.parametrize(
    "place",
    ("depyf.sources.live.recording.transform:decompile_made", "depyf.sources.live.recording.capture:Capture.handle"),
)
def test_an_interruption_comes_through(tmp_path, monkeypatch, place):
    with monkeypatch.context() as patched:
        put_in(patched, place, KeyboardInterrupt())
        with pytest.raises(KeyboardInterrupt), depyf.prepare_debug(tmp_path):
            program()
    assert _Current.active is None
    assert program() == WANTED


@pytest.mark.parametrize(
    "place", ("depyf.sources.live.recording.session:Session._finish", "depyf.sources.live.recording.session:freeze")
)
def test_an_interruption_while_leaving(tmp_path, monkeypatch, place):
    with monkeypatch.context() as patched:
        put_in(patched, place, KeyboardInterrupt())
        with pytest.raises(KeyboardInterrupt), depyf.prepare_debug(tmp_path):
            program()
    assert _Current.active is None
    with depyf.prepare_debug(tmp_path):
        assert program() == WANTED


def test_wrong_use_is_told(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(depyf.DepyfError, match="cannot write"), depyf.prepare_debug(tmp_path / "file"):
        pass
    with depyf.prepare_debug(tmp_path / "dump"):
        with pytest.raises(depyf.DepyfError, match="already active"), depyf.prepare_debug(tmp_path / "other"):
            pass
        with pytest.raises(depyf.DepyfError, match="inside"), depyf.debug():
            pass
    with pytest.raises(depyf.DepyfError, match="levels are"):
        depyf.debug(level="nothing")


DEBUGGING = [
    "depyf.contexts:redirect", "depyf.contexts:pause", "depyf.actions.debugger.stepping.at_a_stop:AtAStop.start",
    "depyf.actions.debugger.stepping.at_a_stop:beneath_a_stop", "depyf.actions.debugger.stepping.followed_dispatch:read_page", "depyf.actions.debugger.stepping.followed_dispatch:debugged",
    "depyf.actions.debugger.stepping.followed_dispatch:Dispatching.start", "depyf.actions.debugger.stepping.followed_dispatch:Dispatching.stop", "depyf.actions.debugger.stepping.level_files:LevelFiles._graph",
    "depyf.actions.debugger.stepping.levels:printed", "depyf.actions.debugger.stepping.levels:drop_entries", "depyf.actions.debugger.stepping.levels:cache_entries",
    "depyf.sources.live.caches.code_exchange:Stepping.restore", "depyf.actions.debugger.stepping.level_files:decompile_made", "depyf.actions.debugger.stepping.compiled_inside:say",
]  # fmt: skip


@pytest.mark.parametrize("place", DEBUGGING)
def test_a_fault_inside_debug(tmp_path, monkeypatch, place):
    monkeypatch.setenv("DEPYF_NO_PAUSE", "1")
    with depyf.prepare_debug(tmp_path):
        program()
    for level, error in ((None, ERRORS[0]), ("aot", ERRORS[3])):
        with monkeypatch.context() as patched:
            put_in(patched, place, error)
            with depyf.debug(level=level):
                assert program() == WANTED


class Closed(io.StringIO):
    def __init__(self):
        super().__init__()
        self.close()


@pytest.mark.parametrize("stream", (Closed, lambda: None))
def test_without_a_stream_to_write_to(tmp_path, monkeypatch, stream):
    monkeypatch.setenv("DEPYF_NO_PAUSE", "1")
    noted = lambda: _Current.active.capture.note("something is missing")
    for made, note in ((lambda: depyf.prepare_debug(tmp_path), noted), (depyf.debug, program)):
        with monkeypatch.context() as patched:  # not while torch compiles: it writes there itself
            patched.setattr(sys, "stderr", stream())
            patched.setattr(sys, "stdout", stream())
            context = made()
            context.__enter__()
        assert program() == WANTED
        note()
        with monkeypatch.context() as patched:
            patched.setattr(sys, "stderr", stream())
            patched.setattr(sys, "stdout", stream())
            context.__exit__(None, None, None)


def test_a_folder_that_goes_away(tmp_path):
    with depyf.prepare_debug(tmp_path / "dump"):
        first = program()
        shutil.rmtree(tmp_path / "dump")
        (tmp_path / "dump").write_text("a file now")
        assert first == program() == WANTED
    assert (tmp_path / "dump").read_text() == "a file now"


def test_an_old_manifest_that_nests_deep(tmp_path):
    (tmp_path / "manifest.json").write_text("[" * 100_000)
    with depyf.prepare_debug(tmp_path):
        assert program() == WANTED


def caught(tmp_path, note):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        with depyf.prepare_debug(tmp_path):
            program()
            note()
    return [warning for warning in found if "depyf" in str(warning.message)]


def test_the_warning_is_at_the_line_of_the_program(tmp_path, monkeypatch):
    def note():
        _Current.active.capture.note("first thing")
        _Current.active.capture.note("second thing")

    (warning,) = caught(tmp_path / "one", note)
    assert warning.filename == __file__ and "first thing (and 1 more, see manifest.json)" in str(warning.message)
    put_in(monkeypatch, "depyf.views.dump.whole_dump:manifest_page", MemoryError())
    (warning,) = caught(tmp_path / "two", note)
    assert warning.filename == __file__ and "(and 2 more)" in str(warning.message)
    assert not (tmp_path / "two" / "manifest.json").exists()


def test_where_warnings_are_errors(tmp_path):
    script = f"""
    import torch, depyf
    from depyf.contexts import _Current
    context = depyf.prepare_debug({str(tmp_path)!r})
    context.__enter__()
    torch.compile(lambda x: x + 1, backend="eager")(torch.ones(2))
    _Current.active.capture.note("a part is missing")
    context.__exit__(None, None, None)
    print("done")
    """
    options = ("-W", "error::RuntimeWarning")
    done = run_python(script, env={"PYTHONWARNINGS": "error::RuntimeWarning"}, options=options, alone=True)
    assert done.returncode == 0 and done.stdout == "done\n", done.stderr
    assert "a part is missing" in done.stderr and "Traceback" not in done.stderr


def test_the_end_of_a_program_inside_the_block(tmp_path):
    script = f"""
    import sys, torch, depyf
    from depyf.sources.live.recording import session
    depyf.prepare_debug({str(tmp_path)!r}).__enter__()
    torch.compile(lambda x: x + 1, backend="eager")(torch.ones(2))
    def fails(*args): raise MemoryError
    session.freeze = fails
    sys.stderr.close()
    """
    done = run_python(script)
    assert done.returncode == 0 and done.stdout == ""


LISTENING = [
    "depyf.actions.asking.watch:Watch.__init__", "depyf.actions.asking.watch:Watch.start", "depyf.actions.asking.watch:Watch.stop",
    "depyf.actions.asking.watch:Watch.compilations", "depyf.actions.asking.watch:parse_break", "depyf.actions.asking.watch:CompletedNames",
    "depyf.actions.asking.watch:resolved", "depyf.sources.live.recording.capture:Capture.start", "depyf.sources.live.recording.capture:Capture.stop",
    "depyf.testing:_break", "depyf.testing:_recompile", "depyf.testing:_counted",
]  # fmt: skip


@pytest.mark.parametrize("place", LISTENING)
def test_a_fault_inside_an_assertion(monkeypatch, place):
    """The block runs, an exception of its own comes through, and nothing passes of which nothing is known."""
    made = (
        depyf.testing.assert_no_graph_breaks,
        depyf.testing.assert_no_recompiles,
        lambda: depyf.testing.assert_graph_count(99),
    )
    results, problems = [], []
    put_in(monkeypatch, place, ERRORS[LISTENING.index(place) % len(ERRORS)])
    for assertion in made:
        try:
            with assertion():
                results.append(program())
        except AssertionError as failed:
            problems.append(str(failed))
    assert results == [WANTED] * 3
    assert len(problems) == 3 and any(text.startswith("nothing can be asserted: depyf could not") for text in problems)
    with pytest.raises(KeyError, match="of the block"), made[0]():
        raise KeyError("of the block")
    with pytest.raises(KeyboardInterrupt), made[1]():
        raise KeyboardInterrupt


def test_an_assertion_in_the_plugin_that_cannot_listen(tmp_path):
    (tmp_path / "conftest.py").write_text("from depyf.actions.asking import watch\ndel watch.Watch.start\n")
    (tmp_path / "test_it.py").write_text(
        "import pytest, torch, depyf\n@pytest.mark.no_graph_breaks\ndef test_one():\n    print('RAN')\n"
        "@pytest.mark.no_graph_breaks\ndef test_two():\n    raise depyf.DepyfError('of the test')\n"
    )
    script = f"""
    import pytest
    pytest.main(["-p", "depyf.pytest_plugin", "-p", "no:cacheprovider", "-q", "-c", {os.devnull!r}, "--rootdir", {str(tmp_path)!r}, {str(tmp_path)!r}])
    """
    done = run_python(script, env={"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}, alone=True)
    assert "RAN" in done.stdout and "nothing can be asserted: depyf could not listen: AttributeError" in done.stdout
    assert (
        "DepyfError: of the test" in done.stdout and "2 failed" in done.stdout and "depyf/testing.py" not in done.stdout
    )


STOPPING = [
    "depyf.actions.debugger.program_pdb:ProgramPdb.stop_here", "depyf.actions.debugger.program_pdb:ProgramPdb.user_return",
    "depyf.actions.debugger.program_pdb:ProgramPdb.leave_threads", "depyf.actions.debugger.program_pdb:ProgramPdb.stop_behind",
    "depyf.actions.debugger.program_pdb:ProgramPdb.interaction", "depyf.actions.debugger.program_pdb:ProgramPdb.get_stack",
    "depyf.actions.debugger.program_pdb:_generated_by_torch", "depyf.actions.debugger.program_pdb:_compiling",
    "depyf.actions.debugger.program_pdb:_resumed", "depyf.actions.debugger.program_pdb:_made",
    "depyf.actions.debugger.program_pdb:ProgramPdb.set_trace", "depyf.actions.debugger.program_pdb:ProgramPdb.message",
    "depyf.decompiler.verify.recompiling.worker:Worker._stop", "depyf.decompiler.verify.recompiling.worker:Worker.close",
]  # fmt: skip


def test_a_fault_inside_a_debugger_and_at_the_end_of_the_process():
    """At ``breakpoint()``, in each call that it traces, and in the calls of ``atexit``."""
    script = f"""
    import importlib, io, sys
    from depyf.actions.debugger import program_pdb
    from depyf.decompiler.verify.recompiling.worker import own_worker
    made = program_pdb._made
    def answering(**named):
        debugger = made()
        debugger.stdin, debugger.use_rawinput, debugger.stdout = io.StringIO("s\\ns\\ns\\nr\\nc\\n"), False, io.StringIO()
        return debugger
    sys.breakpointhook = program_pdb.program_breakpoint
    def inner(n):
        return n + 1
    def work(n):
        breakpoint(header="stop")
        n = inner(n)
        return n * 2
    def fails(*args, **named):
        raise ValueError("ours")
    own_worker().compile("x = 1")
    for place in {STOPPING!r}:
        program_pdb._made = answering
        module, _, name = place.partition(":")
        owner = importlib.import_module(module)
        *path, last = name.split(".")
        for part in path:
            owner = getattr(owner, part)
        before = getattr(owner, last)
        setattr(owner, last, fails)
        assert work(2) == 6, place
        sys.settrace(None)
        if module.endswith("program_pdb"):
            setattr(owner, last, before)
    print("LEFT")
    sys.stdout.flush()
    program_pdb.end.__wrapped__.__code__ = (lambda debugger: 1 / 0).__code__
    """
    done = run_python(script)
    assert done.stdout == "LEFT\n" and done.returncode == 0, done.stderr[-3000:]
    assert "Traceback" not in done.stderr and "depyf: " in done.stderr


def test_doors():
    told = []
    with Door("reading", told.append) as door:
        raise ValueError("a\nb")
    assert told == ["reading: ValueError: a b"] and door.shut
    with pytest.raises(depyf.DepyfError), Door("reading", told.append, lets=True):
        raise depyf.DepyfError("yours")
    with pytest.raises(SystemExit), Door("reading", told.append):
        raise SystemExit

    @guarded("counting", told.append)
    def count(values):
        return len(values)

    assert count([1]) == 1 and count(3) is None and told[-1].startswith("counting: TypeError")
    with Door("telling", lambda text: 1 / 0):
        raise RecursionError
    say("")
    warn("depyf: a warning")


class TimeLimit(Exception):
    pass


def test_what_a_handler_of_a_signal_raises_is_the_programs(monkeypatch):
    """Python calls it wherever it is, in depyf, too."""

    class Program:
        def limit(self, number, frame):
            raise TimeLimit(number)

    def limit(number, frame):
        raise TimeLimit(number)

    told = []
    before = signal.getsignal(signal.SIGUSR1)
    try:
        for handler in (limit, Program().limit):
            signal.signal(signal.SIGUSR1, handler)
            with pytest.raises(TimeLimit), Door("at work", told.append):
                os.kill(os.getpid(), signal.SIGUSR1)
                for _ in range(1000):
                    pass
    finally:
        signal.signal(signal.SIGUSR1, before)
    with Door("at work", told.append):
        limit(1, None)  # no handler of any signal now
    assert told == ["at work: TimeLimit: 1"]


def test_a_folder_whose_name_torch_cannot_take(tmp_path):
    """It is no text: torch would raise where it is given the names of files in it."""
    with pytest.raises(depyf.DepyfError, match="cannot write to the dump directory"):
        depyf.prepare_debug(os.fsdecode(os.fsencode(tmp_path) + b"/\xff")).__enter__()
    assert program() == WANTED
