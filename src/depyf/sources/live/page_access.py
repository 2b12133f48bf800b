"""Access from a dump to the process that made it: frames, guards and compiled code of the cache entries.

A ``full_code_for_*`` file is a replica of torch's dispatcher.  Loaded in the process that compiled, its names denote
the real things: ``frame_0.enter`` gives the locals and globals that torch looks at, a function under
``@guard_0_0.confirmed`` evaluates the guards in Python and checks the answer against torch's own, one under
``@guard_0_0.runs`` is the very code torch runs.  Nothing is compiled.  Only weak references are kept, so a dump keeps
no compiled code alive; in any other process, and for entries that are gone, the answer is a DepyfError, never a guess.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import os
import re
import types
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from depyf.errors import DepyfError
from depyf.run.files.reading import read_file
from depyf.run.global_names import without_changing_parts
from depyf.run.guards.kinds.length_guard import ITEMS
from depyf.run.made import Made
from depyf.run.records import FunctionRecord
from depyf.safety.escape import printable
from depyf.safety.guarded import warn
from depyf.sources.live.ahead.ahead_functions import apart_entries
from depyf.sources.live.caches.entries import LiveEntry, cache_entries
from depyf.sources.live.guards.ask import EntryAnswer, ask_entry
from depyf.sources.live.guards.guard_tree import Globals, Leaf, ask_leaves, live_guards, namespace
from depyf.sources.live.target import free_variables, functions_of


@dataclass
class _Known:
    code: weakref.ref[types.CodeType]
    resume_names: tuple[str, ...]
    function: weakref.ref[types.FunctionType] | None
    ahead: weakref.ref[Any] | None
    """What the program calls, where that is compiled ahead of time."""
    guards: dict[str, tuple[str, ...]]
    """Compile id -> the guard expressions in the order of the page: torch reorders its own as they fail."""


_KNOWN: dict[tuple[str, str], _Known] = {}
_PAGES: dict[str, bytes] = {}
"""Each page that this process wrote -> the checksum of its text."""
_ID = re.compile(r"^(?P<function>.*)/(?P<number>\d+)(?P<generation>r\d+)?$")


def remember(
    directory: str,
    function: str,
    code: types.CodeType,
    record: FunctionRecord,
    live: types.FunctionType | None = None,
    ahead: weakref.ref[Any] | None = None,
) -> None:
    """Make ``code`` reachable from the files in ``directory``.  ``function``: its compile ids without the last number;
    ``record``: the record that the page was made from; ``live``: the function, where known; ``ahead``: the callable,
    where it was compiled ahead of time."""
    guards = {entry.key.text: tuple(guard.expression for guard in entry.guards) for entry in record.entries}
    place = os.path.realpath(directory), function

    def gone(reference: weakref.ref[types.CodeType]) -> None:
        known = _KNOWN.get(place)
        if known is not None and known.code is reference:
            del _KNOWN[place]

    _KNOWN[place] = _Known(
        weakref.ref(code, gone), record.resume_names, None if live is None else weakref.ref(live), ahead, guards
    )


def forget(directory: str) -> None:
    """Drop what is known of ``directory`` (it is being written anew)."""
    root = os.path.realpath(directory)
    for key in [key for key in _KNOWN if key[0] == root]:
        del _KNOWN[key]
    for page in [page for page in _PAGES if os.path.dirname(page) == root]:
        del _PAGES[page]


def wrote(path: str | os.PathLike[str], text: str) -> None:
    """Remember that this process has written the page ``text`` to ``path``."""
    _PAGES[os.path.realpath(path)] = _digest(text)


def page_text(path: Path) -> str:
    """The text of a page, which may be executed.  DepyfError unless it is exactly what this process wrote to
    ``path``."""
    known = _PAGES.get(os.path.realpath(path))
    if known is None:
        raise DepyfError(
            f"{printable(str(path))} is no full_code_for_* file that this process has dumped; a dump of another "
            "process can be read, not run: its guards and compiled code are gone with it"
        )
    text = read_file(path.parent, path.name)
    if _digest(text) != known:
        raise DepyfError(f"{printable(str(path))} has changed since this process wrote it: it is not run; dump again")
    return text


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "backslashreplace")).digest()


class LiveFrame:
    """A function that torch compiled, as its frames look to the guards."""

    def __init__(self, directory: str, function: str) -> None:
        self._place = (os.path.realpath(directory), function)

    @property
    def code(self) -> types.CodeType:
        """The function's own code.  DepyfError where it is not alive here."""
        known = _KNOWN.get(self._place)
        code = known.code() if known is not None else None
        if code is None:
            raise DepyfError(
                f"function {self._place[1]} is not alive in this process: guards and compiled code can only be asked "
                "in the process that compiled, while the compiled function exists; read the expressions in guards_*"
            )
        return code

    def function(self) -> types.FunctionType:
        """The function, with its closure.  DepyfError where several functions share the code and none was named."""
        known = _KNOWN.get(self._place)
        named = known.function() if known is not None and known.function is not None else None
        if named is not None:
            return named
        code = self.code
        found = functions_of(code)
        closures = {tuple(map(id, function.__closure__ or ())) for function in found}
        if found and len(closures) == 1:
            return found[0]
        raise DepyfError(
            f"{code.co_name}: {len(found)} functions in this process have this code, with different free variables: "
            "use depyf.replay(the_compiled_function)"
        )

    @property
    def entries(self) -> tuple[LiveEntry, ...]:
        """What may run for it, in the order it is tried.  DepyfError where the function is not alive here."""
        known = _KNOWN.get(self._place)
        if known is None or known.ahead is None:
            return cache_entries(self.code)
        own = known.ahead()
        return () if own is None else apart_entries(own)

    def enter(self, arguments: dict[str, Any]) -> tuple[dict[str, Any], Globals]:
        """(L, G): the arguments with the function's free variables, and its globals."""
        code = self.code
        free = free_variables(self.function()) if code.co_freevars else {}
        scope = next((entry.scope for entry in self.entries if entry.globals is not None), None)
        return {**arguments, **free}, Globals(scope if scope is not None else self.function().__globals__)

    def original(self, shown: Callable[..., Any]) -> Callable[..., Any]:
        """A function that runs the program's function uncompiled, as torch does where no entry fits."""

        @functools.wraps(shown)
        def run(*args: Any, **kwargs: Any) -> Any:
            function = _bare(
                self.function(), self.code.replace()
            )  # a copy: torch knows no entries of it to look through
            with _replica(shown.__globals__):
                return run_only(function, args, kwargs)

        return run

    def expression(self, compile_id: str, number: int) -> str | None:
        """Guard ``number`` of a page, as it stands there."""
        known = _KNOWN.get(self._place)
        shown = known.guards.get(compile_id, ()) if known is not None else ()
        return shown[number] if number < len(shown) else None

    def count(self, compile_id: str) -> int:
        """How many guards a page has for an entry."""
        known = _KNOWN.get(self._place)
        return len(known.guards.get(compile_id, ())) if known is not None else 0

    @property
    def resume_names(self) -> tuple[str, ...]:
        known = _KNOWN.get(self._place)
        return known.resume_names if known is not None else ()


