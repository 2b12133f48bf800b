"""Whether a size is that of a smaller last batch.

Input: the iterators of torch's ``DataLoader`` that are in use while torch reports a recompilation.  Output: the size of
their whole batches, and who made the loader.  Only attributes that torch sets are looked at: no code of the program
runs.
"""

from __future__ import annotations

import sys
import types
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from depyf.run.guards.difference import LAST_BATCH, LAST_BATCH_OF_TRAINER, Difference
from depyf.sources.live.calls.instances import instances_of
from depyf.sources.live.pure_access import class_mro, full_name, own_attributes

_SAMPLERS = ("_index_sampler", "batch_sampler", "_sampler")
_DEPTH = 6
_TRAINER = "transformers.trainer.Trainer"


@dataclass(frozen=True, slots=True)
class BatchSizes:
    """What loaders in use give: batches of these sizes, the last one smaller where there are not enough samples."""

    whole: frozenset[int] = frozenset()
    of_trainer: bool = False
    """The program has its loaders made by the Trainer of transformers."""

    def about(self, difference: Difference) -> Difference:
        """The difference, with the role of a last batch where it is one: samples are along dimension 0."""
        if difference.what != "size" or difference.index != 0 or difference.relation != "==" or not self.whole:
            return difference
        sides = [side.text for side in (difference.wanted, difference.found)]
        sizes = sorted(int(text) for text in sides if text.isdigit())
        if len(sizes) != 2 or sizes[1] not in self.whole or sizes[0] == sizes[1]:
            return difference
        role = LAST_BATCH_OF_TRAINER if self.of_trainer else LAST_BATCH
        return replace(difference, roles=(*difference.roles, role))


def batch_sizes() -> BatchSizes:
    """Those of the loaders that are in use; nothing where none is."""
    found = map(_whole, instances_of("torch.utils.data.dataloader", "_BaseDataLoaderIter"))
    sizes = frozenset(size for size in found if size is not None)
    return BatchSizes(sizes, bool(sizes) and any(map(_is_trainer, _frames())))


def _whole(iterator: Any) -> int | None:
    """The size of a whole batch, where the last one may be smaller."""
    known: Any = iterator
    for _ in range(_DEPTH):
        attributes = own_attributes(known) or {}
        size, drops = attributes.get("batch_size"), attributes.get("drop_last")
        if type(size) is int and type(drops) is bool:
            return None if drops else size
        known = next((attributes[name] for name in _SAMPLERS if attributes.get(name) is not None), None)
        if known is None:
            return None
    return None


def _frames() -> Iterator[types.FrameType]:
    frame: types.FrameType | None = sys._getframe(1)
    while frame is not None:
        yield frame
        frame = frame.f_back


def _is_trainer(frame: types.FrameType) -> bool:
    code = frame.f_code
    if code.co_argcount == 0:
        return False
    receiver = frame.f_locals.get(code.co_varnames[0])
    return any(full_name(kind) == _TRAINER for kind in class_mro(type(receiver)))
