"""Runs the dispatcher page of the dump alongside torch's dispatch, so that breakpoints in ``full_code_for_*`` are hit.

Input: the pages of a dump and the live functions they are about.  While this is on, torch itself calls us whenever a
compiled function is about to be looked up, hands over the frame's locals, and waits: we run the page's dispatcher on
them, line by line, guards included, where a debugger can stop.  Then torch does what it would have done anyway.

How: torch asks the "precompiled" entries of a code object before its own.  We add one whose only guard is a call of
ours, which answers no, so torch goes on to its own entries, or compiles.  Nothing about the program's functions or
torch's entries changes: guards on code objects, backends, recompile counts, stances, resume functions, methods, modules
and calls from C++ are all as without us.  ``stop`` takes the entries out again.

The only yes is for an exception that must go on (the user quits the debugger): C++ would swallow it, so the code of our
entry is then run, and raises it.
"""

from __future__ import annotations

import ast
import bdb
import sys
import threading
import time
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from depyf.debugger.program_pdb import join_thread
from depyf.dynamo.caches.entries import LiveEntry, cache_entries
from depyf.dynamo.guards.guard_tree import live_guards
from depyf.dynamo.recording.snapshot import live_code_of
from depyf.dynamo.stepping.dispatch_page import DispatchPage, read_page
from depyf.dynamo.target import innermost_backend
from depyf.safety.guarded import Door, problem, say

if TYPE_CHECKING:
    from depyf.dynamo.recording.session import Session

_GENERATORS = 0x20 | 0x80 | 0x200  # CO_GENERATOR, CO_COROUTINE, CO_ASYNC_GENERATOR: torch compiles no such frame
_VARARGS, _VARKEYWORDS = 0x04, 0x08
_RAISED = "depyf: the exception to raise"
_PATIENCE = 5.0
"""Seconds to wait for another thread that stands in a dispatcher when ``stop`` is called."""


@dataclass(frozen=True, slots=True)
class Parameters:
    """The parameters of a code object by kind."""

    positional_only: tuple[str, ...]
    positional: tuple[str, ...]
    keyword_only: tuple[str, ...]
    rest: str
    keywords: str

    @staticmethod
    def of(code: types.CodeType) -> Parameters:
        names = code.co_varnames
        first, last = code.co_posonlyargcount, code.co_argcount
        end = last + code.co_kwonlyargcount
        rest = names[end] if code.co_flags & _VARARGS else ""
        keywords = names[end + bool(rest)] if code.co_flags & _VARKEYWORDS else ""
        return Parameters(names[:first], names[first:last], names[last:end], rest, keywords)

    def call(self, function: Callable[..., Any], L: dict[str, Any]) -> Any:
        """Call ``function``, which has these parameters, with the values of ``L``."""
        positional = [L[name] for name in (*self.positional_only, *self.positional)]
        named = {name: L[name] for name in self.keyword_only}
        rest = L[self.rest] if self.rest else ()
        return function(*positional, *rest, **named, **(L[self.keywords] if self.keywords else {}))

    def __str__(self) -> str:
        """As in a ``def``."""
        parts = [*self.positional_only, *(["/"] if self.positional_only else []), *self.positional]
        parts += [f"*{self.rest}"] if self.rest else ["*"] if self.keyword_only else []
        parts += [*self.keyword_only, *([f"**{self.keywords}"] if self.keywords else [])]
        return ", ".join(parts)


@dataclass(frozen=True, slots=True)
class Dispatcher:
    """A function that torch compiled and its dispatcher on a page."""

    code: types.CodeType
    page: DispatchPage
    function: types.FunctionType
    parameters: Parameters
    own: bool = False
    """Show the program's own choice, though torch is made to run another backend (``depyf.debug(level=...)``)."""

    def follow(self, L: dict[str, Any]) -> None:
        """Run the dispatcher on the locals that torch looks at."""
        entries = cache_entries(self.code)
        scope = next((entry.globals for entry in entries if entry.globals is not None), {})
        if self.own:
            entries = tuple(entry for entry in entries if entry.compile_id in self.page.guards)
        with self.page.following(L, scope, chosen(entries, L, not self.own)):
            self.parameters.call(self.function, L)


