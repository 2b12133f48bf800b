"""Makes what graphs run on: tensors of a layout with random values, process groups of a process that is alone."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch


def process_groups(sizes: dict[str, int]) -> None:
    """The groups that the graph's collectives name: this process is alone in them, and nothing is sent."""
    import torch.distributed as dist
    from torch.testing._internal.distributed.fake_pg import FakeStore

    dist.init_process_group("fake", store=FakeStore(), rank=0, world_size=max(sizes.values()))
    for name, size in sizes.items():
        if name == dist.distributed_c10d._get_default_group().group_name:
            torch._C._distributed_c10d._unregister_process_group(name)
        group = dist.new_group(list(range(size)), use_local_synchronization=True)
        torch._C._distributed_c10d._register_process_group(name, group)


class Make:
    """Random tensors of a given layout: the same seed makes the same values, on any device."""

    ends: str | None = None
    """Of the ranges of integers, the end that is taken for all elements; "" once there are integers."""

    def __init__(self, seed: int) -> None:
        self.generator = torch.Generator().manual_seed(seed)
        self.storages: dict[int, torch.Tensor] = {}

    def normal(self, *size: int, scale: float = 1.0, dtype: torch.dtype = torch.float32, **layout: Any) -> torch.Tensor:
        wide = torch.complex128 if dtype.is_complex else torch.float64
        return self.place(lambda n: torch.randn(n, generator=self.generator, dtype=wide) * scale, size, dtype, **layout)

    def uniform(
        self, *size: int, low: float, high: float, dtype: torch.dtype = torch.float32, **layout: Any
    ) -> torch.Tensor:
        def values(n: int) -> torch.Tensor:
            return torch.rand(n, generator=self.generator, dtype=torch.float64) * (high - low) + low

        return self.place(values, size, dtype, **layout)

    def integers(
        self,
        *size: int,
        low: int = 0,
        high: int = 2,
        total: int | None = None,
        dtype: torch.dtype = torch.int64,
        **layout: Any,
    ) -> torch.Tensor:
        """From ``low`` up to but not including ``high``; or numbers that add up to ``total``."""

        def values(n: int) -> torch.Tensor:
            if total is None:
                Make.ends = Make.ends or ""
                first, last = {"smallest": (low, low), "largest": (high - 1, high - 1)}.get(Make.ends, (low, high - 1))
                return torch.randint(first, last + 1, (n,), generator=self.generator)
            return torch.bincount(torch.randint(0, n, (total,), generator=self.generator), minlength=n)

        return self.place(values, size, dtype, **layout)

    def booleans(self, *size: int, most: int | None = None, true: int | None = None, **layout: Any) -> torch.Tensor:
        """Half of them true, at most ``most``, and no row all true or all false: it may be a mask.  Or just ``true`` of
        them."""

        def values(n: int) -> torch.Tensor:
            if true is not None:
                return torch.randperm(n, generator=self.generator) < true
            drawn = torch.rand(n, generator=self.generator) < 0.5
            return drawn if most is None else drawn & (drawn.cumsum(0) <= most)

        made = self.place(values, size, torch.bool, **layout)
        if size and size[-1] > 1 and not layout and most is None and true is None:
            made[..., 0], made[..., 1] = True, False
        return made

    def place(
        self,
        values: Callable[[int], torch.Tensor],
        size: tuple[int, ...],
        dtype: torch.dtype,
        stride: tuple[int, ...] | None = None,
        offset: int = 0,
        device: str = "cpu",
        grad: bool = False,
        shared: tuple[int, int] | None = None,
    ) -> torch.Tensor:
        """``shared``: the number of a storage that several inputs are views of, and its length."""
        if stride is None:
            stride = tuple(math.prod(size[i + 1 :]) for i in range(len(size)))
        extent = 1 + sum((n - 1) * step for n, step in zip(size, stride)) if all(size) else 0
        number, length = shared or (-1, offset + extent)
        storage = self.storages.get(number) if shared else None
        if storage is None:
            storage = self.storages[number] = values(length).to(dtype).to(device)
        return storage.as_strided(size, stride, offset).requires_grad_(grad)
