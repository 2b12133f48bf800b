"""depyf opens the opaque box of ``torch.compile``: bytecode back to Python source that is proven to mean the same.

Importing this never imports torch; what needs torch imports it when it is used.
"""

from __future__ import annotations

from depyf.api import compare, debug, install, prepare_debug, replay, uninstall, why
from depyf.debugger.where import Where, where
from depyf.decompiler import Decompiler, decompile, decompile_pyc
from depyf.errors import BytecodeError, DecompilationError, DepyfError, NonFiniteError
from depyf.verify.verdict import Status, Verdict

__version__ = "1.0.0.dev0"

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
    "install",
    "prepare_debug",
    "replay",
    "uninstall",
    "why",
    "where",
]
