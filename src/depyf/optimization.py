"""Dispatch between compiled codes by hand, past torch's guards (vLLM's use of depyf)."""

from __future__ import annotations

import sys
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from depyf.safety.guarded import Door

_MAX_FRAMES = 64


class TorchCompileWrapperWithCustomDispatcher:
    """Collects the code objects that Dynamo makes of this object's ``forward``, and runs one of them on demand.

    A subclass defines ``forward``, passes ``torch.compile(self.forward, ...)`` (by default made here) to
    ``__init__`` and decides in ``__call__``: ``self.compiled_codes`` holds what has been compiled, and inside
    ``with self.dispatch_to_code(index):`` a call of ``self.forward`` runs that code without evaluating guards.
    """

    def __init__(self, compiled_callable: Callable[..., Any] | None = None, use_custom_dispatcher: bool = True) -> None:
        import torch
        from torch._dynamo.convert_frame import register_bytecode_hook

        self.compiled_callable = compiled_callable if compiled_callable is not None else torch.compile(self.forward)
        self.original_code_object: types.CodeType = type(self).forward.__code__
        self.compiled_codes: list[types.CodeType] = []
        self.use_custom_dispatcher = use_custom_dispatcher
        self._handle = register_bytecode_hook(self.bytecode_hook)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Override to dispatch; by default torch decides."""
        return self.compiled_callable(*args, **kwargs)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError("a subclass defines forward")

    def bytecode_hook(self, old_code: types.CodeType, new_code: types.CodeType) -> None:
        """Remember ``new_code`` where it was compiled for this very object."""
        with Door("depyf: compiled code cannot be kept"):
            if old_code is self.original_code_object:
                found = _compiled_self()
                if found is self or found is None:
                    self.compiled_codes.append(new_code)

    @contextmanager
    def dispatch_to_code(self, index: int) -> Iterator[None]:
        """Inside, ``forward`` is the compiled code ``index``.

        Dynamo keeps arguments, free and cell variables of the original, so the code objects are interchangeable.
        """
        forward: Any = type(self).forward
        forward.__code__ = self.compiled_codes[index]
        try:
            yield
        finally:
            forward.__code__ = self.original_code_object


class _Unknown:
    """The ``self`` of a frame that has none: equal to nothing."""


def _compiled_self() -> Any:
    """``self`` of the frame that Dynamo is compiling; None where this torch does not show the frame."""
    frame = sys._getframe(1)
    for _ in range(_MAX_FRAMES):
        if frame.f_back is None:
            return None
        frame = frame.f_back
        if frame.f_code.co_name == "_compile" and frame.f_code.co_filename.endswith("convert_frame.py"):
            compiled = frame.f_locals.get("frame")
            values = getattr(compiled, "f_locals", None)
            return values.get("self", _Unknown) if isinstance(values, dict) else None
    return None
