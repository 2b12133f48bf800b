"""What a program leaves when it ends, so that two runs can be compared: variables, modules, gradients, random numbers.

This is for a process that depyf started only (the child of ``depyf doctor``), never for the user's.

Input: the variables of the script and of the files beside it.  Output: plain data by name.  What is gone by then is in
``call_state.py``, what the program writes in ``messages.py``.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import random
import sys
import types
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch

from depyf.run.installed_files import of_library
from depyf.sources.live.pure_access import class_namespace, is_a, own_attributes

PLAIN = (int, float, bool, str, type(None))
_OF_ANY_MODULE = frozenset(vars(torch.nn.Module())) - {"training"}
_MOST_PARTS = 64
_DEPTH = 4
Leaves = Callable[[Any], list[Any]]
State = dict[str, list[Any]]


def final_state(variables: Mapping[str, Any], leaves: Leaves) -> State:
    """Tensors and plain values that variables of the program lead to, by their path: those in modules, optimizers,
    containers, and in classes and functions of the program and objects of its classes.  A tensor's gradient is beside
    it.  ``variables`` are those of the script."""
    found: State = {}
    met: set[int] = set()
    for prefix, names in (("", variables), *_beside(variables.get("__file__"))):
        for name, value in list(names.items()):
            if not name.startswith("__"):
                for path, leaf in within(prefix + name, value, met):
                    with contextlib.suppress(Exception):  # a value whose methods raise is not compared
                        found[path] = leaves(leaf)
    return found


def _beside(script: object) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The variables of modules whose files are in the folder of the script, or below it."""
    if not isinstance(script, str):
        return
    folder = os.path.join(os.path.dirname(os.path.abspath(script)), "")
    for name, module in sys.modules.copy().items():
        names = own_attributes(module) or {}
        filename = names.get("__file__")
        if (
            name != "__main__"
            and isinstance(filename, str)
            and filename.startswith(folder)
            and not of_library(filename)
        ):
            yield f"{name}.", names


def within(path: str, value: Any, met: set[int], depth: int = _DEPTH) -> Iterator[tuple[str, Any]]:
    """The tensors and plain values in ``value``, each with its path.  ``met``: the ids of the objects already
    visited."""
    if is_a(value, torch.Tensor):
        yield from with_gradient(path, value)
    elif type(value) in PLAIN:
        yield path, value
    elif is_a(value, torch.nn.Module):
        yield from of_module(path, value, met)
    elif is_a(value, list, tuple, dict, deque):
        yield path, value
        parts = list(dict.items(value)) if is_a(value, dict) else list(enumerate(value))
        for key, part in parts[:_MOST_PARTS]:
            if depth and not is_a(part, torch.Tensor) and type(part) not in PLAIN:
                yield from within(f"{path}[{key!r}]", part, met, depth - 1)
    elif is_a(value, torch.optim.Optimizer):
        yield from of_optimizer(path, value.param_groups, value.state)
    elif depth and id(value) not in met and (inner := _attributes(value)) is not None:
        met.add(id(value))
        for name, part in list(inner.items()):
            if not name.startswith(("__", "_torchdynamo_")):
                yield from within(f"{path}.{name}", part, met, depth - 1)


def _attributes(value: Any) -> Mapping[str, Any] | None:
    """Those of a class or function of the program, or of an object of such a class; None for anything else."""
    if is_a(value, type):
        return {k: v for k, v in class_namespace(value).items() if _is_kept(v)} if of_the_program(value) else None
    if type(value) is types.FunctionType:
        return own_attributes(value) if not of_library(value.__code__.co_filename) else None
    return own_attributes(value) if of_the_program(type(value)) else None


def _is_kept(value: Any) -> bool:
    """Whether it is a value that a class keeps, not a method or a class in it."""
    return type(value) in PLAIN or is_a(value, torch.Tensor, list, tuple, dict, deque)


def with_gradient(path: str, value: torch.Tensor) -> Iterator[tuple[str, Any]]:
    yield path, value
    gradient = None
    with contextlib.suppress(Exception):  # a tensor subclass that raises
        gradient = value.grad if value.is_leaf else None
    if gradient is not None:
        yield f"{path}.grad", gradient


def of_module(path: str, module: torch.nn.Module, met: set[int]) -> Iterator[tuple[str, Any]]:
    """The parameters, buffers and other attributes of ``module`` and its submodules, each with its path."""
    for name, value in (*module.named_parameters(), *module.named_buffers()):
        yield from with_gradient(".".join(filter(None, (path, name))), value)
    for name, part in module.named_modules():
        for key, value in kept_attributes(part).items():
            inner = ".".join(filter(None, (path, name, key)))
            if type(value) in PLAIN:
                yield inner, value
            elif not is_a(value, torch.nn.Module, types.FunctionType):
                yield from within(inner, value, met, 1)


def kept_attributes(module: torch.nn.Module) -> dict[str, Any]:
    """The attributes of a module besides parameters, buffers and modules; of a library's class only plain values."""
    own = own_attributes(module) or {}
    ours = of_the_program(type(module))
    return {
        key: value
        for key, value in list(own.items())
        if key not in _OF_ANY_MODULE and (ours or (type(value) in PLAIN and not key.startswith("_")))
    }


def of_optimizer(
    path: str, groups: list[dict[str, Any]], state: Mapping[torch.Tensor, Any]
) -> Iterator[tuple[str, Any]]:
    for number, group in enumerate(groups):
        for key, value in group.items():
            if key != "params":
                yield f"{path}.param_groups[{number}][{key!r}]", value
        for place, parameter in enumerate(group["params"]):
            yield from with_gradient(f"{path}.params[{number}, {place}]", parameter)
            yield f"{path}.state[{number}, {place}]", dict(state.get(parameter, {}))


def of_the_program(kind: type) -> bool:
    module = sys.modules.get(kind.__module__)
    filename = getattr(module, "__file__", None)
    return isinstance(filename, str) and not of_library(filename)


def settings() -> State:
    """The global settings of torch that a program may have changed."""
    return {
        "torch.is_grad_enabled()": [torch.is_grad_enabled()],
        "torch.is_inference_mode_enabled()": [torch.is_inference_mode_enabled()],
        "torch.get_default_dtype()": [str(torch.get_default_dtype())],
        "torch.are_deterministic_algorithms_enabled()": [torch.are_deterministic_algorithms_enabled()],
    }


def random_state() -> State:
    """A checksum of the state of each random number generator."""
    found = {"torch": hashlib.sha256(torch.get_rng_state().numpy().tobytes()).hexdigest()}
    found["Python"] = hashlib.sha256(repr(random.getstate()).encode()).hexdigest()
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        found["NumPy"] = hashlib.sha256(repr(numpy.random.get_state(legacy=False)).encode()).hexdigest()
    if torch.cuda.is_available() and torch.cuda.is_initialized():
        states = [one.numpy().tobytes() for one in torch.cuda.get_rng_state_all()]
        found["CUDA"] = hashlib.sha256(b"".join(states)).hexdigest()
    return {f"random numbers of {name}": [state] for name, state in found.items()}
