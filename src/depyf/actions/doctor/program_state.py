"""What a program leaves when it ends, so that two runs can be compared: variables, modules, random numbers, messages.

This is for a process that depyf started only (the child of ``depyf doctor``), never for the user's.

Input: the variables of the script; what is passed to ``torch.compile``.  Output: plain data by name.  What a function
compiles is often gone at the end, so the parameters and buffers of compiled modules are kept until then; the modules
themselves are not, as torch drops entries with them.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import random
import sys
import types
import weakref
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch

from depyf.run.installed_files import of_library
from depyf.sources.live.pure_access import cell_contents, is_a, own_attributes

_PLAIN = (int, float, bool, str, type(None))
_MOST_MODULES = 16
"""Of so many modules the parameters are kept alive."""
_MOST_MESSAGES = 10_000
_DEPTH = 4
Leaves = Callable[[Any], list[Any]]
State = dict[str, list[Any]]


def final_state(variables: Mapping[str, Any], leaves: Leaves) -> State:
    """Tensors and plain values that variables of the script lead to, by their path: of a module, an optimizer or an
    object of a class of the program, those in it."""
    found: State = {}
    for name, value in list(variables.items()):
        if not name.startswith("__"):
            for path, leaf in _within(name, value, _DEPTH, set()):
                with contextlib.suppress(Exception):  # a value with rules of its own is not compared
                    found[path] = leaves(leaf)
    return found


def _within(path: str, value: Any, depth: int, met: set[int]) -> Iterator[tuple[str, Any]]:
    """What is compared of a value, by its path."""
    if is_a(value, torch.Tensor) or type(value) in _PLAIN:
        yield path, value
    elif is_a(value, torch.nn.Module):
        yield from _of_module(path, value)
    elif is_a(value, list, tuple, dict):
        yield path, value
        parts = list(dict.items(value)) if is_a(value, dict) else list(enumerate(value))
        for key, part in parts[:64]:
            if depth and not is_a(part, torch.Tensor) and type(part) not in _PLAIN:
                yield from _within(f"{path}[{key!r}]", part, depth - 1, met)
    elif is_a(value, torch.optim.Optimizer):
        yield from _of_optimizer(path, value)
    elif depth and id(value) not in met and _of_the_program(type(value)):
        met.add(id(value))
        for name, part in list((own_attributes(value) or {}).items()):
            yield from _within(f"{path}.{name}", part, depth - 1, met)


def _of_module(path: str, module: torch.nn.Module) -> Iterator[tuple[str, Any]]:
    for name, value in (*module.named_parameters(), *module.named_buffers()):
        yield f"{path}.{name}", value
    for name, part in module.named_modules():
        for key, value in list((own_attributes(part) or {}).items()):
            if type(value) in _PLAIN and not key.startswith("_"):
                yield ".".join(filter(None, (path, name, key))), value


def _of_optimizer(path: str, optimizer: torch.optim.Optimizer) -> Iterator[tuple[str, Any]]:
    for number, group in enumerate(optimizer.param_groups):
        for key, value in group.items():
            if key != "params":
                yield f"{path}.param_groups[{number}][{key!r}]", value
        for place, parameter in enumerate(group["params"]):
            yield f"{path}.state[{number}, {place}]", dict(optimizer.state.get(parameter, {}))


def _of_the_program(kind: type) -> bool:
    module = sys.modules.get(kind.__module__)
    filename = getattr(module, "__file__", None)
    return isinstance(filename, str) and not of_library(filename)


def random_state() -> State:
    """Where the generators of random numbers are."""
    found = {"torch": hashlib.sha256(torch.get_rng_state().numpy().tobytes()).hexdigest()}
    found["Python"] = hashlib.sha256(repr(random.getstate()).encode()).hexdigest()
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        found["NumPy"] = hashlib.sha256(repr(numpy.random.get_state(legacy=False)).encode()).hexdigest()
    return {f"random numbers of {name}": [state] for name, state in found.items()}


class Messages:
    """What the program logged: the messages that its loggers made, in order; not those of torch."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def start(self) -> None:
        make = logging.getLogRecordFactory()

        def record(*args: Any, **kwargs: Any) -> logging.LogRecord:
            made = make(*args, **kwargs)
            if made.name.partition(".")[0] not in ("torch", "depyf") and len(self.lines) < _MOST_MESSAGES:
                with contextlib.suppress(Exception):  # a message that does not fit its arguments: logging says so
                    self.lines.append(f"{made.name} {made.levelname}: {made.getMessage()}")
            return made

        not_compiled(record)
        logging.setLogRecordFactory(record)


class CompiledModules:
    """The modules that compiled functions use, and what is in their parameters and buffers at the end."""

    def __init__(self) -> None:
        self._modules: dict[str, weakref.ref[torch.nn.Module]] = {}
        self._tensors: dict[str, dict[str, torch.Tensor]] = {}

    def add(self, name: str, function: Any) -> None:
        """``function`` is what is passed to ``torch.compile``; a module is found in it, in the object whose method it
        is, in its closure, and among the globals that it names."""
        for path, module in _modules_of(name, function):
            if path in self._modules or len(self._modules) == _MOST_MODULES:
                continue
            self._modules[path] = weakref.ref(module)
            self._tensors[path] = {**dict(module.named_parameters()), **dict(module.named_buffers())}

    def state(self, leaves: Leaves) -> State:
        found: State = {}
        for path, reference in self._modules.items():
            module = reference()
            known = self._tensors[path].items() if module is None else _of_module("", module)
            for name, value in known:
                with contextlib.suppress(Exception):
                    found[f"{path}.{name.lstrip('.')}"] = leaves(value)
        return found


def _modules_of(name: str, function: Any) -> Iterator[tuple[str, torch.nn.Module]]:
    if is_a(function, torch.nn.Module):
        yield name, function
        return
    known: dict[str, Any] = {}
    if isinstance(function, types.MethodType):
        owner = function.__self__
        if is_a(owner, torch.nn.Module):
            yield name, owner
            return
        known |= own_attributes(owner) or {}
        function = function.__func__
    if isinstance(function, types.FunctionType):
        known |= {one: function.__globals__[one] for one in function.__code__.co_names if one in function.__globals__}
        for one, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):
            known[one] = cell_contents(cell)
    for one, value in known.items():
        if is_a(value, torch.nn.Module):
            yield f"{one} in {name}", value


def not_compiled(function: Callable[..., Any]) -> None:
    """Compiled code may call it after a graph break: it is no code of the program, and stays as it is."""
    skip = getattr(torch._dynamo.eval_frame, "skip_code", None)
    if skip is not None:
        skip(function.__code__)
