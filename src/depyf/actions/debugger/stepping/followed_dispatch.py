"""Runs the dispatcher page of the dump alongside torch's dispatch, so that breakpoints in ``full_code_for_*`` are hit.

Input: the pages of a dump and the live functions they are about.  While this is on, torch itself calls us whenever a
compiled function is about to be looked up, hands over the frame's locals, and waits: we run the page's dispatcher on
them, line by line, guards included, where a debugger can stop.  Then torch does what it would have done anyway.

What was compiled ahead of time is called by itself: ``followed_ahead``.

How: torch asks the "precompiled" entries of a code object before its own.  We add one whose only guard is a call of
ours, which answers no, so torch goes on to its own entries, or compiles.  Beside it are the
entries of ``dumped_lines``, which run what torch would have run.  Nothing about the program's functions or
torch's entries changes: guards on code objects, backends, recompile counts, stances, resume functions, methods, modules
and calls from C++ are all as without us.  ``stop`` takes the entries out again.

Its only yes is for an exception that must go on (the user quits the debugger): C++ would swallow it, so the code of our
entry is then run, and raises it.
"""

from __future__ import annotations

import _thread
import bdb
import sys
import threading
import types
import weakref
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from depyf.actions.debugger.program_pdb import join_thread
from depyf.actions.debugger.stepping.added_entries import AddedEntries, Question
from depyf.actions.debugger.stepping.choice import chosen
from depyf.actions.debugger.stepping.dispatch_page import DispatchPage, read_page
from depyf.actions.debugger.stepping.dumped_lines import DumpedLines
from depyf.actions.debugger.stepping.followed_ahead import FollowedAhead
from depyf.run.places.two_places import originals
from depyf.safety.guarded import Door, problem, say
from depyf.safety.unheard import parse
from depyf.sources.live.ahead.ahead_functions import apart_entries
from depyf.sources.live.caches.entries import LiveEntry, cache_entries
from depyf.sources.live.guards.guard_tree import live_guards
from depyf.sources.live.recording.snapshot import live_code_of

if TYPE_CHECKING:
    from depyf.sources.live.recording.session import Session

_GENERATORS = 0x20 | 0x80 | 0x200  # CO_GENERATOR, CO_COROUTINE, CO_ASYNC_GENERATOR: torch compiles no such frame
_VARARGS, _VARKEYWORDS = 0x04, 0x08
_RAISED = "depyf: the exception to raise"


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
        """Run the dispatcher for a call with the locals ``L``, before torch evaluates its guards."""
        self.show(L, *self._choice(L))

    def show(self, L: dict[str, Any], entry: LiveEntry | None, scope: dict[str, Any]) -> None:
        """Run the dispatcher for a call for which torch runs ``entry``, if any."""
        with self.page.following(L, scope, entry.compile_id if entry is not None else ""):
            self.parameters.call(self.function, L)

    def _choice(self, L: dict[str, Any]) -> tuple[LiveEntry | None, dict[str, Any]]:
        """What torch runs, and the globals."""
        entries = cache_entries(self.code)
        scope = next((entry.globals for entry in entries if entry.globals is not None), {})
        if self.own:
            entries = tuple(entry for entry in entries if entry.compile_id in self.page.guards)
        return chosen(self.code, entries, L, not self.own), scope


