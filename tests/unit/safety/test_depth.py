"""Code may nest as deeply as it likes, wherever a decompilation is asked for; errors and interruptions come out."""

from __future__ import annotations

import subprocess
import sys
import textwrap
import threading
import time
import types
from collections.abc import Callable, Iterator

import pytest

from depyf.decompiler.bytecode.codeunit import CodeUnit
from depyf.decompiler.driver.pipeline import decompile_code, decompile_unit
from depyf.decompiler.verify import Status
from depyf.errors import DepyfError
from depyf.safety import depth
from depyf.safety.depth import any_depth, with_room

HEAD = "def f(a, b, c, g, E):\n"
SHAPES: dict[str, Callable[[int], str]] = {
    "returns": lambda n: HEAD + "".join(f"    if a == {i}:\n        return g({i})\n" for i in range(n)),
    "elif": lambda n: HEAD + "    if b:\n        g()\n" + "".join(f"    elif a == {i}:\n        b = {i}\n" for i in range(n)),
    "continue": lambda n: HEAD
    + "    for x in a:\n"
    + "".join(f"        if x == {i}:\n            g({i})\n            continue\n" for i in range(n)),
    "asserts": lambda n: HEAD + "".join(f"    assert a({i}), b\n" for i in range(n)),
    "except": lambda n: HEAD
    + "    try:\n        a()\n"
    + "".join(f"    except E({i}):\n        b = g({i})\n" for i in range(n)),
    "sum": lambda n: HEAD + "    return a" + " + b" * n + "\n",
    "powers": lambda n: HEAD + "    return " + "a ** " * n + "b\n",
    "and, or": lambda n: HEAD + "    return " + "".join(f"a({i}) {('and', 'or')[i % 2]} " for i in range(n)) + "b\n",
    "methods": lambda n: HEAD + "    return a" + "".join(f".m{i}(b)" for i in range(n)) + "\n",
    "items": lambda n: HEAD + "    return a" + "[b]" * n + "\n",
    "nots": lambda n: HEAD + "    return " + "not " * n + "a\n",
    "conditions": lambda n: HEAD + "    return " + "".join(f"a({i}) if b({i}) else " for i in range(n // 2)) + "c\n",
    "lambdas": lambda n: HEAD + "    return " + "lambda: " * (n // 2) + "c\n",
    "classes": lambda n: "".join(" " * i + f"class C{i}:\n" for i in range(n // 4)) + " " * n + "g()\n",
    "lists": lambda n: HEAD + "    return " + "[a, " * (n // 3) + "b" + "]" * (n // 3) + "\n",
    "constants": lambda n: HEAD + "    return " + "(1, " * (n // 3) + "2" + ")" * (n // 3) + "\n",
    "targets": lambda n: HEAD + "    " + "(a, " * (n // 4) + "b" + ")" * (n // 4) + " = c\n",
    "patterns": lambda n: HEAD + "    match a:\n        case " + "E(" * (n // 4) + "b" + ")" * (n // 4) + ":\n            g()\n",
}  # fmt: skip


@pytest.fixture
def limit() -> Iterator[Callable[[int], None]]:
    before = sys.getrecursionlimit()
    yield sys.setrecursionlimit
    sys.setrecursionlimit(before)


def compiled(text: str) -> types.CodeType:
    return compile(text, "<deep>", "exec", dont_inherit=True)


def in_new_thread(work: Callable[[], object]) -> object:
    """What ``work`` returns or raises on an empty stack."""
    found: list[object] = []

    def run() -> None:
        try:
            found.append(work())
        except BaseException as error:
            found.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    return found[0]


def at_depth(frames: int, work: Callable[[], object]) -> object:
    return work() if frames <= 0 else at_depth(frames - 1, work)


@any_depth
def down(steps: int) -> int:
    return 0 if not steps else 1 + down(steps - 1)


@pytest.mark.parametrize("shape", SHAPES)
def test_every_shape_nests_at_any_depth(shape: str, limit: Callable[[int], None]) -> None:
    """With little more than what the interpreter itself needs, three hundred levels are proven."""
    unit = CodeUnit.from_code(compiled(SHAPES[shape](300)))
    limit(450)
    found = in_new_thread(lambda: decompile_unit(unit).verdicts)
    assert isinstance(found, tuple), found
    assert {verdict.status for verdict in found} == {Status.IDENTICAL}, found[-1].reason


@pytest.mark.parametrize("shape", SHAPES)
def test_no_thread_is_more_than_130_frames_deep(shape: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stack of 256 kB has room for 170 where each takes C stack, because an evaluator of frames is installed."""
    monkeypatch.setattr(depth, "_EVALUATORS", ("sys",))
    frames: list[int] = []
    start = depth._in_thread

    def counted(work: Callable[[], object]) -> object:
        frame, count = sys._getframe(), 0
        while frame is not None:
            frame, count = frame.f_back, count + 1
        frames.append(count)
        return start(work)

    monkeypatch.setattr(depth, "_in_thread", counted)
    unit = CodeUnit.from_code(compiled(SHAPES[shape](300)))
    in_new_thread(lambda: decompile_unit(unit).verdicts)
    assert max(frames, default=0) <= 130


@pytest.mark.parametrize("shape", ["returns", "elif", "sum", "lists", "lambdas"])
def test_the_limit_of_the_user_counts(shape: str, limit: Callable[[int], None]) -> None:
    unit = CodeUnit.from_code(compiled(SHAPES[shape](60)))
    for wanted in (200, 260):
        limit(wanted)
        found = in_new_thread(lambda: decompile_unit(unit).proven)
        assert found is True, found
        assert sys.getrecursionlimit() == wanted


@pytest.mark.parametrize("left", [15, 30, 60, 100, 200, 300, 400])
def test_from_deep_inside_a_program(left: int, limit: Callable[[int], None]) -> None:
    code = compiled(SHAPES["returns"](100))
    function = next(const for const in code.co_consts if isinstance(const, types.CodeType))
    limit(1000)
    found = in_new_thread(lambda: at_depth(990 - left, lambda: decompile_code(function).source))
    assert found == SHAPES["returns"](100)


def test_thousands_of_early_returns() -> None:
    text = SHAPES["returns"](6000)
    function = next(const for const in compiled(text).co_consts if isinstance(const, types.CodeType))
    found = decompile_code(function)
    assert found.source == text
    assert [verdict.status for verdict in found.verdicts] == [Status.IDENTICAL]


def test_no_thread_stays() -> None:
    before = threading.active_count()
    assert down(5000) == 5000
    assert threading.active_count() == before


def test_an_exception_comes_out() -> None:
    @any_depth
    def fail(steps: int) -> int:
        return fail(steps - 1) if steps else {}["inside"]

    with pytest.raises(KeyError, match="inside"):
        fail(500)
    assert down(500) == 500  # and the count of levels is right again


def test_without_another_thread_there_is_one_clear_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(depth._thread, "start_new_thread", refuse)
    assert down(15) == 15
    assert with_room(lambda: 1) == 1
    with pytest.raises(DepyfError, match="can't start new thread"):
        down(500)


def test_two_at_once() -> None:
    texts = [SHAPES["returns"](400), SHAPES["elif"](400)]
    codes = [next(c for c in compiled(text).co_consts if isinstance(c, types.CodeType)) for text in texts]
    found: dict[int, str] = {}
    threads = [
        threading.Thread(target=lambda n=n: found.update({n: decompile_code(codes[n % 2]).source})) for n in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {n: texts[n % 2] for n in range(4)}


def run(program: str, timeout: float = 600) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, timeout=timeout, check=False
    )


BIG = """
import sys, threading, types
from depyf.decompiler.driver.pipeline import decompile_code
text = "def f(a, g):\\n" + "".join(f"    if a == {i}:\\n        return g({i})\\n" for i in range(500))
code = next(c for c in compile(text, "<big>", "exec").co_consts if isinstance(c, types.CodeType))
"""


def test_a_limit_that_is_too_low_is_one_clear_error() -> None:
    done = run(
        BIG
        + """
from depyf.errors import DepyfError
def work():
    try:
        decompile_code(code)
    except DepyfError as error:
        print(error)
sys.setrecursionlimit(30)
thread = threading.Thread(target=work)
thread.start(); thread.join()
"""
    )
    assert done.returncode == 0 and "recursion limit of 30" in done.stdout and not done.stderr, done


def test_small_stacks_are_enough() -> None:
    done = run(
        BIG
        + """
threading.stack_size(256 * 1024)
found = []
thread = threading.Thread(target=lambda: found.append(decompile_code(code).source == text))
thread.start(); thread.join()
print(found)
"""
    )
    assert done.returncode == 0 and done.stdout == "[True]\n", done.stderr


def test_other_threads_may_handle_recursion_errors() -> None:
    """A changed limit was fatal to a thread in the middle of one."""
    done = run(
        BIG
        + """
stop = threading.Event()
handled = []
def overflow():
    overflow()
def handle():
    while not stop.is_set():
        try:
            overflow()
        except RecursionError:
            handled.append(1)
threads = [threading.Thread(target=handle) for _ in range(2)]
for thread in threads: thread.start()
same = [decompile_code(code).source == text for _ in range(2)]
stop.set()
for thread in threads: thread.join()
print(same, bool(handled))
"""
    )
    assert done.returncode == 0 and done.stdout == "[True, True] True\n", done.stderr


def test_an_interruption_comes_out_at_once() -> None:
    """And the threads that were at work end."""
    done = run(
        BIG
        + """
import _thread, os, signal, time
signal.signal(signal.SIGINT, signal.default_int_handler)  # tests in the background ignore it
from depyf.safety.depth import any_depth
@any_depth
def down(steps):
    time.sleep(0.001)
    return 0 if not steps else down(steps - 1)
for work in (lambda: decompile_code(code), lambda: down(10 ** 6)):
    threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
    try:
        while True:
            work()
    except KeyboardInterrupt:
        print("interrupted")
    until = time.monotonic() + 300
    while _thread._count() and time.monotonic() < until:
        time.sleep(0.01)
    print(_thread._count(), decompile_code(code).source == text)
"""
    )
    assert done.returncode == 0 and done.stdout == "interrupted\n0 True\n" * 2, (done.stdout, done.stderr)
    assert not done.stderr


def test_threads_end_that_an_interruption_left_without_work() -> None:
    """Ctrl-C came when the work was done, just before its threads are let go: nobody was to tell them."""
    done = run(
        BIG
        + """
import _thread, time
from depyf.safety import depth
let_go = depth._Here.let_helper_go
def interrupted(here):
    if threading.current_thread() is threading.main_thread():
        raise KeyboardInterrupt
    let_go(here)
depth._Here.let_helper_go = interrupted
try:
    decompile_code(code)
except KeyboardInterrupt:
    print("interrupted", _thread._count() > 0)
depth._Here.let_helper_go = let_go
until = time.monotonic() + 300
while _thread._count() and time.monotonic() < until:
    time.sleep(0.01)
print(_thread._count(), decompile_code(code).source == text)
"""
    )
    assert done.returncode == 0 and done.stdout == "interrupted True\n0 True\n", (done.stdout, done.stderr)
    assert not done.stderr


def test_threads_without_work_do_not_wake_up_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thousand that did kept the lock of the interpreter from each other for minutes: all but the first of a chain sleep
    until they are told, however long the others take."""
    started = []
    real = depth._thread.start_new_thread
    monkeypatch.setattr(depth._thread, "start_new_thread", lambda *given: started.append(1) or real(*given))
    monkeypatch.setattr(depth, "_IDLE", 0.01)
    monkeypatch.setattr(depth, "_LEVELS_IN_OWN", depth.LEVELS)

    @any_depth
    def twice(left: int) -> int:
        if left:
            return 1 + twice(left - 1)
        down(50 * depth.LEVELS)
        time.sleep(1)  # a loaded machine
        down(50 * depth.LEVELS)
        return 0

    before = threading.active_count()
    assert twice(depth.LEVELS + 1) == depth.LEVELS + 1
    assert 40 < len(started) < 60, "the second time the threads of the first are there"
    assert threading.active_count() == before
