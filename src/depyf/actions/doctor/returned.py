"""Records what compiled functions return, call by call, so that two runs can be compared.

This wraps what ``torch.compile`` returns: it is for a process that depyf started only (the child of ``depyf doctor``),
never for the user's.

Input: nothing.  Output: for each function its calls, for each call its leaves as plain data: a tensor is its shape, its
dtype and some of its values.  Nothing that is recorded keeps a tensor alive.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import random
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch

from depyf.actions.doctor.call_state import CallState
from depyf.actions.doctor.program_state import PLAIN, final_state, random_state, settings
from depyf.actions.doctor.said_messages import Messages, not_compiled
from depyf.sources.live.pure_access import is_a
from depyf.sources.live.pure_tensors import is_fake, out_of_reach, tensor

_MOST_CALLS = 1000
_MOST_LEAVES = 64
_SAMPLES = 16
_MOST_SAID = 300
_COMPILER = ("torch._dynamo", "torch._inductor", "torch._functorch", "torch.fx")
"""Where exceptions come from that torch raises instead of compiling."""


class ReturnedRecorder:
    """Records the results of compiled functions: ``calls`` by qualified name."""

    def __init__(self) -> None:
        self.calls: dict[str, list[list[Any]]] = {}
        self.reached = CallState()
        self.messages = Messages()
        self._lock = threading.Lock()

    def start(self) -> bool:
        """Wrap what is compiled from now on; False where this torch has another way to compile."""
        from torch._dynamo import eval_frame

        context = getattr(eval_frame, "OptimizeContext", None)
        if context is None:
            return False
        make = context.__call__
        self.messages.start()

        @functools.wraps(make)
        def recorded(this: Any, function: Any) -> Any:
            made = make(this, function)
            owner = getattr(function, "__self__", None)
            named = type(owner) if is_a(owner, torch.nn.Module) else function
            name = getattr(named, "__qualname__", type(function).__qualname__)
            with contextlib.suppress(Exception):  # a class whose methods raise: less is compared
                self.reached.add(str(name), function)
            if is_a(made, torch.nn.Module, type) or not callable(made):  # of a module the forward comes here, too
                return made
            return self._wrapped(made, str(name), function)

        context.__call__ = recorded
        return True

    def state(self, variables: Mapping[str, Any]) -> dict[str, list[Any]]:
        """The state at the end of the program (see ``program_state.py``).  ``variables``: those of the script."""
        found = {**random_state(), **settings()}
        found["the messages that are logged"] = [*self.messages.logged]
        found["what is written to standard error"] = "".join(self.messages.written).splitlines()
        return {**self.reached.state(leaves_of), **final_state(variables, leaves_of), **found}

    def _wrapped(self, made: Callable[..., Any], name: str, function: Any) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            versions = _versions(args, kwargs)
            try:
                result = made(*args, **kwargs)
            except Exception as error:
                self._keep(name, [_raised(error), *_written(versions)])
                raise
            finally:
                with contextlib.suppress(Exception):  # a class whose methods raise: less is compared
                    self.reached.seen(name, function, args, kwargs)
            self._keep(name, [*leaves_of(result), *_shared(result, versions), *_written(versions)])
            return result

        not_compiled(call)
        return functools.wraps(made)(call)

    def _keep(self, name: str, leaves: list[Any]) -> None:
        with self._lock:
            calls = self.calls.setdefault(name, [])
            if len(calls) < _MOST_CALLS:
                calls.append(leaves)


def comparable() -> ReturnedRecorder | None:
    """Make two runs comparable: seed random numbers, make compiled code draw them as eager code does, and record what
    compiled functions return.  None where this version of torch cannot be recorded."""
    random.seed(0)
    torch.manual_seed(0)
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        numpy.random.seed(0)
    with contextlib.suppress(ImportError, AttributeError):
        from torch._inductor import config

        config.fallback_random = True
    recorder = ReturnedRecorder()
    return recorder if recorder.start() else None


def _versions(args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[tuple[str, torch.Tensor, int]]:
    """The tensors among arguments, each with how often it was written to."""
    found = []
    for name, value in (*enumerate(args), *kwargs.items()):
        for leaf in itertools.islice(_walk(value, 0), _MOST_LEAVES):
            with contextlib.suppress(Exception):  # a tensor of inference mode does not count
                if is_a(leaf, torch.Tensor):
                    found.append((str(name), leaf, leaf._version))
    return found


def _written(versions: list[tuple[str, torch.Tensor, int]]) -> list[Any]:
    """The arguments that the call wrote to; of a view all that it is a view of."""
    found: list[Any] = []
    for name, leaf, was in versions:
        if leaf._version != was:
            found += [f"argument {name}", _digest(leaf)]
            found += [_digest(base)] if (base := leaf._base) is not None else []
    return found


def _shared(result: Any, versions: list[tuple[str, torch.Tensor, int]]) -> list[str]:
    """Which results lie in the memory of which argument: what the program writes to one is then in both."""
    places = {name: place for name, leaf, _ in versions if (place := _memory(leaf)) is not None}
    leaves = [leaf for leaf in itertools.islice(_walk(result, 0), _MOST_LEAVES) if is_a(leaf, torch.Tensor)]
    return [
        f"result {number} lies in argument {name}"
        for number, leaf in enumerate(leaves)
        if (mine := _memory(leaf)) is not None
        for name, place in places.items()
        if mine == place
    ]


def _memory(value: torch.Tensor) -> int | None:
    """Where the storage of a tensor begins; None where it has none."""
    try:
        return value.untyped_storage().data_ptr() or None
    except Exception:  # fake, sparse, nested, a subclass that raises
        return None


def _raised(error: Exception) -> dict[str, Any]:
    """``compiler``: torch did not compile it, and nothing else is known to be wrong."""
    package = ".".join(type(error).__module__.split(".")[:2])
    return {"error": _said(error), "compiler": package in _COMPILER}


def _said(error: Exception) -> str:
    """The class of an exception, and its text where it is not torch's, which names its own files."""
    kind = type(error)
    if kind.__module__.partition(".")[0] == "torch":
        return kind.__name__
    with contextlib.suppress(Exception):
        return f"{kind.__name__}: {error}"[:_MOST_SAID]
    return kind.__name__


