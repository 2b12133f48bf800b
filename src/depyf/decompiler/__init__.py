"""``depyf.decompiler``: bytecode back to Python source, with a proof; nothing of torch.

The public names, those of the published depyf 0.20 among them, come from ``depyf.decompiling`` when they are first
asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from depyf.decompiling import DecompilationError, Decompiled, Decompiler, decompile, decompile_pyc

__all__ = ["DecompilationError", "Decompiled", "Decompiler", "decompile", "decompile_pyc"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'depyf.decompiler' has no attribute {name!r}")
    from depyf import decompiling

    return getattr(decompiling, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
