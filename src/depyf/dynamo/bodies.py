"""Make the bodies of operators run as lines of their text where torch interprets them node by node.

The graphs inside a captured graph (forward and backward of an ``autograd.Function``, what ``checkpoint`` wraps) are called
by the operator they belong to, and some operators use ``torch.fx.Interpreter`` for that: no line of the graph's code runs,
and no breakpoint in it is hit.  While ``CalledBodies`` is on, such a graph is called instead, which runs the same operations
in the same order.  A graph that torch is tracing is interpreted as ever.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Collection
from typing import Any


class CalledBodies:
    """From ``start`` to ``stop``: interpreting a graph whose code is one of ``codes`` means calling it."""

    def __init__(self, codes: Collection[types.CodeType]) -> None:
        self._codes = codes
        self._before: Callable[..., Any] | None = None
        self._ours: Callable[..., Any] | None = None

    def start(self) -> None:
        from torch.fx import Interpreter

        interpret: Callable[..., Any] = Interpreter.run

        def run(interpreter: Any, *args: Any, **kwargs: Any) -> Any:
            if (
                type(interpreter) is Interpreter
                and not kwargs
                and self._stepped(interpreter.module)
                and not _traced(args)
            ):
                return interpreter.module.forward(*args)
            return interpret(interpreter, *args, **kwargs)

        self._before, self._ours = interpret, run
        Interpreter.run = run

    def stop(self) -> None:
        from torch.fx import Interpreter

        if self._before is not None and Interpreter.run is self._ours:
            Interpreter.run = self._before
        self._before = self._ours = None

    def _stepped(self, module: Any) -> bool:
        forward = vars(type(module)).get("forward")
        return isinstance(forward, types.FunctionType) and forward.__code__ in self._codes


def _traced(args: tuple[Any, ...]) -> bool:
    """Whether somebody looks at the operations themselves: then the nodes matter, not only the values."""
    import torch
    from torch.utils._python_dispatch import _get_current_dispatch_mode_stack

    plain = (torch.Tensor, torch.nn.Parameter)
    unusual = any(
        isinstance(arg, torch.fx.Proxy) or (isinstance(arg, torch.Tensor) and type(arg) not in plain) for arg in args
    )
    # what traces (proxies, fake and functional tensors) has a key of its own; checkpointing has a mode, too, and only runs
    return unusual or any(getattr(mode, "_mode_key", None) is not None for mode in _get_current_dispatch_mode_stack())
