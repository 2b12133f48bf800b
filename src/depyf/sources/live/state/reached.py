"""Find what a call can reach of the program's state, and keep it.

Input: the function that is called and its arguments.  Output: ``ReachedState``: a record for each mutable object that
is reached through arguments, cells, defaults, attributes, items, classes, and the globals that reached functions name.
No code of the program runs.  torch's and Python's own functions are not followed: what they change of themselves is
random numbers and the settings in ``settings.py``, which are kept.  What cannot be run twice (a generator, an open
file) is in ``once``.
"""

from __future__ import annotations

import collections
import contextvars
import functools
import io
import logging
import os
import random
import sys
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from depyf.decompiler.bytecode.codeunit import nested_codes
from depyf.decompiler.bytecode.host.attribute_writes import written_attributes
from depyf.run.advice.source_names import without_registries
from depyf.sources.live.pure_access import (
    attribute,
    cell_contents,
    class_module,
    class_namespace,
    classes_of,
    in_classes,
    is_a,
    own_attributes,
    untouched,
)
from depyf.sources.live.pure_tensors import is_tensor
from depyf.sources.live.state.iterators import is_copied, place_of, runs_over
from depyf.sources.live.state.kept import (
    Kept,
    KeptBy,
    KeptCell,
    KeptClass,
    KeptDict,
    KeptFunction,
    KeptItems,
    KeptNames,
    KeptSlots,
)
from depyf.sources.live.state.kept_tensors import KeptStorage, KeptTensor, keepable
from depyf.sources.live.state.library_objects import FOLLOWED, kept_of_library, of_generator, variables_of_torch
from depyf.sources.live.state.outside import OutsideCalls, acts_outside
from depyf.sources.live.state.printing import library_writes_output, operator_functions, writes_output
from depyf.sources.live.state.settings import torch_settings

_MOST = 200_000
"""How many objects are followed."""
_LIBRARIES = frozenset(
    ("torch", "numpy", "depyf", "triton", "sympy", "torchgen", "functorch", *sys.stdlib_module_names)
)
WARNED = "__warningregistry__"
"""The global in which Python remembers which warnings of a module it has shown."""
_PLAIN = (type(None), bool, int, float, complex, str, bytes, range, slice, type(...), types.BuiltinFunctionType)
_FILE: Any = io.IOBase.__base__
"""The class of all files; ``io.IOBase`` itself is none of theirs by inheritance."""


@dataclass(frozen=True, slots=True)
class OneShot:
    """An object that only one run can use, such as a generator or an open file."""

    path: str
    what: str
    value: Any
    position: Callable[[], Any]
    before: Any
    used_up: bool = True
    """Whether a call takes values out of it, which are gone then; False for a file and a socket."""
    writes: bool = False
    """Whether a call can write to it: what others have read by then cannot be taken back."""

    @property
    def moved(self) -> bool:
        return bool(self.position() != self.before)


