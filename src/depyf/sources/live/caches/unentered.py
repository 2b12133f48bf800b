"""Compile a function of the program for an answer of ours, and leave torch as it was.

Input: nothing; the code objects that Dynamo has seen are torch's to tell.  Output: a context, inside of which a
compiled call makes its own entries.  Invariant: afterwards each code object of the program has the entries that it had,
and torch's counters, metrics and what it learned of sizes are as before.

How: an entry cannot be taken out alone, and all entries of a code object can.  So a function that has entries gets a
copy of its code meanwhile, which goes with its entries; a code object that had none is cleared.
"""

from __future__ import annotations

import contextlib
import copy
import gc
import itertools
import re
import sys
import threading
import types
from collections import deque
from collections.abc import Iterator
from typing import Any

from depyf.decompiler.bytecode.codeunit import nested_codes
from depyf.safety.guarded import Door, warn
from depyf.sources.live.caches.loaded_entries import codes_loaded, loaded_entries
from depyf.sources.live.caches.seen_code import codes_seen
from depyf.sources.live.pure_access import attribute
from depyf.sources.live.resume import origin
from depyf.sources.live.state.inductor_modules import no_modules_of_kernels

_COUNTED = {
    "torch._dynamo.utils": (
        "counters", "compilation_time_metrics", "cumulative_time_spent_ns", "_compilation_metrics", "guard_failures",
        "graph_break_reasons", "frame_phase_timing", "optimus_scuba_log",
    ),
    "torch._dynamo.convert_frame": ("FRAME_COUNTER", "FRAME_COMPILE_COUNTER"),
    "torch._dynamo.eval_frame": ("cached_backends",),
}  # fmt: skip
"""Module of torch -> what it counts or keeps of each compilation."""
_MEASURED = "torch._inductor.metrics"
"""All numbers and lists there."""
_LEARNED = "torch._dynamo.pgo", ("_CODE_STATE", "_INIT_CODE_STATE")
"""Which sizes varied so far, by the place of a function: torch makes these dynamic next time."""


@contextlib.contextmanager
def unentered(scope: dict[str, Any] | None = None) -> Iterator[None]:
    """Inside, the program's functions can be compiled in this thread; afterwards torch has nothing of it.

    ``scope``: the globals of the function, where a compilation that fails leaves some of torch's."""
    seen = codes_seen()
    tables = _Tables()
    copies = _CopiedCode([*seen, *codes_loaded()])
    with nothing_loaded(), no_modules_of_kernels():
        compiled = _Compiled(scope)
        try:
            yield
        finally:
            with Door("depyf: what was compiled for an answer stays in torch's cache", warn):
                copies.put_back()
                compiled.forget(seen, copies.busy)
            with Door("depyf: torch has counted what was compiled for an answer", warn):
                tables.put_back()


@contextlib.contextmanager
def uncounted() -> Iterator[None]:
    """Afterwards torch's counters and metrics are as before, whatever has compiled meanwhile, such as the backward of
    an entry that exists."""
    tables = _Tables()
    try:
        yield
    finally:
        with Door("depyf: torch has counted what was compiled for an answer", warn):
            tables.put_back()


class _CopiedCode:
    """The functions that run a copy of their code."""

    def __init__(self, seen: list[types.CodeType]) -> None:
        self.busy = [code for code in seen if _has_entries(code)]
        wanted = {id(code) for code in self.busy if origin(code) is None}  # the rest of a function is made anew with it
        self._moved: list[tuple[types.FunctionType, types.CodeType, types.CodeType]] = []
        made: dict[int, types.CodeType] = {}
        for function in gc.get_objects() if wanted else ():
            if type(function) is not types.FunctionType:
                continue
            code = function.__code__
            if any(id(inner) in wanted for inner in _all_codes(code)) and origin(code) is None:
                copy = made[id(code)] = made.get(id(code)) or _copied(code)
                self._moved.append((function, code, copy))
        for function, _, copy in self._moved:
            function.__code__ = copy

    def put_back(self) -> None:
        for function, code, made in self._moved:
            if function.__code__ is made:
                function.__code__ = code
        self._moved.clear()


_NUMBERS = itertools.count()


def _copied(code: types.CodeType) -> types.CodeType:
    """A copy of a code object and those in it.  Code objects that are equal are one constant to torch, so a copy is
    not."""
    consts = [_copied(const) if type(const) is types.CodeType else const for const in code.co_consts]
    return code.replace(co_consts=(*consts, f"depyf: copy {next(_NUMBERS)}"))


def _all_codes(code: types.CodeType) -> Iterator[types.CodeType]:
    """``code`` and all code objects in it."""
    yield code
    for inner in nested_codes(code):
        yield from _all_codes(inner)


def _has_entries(code: types.CodeType) -> bool:
    from torch._C._dynamo.eval_frame import _debug_get_cache_entry_list

    return bool(_debug_get_cache_entry_list(code)) or bool(loaded_entries(code))


_OF_ATTEMPT = re.compile(r"__builtins_dict___(\d+)\Z")


def _next_number() -> int:
    """The number that torch will give to the next global that it makes."""
    from torch._dynamo import bytecode_transformation

    known = re.match(r"count\((\d+)\)\Z", repr(getattr(bytecode_transformation, "_unique_id_counter", None)))
    return int(known[1]) if known is not None else sys.maxsize