@dataclass
class Dispatching:
    """The entries added for one ``depyf.debug()``, from ``start`` to ``stop``.

    ``own``: a level is forced.  The page is then about the program's entries, which torch does not use: it shows which of
    them the call would run, and the code at that level follows.
    """

    own: bool = False
    notes: list[str] = field(default_factory=list)
    _open: bool = False
    _codes: list[types.CodeType] = field(default_factory=list)
    _raisers: list[types.CodeType] = field(default_factory=list)
    """torch keeps no reference to the code it is running."""
    _raised: list[BaseException] = field(default_factory=list)
    _inside: dict[int, types.CodeType] = field(default_factory=dict)
    """Thread -> the code whose dispatcher it follows.  torch holds that entry's lock meanwhile."""
    _stance_callback: Any = None

    @property
    def follows(self) -> bool:
        """Whether this torch asks us before it looks for compiled code."""
        return self._open

    def start(self, session: Session) -> None:
        """Follow every page of ``session`` from now on; what cannot be followed becomes a note."""
        try:
            from torch._C._dynamo.eval_frame import (
                _debug_get_precompile_entries,
                _load_precompile_entry,
                _reset_precompile_entries,
            )
        except ImportError:
            self.notes.append("this torch cannot be followed through full_code_for_*.py; use depyf.replay")
            return
        self._reset = _reset_precompile_entries
        self._open = True
        self._keep_out()
        for dispatcher in self._dispatchers(session):
            raiser = raising_code(dispatcher.code, self._raised.pop)
            if raiser is None or _debug_get_precompile_entries(
                dispatcher.code
            ):  # the program's own, or an outer debug()
                continue
            self._raisers.append(raiser)
            self._codes.append(dispatcher.code)
            _load_precompile_entry(dispatcher.code, _asking(self._observer(dispatcher)), raiser)

    def stop(self) -> None:
        """torch is as it was before ``start``."""
        self._open = False
        self._let_in()
        until = time.monotonic() + _PATIENCE
        for code in self._codes:
            while self._occupied(code) and time.monotonic() < until:
                time.sleep(0.01)
            if self._occupied(code):  # its entry is in use: it stays, and does nothing
                say(f"depyf: a thread still stands in the dispatcher of {code.co_name}")
            else:
                self._reset(code)
        self._codes.clear()

    def _occupied(self, code: types.CodeType) -> bool:
        return any(other is code for other in list(self._inside.values()))

    def _dispatchers(self, session: Session) -> Iterator[Dispatcher]:
        for path, functions in session.dispatchers():
            try:
                page = read_page(path)
            except Exception as error:  # a page that was edited
                self.notes.append(f"{path.name} cannot be followed: {problem(error)}")
                continue
            for builder, name in functions:
                code, function = live_code_of(builder), page.dispatcher(name)
                if code is not None and function is not None:
                    for entry in cache_entries(code):
                        live_guards(entry)  # read now: who steps through a guard would step through the reading, too
                    yield Dispatcher(code, page, function, Parameters.of(code), self.own)

    def _observer(self, dispatcher: Dispatcher) -> Callable[[dict[str, Any]], bool]:
        def observe(L: dict[str, Any]) -> bool:
            """torch's question; L: the locals of the frame.  Only an exception to raise is a yes."""
            thread = threading.get_ident()
            if not self._open or thread in self._inside:
                return False
            with Door("depyf: a page cannot be followed") as door:
                join_thread()
            if door.shut or not debugged():
                return False
            self._inside[thread] = dispatcher.code
            raises = self._follow(dispatcher, L)
            del self._inside[thread]  # nothing that could switch threads may come between this and the return
            return raises

        return observe

    def _follow(self, dispatcher: Dispatcher, L: dict[str, Any]) -> bool:
        """Run the page on ``L``; True where the program must go on with an exception."""
        try:
            dispatcher.follow(L)
        except bdb.BdbQuit as quits:
            self._raised.append(quits)
            return True
        except Exception as error:  # ours: the program goes on
            note = f"{dispatcher.code.co_name} cannot be followed: {problem(error)}"
            if note not in self.notes:
                self.notes.append(note)
                say(f"depyf: {note}")
        except BaseException as error:  # KeyboardInterrupt, SystemExit
            self._raised.append(error)
            return True
        return False

    def _keep_out(self) -> None:
        """A compiled function called at the prompt of a debugger that stands in a dispatcher runs as Python.

        torch would wait for the lock of an entry that this very thread holds.
        """
        from torch._dynamo import eval_frame

        original: Callable[[Any], Any] = eval_frame._callback_from_stance

        def callback_from_stance(callback: Any) -> Any:
            return None if threading.get_ident() in self._inside else original(callback)

        self._stance_callback = original, callback_from_stance
        eval_frame._callback_from_stance = callback_from_stance

    def _let_in(self) -> None:
        from torch._dynamo import eval_frame

        if self._stance_callback is not None:
            original, ours = self._stance_callback
            if eval_frame._callback_from_stance is ours:
                eval_frame._callback_from_stance = original
            self._stance_callback = None


