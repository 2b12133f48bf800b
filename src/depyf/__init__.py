"""depyf opens the opaque box of ``torch.compile``: bytecode back to Python source that is proven to mean the same.

Importing this never imports torch; what needs torch imports it when it is used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from depyf import testing
from depyf.api import compare, debug, install, prepare_debug, replay, uninstall, watch, why
from depyf.debugger.where import Where, where
from depyf.decompiler import Decompiler, decompile, decompile_pyc
from depyf.errors import BytecodeError, DecompilationError, DepyfError, NonFiniteError
from depyf.verify.verdict import Status, Verdict

if TYPE_CHECKING:
    from depyf.explain import explain
    from depyf.report import report
else:
    from depyf import explain, report  # packages that can be called: depyf.explain(fn), depyf.explain.dump_src(fn)

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
