"""The memory of tensors of the program as bytes, each storage once, without the program noticing.

Input: tensors of the program, and how many bytes may be kept.  Output: entries for a file of tensors, and where in them
each tensor lies.  Only the part of a storage that the tensors lie in is taken; on the CPU it is not even copied.  No
operation is seen by autograd or by a mode of the program, no random number is drawn, and no tensor is changed.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import torch

from depyf.run.memory.tensor_bytes import shown_bytes
from depyf.run.recorded.recorded_inputs import TYPES, RecordedInput, element_width
from depyf.run.recorded.tensor_file import BYTES, TensorEntry
from depyf.sources.live.pure_access import full_name
from depyf.sources.live.pure_tensors import has_memory, is_lazy, is_tensor, memory, number, span, storage, tensor

_ALIGNED = 16
"""The widest element, in bytes."""


@dataclass
class StorageCopies:
    """What was kept: ``entries`` of a file, ``places`` of the tensors in them (name, layout), ``taken`` bytes.

    ``alive`` are the objects whose memory the entries refer to: hold them until the entries are written.
    """

    entries: dict[str, TensorEntry] = field(default_factory=dict)
    places: dict[str, RecordedInput] = field(default_factory=dict)
    taken: int = 0
    alive: list[Any] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _View:
    """A tensor, and the bytes of its storage that it lies in."""

    name: str
    value: Any
    dtype: str
    shape: tuple[int, ...]
    stride: tuple[int, ...]
    start: int
    end: int

    @property
    def dense(self) -> bool:
        """Whether its elements lie in row-major order, without gaps."""
        width = 1
        for size, stride in zip(reversed(self.shape), reversed(self.stride)):
            if size != 1 and stride != width:
                return False
            width *= size
        return True


def copies_of(tensors: Mapping[str, Any], room: int, limit: int) -> StorageCopies:
    """Keep the memory of ``tensors``, the smallest storages first, as long as ``room`` bytes suffice.

    ``limit`` is what the reason says where they do not.  A tensor that cannot be read is left out with the reason.
    """
    found = StorageCopies()
    groups: dict[int, list[_View]] = {}
    for name, value in tensors.items():
        reason = unreadable(value)
        owner = storage(value) if not reason else None
        if owner is None:
            found.places[name] = RecordedInput(name, left_out=reason or "it has no memory")
            continue
        groups.setdefault(owner[0], []).append(_view(name, value))
    parts = [(_part(views), views) for views in groups.values()]
    for (start, end), views in sorted(parts, key=lambda part: part[0][1] - part[0][0]):  # stable
        size = end - start
        reason = "" if size <= room - found.taken else f"{shown_bytes(size)}; the limit is {shown_bytes(limit)}"
        data = None
        if not reason:
            try:
                data, owner = memory(views[0].value, start, end)
                found.alive.append(owner)
            except (RuntimeError, NotImplementedError, MemoryError) as error:
                reason = f"it could not be copied: {str(error).partition(chr(10))[0][:200]}"
        if data is None:
            found.places.update((view.name, RecordedInput(view.name, left_out=reason)) for view in views)
            continue
        found.taken += size
        _add(found, views, start, data)
    found.entries = {name: found.entries[name] for name in tensors if name in found.entries}
    return found


def unreadable(value: Any) -> str:
    """Why the elements of ``value`` cannot be kept; "" where they can."""
    if not is_tensor(value):
        return "the program no longer holds it" if value is None else f"it is a {full_name(type(value))}"
    if type(value) not in (torch.Tensor, torch.nn.Parameter):
        return f"it is a {full_name(type(value))}"
    view = tensor(value)
    if not view.strided:
        return f"its layout is {view.layout}"
    if not has_memory(value):
        return "it has no memory that can be read now"
    if not element_width(str(view.dtype)):
        return f"its dtype is {view.dtype}"
    return "it is the conjugate or negative of what is in its memory" if is_lazy(value) else ""


def _view(name: str, value: Any) -> _View:
    layout = tensor(value)
    shape, stride = (tuple(int(number(item) or 0) for item in items or ()) for items in (layout.size, layout.stride))
    return _View(name, value, str(layout.dtype), shape, stride, *span(value))


def _part(views: list[_View]) -> tuple[int, int]:
    """The bytes of the storage that all of ``views`` lie in."""
    filled = [view for view in views if view.end > view.start]
    if not filled:
        return 0, 0
    start, end = min(view.start for view in filled), max(view.end for view in filled)
    if len({element_width(view.dtype) for view in filled}) > 1:
        start -= start % _ALIGNED
    return start, end


def _add(found: StorageCopies, views: list[_View], start: int, data: memoryview) -> None:
    """One entry, named after the first of the tensors that lie in it."""
    name, first = views[0].name, views[0]
    dtypes = {view.dtype for view in views}
    dtype = TYPES.get(first.dtype, BYTES) if len(dtypes) == 1 else BYTES
    layouts = {(view.shape, view.stride, view.start) for view in views}
    if dtype == BYTES and first.dtype != "torch.uint8":
        shape: tuple[int, ...] = (data.nbytes,)
    elif len(layouts) == 1 and first.dense:
        shape = first.shape
    else:
        shape = (data.nbytes // element_width(first.dtype),)
    found.entries[name] = TensorEntry(dtype, shape, data)
    for view in views:
        offset = (view.start - start) // element_width(view.dtype) if math.prod(view.shape) else 0
        found.places[view.name] = RecordedInput(
            view.name, tensor=name, dtype=view.dtype, shape=view.shape, stride=view.stride, offset=offset
        )