def debugged() -> bool:
    """Is there a debugger that could stop?  Without one, the page is not visible."""
    if sys.gettrace() is not None:
        return True
    monitoring = getattr(sys, "monitoring", None)
    return monitoring is not None and monitoring.get_tool(monitoring.DEBUGGER_ID) is not None


def chosen(entries: tuple[LiveEntry, ...], L: dict[str, Any], forced: bool = True) -> str:
    """The compile id of the one of ``entries`` that torch runs for ``L``; "" where none fits.

    torch decides; this repeats its search (order, backend, guards) without running or changing anything.  ``forced``:
    a backend that the stance forces counts.
    """
    eval_frame = sys.modules["torch._dynamo.eval_frame"]
    skips = getattr(eval_frame, "_is_skip_guard_eval_unsafe_stance", bool)()
    if any(entry.backend is not entries[0].backend for entry in entries):
        backend = asked_backend(sys._getframe(1), forced)
        entries = tuple(entry for entry in entries if backend is None or entry.backend == backend)
    for entry in entries:
        root = getattr(entry.manager, "diff_guard_root" if skips else "root", None)
        if root is not None and root.check_verbose(L).result:
            return entry.compile_id
    return ""


def asked_backend(frame: types.FrameType | None, forced: bool = True) -> Any:
    """The backend that the innermost ``torch.compile`` wrapper on the stack asks for; None where there is no wrapper.
    ``forced``: or the one that the stance forces."""
    eval_frame = sys.modules["torch._dynamo.eval_frame"]
    while frame is not None and frame.f_code.co_name != "compile_wrapper":
        frame = frame.f_back
    stance = getattr(eval_frame._stance, "backend", None) if forced else None
    if stance is not None:
        return innermost_backend(eval_frame.get_compiler_fn(stance))
    return innermost_backend(frame.f_locals.get("callback")) if frame is not None else None


def _asking(question: Callable[[dict[str, Any]], bool]) -> Any:
    """A guard manager whose only guard is ``question``."""
    from torch._C._dynamo.guards import RootGuardManager
    from torch._dynamo.guards import GuardManagerWrapper

    root = RootGuardManager()
    add: Callable[..., None] = root.add_lambda_guard
    try:
        add(question, ["depyf.debug()"], None)
    except TypeError:  # older torch has no third parameter
        add(question, ["depyf.debug()"])
    return GuardManagerWrapper(root)


def raising_code(code: types.CodeType, get: Callable[[], BaseException]) -> types.CodeType | None:
    """Code that can stand in for ``code`` (same parameters, cells and free variables) and raises ``get()``.

    None where there can be none: generators, and parameters that have no name in Python.
    """
    names = [*code.co_varnames, *code.co_cellvars, *code.co_freevars]
    if code.co_flags & _GENERATORS or not all(name.isidentifier() for name in names):
        return None
    # after the raise, for the compiler's eyes only: it gives the function its other locals, cells and free variables
    inner = [f"raise {_RAISED!r}.__call__()", *(f"{name} = None" for name in (*code.co_varnames, *code.co_cellvars))]
    inner += [f"lambda: ({name},)" for name in (*code.co_cellvars, *code.co_freevars)]
    text = "\n        ".join(inner)
    free = "".join(f"    {name} = None\n" for name in code.co_freevars)
    try:
        tree = ast.parse(f"def outer():\n{free}    def stand_in({Parameters.of(code)}):\n        {text}\n")
        module = compile(tree, str(Path(__file__)), "exec", dont_inherit=True)
    except SyntaxError:
        return None
    outer = next(const for const in module.co_consts if isinstance(const, types.CodeType))
    made = next(const for const in outer.co_consts if isinstance(const, types.CodeType))
    if (made.co_freevars, made.co_cellvars) != (
        code.co_freevars,
        code.co_cellvars,
    ) or made.co_nlocals < code.co_nlocals:
        return None
    return made.replace(co_consts=tuple(get if const == _RAISED else const for const in made.co_consts))
