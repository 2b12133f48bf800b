"""Loads what torch saved, as torch does: this executes the file.  Only ``depyf open --load`` asks for it.

Input: what kind of file it is, its path, and that of the cache that belongs to it.  Output: what torch makes of it.
"""

from __future__ import annotations

from typing import Any

FUNCTION, PRECOMPILED = "function", "precompiled"
"""What ``save_compiled_function`` writes; the Python half of a precompile artefact."""


def load_saved(kind: str, path: str, cache: str) -> Any:
    """The object that torch loads from ``path``; raises what torch or the file raises."""
    import torch

    if kind == PRECOMPILED:
        return torch.compiler.precompile.load(path, cache)
    with open(path, "rb") as file:
        return torch.compiler.load_compiled_function(file)