class ReachedState:
    """What a call can reach, as it was when this was made."""

    def __init__(self, roots: list[tuple[str, Any]]) -> None:
        self.records: list[Kept] = []
        self.tensors: list[KeptTensor] = []
        self.storages: list[KeptStorage] = []
        self.once: list[OneShot] = []
        self.modules: list[tuple[str, Any]] = []
        """The ``torch.nn.Module`` objects, with their paths."""
        self.not_kept: list[str] = []
        """What is there and cannot be put back."""
        self.known: dict[int, str] = {}
        """``id`` of an object -> its path.  The records keep the objects alive."""
        self.may_print = False
        """Whether a function within reach, or one of a library that such a function names, can write to standard
        output."""
        self._alive: list[Any] = []
        self._storages: set[int] = set()
        self._libraries: set[int] = set()
        self._names: dict[int, tuple[Any, str, set[str]]] = {}
        self._queue: collections.deque[tuple[str, Any]] = collections.deque(roots)
        self._packages = {package for _, value in roots for package in _packages(value)}
        outside = OutsideCalls()
        with untouched():
            while self._queue:
                path, value = self._queue.popleft()
                if len(self.known) >= _MOST:
                    self.not_kept.append(f"what is beyond {_MOST} objects")
                    self.may_print = True
                    break
                self.may_print = self.may_print or writes_output(value)
                if type(value) in _PLAIN or id(value) in self.known:
                    continue
                self.known[id(value)] = path
                self._alive.append(value)
                outside.met(value)
                try:
                    self._look(path, value)
                except Exception as error:  # an object that cannot be looked at is none that can be put back
                    self.not_kept.append(f"{path} ({type(error).__name__})")
            for namespace, owner, names in self._names.values():
                self.records.append(KeptNames(namespace, owner, names, functools.partial(_of_namespace, owner)))
        self.records += (*torch_settings(), variables_of_torch())
        self.numbers = _random_numbers()
        if name := outside.first(value for _, value in roots):
            self._once(name, None, "a call that acts outside of the process", int, used_up=False, writes=True)
        self._queue.clear()

    def everything(self) -> Iterator[Kept]:
        """All records, in the order in which they are put back."""
        yield from self.records
        yield from self.storages
        yield from self.tensors
        yield from self.numbers

    def put_back(self) -> list[str]:
        """Make the program's state what it was; returns what could not be put back."""
        failed = [tensor.path for tensor in self.tensors if tensor.history_lost]
        with untouched():
            for record in self.everything():
                try:
                    record.put_back()
                except Exception as error:
                    failed.append(f"{record.path} ({type(error).__name__})")
        return failed

    def _add(self, record: Kept, *, follow: bool = True) -> None:
        self.records.append(record)
        if follow:
            self._queue.extend((shown(record.path + name), part) for name, part in record.before)

    def _look(self, path: str, value: Any) -> None:

        if is_tensor(value):
            self._tensor(path, value)
        elif is_a(value, dict):
            self._add(KeptDict(value, path, quiet=path.endswith(WARNED)))
            self._object(path, value)
        elif is_a(value, list, collections.deque, set, bytearray):
            of = next(k for k in (list, collections.deque, set, bytearray) if is_a(value, k))
            self._add(KeptItems(value, path, of))
            self._object(path, value)
        elif is_a(value, tuple, frozenset):
            kind: Any = tuple if is_a(value, tuple) else frozenset
            self._queue.extend((f"{path}[{number}]", part) for number, part in enumerate(kind.__iter__(value)))
            self._object(path, value)
        elif type(value) is types.FunctionType:
            self._function(path, value)
        elif type(value) is types.MethodType:
            self._queue += [(path, value.__func__), (path, value.__self__)]
        elif type(value) is types.CellType:
            self._add(KeptCell(value, path))
        elif is_a(value, functools.partial):
            self._queue += [(path, value.func), (path, value.args), (path, value.keywords)]
        elif type(value) in (staticmethod, classmethod):
            self._queue.append((path, value.__func__))
        elif type(value) is property:
            self._queue += [(path, part) for part in (value.fget, value.fset, value.fdel) if part is not None]
        elif is_a(value, type):
            self._class(path, value)
        elif type(value) is not types.ModuleType and not self._special(path, value):
            self._object(path, value)

    def _object(self, path: str, value: Any) -> None:
        kind = type(value)
        if class_module(kind) == "builtins" or not _followed(kind):
            return
        if isinstance(own := own_attributes(value), dict) and id(own) not in self.known:
            self.known[id(own)] = path
            self._add(KeptDict(own, path, attributes=True))
        if KeptSlots.of(value):
            self._add(KeptSlots(value, path))
        self._queue.append((kind.__name__, kind))
        if any(cls.__name__ == "Module" and class_module(cls).startswith("torch.nn.") for cls in classes_of(value)):
            self.modules.append((path, value))

    def _special(self, path: str, value: Any) -> bool:
        """What is neither a container nor an object of a class of the program."""
        kind = type(value)
        if is_copied(value):
            self._once(path, value, f"a {kind.__name__}", functools.partial(place_of, value))
            self._queue += [(f"what {path} runs over", part) for part in runs_over(value)]
        elif (record := kept_of_library(value, path)) is not None:
            self._add(record, follow=type(record) is KeptDict or kind is contextvars.ContextVar)
            if is_a(value, functools._lru_cache_wrapper):
                self._queue.append((path, attribute(value, "__wrapped__")))
        elif class_module(kind) == "numpy" and kind.__name__ == "ndarray":
            self._array(path, value)
        elif kind in (types.GeneratorType, types.CoroutineType, types.AsyncGeneratorType):
            self._once(path, value, f"a {kind.__name__.replace('_', ' ')}", functools.partial(_where, value))
        elif kind in (io.StringIO, io.BytesIO) and not value.closed:
            self.records.append(KeptBy(value, path, lambda file: (file.getvalue(), file.tell()), _fill_file))
        elif is_a(value, _FILE):
            self._file(path, value)
        elif is_a(value, logging.Logger):
            self._queue += [(f"a handler of {path}", stream) for stream in _log_streams(value)]
        elif leads := acts_outside(value):
            self._once(path, value, leads, int, used_up=False, writes=True)
        elif kind.__name__ == "socket":
            self._once(path, value, "a socket", int, used_up=False, writes=True)
        elif in_classes(kind, "CustomOpDef") and class_module(kind).startswith("torch."):
            self._queue += [(path, function) for function in operator_functions(value)]
        elif any("__next__" in class_namespace(cls) for cls in classes_of(value)) and class_module(kind) in (
            "builtins", "itertools"):  # fmt: skip
            self._once(path, value, f"a {kind.__name__.removesuffix('iterator').rstrip('_')} iterator", int)
        else:
            return False
        return True

    def _once(
        self,
        path: str,
        value: Any,
        what: str,
        position: Callable[[], Any],
        *,
        used_up: bool = True,
        writes: bool = False,
    ) -> None:
        self.once.append(OneShot(path, what, value, position, position(), used_up, writes))

    def _file(self, path: str, value: Any) -> None:
        """One that is only read goes back to its place; what is written to one is seen by others."""
        shown = (sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__, sys.__stdin__)
        if any(value is one for one in shown) or _asked(value, "closed") is True:
            return
        if _asked(value, "writable") is not False:
            self._once(path, value, "a file that is open for writing", int, used_up=False, writes=True)
        elif _asked(value, "seekable") is True and _told(value) is not None:
            self.records.append(KeptBy(value, path, _told, lambda file, kept: file.seek(kept)))
        else:
            self._once(path, value, "an open file", functools.partial(_told, value), used_up=False)

    def _array(self, path: str, value: Any) -> None:
        if value.dtype.hasobject or not value.flags.writeable:
            return
        self.records.append(
            KeptBy(
                value,
                path,
                lambda a: a.copy(),
                lambda a, kept: a.__setitem__(..., kept),
                lambda one, other: one.shape == other.shape and one.tobytes() == other.tobytes(),
            )
        )

    def _tensor(self, path: str, value: Any) -> None:
        if is_a(value, *_uninitialized()):
            self._once(path, value, "a parameter of a lazy module, which its first call makes", int, writes=True)
            return
        if not keepable(value):
            self.not_kept.append(f"{path}, a {type(value).__name__}")
            return
        kept = KeptTensor(value, path)
        storage = kept.storage
        if storage._cdata not in self._storages:
            self._storages.add(storage._cdata)
            self._alive.append(storage)
            self.storages.append(KeptStorage(storage, path))
        self.tensors.append(kept)
        if kept.grad is not None:
            self._queue.append((f"{path}.grad", kept.grad))
        own = own_attributes(value)
        if isinstance(own, dict):
            self._add(KeptDict(own, path, attributes=True))
        self._queue.append((f"{path}._backward_hooks", value._backward_hooks))
        self._queue.append((f"{path}._post_accumulate_grad_hooks", getattr(value, "_post_accumulate_grad_hooks", None)))
        self._queue += [(f"a tensor that {path} is computed from", leaf) for leaf in _leaves(kept.history)]

    def _function(self, path: str, function: types.FunctionType) -> None:
        own = own_attributes(function)
        if self._foreign(dict.get(function.__globals__, "__name__")):
            self._library(function.__globals__)
            inner = [(own or {}).get(name) for name in ("_torchdynamo_orig_callable", "__wrapped__")]
            self._queue.extend((path, found) for found in inner if found is not None)
            return
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):
            self.known.setdefault(id(cell), name)
            self._alive.append(cell)
            self.records.append(KeptCell(cell, name))
            self._queue.append((name, cell_contents(cell)))
        self._add(KeptFunction(function, path))
        if own:
            self._add(KeptDict(own, path, attributes=True))
        namespace, names = function.__globals__, _named(function.__code__)
        self._namespace(namespace, "", {*names, WARNED})
        for name in names:
            found = dict.get(namespace, name)
            if found is logging:
                self._queue.append(("the root logger", logging.root))
            if type(found) is not types.ModuleType:
                continue
            if self._foreign(dict.get(vars(found), "__name__")):
                self._library(vars(found))
                written = written_attributes(function.__code__)
                if written:
                    self._namespace(vars(found), f"{name}.", written)
                if found is os and "environ" in names:
                    self._queue.append(("os.environ", os.environ))
            else:
                self._namespace(vars(found), f"{name}.", names)

    def _library(self, space: dict[str, Any]) -> None:
        """A library is not followed, and may print."""
        if not self.may_print and id(space) not in self._libraries:
            self._libraries.add(id(space))
            self.may_print = library_writes_output(space)

    def _namespace(self, namespace: dict[str, Any], owner: str, names: set[str]) -> None:
        known = self._names.setdefault(id(namespace), (namespace, owner, set()))[2]
        self._queue.extend(
            (_of_namespace(owner, name), dict.__getitem__(namespace, name))
            for name in sorted(names - known)
            if name in namespace
        )
        known |= names

    def _class(self, path: str, cls: type) -> None:
        if self._foreign(class_module(cls)) or attribute(cls, "__flags__", 0) & 1 << 8:  # an immutable type
            return
        self._add(KeptClass(cls, path))
        self._queue.extend((base.__name__, base) for base in cls.__mro__[1:])

    def _foreign(self, module: Any) -> bool:
        """Whether the globals and classes of a module are not the program's: a library that the called function and
        the modules of its model are no part of.  torch's compiler uses such libraries, too."""
        if _library(module):
            return True
        package = module.partition(".")[0]
        return package not in self._packages and _installed(package)


