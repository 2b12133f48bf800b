"""The folder that this process of a distributed run writes to.

``torchrun`` and its like start one process per rank and tell each its number in the environment; every rank then
writes a separate dump, ``rank_N`` below the directory that the program named, so that none overwrites another's.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path

RANK_PREFIX = "rank_"
_NAMED = re.compile(r"rank_\d+(?:_|$)")


def rank_directory(directory: str | os.PathLike[str], environment: Mapping[str, str] = os.environ) -> Path:
    """``directory`` itself, or ``directory/rank_N`` in process N of a distributed run.

    A folder that the program has named for its rank already (vLLM's ``rank_0``, ``rank_0_dp_1``) is taken as it is.
    """
    rank = current_rank(environment)
    if rank is None or _NAMED.match(Path(directory).name):
        return Path(directory)
    return Path(directory) / f"{RANK_PREFIX}{rank}"


def current_rank(environment: Mapping[str, str] = os.environ) -> int | None:
    """This process's rank: as the process group knows it, else as the launcher set it; None outside of a run."""
    distributed = sys.modules.get("torch.distributed")
    if distributed is not None and distributed.is_available() and distributed.is_initialized():
        return int(distributed.get_rank())
    rank = environment.get("RANK", "")
    return int(rank) if rank.isdigit() and environment.get("WORLD_SIZE", "").isdigit() else None


def rank_count(environment: Mapping[str, str] = os.environ) -> int:
    """How many ranks the run has; 1 outside of one."""
    distributed = sys.modules.get("torch.distributed")
    if distributed is not None and distributed.is_available() and distributed.is_initialized():
        return int(distributed.get_world_size())
    return int(environment["WORLD_SIZE"]) if current_rank(environment) is not None else 1
