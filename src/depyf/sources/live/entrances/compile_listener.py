"""Listens to the calls of ``torch.compile`` and ``Module.compile``, and to the first call of what they return.

Input: what torch wraps while a ``CompileCalls`` is on.  Output: ``CompileCall`` records.  Invariants: the program gets
what torch made, unchanged; after ``stop`` torch's class and all that it made have nothing of ours.

How: torch's context of one compiled callable keeps a list of functions that it calls on each entrance.  One of ours is
in it until the first call.
"""

from __future__ import annotations

import gc
import linecache
import os
import sys
import threading
import types
import weakref
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from depyf.decompiler.bytecode.host.written_names import qualified_name
from depyf.run.installed_files import installed, package_of
from depyf.run.places.place import Place
from depyf.run.places.two_places import place_in_program
from depyf.run.program_calls.compile_calls import CompileCall, WrappedKind
from depyf.safety.guarded import Door
from depyf.sources.live.entrances.call_watch import CallWatch
from depyf.sources.live.pure_access import attribute, class_mro, class_namespace, in_classes, short_name
from depyf.sources.reports.library_files import of_libraries

_DEPTH = 200
_LONGEST = 160
_WAYS_IN = ("/torch/__init__.py", "/torch/compiler/__init__.py", "/torch/nn/modules/module.py")
"""Files of the functions that a program calls to have something compiled; ``_dynamo`` has the rest."""
_VARIABLES = ("TORCH_COMPILE_DISABLE", "TORCHDYNAMO_DISABLE")
_FEW = 16
_Line: TypeAlias = "tuple[Place, str, WrappedKind]"
"""What one line makes of one thing."""
_CALLS = ("__call__", "_call_impl", "_wrapped_call_impl")


class _Entered:
    """What torch's context calls on entrance; a copy of a compiled module has a copy of it."""

    def __init__(self, told: Callable[[], None]) -> None:
        self._told = told
        self.copied = False

    def __call__(self) -> Callable[[], None]:
        self._told()
        return _nothing

    def __deepcopy__(self, memo: Any) -> _Entered:
        self.copied = True
        return self

    __copy__ = None


def _nothing() -> None:
    """On leaving."""


@dataclass
class _Made:
    """One callable that torch made."""

    line: _Line
    context: weakref.ref[Any]
    result: weakref.ref[Any] | None
    entered: _Entered | None = None
    called: bool = False
    eager: bool = False
    """The first call was made under a stance that has torch compile nothing."""

    @property
    def kept(self) -> bool:
        return self.result is None or self.result() is not None

    @property
    def over(self) -> bool:
        """Nothing more can be said about it."""
        return not self.kept and (self.called or self.context() is None)


def _counted(call: CompileCall, made: Iterable[_Made]) -> CompileCall:
    """``call`` with the numbers of ``made`` added."""
    made = tuple(made)
    return replace(
        call,
        called=call.called + sum(one.called for one in made),
        kept=call.kept + sum(one.kept for one in made),
        eager=call.eager + sum(one.eager for one in made),
    )


