"""``make newest``: a share of ``tests/torch`` on the newest torch of the matrix, in an environment that stays.

python -m tools.torch.newest [--folder FOLDER] [--limit SECONDS]

The environment is made once below FOLDER (default ``.venv-newest``, ignored by git) from the package index that pip has:
some 5 GB where that has CUDA wheels only.  The share is one file of each room, those that found most when a torch was new.
Exit status 0: every test passed.  ``make torch-matrix TORCHES=2.15`` runs the rest.
"""

from __future__ import annotations

import sys

from tools import ROOT
from tools.torch import torch_matrix

SHARE = (
    "ahead/test_opened_precompiled.py",
    "answers/test_fix_first.py",
    "answers/test_words_of_breaks.py",
    "capture/test_capture.py",
    "guards/test_declared_sizes.py",
    "guards/test_guards.py",
    "guards/test_unusual_calls.py",
    "guest/test_a_block_leaves_nothing.py",
    "scripts/test_export.py",
)


def newest() -> str:
    """The newest torch of the matrix: a release that came out since is for ``make nightly``."""
    return max(torch_matrix.MATRIX, key=lambda version: [int(part) for part in version.split(".")])


def arguments(given: list[str]) -> list[str]:
    """What ``make torch-matrix`` would be told."""
    folder = () if "--folder" in given else ("--folder", str(ROOT / ".venv-newest"))
    tests = [f"tests/torch/{name}" for name in SHARE]
    return [newest(), "--keep", "--again", *folder, *given, "--tests", *tests]


if __name__ == "__main__":
    sys.exit(torch_matrix.main(arguments(sys.argv[1:])))