@contextlib.contextmanager
def nothing_loaded() -> Iterator[None]:
    """Inside, torch loads no entries of earlier processes and stores no new ones. The globals that it makes have other
    names than the loaded ones: it would refuse the same (torch 2.13).

    torch numbers these names.  Its counter goes on after the numbers that are loaded, as with each compilation: a
    number that is left out means nothing to any thread."""
    import torch._dynamo.config as config
    from torch._dynamo import bytecode_transformation as names

    scopes = [entry.globals or {} for code in codes_loaded() for entry in loaded_entries(code)]
    taken = [int(found[1]) for scope in scopes for name in list(scope) if (found := _OF_ATTEMPT.match(str(name)))]
    counter: Any = getattr(names, "_unique_id_counter", None)
    for _ in range(_next_number(), max(taken, default=-1) + 1):
        next(counter)
    with config.patch(caching_precompile=False) if hasattr(config, "caching_precompile") else _NO_CHANGE:
        yield


_NO_CHANGE = contextlib.nullcontext()


class _Compiled:
    """The code objects that this thread has compiled since."""

    def __init__(self, scope: dict[str, Any] | None) -> None:
        from torch._dynamo.convert_frame import register_bytecode_hook

        self._scope = scope

        self._thread = threading.get_ident()
        self._codes: list[types.CodeType] = []
        self._first = _next_number()
        self._hook: Any = register_bytecode_hook(self._take)

    def _take(self, code: types.CodeType, made: types.CodeType) -> None:
        if threading.get_ident() == self._thread:
            self._codes.append(code)

    def forget(self, seen: list[types.CodeType], busy: list[types.CodeType]) -> None:
        """Clear the code objects that had no entries. Remove the globals that torch made for the new entries, and the
        new code from torch's table of code."""
        from torch._C._dynamo.eval_frame import reset_code
        from torch._dynamo.convert_frame import input_codes

        self._hook.remove()
        self._remove_globals()
        own, kept, known = ({id(code) for code in codes} for codes in (self._codes, busy, seen))
        for code in [
            *self._codes,
            *(code for code in codes_seen() if id(code) not in known and not _has_entries(code)),
        ]:
            if id(code) not in kept:
                reset_code(code)
        gone = {
            id(code) for code in codes_seen() if id(code) not in known and (id(code) in own or not _has_entries(code))
        }
        references, numbers = attribute(input_codes, "seen"), attribute(input_codes, "seen_ids")
        if type(references) is list and type(numbers) is set:
            references[:] = [reference for reference in references if id(reference()) not in gone]
            numbers -= gone
        self._codes.clear()

    def _remove_globals(self) -> None:
        """What a compiled function calls is among the globals of its module, as long as its code lives."""
        from torch._dynamo.convert_frame import output_codes
        from torch._dynamo.utils import CleanupManager, orig_code_map

        own = {id(code) for code in self._codes}
        cleanups = CleanupManager.instance
        scopes = {} if self._scope is None else {id(self._scope): self._scope}
        for reference in list(output_codes.seen):
            made = reference()
            if made is not None and id(orig_code_map.get(made)) in own and made in cleanups:
                scopes |= {id(hook.scope): hook.scope for hook in cleanups[made]}
                cleanups._remove_id(id(made))
        used = {hook.name for hooks in cleanups.values.values() for hook in hooks}
        for scope in scopes.values():  # of attempts that torch has given up: it leaves them there
            for name in [name for name in scope if type(name) is str and name not in used]:
                number = _OF_ATTEMPT.match(name)
                if number is not None and int(number[1]) >= self._first:
                    del scope[name]


class _Tables:
    """torch's counts and measurements as they are now."""

    def __init__(self) -> None:
        names = [(module, name) for module, names in _COUNTED.items() for name in names]
        measured = sys.modules.get(_MEASURED)
        names += [(_MEASURED, name) for name, value in vars(measured or object).items() if type(value) in (int, list)]
        self._kept = [
            (vars(module), name, _kept(vars(module)[name]))
            for where, name in names
            if (module := sys.modules.get(where)) is not None and name in vars(module)
        ]
        self._measured = measured is not None
        learning = sys.modules.get(_LEARNED[0])
        self._learned = [
            (vars(learning), name, _learned(vars(learning)[name]))
            for name in _LEARNED[1]
            if learning is not None and name in vars(learning)
        ]

    def put_back(self) -> None:
        for namespace, name, kept in self._kept:
            namespace[name] = _put_back(namespace.get(name), kept)
        if not self._measured and (measured := sys.modules.get(_MEASURED)) is not None:
            measured.reset()  # it came in meanwhile
        for namespace, name, kept in self._learned:
            table = namespace.get(name)
            if kept is None or table is None:
                namespace[name] = None
                continue
            for code in [code for code in table if code not in kept]:
                del table[code]
            for code, sizes in kept.items():
                _put_back(table[code].automatic_dynamic, sizes)


def _kept(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _kept(item) for key, item in value.items()}
    return list(value) if isinstance(value, (list, deque)) else value


def _put_back(live: Any, kept: Any) -> Any:
    """``live`` with the content of ``kept``: others may hold the very same object."""
    if isinstance(live, dict) and isinstance(kept, dict):
        for key in [key for key in live if key not in kept]:
            del live[key]
        for key, item in kept.items():
            live[key] = _put_back(live.get(key), item)
        return live
    if isinstance(live, (list, deque)) and isinstance(kept, list):
        live.clear()
        live.extend(kept)
        return live
    return kept


def _learned(table: Any) -> dict[Any, dict[str, Any]] | None:
    if table is None:
        return None
    return {  # torch writes to what it has learned of a size
        code: {name: copy.copy(size) for name, size in state.automatic_dynamic.items()} for code, state in table.items()
    }
