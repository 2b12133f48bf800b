"""The program of ``depyf open --load``: load one file, recorded.  It runs in a process by itself, for this executes it.

Arguments: the kind of the file (``FUNCTION``, ``PRECOMPILED``), its path, that of its cache, the folder of the dump.
torch's error ends the process, its last line says why.
"""

from __future__ import annotations

import sys
from typing import Any

import depyf

FUNCTION, PRECOMPILED = "function", "precompiled"


def load_saved(kind: str, path: str, cache: str) -> Any:
    """What the file makes; raises what it or torch raises."""
    import torch

    if kind == PRECOMPILED:
        return torch.compiler.precompile.load(path, cache)
    with open(path, "rb") as file:
        return torch.compiler.load_compiled_function(file)


def main() -> int:
    kind, path, cache, folder = sys.argv[1:]
    kept: list[Any] = []
    try:
        with depyf.prepare_debug(folder):
            kept.append(load_saved(kind, path, cache))
    except Exception as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
