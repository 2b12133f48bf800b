"""The barrier between depyf and the program: no exception of depyf passes it.

The program calls us (it enters and leaves our contexts), and so does torch on its behalf (hooks, handlers, the calls of
``atexit`` and ``fork``).  Whatever goes wrong in there is ours: it is told where the user looks, and the program goes
on. Two things pass: errors that tell the program how to use depyf (``DepyfError``, where a door lets them), and what is
meant for the program (``KeyboardInterrupt``, ``SystemExit`` and all else that is no ``Exception``, ``BdbQuit``, and
what the program's handlers of signals raise).
"""

from __future__ import annotations

import functools
import signal
import sys
import types
import warnings
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from depyf.errors import DepyfError
from depyf.safety.escape import one_line, printable_lines

_P = ParamSpec("_P")
_R = TypeVar("_R")
_PACKAGE = __name__.partition(".")[0]
_MACHINERY = (_PACKAGE, "contextlib", "functools")
_LONGEST = 500


def say(text: str, *, out: bool = False) -> None:
    """Write ``text`` to standard error (``out``: to standard output).  Errors are ignored."""
    try:
        stream = sys.stdout if out else sys.stderr
        if stream is not None:
            stream.write(f"{printable_lines(text)}\n")
            stream.flush()
    except Exception:  # closed, full, gone, or an object of the program: the message is lost
        pass


def warn(text: str) -> None:
    """A warning at the line of the program that called depyf; on standard error where warnings are errors."""
    try:
        warnings.warn(printable_lines(text), RuntimeWarning, stacklevel=_level())
    except Exception:  # the program's filters make it one, or it shows warnings in its way
        say(text)


def _level() -> int:
    """How far up from ``warn`` the program is."""
    level, frame = 1, sys._getframe(1)
    while frame is not None and _is_ours(frame):
        level, frame = level + 1, frame.f_back  # type: ignore[assignment]
    return level


def _is_ours(frame: types.FrameType) -> bool:
    name = frame.f_globals.get("__name__")
    return isinstance(name, str) and name.partition(".")[0] in _MACHINERY


def problem(error: BaseException) -> str:
    """An error in one line, whatever its own ``__str__`` does."""
    try:
        text = one_line(f"{type(error).__name__}: {error}")
        return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."
    except Exception:
        return type(error).__name__


class Door:
    """``with Door("what is done", tell): ...``: an ``Exception`` inside ends here, and ``tell`` is given a line about
    it.

    ``lets``: a ``DepyfError`` goes on to the program.
    """

    __slots__ = ("_lets", "_tell", "_what", "shut")

    def __init__(self, what: str, tell: Callable[[str], object] = say, *, lets: bool = False) -> None:
        self._what = what
        self._tell = tell
        self._lets = lets
        self.shut = False
        """Something went wrong inside."""

    def __enter__(self) -> Door:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: types.TracebackType | None
    ) -> bool:
        if error is None or _for_the_program(error) or (self._lets and isinstance(error, DepyfError)):
            return False
        self.shut = True
        try:
            self._tell(f"{self._what}: {problem(error)}")
        except Exception:  # the stack or the memory is at its end: telling takes some of it, too
            pass
        return True


def _for_the_program(error: BaseException) -> bool:
    """An interruption, the end of the program, its user who quits the debugger, or what a handler of a signal
    raises."""
    debugger = sys.modules.get("bdb")
    if not isinstance(error, Exception) or debugger is not None and isinstance(error, debugger.BdbQuit):
        return True
    return _from_signal_handler(error)


def _from_signal_handler(error: BaseException) -> bool:
    """Whether a handler of the program raised it, which Python called while depyf was at work: a time limit, say."""
    codes = {function.__code__ for function in _signal_handlers()}
    entry = error.__traceback__ if codes else None
    while entry is not None:
        if entry.tb_frame.f_code in codes:
            return True
        entry = entry.tb_next
    return False


def _signal_handlers() -> list[types.FunctionType]:
    """The functions of the program that signals call."""
    found = map(signal.getsignal, signal.valid_signals())
    functions = [handler.__func__ if type(handler) is types.MethodType else handler for handler in found]
    return [function for function in functions if type(function) is types.FunctionType]


def guarded(
    what: str, tell: Callable[[str], object] | None = None
) -> Callable[[Callable[_P, _R]], Callable[_P, _R | None]]:
    """A function that torch or Python calls on behalf of the program: it returns None where depyf raises an error."""

    def decorate(function: Callable[_P, _R]) -> Callable[_P, _R | None]:
        @functools.wraps(function)
        def call(*args: _P.args, **named: _P.kwargs) -> _R | None:
            with Door(what, tell or _tell_user):
                return function(*args, **named)
            return None

        return call

    return decorate


def _tell_user(text: str) -> None:
    say(f"depyf: {text}")