class LiveGuard:
    """The guards and the code of one cache entry."""

    def __init__(self, directory: str, compile_id: str) -> None:
        match = _ID.match(compile_id)
        if match is None:
            raise DepyfError(f"{compile_id!r} is no compile id")
        self.compile_id = f"{match['function']}/{match['number']}"
        self.frame = LiveFrame(directory, match["function"] + (match["generation"] or ""))
        self.disagreements: list[str] = []
        """Where torch and the expressions of the page differed, if ever."""
        self._by_text: tuple[LiveEntry, dict[str, tuple[Leaf, ...]]] | None = None
        self.followed: tuple[Any, dict[str, tuple[Leaf, ...]]] | None = None
        """torch's guard manager and its leaf guards, for a page that is followed."""

    def check(self, L: dict[str, Any]) -> bool:
        """Would torch choose this entry for the locals ``L``?  DepyfError where the entry is not alive here."""
        return bool(self.entry.manager.check_verbose(L).result)

    def explain(self, L: dict[str, Any]) -> str:
        """The first guard that fails for ``L``, in torch's words; "" where all hold."""
        info = self.entry.manager.check_verbose(L)
        return "" if info.result else "; ".join(str(part) for part in info.verbose_code_parts)

    def refuse(self, L: dict[str, Any]) -> NoReturn:
        """Raise the error of a function compiled ahead of time for a failed guard, or of an artefact if no variant
        fits."""
        if self.entry.made is Made.PRECOMPILED:
            from torch.compiler import PrecompileError

            raise PrecompileError(f"precompile: no captured variant of {self.frame.code.co_name!r} matches this call")
        raise RuntimeError(f"GuardManager check failed, reason: {self.entry.manager.check_verbose(L)}")

    def steps(self, L: dict[str, Any]) -> EntryAnswer:
        """Every guard evaluated for ``L``, with the wanted and the found value."""
        return ask_entry(self.entry, L)

    def __getitem__(self, number: int) -> LiveLeaf:
        """Guard ``number`` of this entry, as torch holds it."""
        return LiveLeaf(self, number)

    @property
    def entry(self) -> LiveEntry:
        """The live cache entry.  DepyfError where it is gone."""
        for entry in self.frame.entries:
            if entry.compile_id == self.compile_id:
                return entry
        raise DepyfError(f"cache entry {self.compile_id} is not alive in this process: it was dropped since the dump")

    @property
    def count(self) -> int:
        """How many guards the page has for this entry."""
        return self.frame.count(self.compile_id)

    def leaves(self, number: int) -> tuple[LiveEntry, tuple[Leaf, ...]] | None:
        """The entry and torch's leaf guards for guard ``number`` of the page; None where there are none here."""
        expression = self.frame.expression(self.compile_id, number)
        try:
            entry, found = self._by_text or self._read()
        except DepyfError:
            return None
        leaves = found.get(expression or "")
        return (entry, leaves) if leaves else None

    def _read(self) -> tuple[LiveEntry, dict[str, tuple[Leaf, ...]]]:
        entry = self.entry
        return entry, {guard.record.expression: guard.leaves for guard in live_guards(entry)}

    def confirmed(self, spelled_out: Callable[[dict[str, Any], Any], bool]) -> Callable[[dict[str, Any], Any], bool]:
        """The expressions of ``spelled_out``, evaluated, with torch's own answer as a check; torch is right."""

        @functools.wraps(spelled_out)
        def guards(L: dict[str, Any], G: Any) -> bool:
            python = self._evaluate(spelled_out, L, G)
            try:
                torch = self.check(L)
            except DepyfError:
                if python is None:  # what a guard looks at has gone with the entry
                    raise
                return python
            if torch != bool(python) and not (python and _hidden_size(self, L)):
                text = f"guards of {self.compile_id}: as Python {bool(python)}, torch says {torch}: {self.explain(L)}"
                self.disagreements.append(text)
                warn(f"depyf: {text}")
            return torch

        return guards

    def _evaluate(self, spelled_out: Callable[[dict[str, Any], Any], bool], L: dict[str, Any], G: Any) -> bool | None:
        """None where what a guard looks at is not there: while the entry lives, that is a guard that does not hold."""
        try:
            self._by_text = self._read()  # read once for all of them; not kept, it holds live objects
        except DepyfError:
            pass
        try:
            return bool(spelled_out(L, G))
        except Exception:  # whatever the user's objects raise
            return None
        finally:
            self._by_text = None

    def runs(self, shown: Callable[..., Any]) -> Callable[..., Any]:
        """The code that torch runs for this entry, under the name of the text that shows it."""

        @functools.wraps(shown)
        def run(*args: Any, **kwargs: Any) -> Any:
            entry = self.entry
            closure = self.frame.function().__closure__ if entry.code.co_freevars else None
            function = types.FunctionType(entry.code, entry.globals or {}, entry.code.co_name, None, closure)
            with _replica(shown.__globals__):
                return run_only(function, args, kwargs)

        return run


