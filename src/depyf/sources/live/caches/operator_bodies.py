"""Make the bodies of operators run as lines of their text where torch interprets them node by node.

The graphs inside a captured graph (forward and backward of an ``autograd.Function``, what ``checkpoint`` wraps) are
called by the operator they belong to, and some operators use ``torch.fx.Interpreter`` for that, as the backend
``aot_eager`` of torch 2.6 does for its graphs: no line of the graph's code runs, and no breakpoint in it is hit.  While
``CalledBodies`` is on, such a graph is called instead, which runs the same operations in the same order.  A graph that
torch is tracing is interpreted as ever.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Collection, Sequence
from typing import Any, ClassVar


class CalledBodies:
    """Between ``start`` and ``stop``, a graph whose code is one of ``codes`` is called where torch would interpret it.
    Several blocks may overlap and end in any order; the last one restores torch's functions."""

    _on: ClassVar[list[CalledBodies]] = []
    _torch: ClassVar[dict[str, Callable[..., Any]]] = {}

    def __init__(self, codes: Collection[types.CodeType]) -> None:
        self._codes = codes

    def start(self) -> None:
        from torch.fx import Interpreter

        if not CalledBodies._on:
            interpret, interpret_boxed = Interpreter.run, Interpreter.boxed_run
            CalledBodies._torch.update(run=interpret, boxed_run=interpret_boxed)

            def run(interpreter: Any, *args: Any, **kwargs: Any) -> Any:
                if not kwargs and _callable(interpreter, args):
                    return interpreter.module.forward(*args)
                return interpret(interpreter, *args, **kwargs)

            def boxed_run(interpreter: Any, args_list: list[Any]) -> Any:
                if not _callable(interpreter, args_list):
                    return interpret_boxed(interpreter, args_list)
                values = tuple(args_list)
                args_list.clear()
                return interpreter.module.forward(*values)

            Interpreter.run, Interpreter.boxed_run = run, boxed_run
        CalledBodies._on.append(self)

    def stop(self) -> None:
        from torch.fx import Interpreter

        CalledBodies._on.remove(self)
        if not CalledBodies._on:
            for name, before in CalledBodies._torch.items():
                setattr(Interpreter, name, before)

    @staticmethod
    def has(code: types.CodeType) -> bool:
        return any(code in bodies._codes for bodies in CalledBodies._on)


def _callable(interpreter: Any, args: Sequence[Any]) -> bool:
    from torch.fx import Interpreter

    forward = vars(type(interpreter.module)).get("forward")
    stepped = isinstance(forward, types.FunctionType) and CalledBodies.has(forward.__code__)
    return type(interpreter) is Interpreter and stepped and not _traced(args)


def _traced(args: Sequence[Any]) -> bool:
    """Whether a dispatch mode observes the operations: then the nodes matter, not only the values."""
    import torch
    from torch.utils._python_dispatch import _get_current_dispatch_mode_stack

    plain = (torch.Tensor, torch.nn.Parameter)
    unusual = any(
        isinstance(arg, torch.fx.Proxy) or (isinstance(arg, torch.Tensor) and type(arg) not in plain) for arg in args
    )
    # what traces (proxies, fake and functional tensors) has a separate key; checkpointing has a mode, too, and only
    # runs
    return unusual or any(getattr(mode, "_mode_key", None) is not None for mode in _get_current_dispatch_mode_stack())
