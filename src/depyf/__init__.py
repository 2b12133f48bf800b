"""depyf opens the opaque box of ``torch.compile``: bytecode back to Python source that is proven to mean the same.

Importing this takes milliseconds: each name below is imported from its module when it is first asked for.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from depyf import decompiler, optimization, testing, utils
    from depyf.api import compare, debug, edited, install, prepare_debug, replay, uninstall, watch, why
    from depyf.decompiler import Decompiler, decompile, decompile_pyc
    from depyf.decompiler.verify.verdict import Status, Verdict
    from depyf.errors import BytecodeError, DecompilationError, DepyfError, NonFiniteError
    from depyf.explain import explain
    from depyf.report import report
    from depyf.run.places.where import Where, where

__version__ = "1.0.0.dev0"

_FROM = {
    "api": ("compare", "debug", "edited", "install", "prepare_debug", "replay", "uninstall", "watch", "why"),
    "run.places.where": ("Where", "where"),
    "decompiler": ("Decompiler", "decompile", "decompile_pyc"),
    "errors": ("BytecodeError", "DecompilationError", "DepyfError", "NonFiniteError"),
    "decompiler.verify.verdict": ("Status", "Verdict"),
}
_NAMES = {name: module for module, names in _FROM.items() for name in names}
_MODULES = ("decompiler", "doctor", "explain", "optimization", "report", "testing", "utils")
"""Modules that are reached as ``depyf.NAME`` without an import; ``explain`` and ``report`` are called like
functions."""

__all__ = [
    "BytecodeError",
    "DecompilationError",
    "Decompiler",
    "DepyfError",
    "NonFiniteError",
    "Status",
    "Verdict",
    "Where",
    "compare",
    "debug",
    "decompile",
    "decompile_pyc",
    "edited",
    "explain",
    "install",
    "prepare_debug",
    "replay",
    "report",
    "testing",
    "uninstall",
    "watch",
    "why",
    "where",
]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f"depyf.{name}")
    if name not in _NAMES:
        raise AttributeError(f"module 'depyf' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"depyf.{_NAMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_NAMES, *_MODULES})