def _uninitialized() -> tuple[type, ...]:
    import torch

    return (torch.nn.parameter.UninitializedTensorMixin,)


def _packages(root: Any) -> set[str]:
    """The top-level packages of a function, or of an object and the modules in it."""
    import torch

    if type(root) is types.FunctionType:
        return {str(dict.get(root.__globals__, "__name__")).partition(".")[0]}
    inner = torch.nn.Module.modules(root) if is_a(root, torch.nn.Module) else (root,)
    return {class_module(type(value)).partition(".")[0] for value in inner}


def _installed(package: str) -> bool:
    """Whether a package is in one of the folders that installers write to."""
    found = attribute(sys.modules.get(package), "__file__") or ""
    return type(found) is str and any(name in found for name in ("site-packages", "dist-packages"))


def shown(path: str) -> str:
    """A path as the program writes it: ``model.layer.weight``."""
    return without_registries(path, lambda name: f"[{name}]" if name.isdigit() else f".{name}")


def _of_namespace(owner: str, name: str) -> str:
    return f"{owner}{name}"


def _named(code: types.CodeType) -> set[str]:
    names = set(code.co_names)
    for inner in nested_codes(code):
        names |= _named(inner)
    return names


def _library(module: Any) -> bool:
    return type(module) is not str or module.partition(".")[0] in _LIBRARIES


