"""The tensors that a call can reach, kept bit for bit: their storages, and what each tensor is.

Views of one storage are kept with it.  A storage is compared as bytes, so a NaN equals itself; writing it back changes
no version counter, and the counters are put back, too: autograd's check of what it has saved holds as before.
"""

from __future__ import annotations

import collections
from typing import Any

from depyf.sources.live.state.kept import Kept, Parts


def keepable(value: Any) -> bool:
    """Whether a tensor is an ordinary one: strided, with memory, of torch's own classes."""
    import torch

    kinds = {torch.Tensor, torch.nn.Parameter, getattr(torch.nn, "Buffer", torch.Tensor)}
    return (
        type(value) in kinds
        and value.layout is torch.strided
        and value.device.type != "meta"
        and not torch._C._functorch.is_functorch_wrapped_tensor(value)
        and not value.is_quantized
    )


class KeptStorage(Kept):
    """The bytes of a storage."""

    __slots__ = ("size",)

    def __init__(self, value: Any, path: str) -> None:
        self.size = value.nbytes()
        super().__init__(value, path)

    def now(self) -> Parts:
        return (("", self.value.clone()),)

    def changed(self) -> bool:
        return self.value.nbytes() != self.size or not _equal(self.value, self.before[0][1])

    def write(self, parts: Parts) -> None:
        if self.value.nbytes() != self.size:
            self.value.resize_(self.size)
        self.value.copy_(parts[0][1])


def _equal(one: Any, other: Any) -> bool:
    import torch

    return bool(torch.equal(as_bytes(one), as_bytes(other)))


def as_bytes(storage: Any) -> Any:
    """A storage as a tensor of bytes, which shares its memory."""
    import torch

    return torch.empty(0, dtype=torch.uint8, device=storage.device).set_(storage)


class KeptTensor(Kept):
    """Which storage a tensor shows, how, and what autograd knows of it."""

    __slots__ = ("alias", "grad", "history", "layout", "leaf", "requires", "storage", "version")

    def __init__(self, value: Any, path: str) -> None:
        self.storage = value.untyped_storage()
        self.layout = _layout(value)
        self.alias = value.detach()
        self.leaf, self.requires = value.is_leaf, value.requires_grad
        self.history = value.grad_fn
        self.grad = value.grad if value.is_leaf else None
        self.version = None if value.is_inference() else value._version
        super().__init__(value, path)

    def now(self) -> Parts:
        grad = self.value.grad if self.value.is_leaf else None
        return ((".grad", grad), (".requires_grad", self.value.requires_grad))

    @property
    def moved(self) -> bool:
        return _layout(self.value) != self.layout or self.value.untyped_storage()._cdata != self.storage._cdata

    @property
    def history_lost(self) -> bool:
        """Whether an in-place operation has changed the tensor's autograd history, which cannot be restored."""
        return not self.leaf and self.value.grad_fn is not self.history

    def changed(self) -> bool:
        value = self.value
        return (
            self.moved
            or value.is_leaf != self.leaf
            or value.requires_grad != self.requires
            or (self.leaf and value.grad is not self.grad)
            or (self.version is not None and value._version != self.version)
        )

    def write(self, parts: Parts) -> None:
        import torch

        value = self.value
        if self.moved:
            value.data = self.alias
        if self.leaf and not value.is_leaf:
            value.detach_()
        if self.leaf:
            value.requires_grad_(self.requires)
            value.grad = self.grad
        if self.version is not None and value._version != self.version:
            torch._C._autograd._unsafe_set_version_counter((value,), (self.version,))


def _layout(value: Any) -> tuple[Any, ...]:
    return value.dtype, tuple(value.shape), tuple(value.stride()), value.storage_offset()


def has_history(value: Any) -> bool:
    """Whether an operation computed a tensor, for autograd."""
    return value.grad_fn is not None


def own_leaf(value: Any) -> Any:
    """A copy with the same values and layout, without history; it requires gradients if ``value`` does; written into
    where ``value`` can be."""
    import torch

    if any(stride == 0 and size > 1 for stride, size in zip(value.stride(), value.shape)):  # one element, many times
        made = shown_in(value.untyped_storage().clone(), value)
    else:
        made = torch.empty_strided(value.shape, value.stride(), dtype=value.dtype, device=value.device)
        with torch.no_grad():
            made.copy_(value)
    return made.requires_grad_(value.requires_grad)


def computed_as(value: Any, leaf: Any) -> Any:
    """``leaf``, or a non-leaf clone of it where ``value`` is no leaf: autograd forbids in-place writes to leaves."""
    import torch

    if value.is_leaf or not value.requires_grad:
        return leaf
    with torch.enable_grad():
        return leaf.clone()


def own_copy(value: Any) -> Any:
    """A copy of ``value`` that autograd treats alike (leaf or not), without its history."""
    return computed_as(value, own_leaf(value))


def own_copies(values: tuple[Any, ...]) -> tuple[Any, ...]:
    """Copies of the tensors among ``values``, as ``own_copy`` makes them; those that share memory and need no gradient
    share the memory of their copies."""
    import torch

    together = shared_memory(values)
    made: dict[int, Any] = {}
    for one in together.values():
        made.setdefault(one.untyped_storage()._cdata, one.untyped_storage().clone())
    return tuple(
        shown_in(made[value.untyped_storage()._cdata], value)
        if id(value) in together
        else own_copy(value)
        if isinstance(value, torch.Tensor)
        else value
        for value in values
    )


def shared_memory(values: tuple[Any, ...]) -> dict[int, Any]:
    """``id`` -> those plain tensors that share their memory with another one, and need no gradient."""
    import torch

    plain = [
        one for one in values if type(one) is torch.Tensor and one.layout is torch.strided and not one.requires_grad
    ]
    known = collections.Counter(one.untyped_storage()._cdata for one in {id(one): one for one in plain}.values())
    return {id(one): one for one in plain if known[one.untyped_storage()._cdata] > 1}


def shown_in(storage: Any, like: Any) -> Any:
    """A tensor in the memory ``storage``, with the type, place, sizes and strides of ``like``."""
    import torch

    made = torch.empty(0, dtype=like.dtype, device=like.device)
    return made.set_(storage, like.storage_offset(), like.size(), like.stride())