@dataclass
class Dispatching:
    """What is added for one ``depyf.debug()``, from ``start`` to ``stop``.

    ``own``: a level is forced.  The page is then about the program's entries, which torch does not use: it shows which
    of them the call would run, and the code at that level follows.
    """

    own: bool = False
    notes: list[str] = field(default_factory=list)
    _open: bool = False
    _entries: AddedEntries = field(default_factory=AddedEntries)
    _ahead: FollowedAhead = field(default_factory=FollowedAhead)
    _raised: list[BaseException] = field(default_factory=list)
    _stance_callback: Any = None

    def __post_init__(self) -> None:
        self._lines = DumpedLines(self._entries)

    @property
    def follows(self) -> bool:
        """Whether this version of torch lets depyf look at a call before it looks for compiled code."""
        return self._open

    def start(self, session: Session) -> None:
        """Follow every page of ``session`` from now on, and run the lines of dumps; what cannot be followed becomes a
        note."""
        dispatchers = list(self._dispatchers(session))
        for own, dispatcher in dispatchers:
            if own is not None:
                with Door(f"{dispatcher.code.co_name} cannot be stepped through", say):
                    self._ahead.add(apart_entries(own)[0].manager, self._follow_ahead(own, dispatcher))
        if not self._entries.open():
            self.notes.append(
                "this torch can be followed neither through full_code_for_*.py (use depyf.replay) nor into "
                "__transformed_code_*.py, but at a level, as in depyf.debug(level='graph')"
            )
            return
        self._open = True
        self._keep_out()
        of_calls = {id(dispatcher.code): dispatcher for own, dispatcher in dispatchers if own is None}
        codes = {id(code): code for code in (*(d.code for d in of_calls.values()), *originals())}
        for key, code in codes.items():
            with Door(f"{code.co_name} cannot be stepped through", say):
                self._add(code, of_calls.get(key))

    def _add(self, code: types.CodeType, dispatcher: Dispatcher | None) -> None:
        raiser = raising_code(code, self._raised.pop)
        dispatcher = dispatcher if raiser is not None else None
        in_dump = [] if self.own else self._lines.prepare(code)
        if not (dispatcher or in_dump) or not self._entries.takes(code):
            return
        runs = raiser if raiser is not None else in_dump[0][1]
        self._entries.add(code, self._observer(code, dispatcher, bool(in_dump), raiser is not None), runs)
        self._lines.add(code, in_dump)

    def stop(self) -> None:
        """Undo ``start``."""
        self._open = False
        self._ahead.stop()
        self._lines.close()
        self._let_in()
        self._entries.close()

    def _dispatchers(self, session: Session) -> Iterator[tuple[Any, Dispatcher]]:
        """Each with the object that is called where that was compiled ahead of time, else None."""
        for path, functions in session.dispatchers():
            try:
                page = read_page(path)
            except Exception as error:  # a page that was edited
                self.notes.append(f"{path.name} cannot be followed: {problem(error)}")
                continue
            for builder, name, ahead in functions:
                own = ahead() if ahead is not None else None
                code, function = live_code_of(builder), page.dispatcher(name)
                if code is not None and function is not None and (ahead is None or own is not None):
                    for entry in cache_entries(code) if own is None else apart_entries(own):
                        live_guards(entry)  # read now: who steps through a guard would step through the reading, too
                    yield own, Dispatcher(code, page, function, Parameters.of(code), self.own)

    def _follow_ahead(self, own: Any, dispatcher: Dispatcher) -> Callable[[dict[str, Any]], None]:
        reference = weakref.ref(own)

        def follow(L: dict[str, Any]) -> None:
            live = reference()
            if live is not None and self._stops():
                entries = apart_entries(live)
                fits = next((entry for entry in entries if entry.manager.root.check_verbose(L).result), None)
                self._show(dispatcher, lambda: dispatcher.show(L, fits, entries[0].scope))

        return follow

    def _observer(self, code: types.CodeType, dispatcher: Dispatcher | None, in_dump: bool, raises: bool) -> Question:
        def observe(L: dict[str, Any]) -> bool:
            """torch's question; L: the locals of the frame.  Only an exception to raise is a yes."""
            if not self._open or threading.get_ident() in self._entries.inside:
                return False
            followed = dispatcher is not None and self._stops()
            if not followed and not in_dump:
                return False
            self._entries.asked(code)
            error = self._follow(code, dispatcher if followed else None, L, in_dump)
            if error is not None and raises:
                self._raised.append(error)
            elif isinstance(error, KeyboardInterrupt):  # nothing can stand in for this code
                _thread.interrupt_main()
            if error is not None or not in_dump:
                self._entries.answered()
            return error is not None and raises

        return observe

    @staticmethod
    def _stops() -> bool:
        """Is there a debugger that could stop in this thread?"""
        with Door("depyf: a page cannot be followed") as door:
            join_thread()
        return not door.shut and debugged()

    def _follow(
        self, code: types.CodeType, dispatcher: Dispatcher | None, L: dict[str, Any], in_dump: bool
    ) -> BaseException | None:
        """Run the page on ``L`` and find out what torch will run; an exception with which the program must go on."""
        try:
            if dispatcher is not None:
                self._show(dispatcher, lambda: dispatcher.follow(L))
            if in_dump:
                self._lines.choose(code, L)
        except BaseException as error:  # the user quits the debugger, KeyboardInterrupt, SystemExit
            return error
        return None

    def _show(self, dispatcher: Dispatcher, follow: Callable[[], None]) -> None:
        try:
            follow()
        except bdb.BdbQuit:
            raise
        except Exception as error:  # ours: the program goes on
            note = f"{dispatcher.code.co_name} cannot be followed: {problem(error)}"
            if note not in self.notes:
                self.notes.append(note)
                say(f"depyf: {note}")

    def _keep_out(self) -> None:
        """A compiled function called at the prompt of a debugger that stands in a dispatcher runs as Python.

        torch would wait for the lock of an entry that this very thread holds.
        """
        from torch._dynamo import eval_frame

        original: Callable[[Any], Any] = eval_frame._callback_from_stance

        def callback_from_stance(callback: Any) -> Any:
            return None if threading.get_ident() in self._entries.inside else original(callback)

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
    """Whether a debugger is there that could stop.  Without one the page need not run."""
    if sys.gettrace() is not None:
        return True
    monitoring = getattr(sys, "monitoring", None)
    return monitoring is not None and monitoring.get_tool(monitoring.DEBUGGER_ID) is not None


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
        tree = parse(f"def outer():\n{free}    def stand_in({Parameters.of(code)}):\n        {text}\n")
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
