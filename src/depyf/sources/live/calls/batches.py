"""Whether a size is that of a smaller last batch, or of a batch that is as long as its longest sample.

Input: the iterators of torch's ``DataLoader`` that are in use while torch reports a recompilation.  Output: the size of
their whole batches, who made the loader, and what pads its samples.  Only attributes that torch and the collators of
transformers set are looked at, and the names that a function reads: no code of the program runs.
"""

from __future__ import annotations

import sys
import types
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from depyf.decompiler.bytecode.host.written_names import qualified_name
from depyf.run.guards.difference import LAST_BATCH, LAST_BATCH_OF_TRAINER, Difference
from depyf.sources.live.calls.instances import instances_of
from depyf.sources.live.pure_access import (
    attribute,
    class_mro,
    class_namespace,
    full_name,
    own_attributes,
    short_name,
)

_SAMPLERS = ("_index_sampler", "batch_sampler", "_sampler")
_DEPTH = 6
_INNER = ("data_collator", "func", "__func__")
"""Where wrappers keep what they wrap: transformers' removal of columns, ``functools.partial``, a bound method."""
_TRAINER = "transformers.trainer.Trainer"


@dataclass(frozen=True, slots=True)
class BatchSizes:
    """The batch sizes of the data loaders in use.  The last batch may be smaller."""

    whole: frozenset[int] = frozenset()
    of_trainer: bool = False
    """The program has its loaders made by the Trainer of transformers."""
    padding: str = ""
    """How to pad to one length, where one of them pads each batch to its longest sample."""

    def about(self, difference: Difference) -> Difference:
        """``difference`` with the role of a last batch, or with the way to pad, where one applies."""
        if difference.what != "size" or difference.relation != "==":
            return difference
        if difference.index:  # samples are along dimension 0
            return replace(difference, padded=self.padding)
        if difference.index is None or not self.whole:
            return difference
        sides = [side.text for side in (difference.wanted, difference.found)]
        sizes = sorted(int(text) for text in sides if text.isdigit())
        if len(sizes) != 2 or sizes[1] not in self.whole or sizes[0] == sizes[1]:
            return difference
        role = LAST_BATCH_OF_TRAINER if self.of_trainer else LAST_BATCH
        return replace(difference, roles=(*difference.roles, role))


def batch_sizes() -> BatchSizes:
    """The batch sizes of the data loaders in use; empty for none."""
    loaders = instances_of("torch.utils.data.dataloader", "_BaseDataLoaderIter")
    sizes = frozenset(size for size in map(_whole, loaders) if size is not None)
    padding = next(filter(None, map(_padding, loaders)), "")
    return BatchSizes(sizes, bool(sizes) and any(map(_is_trainer, _frames())), padding)


def _padding(iterator: Any) -> str:
    """How the samples would be padded to one length; "" where they are not padded, or already to a multiple."""
    known = (own_attributes(iterator) or {}).get("_collate_fn")
    for _ in range(_DEPTH):
        attributes = own_attributes(known) or {}
        if "pad_to_multiple_of" in attributes:
            free = attributes["pad_to_multiple_of"] is None and _is_longest(attributes.get("padding", True))
            name = short_name(type(known))
            return f"{name}(pad_to_multiple_of=N), N no smaller than the longest sample" if free else ""
        function = known if type(known) is types.FunctionType else _call(type(known))
        if function is not None and _pads(function):
            return f"pad to one length in {qualified_name(function.__code__)}()"
        known = next((inner for name in _INNER if (inner := attribute(known, name)) is not None), None)
    return ""


def _is_longest(padding: Any) -> bool:
    """Whether a collator of transformers pads to the longest sample: ``True``, ``"longest"``, or their enumeration."""
    word = (own_attributes(padding) or {}).get("_value_", padding)
    return padding is True or (type(word) is str and word == "longest")


def _call(kind: type) -> types.FunctionType | None:
    """What calling an object of a class runs."""
    found = next((space["__call__"] for one in class_mro(kind) if "__call__" in (space := class_namespace(one))), None)
    return found if type(found) is types.FunctionType else None


def _pads(function: types.FunctionType) -> bool:
    """Whether a function reads torch's ``pad_sequence``."""
    wanted = getattr(sys.modules.get("torch.nn.utils.rnn"), "pad_sequence", None)
    names = function.__code__.co_names
    if wanted is None or "pad_sequence" not in names:
        return False
    found = function.__globals__.get("pad_sequence")
    return found is None or found is wanted


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