class LiveLeaf:
    """One guard of an entry, evaluated by torch; ``check`` returns None where torch cannot be asked."""

    def __init__(self, guard: LiveGuard, number: int) -> None:
        self._guard = guard
        self._number = number

    def check(self, value: Any) -> bool | None:
        found = self._guard.leaves(self._number)
        if found is None:
            return None
        answers = [leaf.ask(value) for leaf in found[1]]
        known = [answer for answer in answers if answer is not None]
        return all(known) if known else None

    def check_frame(self, L: dict[str, Any], G: Any) -> bool | None:
        found = self._guard.leaves(self._number)
        return None if found is None else ask_leaves(found[1], namespace(found[0], L))


def _hidden_size(guard: LiveGuard, L: dict[str, Any]) -> bool:
    """The number of items of a dictionary is checked by torch without telling the number."""
    failing = guard.steps(L).failing
    return failing is not None and any(found.what == ITEMS for found in failing.differences)


def _bare(function: types.FunctionType, code: types.CodeType) -> types.FunctionType:
    bare = types.FunctionType(code, function.__globals__, function.__name__, None, function.__closure__)
    bare.__kwdefaults__ = function.__kwdefaults__
    return bare


def run_only(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call ``function`` with torch's cached code for the functions it calls, and without compiling any."""
    import torch._dynamo

    return torch._dynamo.run(function)(*args, **kwargs)


@contextmanager
def _replica(page: dict[str, Any]) -> Iterator[None]:
    """Inside, resume functions are called through the dispatchers of ``page``, so that these too can be followed."""
    changed: list[tuple[dict[str, Any], str, Any]] = []
    try:
        for frame in [value for value in page.values() if isinstance(value, LiveFrame)]:
            for name in frame.resume_names:
                for scope, function in _globals_named(page, name, frame):
                    changed.append((scope, name, function))
                    scope[name] = page[without_changing_parts(name)]
        yield
    finally:
        for scope, name, function in reversed(changed):
            scope[name] = function


def _globals_named(page: dict[str, Any], name: str, frame: LiveFrame) -> list[tuple[dict[str, Any], Any]]:
    """The global ``name`` of the page's functions, where it is the plain function of ``frame``."""
    scopes: dict[int, dict[str, Any]] = {}
    for guard in [value for value in page.values() if isinstance(value, LiveGuard)]:
        try:
            scope = guard.entry.globals
        except DepyfError:
            continue
        if scope is not None:
            scopes[id(scope)] = scope
    found = [(scope, scope.get(name)) for scope in scopes.values()]
    return [
        (scope, function)
        for scope, function in found
        if isinstance(function, types.FunctionType)
        and function.__code__ is frame.code
        and callable(page.get(without_changing_parts(name)))
    ]


def live_guard(file: str, compile_id: str) -> LiveGuard:
    """The guards of ``compile_id`` as dumped next to ``file``; called by ``full_code_for_*`` files."""
    return LiveGuard(os.path.dirname(os.path.abspath(file)), compile_id)


def live_frame(file: str, function: str) -> LiveFrame:
    """The function ``function`` (its compile ids without the last number) as dumped next to ``file``."""
    return LiveFrame(os.path.dirname(os.path.abspath(file)), function)


def part(node: ast.stmt) -> tuple[str, str]:
    """The kind of a statement in a page and the frame or guard it belongs to: ``("confirmed", "guard_0_0")``; ("", "")
    for other statements."""
    decorator = node.decorator_list[0] if isinstance(node, ast.FunctionDef) and node.decorator_list else None
    if isinstance(decorator, ast.Attribute) and isinstance(decorator.value, ast.Name):
        return decorator.attr, decorator.value.id
    return "", ""
