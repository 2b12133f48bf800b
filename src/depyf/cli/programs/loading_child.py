"""The program of ``depyf open --load``: load one file, recorded.  It runs in a process by itself, for this executes it.

Arguments: the kind of the file, its path, that of its cache, the folder of the dump.  Where torch raises, the last line
says what.
"""

from __future__ import annotations

import sys
from typing import Any

import depyf
from depyf.sources.live.saved_loading import load_saved


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
