"""``make newest``: a share of ``tests/torch`` on the newest torch of the matrix, in an environment that stays.

python -m tools.torch.newest [--folder FOLDER] [--only-environment] [--jobs N]

The environment is made once below FOLDER (default ``.venv-newest``, ignored by git) from the package index that pip has:
some 5 GB where that has CUDA wheels only.  The share is files of each room, those that found most when a torch was new; they
run in N processes (default: one for each core).  ``--only-environment`` makes the environment and runs nothing.  Exit status 0:
every test passed.  ``make torch-matrix TORCHES=2.15`` runs the rest.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

from tools import ROOT
from tools.torch import torch_matrix

SHARE = (
    "ahead/test_all_captures.py",
    "ahead/test_opened_precompiled.py",
    "ahead/test_precompiled.py",
    "answers/test_advice.py",
    "answers/test_fix_first.py",
    "answers/test_notebook_cells.py",
    "answers/test_the_same_everywhere.py",
    "answers/test_words_of_breaks.py",
    "capture/test_capture.py",
    "compared/test_against_python.py",
    "guards/test_declared_sizes.py",
    "guards/test_guards.py",
    "guards/test_unusual_calls.py",
    "guest/test_a_block_leaves_nothing.py",
    "published/test_vllm_style.py",
    "scripts/test_export.py",
    "stepping/test_where.py",
    "wrong/test_wrong.py",
)


def newest() -> str:
    """The newest torch of the matrix: a release that came out since is for ``make nightly``."""
    return max(torch_matrix.MATRIX, key=lambda version: [int(part) for part in version.split(".")])


def made(folder: Path) -> Path:
    """The environment's interpreter.  Exits where there can be none, with the end of what pip said."""
    log = folder / f"torch-{newest()}.install.log"
    python = torch_matrix.environment(folder, newest(), log)
    if python is None:
        said = log.read_text().strip()[-2000:] if log.exists() else ""
        sys.exit(f"no environment with torch {newest()} can be made: {said or 'its Python is not here (make pythons)'}")
    torch_matrix.bring_headers(python, newest())
    return python


def main(given: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, default=ROOT / ".venv-newest")
    parser.add_argument("--only-environment", action="store_true", help="make the environment, run nothing")
    parser.add_argument("--jobs", default="auto", help="processes of tests (default: one for each core)")
    options = parser.parse_args(given)
    folder: Path = options.folder.absolute()
    folder.mkdir(parents=True, exist_ok=True)
    with torch_matrix.alone(folder):
        python = made(folder)
    print(f"{python}: torch {torch_matrix.version_of(python)}", flush=True)
    if options.only_environment:
        return 0
    tests = [f"tests/torch/{name}" for name in SHARE]
    command = [str(python), "-m", "pytest", "-q", "-n", options.jobs, "--dist", "loadfile", *torch_matrix.QUIET, "--slowest-files", "10", *tests]  # fmt: skip
    return subprocess.run(command, cwd=ROOT, env=torch_matrix.settings(python, folder, newest())).returncode


if __name__ == "__main__":
    sys.exit(main())
