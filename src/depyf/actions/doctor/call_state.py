"""What compiled functions reach, so that its state is had at the end also where the program has let it go by then.

This is for a process that depyf started only (the child of ``depyf doctor``), never for the user's.

Input: a compiled function, and what each call passes to it.  Output: plain data by name.  Parameters, buffers and the
state of optimizers are kept alive until the end; modules are not, as torch drops entries with them: what else a module,
an object or a cell keeps is what it was after the last call.
"""

from __future__ import annotations

import contextlib
import types
import weakref
from collections import deque
from collections.abc import Iterator, Mapping
from typing import Any

import torch

from depyf.actions.doctor.program_state import (
    PLAIN,
    Leaves,
    State,
    kept_attributes,
    of_module,
    of_optimizer,
    of_the_program,
    with_gradient,
)
from depyf.sources.live.pure_access import cell_contents, is_a, own_attributes

_MOST_MODULES = 16
"""Of so many modules the parameters are kept alive, and of so many optimizers the state."""
_MOST_PARTS = 64
_CONTAINERS = (list, tuple, dict, deque)


class CallState:
    """Collects the state that compiled functions reach: call ``seen`` after each call, and ``state`` at the end."""

    def __init__(self) -> None:
        self._modules: dict[str, weakref.ref[torch.nn.Module]] = {}
        self._tensors: dict[str, dict[str, torch.Tensor]] = {}
        self._optimizers: dict[str, tuple[list[dict[str, Any]], Mapping[torch.Tensor, Any]]] = {}
        self._kept: dict[str, Any] = {}

    def add(self, name: str, function: Any) -> None:
        """``function`` is what is passed to ``torch.compile``; a module is found in it, in the object whose method it
        is, in its closure, and among the globals that it names."""
        for path, value in _roots(name, function, globals_too=True):
            self._hold(path, value)

    def seen(self, name: str, function: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
        """Record the state after a call of ``function`` with these arguments."""
        given = [(f"argument {key} of {name}", value) for key, value in (*enumerate(args), *kwargs.items())]
        for path, value in (*_roots(name, function), *given):
            self._hold(path, value)
            for inner, part in _inside(path, value):
                self._hold(inner, part)
                if is_a(part, torch.Tensor) or type(part) in PLAIN or _plain_inside(part):
                    self._kept[inner] = part

    def _hold(self, path: str, value: Any) -> None:
        if is_a(value, torch.nn.Module) and path not in self._modules and len(self._modules) < _MOST_MODULES:
            self._modules[path] = weakref.ref(value)
            self._tensors[path] = {**dict(value.named_parameters()), **dict(value.named_buffers())}
        elif is_a(value, torch.optim.Optimizer) and len(self._optimizers) < _MOST_MODULES:
            self._optimizers.setdefault(path, (value.param_groups, value.state))

    def state(self, leaves: Leaves) -> State:
        found: State = {}
        for path, value in self._everything():
            with contextlib.suppress(Exception):
                found[path] = leaves(value)
        return found

    def _everything(self) -> Iterator[tuple[str, Any]]:
        for path, value in self._kept.items():
            yield from with_gradient(path, value) if is_a(value, torch.Tensor) else [(path, value)]
        for path, (groups, state) in self._optimizers.items():
            yield from of_optimizer(path, groups, state)
        for path, reference in self._modules.items():
            module = reference()
            if module is not None:
                yield from of_module(path, module, set())
                continue
            for name, value in self._tensors[path].items():
                yield from with_gradient(f"{path}.{name}", value)


def _roots(name: str, function: Any, globals_too: bool = False) -> Iterator[tuple[str, Any]]:
    """What a function can reach before it is called: its object, its cells, the modules among its globals."""
    if is_a(function, torch.nn.Module):
        yield name, function
        return
    if isinstance(function, types.MethodType):
        yield name, function.__self__
        function = function.__func__
    if isinstance(function, types.FunctionType):
        for one, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):
            yield f"{one} in {name}", cell_contents(cell)
        for one in function.__code__.co_names if globals_too else ():
            value = function.__globals__.get(one)
            if is_a(value, torch.nn.Module):
                yield f"{one} in {name}", value


def _inside(path: str, value: Any) -> Iterator[tuple[str, Any]]:
    """What a value keeps: of a module each of its modules'; of an object of the program its attributes; else itself."""
    if is_a(value, torch.nn.Module):
        for name, part in value.named_modules():
            for key, kept in kept_attributes(part).items():
                yield ".".join(filter(None, (path, name, key))), kept
    elif is_a(value, *_CONTAINERS) or type(value) in PLAIN:
        yield path, value
    elif not is_a(value, torch.Tensor, type) and of_the_program(type(value)):
        for key, kept in list((own_attributes(value) or {}).items()):
            yield f"{path}.{key}", kept


def _plain_inside(value: Any) -> bool:
    """Whether it is a container of plain values and tensors, so far as it is looked at: nothing else is kept alive."""
    if not is_a(value, *_CONTAINERS):
        return False
    parts = list(dict.values(value) if is_a(value, dict) else value)[:_MOST_PARTS]
    return all(is_a(part, torch.Tensor) or type(part) in PLAIN or _plain_inside(part) for part in parts)