class CompileCalls:
    """Records the calls of torch.compile between ``start`` and ``stop``.  ``told`` gets each new or changed record,
    ``problem`` a line on an error.  While ``hears`` returns False, compilations are ignored."""

    def __init__(
        self,
        told: Callable[[CompileCall], None],
        problem: Callable[[str], None],
        hears: Callable[[], bool] = lambda: True,
    ) -> None:
        self._told = told
        self._hears = hears
        self._problem = problem
        self.watch: CallWatch | None = None
        """Told of each callable."""
        self.lines: dict[_Line, CompileCall] = {}
        """In the order of the first calls, with the numbers of those that are ``over``."""
        self._there: list[_Made] = []
        """The others."""
        self._many = _FEW
        self._lock = threading.RLock()
        self._class: Any = None
        self._before: Any = None
        self._ours: Any = None

    def start(self) -> None:
        from torch._dynamo import eval_frame

        kind: Any = getattr(eval_frame, "_TorchDynamoContext", None)
        before = vars(kind).get("__call__") if kind is not None else None
        if type(before) is not types.FunctionType:
            return  # a torch that wraps in another way: nothing is known
        inside, hears = threading.local(), self._hears

        def __call__(context: Any, fn: Any) -> Any:
            if getattr(inside, "now", False) or not hears():  # torch wraps what is in a module
                return before(context, fn)
            inside.now = True
            try:
                made = before(context, fn)
            finally:
                inside.now = False
            with Door("a call of torch.compile could not be recorded", self._problem):
                self._take(context, fn, made, sys._getframe(1))
            return made

        self._class, self._before, self._ours = kind, before, __call__
        kind.__call__ = __call__
        for one in self._there:
            self._listen(one)

    def stop(self) -> None:
        kind, before, ours = self._class, self._before, self._ours
        self._class = self._before = self._ours = None
        if kind is not None and vars(kind).get("__call__") is ours:
            kind.__call__ = before
        with self._lock:
            for one in self._there:
                self._remove(one)
            self._let_go()

    def records(self) -> tuple[CompileCall, ...]:
        """One record for each line and wrapped object, in the order of the calls."""
        with self._lock:
            return tuple(map(self._record, self.lines))

    def _record(self, line: _Line) -> CompileCall:
        return _counted(self.lines[line], [one for one in self._there if one.line == line])

    def _let_go(self) -> None:
        """Of those about which nothing more can be said the numbers stay."""
        for one in self._there:
            if one.over:
                self.lines[one.line] = _counted(self.lines[one.line], [one])
        self._there = [one for one in self._there if not one.over]
        self._many = max(_FEW, 2 * len(self._there))

    def _take(self, context: Any, fn: Any, made: Any, frame: types.FrameType) -> None:
        if short_name(type(context)) != "OptimizeContext":
            return
        asked, program, libraries = _asked(frame)
        if program is None:
            return
        call = replace(_call(fn, _place(program), *_options(asked)), libraries=libraries)
        with self._lock:
            line = (call.place, call.wrapped, call.kind)
            known = self.lines.get(line, replace(call, made=0))
            self.lines[line] = replace(known, made=known.made + 1)
            one = _Made(line, weakref.ref(context), _reference(made))
            self._there.append(one)
            self._listen(one)
            record = self._record(line)
            if len(self._there) > self._many:
                self._let_go()
        self._told(record)
        if self.watch is not None:
            self.watch.made(context, made if made is not None else fn, fn, call)

    def _listen(self, one: _Made) -> None:
        hooks = attribute(one.context(), "enter_exit_hooks")
        if one.called or type(hooks) is not list:
            return
        here = weakref.ref(one)

        def told() -> None:
            known = here()
            if known is not None:
                self._entered(known)

        one.entered = _Entered(told)
        hooks.append(one.entered)

    def _entered(self, one: _Made) -> None:
        """The first call of what torch made."""
        with Door("a compiled call could not be recorded", self._problem), self._lock:
            self._remove(one)
            if not one.called:
                one.called = True
                one.eager = _nothing_compiled()
                self._told(self._record(one.line))

    def _remove(self, one: _Made) -> None:
        """Our function goes out of torch's list: a new list, for the old one may be in use."""
        entered, one.entered = one.entered, None
        context = one.context()
        if entered is None:
            return
        if context is not None:
            context.enter_exit_hooks = [hook for hook in context.enter_exit_hooks if hook is not entered]
        if entered.copied:
            for holder in gc.get_referrers(entered):
                if type(holder) is list:
                    holder[:] = [hook for hook in holder if hook is not entered]


def _nothing_compiled() -> bool:
    """Whether the stance of now has torch compile nothing."""
    eval_frame = sys.modules.get("torch._dynamo.eval_frame")
    return str(attribute(getattr(eval_frame, "_stance", None), "stance")) == "force_eager"


def switched_off() -> tuple[str, ...]:
    """The settings that keep torch from compiling anything in this process."""
    config: Any = sys.modules.get("torch._dynamo.config")
    found = [f"{name}=1" for name in _VARIABLES if os.environ.get(name) == "1"]
    option = getattr(config, "disable", False) is True
    return tuple(found or (["torch._dynamo.config.disable = True"] if option else []))


