"""Checks for torch before anything that needs it is imported."""

from __future__ import annotations

import re

from depyf.errors import DepyfError

OLDEST_TORCH = (2, 6)
_NUMBERS = ".".join(map(str, OLDEST_TORCH))


def require_torch() -> None:
    """DepyfError where torch is missing or too old."""
    try:
        import torch
    except ImportError as error:
        raise DepyfError(
            f"this needs torch {_NUMBERS} or newer, which cannot be imported here ({error}): install it; "
            "what concerns bytecode alone needs no torch (decompile, disasm, passes)"
        ) from error
    version = getattr(torch, "__version__", "0")
    numbers = tuple(int(part) for part in re.findall(r"\d+", str(version))[:2])
    if numbers < OLDEST_TORCH:
        raise DepyfError(f"torch {version} is too old: depyf needs torch {_NUMBERS} or newer")
