"""Tells of each call of what ``torch.compile`` returns: its arguments before it, its result after it.

Input: the contexts that torch makes, from ``CompileCalls``.  Output: calls of ``Watcher``.  Invariants: the call is the
program's, with its arguments and its result; what the watcher calls itself is not told of; after ``stop`` torch's
contexts have nothing of ours.

How: as in ``compile_listener``, a function of ours is in the list that torch calls on each entrance.  The frame around
it is torch's, and has the arguments.
"""

from __future__ import annotations

import functools
import sys
import threading
import types
import weakref
from collections.abc import Callable
from typing import Any, Protocol

from depyf.run.program_calls.compile_calls import CompileCall
from depyf.safety.guarded import Door
from depyf.sources.live.pure_access import attribute

_FRAMES = 3
"""A comprehension around our call is a separate frame before Python 3.12."""

_FEW = 16

After = Callable[[Any, BaseException | None], None]
"""Called with the result, or with the error, when the call has ended."""


class Watcher(Protocol):
    """Gets told of the calls of compiled functions."""

    def entered(self, made: Any, call: CompileCall, args: tuple[Any, ...], kwargs: dict[str, Any]) -> After | None:
        """A call of ``made``, which torch.compile returned to ``call``, begins.  Returns what to call at its end, or
        None."""
        ...

    def ended(self) -> None:
        """The watch has ended: there are no more calls."""
        ...


class CallWatch:
    """The calls of a program, from ``start`` to ``stop``, for one watcher; of several threads one at a time."""

    def __init__(self, watcher: Watcher, problem: Callable[[str], None]) -> None:
        self._watcher = watcher
        self._problem = problem
        self._hooks: list[tuple[weakref.ref[Any], _Hook]] = []
        self._many = _FEW
        self._busy = threading.Lock()
        self._open = True

    def made(self, context: Any, made: Any, wrapped: Any, call: CompileCall) -> None:
        """Watch the calls of ``made``, which torch made of ``wrapped``."""
        hooks = attribute(context, "enter_exit_hooks")
        if self._open and type(hooks) is list:
            hook = _Hook(functools.partial(self._entered, call), made, wrapped)
            hooks.append(hook)
            self._hooks.append((weakref.ref(context), hook))
            if len(self._hooks) > self._many:
                self._hooks = [(known, one) for known, one in self._hooks if known() is not None]
                self._many = max(_FEW, 2 * len(self._hooks))

    def stop(self) -> None:
        self._open = False
        for reference, hook in self._hooks:
            context = reference()
            if context is not None:
                context.enter_exit_hooks = [one for one in context.enter_exit_hooks if one is not hook]
        self._hooks.clear()
        with Door("the calls that were compared with Python could not be counted", self._problem):
            self._watcher.ended()

    def _entered(self, call: CompileCall, made: Any, wrapped: Any, frame: types.FrameType | None) -> Callable[[], None]:
        for _ in range(_FRAMES):
            known = frame.f_locals if frame is not None else {}
            if "args" in known and "kwargs" in known and _is_of(known.get("fn"), wrapped):
                return self._told(made, call, known["args"], known["kwargs"], frame)
            frame = frame.f_back if frame is not None else None
        return _nothing  # a copy of the module, or a torch that calls in another way

    def _told(
        self, made: Any, call: CompileCall, args: Any, kwargs: Any, frame: types.FrameType | None
    ) -> Callable[[], None]:
        if not self._open or not self._busy.acquire(blocking=False):
            return _nothing
        after: After | None = None
        try:
            with Door("a call could not be compared with Python", self._problem):
                after = self._watcher.entered(made, call, args, kwargs)
        finally:
            self._busy.release()
        return _nothing if after is None else lambda: self._left(after, frame)

    def _left(self, after: After, frame: types.FrameType | None) -> None:
        error = sys.exc_info()[1]
        if not self._open or not self._busy.acquire(blocking=False):
            return  # nobody waits for a comparison in another thread, which may wait for this one
        try:
            with Door("a call could not be compared with Python", self._problem):
                known = frame.f_locals if frame is not None else {}
                after(known.get("result"), None if "result" in known else error)
        finally:
            self._busy.release()


def _nothing() -> None:
    """On leaving."""


def _is_of(fn: Any, wrapped: Any) -> bool:
    """Whether torch calls ``fn`` for ``wrapped``: the method of a module, or a function of torch's around it."""
    for _ in range(_FRAMES):
        if fn is wrapped or (type(fn) is types.MethodType and fn.__self__ is wrapped):
            return True
        if type(fn) is types.MethodType and type(wrapped) is types.MethodType:
            return fn.__self__ is wrapped.__self__ and fn.__func__ is wrapped.__func__
        fn = attribute(fn, "__wrapped__")
    return False


class _Hook:
    """In torch's list; of a copied module the copy has this very one."""

    def __init__(self, told: Callable[..., Callable[[], None]], made: Any, wrapped: Any) -> None:
        self._told = told
        self._made = weakref.ref(made)
        self._wrapped = wrapped

    def __call__(self) -> Callable[[], None]:
        made = self._made()
        return _nothing if made is None else self._told(made, self._wrapped, sys._getframe(1))

    def __deepcopy__(self, memo: Any) -> _Hook:
        return self

    __copy__ = None