def _reference(made: Any) -> weakref.ref[Any] | None:
    try:
        return weakref.ref(made)
    except TypeError:
        return None


def _frames(frame: types.FrameType | None) -> Iterator[types.FrameType]:
    for _ in range(_DEPTH):
        if frame is None:
            return
        yield frame
        frame = frame.f_back


def _asked(frame: types.FrameType) -> tuple[types.FrameType | None, types.FrameType | None, tuple[str, ...]]:
    """The frame of ``torch.compile``, the program's innermost frame, and the packages between the two.

    None as the second where torch compiles something for itself, and where a library does so while it is imported.
    """
    asked, entering = None, True
    libraries: dict[str, None] = {}
    for one in _frames(frame):
        file = one.f_code.co_filename.replace("\\", "/")
        if entering and ("/torch/_dynamo/" in file or file.endswith(_WAYS_IN)):
            asked = one if one.f_code.co_name == "compile" and asked is None else asked
            continue
        if entering and "/torch/" in file and of_libraries(one.f_code.co_filename):
            return asked, None, ()
        entering = False
        if not of_libraries(one.f_code.co_filename) and not installed(file):
            return asked, one, tuple(libraries)
        if one.f_code.co_name == "<module>":
            return asked, None, ()
        if installed(file) and "/torch/" not in file:
            libraries[package_of(file)] = None
    return asked, None, ()


def _options(frame: types.FrameType | None) -> tuple[str, str]:
    """Backend and mode, as they were given to ``torch.compile``."""
    known = frame.f_locals if frame is not None else {}
    backend, mode = known.get("backend"), known.get("mode")
    named = backend if type(backend) is str else attribute(backend, "__name__", "") if backend is not None else ""
    return named if type(named) is str else "", mode if type(mode) is str else ""


def _place(frame: types.FrameType) -> Place:
    code = frame.f_code
    file, _, line = place_in_program(code, frame.f_lasti) or (code.co_filename, 0, frame.f_lineno or 0)
    return Place(file, line, qualified_name(code), linecache.getline(file, line).strip()[:_LONGEST])


def _call(fn: Any, place: Place, backend: str, mode: str) -> CompileCall:
    kind, subject = WrappedKind.FUNCTION, fn
    if type(fn) is types.MethodType and fn.__func__.__name__ in _CALLS and in_classes(type(fn.__self__), "Module"):
        kind, subject = WrappedKind.IN_PLACE, fn.__self__
    elif isinstance(fn, type):
        kind = WrappedKind.CLASS
    elif in_classes(type(fn), "Module"):
        kind = WrappedKind.MODULE
    code = _body(subject)
    name = _name(subject)
    if code is None:
        return CompileCall(place, name, kind, backend=backend, mode=mode)
    body = Place(code.co_filename, code.co_firstlineno, qualified_name(code))
    last = max((line for _, _, line in code.co_lines() if line), default=code.co_firstlineno)
    return CompileCall(place, name, kind, body=body, last_line=last, backend=backend, mode=mode)


def _name(subject: Any) -> str:
    if isinstance(subject, type):
        return short_name(subject)
    if type(subject) in (types.FunctionType, types.MethodType):
        return str(attribute(subject, "__qualname__", "") or attribute(subject.__func__, "__qualname__", "a method"))
    return short_name(type(subject))


def _body(subject: Any) -> types.CodeType | None:
    """The code that a call of what is compiled runs."""
    if type(subject) is types.MethodType:
        subject = subject.__func__
    if type(subject) is types.FunctionType:
        inner = attribute(subject, "_torchdynamo_orig_callable")
        return (inner if type(inner) is types.FunctionType else subject).__code__
    cls = subject if isinstance(subject, type) else type(subject)
    for name in ("forward", "__call__"):
        for base in class_mro(cls):
            function = class_namespace(base).get(name)
            if type(function) is types.FunctionType and "_call_impl" not in function.__name__:
                return function.__code__
    return None
