"""Recursion as deep as the code nests, whatever the recursion limit and the depth of the caller.

The passes follow the nesting of the program, and ten thousand early returns nest that deep.  No setting of the process
is changed for that: each thread counts its own depth, so what is nested deeper goes on in another thread, while this
one waits. A function with ``any_depth`` may call itself, also through others that have it, as often as there is memory;
the steps between two such calls must be few.  A thread gets so few of them that they fit on the smallest usual stack,
also while an evaluator of frames is installed, as Dynamo's is: a frame of Python takes C stack then, on every version.
"""

from __future__ import annotations

import _thread
import contextlib
import contextvars
import functools
import sys
import threading
from collections.abc import Callable
from typing import ParamSpec, TypeVar, cast

from depyf.errors import DepyfError
from depyf.safety.budget import Budget, Part, Unlimited

LEVELS = 18
"""How many calls of such functions are inside each other in the thread of the caller, at most.

Each takes up to six frames.  A frame takes 1.5 kB of C stack where an evaluator of frames is installed (CPython 3.13),
and a small stack has 256 kB.
"""
_LEVELS_IN_OWN = 100
"""The same in a thread of ours where no such evaluator can be: the fewer threads, the less of the address space they
take."""
_EVALUATORS = ("torch", "_pydevd_frame_eval")
"""Modules that may install one."""
_STEPS = 8
"""Frames of Python that one level takes, at most."""
_FLAT = 80
"""Frames that are needed besides: the way to the first of these functions, and what the last one calls."""
_LEAST = 4
_IDLE = 1.0
"""Seconds without work after which a chain of threads ends by itself."""
_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")


_UNLIMITED = Unlimited()


class _Here:
    """How deep one thread is, and how deep it may get."""

    __slots__ = ("budget", "depth", "helper", "most", "work")

    def __init__(self) -> None:
        self.budget: Budget = _UNLIMITED
        self.depth = 0
        self.most = LEVELS
        self.work: _Work | None = None
        self.helper: _Helper | None = None
        """The thread in which what nests deeper goes on, until nothing of ours is left in this one."""

    def let_helper_go(self) -> None:
        if self.helper is not None:
            self.helper.end()
            self.helper = None


class _Work:
    """One piece of work, in however many of depyf's threads."""

    __slots__ = ("given_up", "levels", "threads")

    def __init__(self) -> None:
        self.given_up = False
        self.levels = 0
        """How many levels all threads have together; each waits for the next, so that all their stacks are taken at
        once."""
        self.threads: list[_Here] = []

    def give_up(self) -> None:
        """Cancel: the result is no longer wanted; each thread ends when it would go one level deeper."""
        self.given_up = True
        for here in list(self.threads):
            here.most = -1


class _Threads(threading.local):
    def __init__(self) -> None:
        self.here = _Here()


_threads = _Threads()


class _Helper:
    """A thread that does one job after the other for the thread that waits for it: to start one for each takes long.

    ``end`` ends it, and the helper that it has itself.  The first of such a chain also ends by itself after a while
    without work: Ctrl-C may come before anyone calls ``end``.  The others wait for it without a limit: if a thousand
    threads woke up at once, each would ask for the interpreter's lock every five milliseconds, and none would get on.
    """

    __slots__ = ("_done", "_ended", "_errors", "_first", "_job", "_ready", "_results", "_taken")

    def __init__(self, job: Callable[[], object], *, first: bool) -> None:
        """``first``: who waits for it is no helper.  Raises DepyfError where no thread can be started."""
        self._first = first
        self._job: Callable[[], object] | None = job
        self._ended = False
        self._results: list[object] = []
        self._errors: list[BaseException] = []
        self._ready, self._done, self._taken = (_thread.allocate_lock() for _ in range(3))
        self._ready.acquire()
        self._done.acquire()
        self._taken.acquire()  # whoever takes it decides what comes next: a job, or the end
        try:
            _thread.start_new_thread(self._serve, ())
        except RuntimeError as error:
            raise DepyfError(
                f"the code nests too deeply for one thread, and no other can be started: {error}"
            ) from None

    def begin(self, job: Callable[[], object]) -> bool:
        """Whether it does the job; else it has ended."""
        if not self._taken.acquire(blocking=False):
            return False
        self._job = job
        self._ready.release()
        return True

    def wait(self) -> None:
        """Until the job is done."""
        self._done.acquire()

    def outcome(self) -> object:
        """What the job returned or raised."""
        if self._errors:
            raise self._errors.pop()
        return self._results.pop()

    def end(self) -> None:
        """The thread ends, once its job is done."""
        self._ended = True
        with contextlib.suppress(RuntimeError):  # it has not begun yet
            self._ready.release()

    def _serve(self) -> None:
        job, self._job = self._job, None
        try:
            while job is not None and not self._ended:
                try:
                    self._results.append(job())
                except BaseException as error:  # it is the caller's
                    self._errors.append(error)
                job = None
                self._taken.release()
                self._done.release()
                job = self._next()
        finally:
            job = None
            _threads.here.let_helper_go()

    def _next(self) -> Callable[[], object] | None:
        """The next job; None when the thread is to end."""
        while not self._ready.acquire(timeout=_IDLE if self._first else -1):
            if self._ended or self._taken.acquire(blocking=False):
                return None
        job, self._job = self._job, None
        return job