def _followed(kind: type) -> bool:
    """Whether the attributes of objects of this class are the program's: not those of torch's compiler, or of
    Python's library."""
    module = class_module(kind)
    if module.startswith("torch."):
        return not module.startswith(("torch._", "torch.fx", "torch.utils._"))
    return not _library(module) or (module, kind.__name__) in FOLLOWED


def _leaves(history: Any) -> list[Any]:
    """The tensors whose ``.grad`` a backward from here would add to."""
    found: list[Any] = []
    seen: set[int] = set()
    queue = [history]
    while queue and len(seen) < 10_000:
        node = queue.pop()
        if node is None or id(node) in seen:
            continue
        seen.add(id(node))
        if hasattr(node, "variable"):
            found.append(node.variable)
        queue += [inner for inner, _ in node.next_functions]
    return found


def _fill_file(value: Any, kept: tuple[Any, int]) -> None:
    value.seek(0)
    value.truncate()
    value.write(kept[0])
    value.seek(kept[1])


def _where(value: Any) -> Any:
    frame = next((getattr(value, name) for name in ("gi_frame", "cr_frame", "ag_frame") if hasattr(value, name)), None)
    return None if frame is None else frame.f_lasti


def _asked(value: Any, name: str) -> Any:
    """An attribute of a file, or what the method says."""
    try:
        found = getattr(value, name)
        return found() if callable(found) else found
    except Exception:  # a file of a class of the program
        return None


def _log_streams(logger: Any) -> Iterator[Any]:
    """The files of its handlers, and of those of the loggers above it."""
    while logger is not None:
        yield from (one.stream for one in logger.handlers if is_a(one, logging.FileHandler) and one.stream is not None)
        logger = logger.parent if logger.propagate else None


def _told(value: Any) -> Any:
    try:
        return None if value.closed else value.tell()
    except (OSError, ValueError):
        return None


def _random_numbers() -> list[Kept]:
    """The generators of random numbers that any function can use."""
    import torch

    found: list[Kept] = [of_generator(torch.default_generator, "torch's random numbers")]
    if torch.cuda.is_available() and torch.cuda.is_initialized():
        found += [
            of_generator(generator, f"the random numbers of cuda:{number}")
            for number, generator in enumerate(torch.cuda.default_generators)
        ]
    found.append(KeptBy(random, "Python's random numbers", lambda m: m.getstate(), lambda m, kept: m.setstate(kept)))
    of_numpy = sys.modules.get("numpy.random")
    if of_numpy is not None:
        found.append(
            KeptBy(
                of_numpy,
                "numpy's random numbers",
                lambda m: m.get_state(),
                lambda m, kept: m.set_state(kept),
                lambda one, other: repr(one[2:]) == repr(other[2:]) and one[1].tobytes() == other[1].tobytes(),
            )
        )
    return found