def leaves_of(value: Any) -> list[Any]:
    """The tensors (as checksums) and plain values in ``value``, in order."""
    found = []
    for leaf in _walk(value, 0):
        found.append(_digest(leaf) if is_a(leaf, torch.Tensor) else leaf)
        if len(found) == _MOST_LEAVES:
            break
    return found


def _walk(value: Any, depth: int) -> Iterator[Any]:
    if is_a(value, torch.Tensor) or type(value) in PLAIN:
        yield value
    elif depth < 8:
        parts: Any = ()
        if is_a(value, dict):
            parts = list(dict.values(value))
        elif is_a(value, list, tuple):
            parts = list(value)
        elif hasattr(value, "__dataclass_fields__"):
            parts = list(vars(value).values())
        for part in parts:
            yield from _walk(part, depth + 1)


def _digest(value: torch.Tensor) -> dict[str, Any]:
    try:
        if (
            is_fake(value) or tensor(value).symbolic
        ):  # of a program that traces: it has no values, and must not be asked
            return {"shape": [], "dtype": type(value).__name__}
        with out_of_reach():
            plain = value.detach().to("cpu")
            flat = plain.reshape(-1)
            if flat.is_complex():
                flat = torch.view_as_real(flat.resolve_conj()).reshape(-1)
            count = flat.shape[0]
            step = max(1, count // _SAMPLES)
            wide = flat.to(torch.float64)
            values = wide[::step][:_SAMPLES].tolist()
            if count:
                values += [float(wide.sum()), float(wide.abs().sum())]
        return {
            "shape": list(value.shape),
            "dtype": str(value.dtype).removeprefix("torch."),
            "requires_grad": value.requires_grad,
            "values": values,
        }
    except Exception as error:  # sparse, nested, a subclass that raises: its kind is all that is compared
        return {"shape": [], "dtype": f"{type(value).__name__} ({type(error).__name__})"}
