"""Objects of libraries that hold state of the program: random generators, context variables, caches of results.

Input: an object, and how the program reaches it.  Output: a record that can put its state back; None for an object of
another kind.  Only exact types are known, and only their own methods are called.
"""

from __future__ import annotations

import array
import ast
import contextlib
import contextvars
import functools
import os
import pickle
import random
import threading
from collections.abc import Callable, Iterator
from typing import Any

from depyf.sources.live.pure_access import class_module
from depyf.sources.live.state.kept import ABSENT, Kept, KeptBy, KeptDict, Parts

_OF_TORCH = ("TORCH", "_TORCH", "PYTORCH", "TRITON")
"""How the names of torch's variables begin."""
STATE_OF = "the state of "
"""Before the name of a generator: the name alone is what a variable refers to."""
FOLLOWED = frozenset((
    ("types", "SimpleNamespace"), ("argparse", "Namespace"), ("collections", "defaultdict"),
    ("collections", "UserDict"), ("collections", "UserList"), ("collections", "UserString"),
    ("collections", "ChainMap"), ("weakref", "WeakKeyDictionary"), ("weakref", "WeakValueDictionary"),
    ("_weakrefset", "WeakSet"), ("threading", "Event"), ("queue", "Queue"), ("queue", "LifoQueue"),
    ("queue", "PriorityQueue"),
))  # fmt: skip
"""Classes of Python's library whose objects hold values of the program: their attributes are followed."""


def kept_of_library(value: Any, path: str) -> Kept | None:
    """The record of ``value``, a generator of random numbers, an array, a context variable or a cache."""
    import torch

    kind = type(value)
    if kind is array.array:
        return KeptBy(value, path, bytes, _fill_array)
    if kind is torch.Generator:
        return of_generator(value, STATE_OF + path)
    if kind is random.Random:
        return KeptBy(value, STATE_OF + path, random.Random.getstate, random.Random.setstate)
    if class_module(kind).startswith("numpy.random") and kind.__name__ in _OF_NUMPY:
        get, put = _OF_NUMPY[kind.__name__]
        return KeptBy(value, STATE_OF + path, get, put, _same_state)
    if kind is contextvars.ContextVar:
        return KeptBy(value, f"the value of {path}", lambda one: one.get(ABSENT), _set_variable, _is)
    if kind is functools._lru_cache_wrapper:
        return KeptBy(value, path, lambda one: tuple(one.cache_info()), _clear_cache, quiet=True)
    if kind is threading.local:  # a class derived from it runs its __init__ in each new thread
        return KeptDict(threading.local.__getattribute__(value, "__dict__"), path, attributes=True)
    return KeptEnvironment(value, path) if value is os.environ else None


class KeptEnvironment(Kept):
    """The variables of the process but for those of torch, which a compilation sets."""

    __slots__ = ("_texts",)

    def __init__(self, value: Any, path: str) -> None:
        self._texts: dict[tuple[str, str], str] = {}
        super().__init__(value, path)

    def now(self) -> Parts:
        """One text for what is alike: each read makes another one."""
        own = [(name, text) for name, text in self.value.items() if not name.startswith(_OF_TORCH)]
        return tuple((f"[{name!r}]", self._texts.setdefault((name, text), text)) for name, text in own)

    def write(self, parts: Parts) -> None:
        kept = {ast.literal_eval(name[1:-1]): text for name, text in parts}
        _set_environment(self.value, kept | _of_torch(self.value))


def variables_of_torch() -> KeptBy:
    """The variables of the process that torch sets when it compiles.  They are put back, and not compared."""
    return KeptBy(os.environ, "os.environ", _of_torch, _set_those_of_torch, quiet=True)


@contextlib.contextmanager
def own_variables() -> Iterator[None]:
    """Variables that torch sets in the block are put back at its end.  Modules of torch set some when they are imported
    (``torch/_dynamo/package.py``), so this module imports none."""
    variables = variables_of_torch()
    try:
        yield
    finally:
        variables.put_back()


def _of_torch(environment: Any) -> dict[str, str]:
    return {name: text for name, text in environment.items() if name.startswith(_OF_TORCH)}


def _set_those_of_torch(environment: Any, kept: dict[str, str]) -> None:
    others = {name: text for name, text in environment.items() if not name.startswith(_OF_TORCH)}
    _set_environment(environment, others | kept)


def of_generator(value: Any, path: str) -> KeptBy:
    """Of a generator of torch's."""
    import torch

    return KeptBy(value, path, torch.Generator.get_state, torch.Generator.set_state, torch.equal)


def _get_bits(value: Any) -> Any:
    return value.bit_generator.state


def _put_bits(value: Any, kept: Any) -> None:
    value.bit_generator.state = kept


def _get_state(value: Any) -> Any:
    return value.state


def _put_state(value: Any, kept: Any) -> None:
    value.state = kept


_BITS = (_get_state, _put_state)
_OF_NUMPY: dict[str, tuple[Callable[[Any], Any], Callable[[Any, Any], None]]] = {
    "Generator": (_get_bits, _put_bits),
    "RandomState": (lambda one: one.get_state(legacy=False), lambda one, kept: one.set_state(kept)),
    "MT19937": _BITS, "PCG64": _BITS, "PCG64DXSM": _BITS, "Philox": _BITS, "SFC64": _BITS,
}  # fmt: skip


def _same_state(one: Any, other: Any) -> bool:
    return pickle.dumps(one) == pickle.dumps(other)


def _is(one: Any, other: Any) -> bool:
    return one is other


def _set_variable(variable: contextvars.ContextVar[Any], kept: Any) -> None:
    """A variable that had no value gets its default: only ``reset`` takes a value away, with the token of the ``set``
    that gave it.  LookupError where there is no default."""
    variable.set(contextvars.Context().run(variable.get) if kept is ABSENT else kept)


def _clear_cache(cached: Any, kept: tuple[Any, ...]) -> None:
    """An empty cache is empty again.  ValueError for another one: no result can be taken out of it alone."""
    if any(kept[:2]) or kept[3]:
        raise ValueError("a cache of results with new ones")
    cached.cache_clear()


def _set_environment(environment: Any, kept: dict[str, str]) -> None:
    for name in [name for name in environment if name not in kept]:
        del environment[name]
    for name, text in kept.items():
        if environment.get(name) != text:
            environment[name] = text


def _fill_array(value: Any, kept: bytes) -> None:
    del value[:]
    value.frombytes(kept)