class _GivenUp(BaseException):
    """Ends the threads of a piece of work that was interrupted."""


def any_depth(function: Callable[_Arguments, _Result]) -> Callable[_Arguments, _Result]:
    """``function``, which may nest as deeply as there is memory."""

    @functools.wraps(function)
    def inside(*args: _Arguments.args, **kwargs: _Arguments.kwargs) -> _Result:
        here = _threads.here
        if here.depth >= here.most:
            return _in_thread(functools.partial(function, *args, **kwargs))
        budget = here.budget
        budget.left -= 1
        if budget.left < budget.floor:
            raise budget.exceeded()
        here.depth += 1
        try:
            return function(*args, **kwargs)
        finally:
            here.depth -= 1
            if not here.depth and here.helper is not None and here.work is None:
                here.let_helper_go()

    return inside


def any_depth_of(levels: int) -> Callable[[Callable[_Arguments, _Result]], Callable[_Arguments, _Result]]:
    """``any_depth`` for a function from which the way to the next is as long as ``levels`` usual ones."""

    def decorate(function: Callable[_Arguments, _Result]) -> Callable[_Arguments, _Result]:
        @functools.wraps(function)
        def inside(*args: _Arguments.args, **kwargs: _Arguments.kwargs) -> _Result:
            here = _threads.here
            if here.depth + levels > here.most and (here.depth or here.most < 0):
                return _in_thread(functools.partial(inside, *args, **kwargs))
            spend(1)
            here.depth += levels
            try:
                return function(*args, **kwargs)
            finally:
                here.depth -= levels
                if not here.depth and here.helper is not None and here.work is None:
                    here.let_helper_go()

        return inside

    return decorate


def spend(steps: int) -> None:
    """Take ``steps`` from the budget of the work under way; TooMuchWork where that is spent."""
    budget = _threads.here.budget
    budget.left -= steps
    if budget.left < budget.floor:
        raise budget.exceeded()


def note(steps: int) -> None:
    """As ``spend``, but never raises: the next call of ``spend`` does."""
    _threads.here.budget.left -= steps


def budget_of_work() -> Budget:
    """The budget of the work under way."""
    return _threads.here.budget


def part_of_work(name: str, size: int) -> Part:
    """A context for one part of the work under way, of ``size`` bytes of code, with a separate budget."""
    return Part(_threads.here.budget, name, size)


def limited(name: str, size: int, work: Callable[[], _Result]) -> _Result:
    """What ``work()`` returns or raises, done within a budget for ``size`` bytes of code; raises TooMuchWork."""
    here = _threads.here
    before, here.budget = here.budget, Budget(name, size)
    try:
        return work()
    finally:
        here.budget = before


def with_room(work: Callable[[], _Result]) -> _Result:
    """What ``work()`` returns or raises, in this thread if the stack has room enough, else in a new one.

    Raises DepyfError where the recursion limit is too low for any code, or where no thread can be started.
    """
    try:
        return _in_thread(work) if _is_deep() else work()
    except RecursionError:
        raise DepyfError(no_room()) from None


def no_room() -> str:
    """What a RecursionError says of the work that it ended."""
    return f"the recursion limit of {sys.getrecursionlimit()} leaves no room to work in"


def _is_deep() -> bool:
    """Whether too much of the stack is taken."""
    try:
        sys._getframe(max(sys.getrecursionlimit() - _FLAT - _STEPS * LEVELS, 0))
    except ValueError:  # there are not so many frames
        return False
    return True


def _in_thread(work: Callable[[], _Result]) -> _Result:
    """The result of ``work``, done in another thread."""
    whole, budget = _threads.here.work, _threads.here.budget
    if whole is None:
        whole = _Work()
    elif whole.given_up:
        raise _GivenUp
    levels = LEVELS if any(map(sys.modules.__contains__, _EVALUATORS)) else _LEVELS_IN_OWN
    most = max(min((sys.getrecursionlimit() - _FLAT) // _STEPS, levels), _LEAST)
    if whole.levels + most > budget.levels:
        raise budget.too_deep()

    def run() -> _Result:
        here = _threads.here
        here.most, here.work, here.budget = most, whole, budget
        whole.threads.append(here)
        whole.levels += most
        try:
            return work()
        finally:
            whole.levels -= most
            whole.threads.remove(here)

    here, job = _threads.here, functools.partial(contextvars.copy_context().run, run)
    try:
        if here.helper is None or not here.helper.begin(job):
            here.helper = _Helper(job, first=here.work is None)
        helper = here.helper
        helper.wait()
    except DepyfError:  # there is no thread for it
        raise
    except BaseException:  # Ctrl-C
        whole.give_up()
        here.let_helper_go()
        raise
    if not here.depth and here.work is None:
        here.let_helper_go()
    return cast("_Result", helper.outcome())
