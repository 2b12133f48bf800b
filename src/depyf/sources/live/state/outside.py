"""What a call can do outside of the process: write files, start programs, send messages.  It cannot be taken back.

Input: the functions of the program within reach, and objects of libraries.  Output: a name for the first such thing,
"" for none.  A function counts where one that counts names it: the methods of a class that a call never names are no
part of it.  What a name means is looked up, and compared with Python's own functions.  Nothing of the program runs.
"""

from __future__ import annotations

import builtins
import functools
import os
import pathlib
import sys
import threading
import types
from collections.abc import Iterable, Iterator
from typing import Any

from depyf.decompiler.bytecode.codeunit import nested_codes
from depyf.run.installed_files import of_library
from depyf.sources.live.pure_access import class_module, class_namespace, classes_of, in_classes, is_a

_FUNCTIONS = {
    "os": "system popen write truncate remove unlink rename renames replace mkdir makedirs rmdir removedirs symlink "
    "link chmod kill killpg fork posix_spawn posix_spawnp execv execve spawnv spawnve",
    "subprocess": "run call check_call check_output Popen getoutput",
    "shutil": "copy copy2 copyfile copytree move rmtree",
    "socket": "create_connection socket",
    "sqlite3": "connect",
    "urllib.request": "urlopen urlretrieve",
    "torch": "save",
    "numpy": "save savez savez_compressed savetxt",
}
"""Module -> its functions and classes that act outside of the process, or lead there."""
_OF_PATHS = frozenset("write_text write_bytes touch mkdir unlink rmdir symlink_to hardlink_to".split())
"""Methods of ``pathlib.Path`` whose names nothing else has that models call."""
_OBJECTS = {
    ("sqlite3", "Connection"): "a database",
    ("sqlite3", "Cursor"): "a database",
    ("subprocess", "Popen"): "another process",
    ("mmap", "mmap"): "a file in memory",
    ("multiprocessing.connection", "Connection"): "a connection to another process",
    ("multiprocessing.queues", "Queue"): "a queue of processes",
    ("multiprocessing.queues", "SimpleQueue"): "a queue of processes",
}
_OF_THREADS = (("queue", "Queue"), ("queue", "LifoQueue"), ("queue", "PriorityQueue"), ("_queue", "SimpleQueue"))
"""Queues: what is put into one is taken by another thread, where there is one."""


def acts_outside(value: Any) -> str:
    """What an object leads to outside of what the call can undo; "" for nothing."""
    for cls in classes_of(value):
        key = class_module(cls), cls.__name__
        if key in _OBJECTS:
            return _OBJECTS[key]
        if key in _OF_THREADS and threading.active_count() > 1:
            return "a queue that other threads may read"
    return ""


class OutsideCalls:
    """The functions within reach, as they are met."""

    def __init__(self) -> None:
        self._functions: dict[str, list[types.FunctionType]] = {}
        self._has_paths = False
        self._around_forward: set[int] = set()
        """``__call__`` of classes of modules: a compiled ``forward`` is below it."""

    def met(self, value: Any) -> None:
        """Any object within reach."""
        if type(value) is types.FunctionType:
            self._functions.setdefault(value.__name__, []).append(value)
        elif is_a(value, pathlib.PurePath) or value is pathlib.Path:
            self._has_paths = True
        elif is_a(value, type) and in_classes(value, "Module"):
            self._around_forward.add(id(class_namespace(value).get("__call__")))

    def first(self, roots: Iterable[Any]) -> str:
        """The first function that acts outside and that a call of ``roots`` may make, as the program names it."""
        pending = [function for function in map(_function, roots) if function is not None]
        called = (*self._functions.get("forward", ()), *self._functions.get("__call__", ()))
        pending += [one for one in called if id(one) not in self._around_forward]
        seen: set[int] = set()
        known = _writers()
        while pending:
            function = pending.pop()
            if id(function) in seen:
                continue
            seen.add(id(function))
            for code in _codes(function.__code__):
                found = self._of(code, function.__globals__, known)
                if found:
                    return found
                pending += self._called(function, code)
        return ""

    def _called(self, function: types.FunctionType, code: types.CodeType) -> Iterator[types.FunctionType]:
        """What a function may call: what its names mean in its module, methods of its own class, and each function of
        that name in the program's own files.  In libraries many methods have one name, such as ``update``."""
        around = function.__qualname__.rpartition(".")[0]
        for name in (*code.co_names, *code.co_freevars):
            meant = dict.get(function.__globals__, name)
            for found in (*self._functions.get(name, ()), *self._functions.get("__init__", ())):
                made = found.__name__ == "__init__" and name != "__init__"
                if made and found.__qualname__.split(".")[-2:-1] != [name]:
                    continue
                own = around and found.__qualname__.rpartition(".")[0] == around
                if found is meant or made or own or not of_library(found.__code__.co_filename):
                    yield found

    def _of(self, code: types.CodeType, space: dict[str, Any], known: dict[int, str]) -> str:
        """What one code object names that acts outside."""
        names = code.co_names
        for name in names:
            meant = dict.get(space, name, vars(builtins).get(name))
            inside = [(f"{name}.{other}", vars(meant).get(other)) for other in names] if _is_module(meant) else []
            for said, value in ((name, meant), *inside):
                if id(value) in known:
                    return f"{said}()"
                if value is open and _writes(code):
                    return f"{said}() of a file to write"
        if self._has_paths or any(dict.get(space, name) is pathlib for name in names):
            method = next((name for name in names if name in _OF_PATHS), "")
            if method or ("open" in names and _writes(code)):
                return f"{method or 'open'}() of a path"
        return ""


def _is_module(value: Any) -> bool:
    return type(value) is types.ModuleType


def _function(value: Any) -> types.FunctionType | None:
    while type(value) in (types.MethodType, functools.partial):
        value = value.__func__ if type(value) is types.MethodType else value.func
    return value if type(value) is types.FunctionType else None


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for inner in nested_codes(code):
        yield from _codes(inner)


def _writes(code: types.CodeType) -> bool:
    """Whether a constant of a function is a mode of ``open`` that writes."""
    return any(
        type(const) is str and const and set(const) <= set("rwxabt+") and not set(const).isdisjoint("wxa+")
        for const in code.co_consts
    )


def _writers() -> dict[int, str]:
    """``id`` of each function of ``_FUNCTIONS`` that is there, with its name."""
    found: dict[int, str] = {}
    for where, names in _FUNCTIONS.items():
        module = os if where == "os" else sys.modules.get(where)
        for name in names.split():
            value = None if module is None else vars(module).get(name)
            if value is not None:
                found[id(value)] = name
    return found
