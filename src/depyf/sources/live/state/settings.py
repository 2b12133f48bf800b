"""The settings of torch that a function of the program can change, such as the default dtype.

Input: nothing; the process as it is.  Output: a record for each setting, which can be put back.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from depyf.sources.live.state.kept import Kept, KeptBy


def torch_settings() -> list[Kept]:
    """The settings as they are now."""
    import torch

    return [
        KeptBy(None, "torch.is_grad_enabled()", lambda _: torch.is_grad_enabled(),
               lambda _, on: torch.set_grad_enabled(on)),
        KeptBy(None, "torch.get_default_dtype()", lambda _: torch.get_default_dtype(),
               lambda _, kept: torch.set_default_dtype(kept)),
        KeptBy(None, "torch.get_float32_matmul_precision()", lambda _: torch.get_float32_matmul_precision(),
               lambda _, kept: torch.set_float32_matmul_precision(kept)),
        KeptBy(None, "torch.are_deterministic_algorithms_enabled()",
               lambda _: torch.are_deterministic_algorithms_enabled(),
               lambda _, on: torch.use_deterministic_algorithms(on)),
        KeptBy(None, "torch.is_autocast_enabled()", lambda _: torch.is_autocast_enabled("cpu"),
               lambda _, on: torch.set_autocast_enabled("cpu", on)),
        KeptBy(None, "how many autocast blocks are entered", lambda _: _autocast_blocks(), _enter_autocast_blocks),
    ]  # fmt: skip


def _autocast_blocks() -> int:
    import torch

    torch.autocast_increment_nesting()
    return int(torch.autocast_decrement_nesting())


def _enter_autocast_blocks(_: Any, wanted: int) -> None:
    """torch drops the weights that it has cast where the last block ends."""
    import torch

    for _ in range(_autocast_blocks(), wanted):
        torch.autocast_increment_nesting()
    for _ in range(wanted, _autocast_blocks()):
        torch.autocast_decrement_nesting()
    if not wanted:
        torch.clear_autocast_cache()


class ChangedSettings:
    """What was changed since this was made; ``put_back`` undoes it."""

    def __init__(self) -> None:
        self._records = torch_settings()

    def now(self) -> dict[str, Any]:
        """The settings that are not what they were: path -> what it is now."""
        return {record.path: record.now()[0][1] for record in self._records if record.changed()}

    def before(self, path: str) -> Any:
        """What the setting ``path`` was."""
        return next(record.before[0][1] for record in self._records if record.path == path)

    def put_back(self) -> None:
        """Make the settings what they were."""
        for record in self._records:
            record.put_back()


@contextlib.contextmanager
def own_settings() -> Iterator[ChangedSettings]:
    """Settings that are changed in the block are put back at its end."""
    changed = ChangedSettings()
    try:
        yield changed
    finally:
        changed.put_back()
