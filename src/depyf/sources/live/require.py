"""Checks for torch before anything that needs it is imported."""

from __future__ import annotations

import re

from depyf.errors import DepyfError

OLDEST_TORCH = (2, 6)


def require_torch() -> None:
    """DepyfError where torch is missing or too old."""
    try:
        import torch
    except ImportError as error:
        raise DepyfError(
            "depyf.prepare_debug and depyf.debug need torch 2.6 or newer, which cannot be imported here "
            f"({error}); install it, or use depyf.decompile, which needs no torch"
        ) from error
    version = getattr(torch, "__version__", "0")
    numbers = tuple(int(part) for part in re.findall(r"\d+", str(version))[:2])
    if numbers < OLDEST_TORCH:
        raise DepyfError(f"torch {version} is too old: depyf needs torch {'.'.join(map(str, OLDEST_TORCH))} or newer")
