"""A graph as one backend runs it: outputs, what it writes into, and gradients, with the same random numbers each time.

Input: a graph module and inputs of the program, which stay as they are.  Output: lists of tensors.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from depyf.actions.debugger.stepping.levels import no_caches
from depyf.sources.live.origins.probes import clean_copy
from depyf.sources.live.state.graph_tensors import GraphTensors
from depyf.sources.live.state.kept_tensors import computed_as, keepable, own_copies, own_leaf
from depyf.sources.live.state.settings import own_settings

Backend = str | Callable[..., Any]


class Compiled:
    """A graph on one backend."""

    def __init__(self, backend: Backend, gm: Any, made: Callable[..., Any] | None = None) -> None:
        """``made``: the graph, compiled already."""
        self._backend = backend
        self._gm = gm
        self._made = made
        self.settings: dict[str, Any] = {}
        """The settings of torch that the last call changed: path -> what it left there.  They are put back."""

        self.tracked: list[bool] = []
        """Of each output of the last call that ``gradients`` made: whether autograd can go back from it."""

        self.memory: list[str] = []
        """Of each output of the last call of ``outputs``: whose memory it has, in words; "" for no tensor or an empty
        one."""

    @property
    def is_made(self) -> bool:
        """Whether the backend has compiled the graph."""
        return self._made is not None

    @property
    def made(self) -> Callable[..., Any]:
        """What the backend made; after the first call."""
        assert self._made is not None
        return self._made

    def _call(self, inputs: tuple[Any, ...]) -> list[Any]:
        """Run with fixed random numbers; the graph is compiled for the first inputs."""
        import torch

        with steady_random_numbers(), own_settings() as settings:
            if self._made is None:
                from torch._dynamo.backends.registry import lookup_backend

                compiler = lookup_backend(self._backend) if isinstance(self._backend, str) else self._backend
                self._made = compiler(self._gm, list(inputs))
                settings.put_back()  # a compiler that traces the graph makes its calls
            torch.manual_seed(0)
            result = self._made(*inputs)
            self.settings = settings.now()
        return list(result) if isinstance(result, (tuple, list)) else [result]

    def outputs(self, inputs: tuple[Any, ...]) -> list[Any]:
        """The outputs of the graph for ``inputs``; for in-place writes, the inputs and the graph's own tensors
        afterwards."""
        own = copied(inputs)
        with GraphTensors(self._gm) as held:
            made = self._call(own)
            self.memory = _owners(made, [*zip(_placeholders(self._gm), own), *held.named()])
            return [*made, *own, *held.copies()]

    def gradients(self, inputs: tuple[Any, ...], *, all_inputs: bool = False) -> list[Any]:
        """The gradients of the inputs for made-up gradients of the outputs; None for an input that gets none."""
        import torch

        leaves = tuple(own_leaf(value) if isinstance(value, torch.Tensor) else value for value in inputs)
        own = tuple(computed_as(v, leaf) if leaf is not v else v for v, leaf in zip(inputs, leaves))
        wanted = [value for value in leaves if isinstance(value, torch.Tensor) and value.requires_grad]
        if not torch.is_grad_enabled() or not wanted:
            return []
        with GraphTensors(self._gm):
            found = self._gradients(own, wanted)

        if not found or not all_inputs:
            return found
        by_id = {id(value): gradient for value, gradient in zip(wanted, found)}
        return [by_id.get(id(value)) for value in leaves]

    def _gradients(self, own: tuple[Any, ...], wanted: list[Any]) -> list[Any]:
        import torch

        values = self._call(own)
        self.tracked = [isinstance(value, torch.Tensor) and value.requires_grad for value in values]
        results = [value for value, tracked in zip(values, self.tracked) if tracked]
        if not results:
            return []
        made_up = torch.Generator().manual_seed(0)
        tangents = [
            torch.randn(value.shape, generator=made_up, dtype=torch.float32).to(value.device, value.dtype)
            for value in results
        ]
        return list(torch.autograd.grad(results, wanted, tangents, allow_unused=True))


def _placeholders(gm: Any) -> list[str]:
    return [node.name for node in gm.graph.nodes if node.op == "placeholder"]


def _owners(results: list[Any], before: list[tuple[str, Any]]) -> list[str]:
    """Whose memory each of ``results`` has: that of a tensor ``before``, of a result before it, or its own."""
    known = {one.untyped_storage()._cdata: f"that of {name}" for name, one in reversed(before) if _has_memory(one)}
    found = []
    for number, value in enumerate(results, 1):
        own = _has_memory(value)
        found.append(known.get(value.untyped_storage()._cdata, "its own") if own else "")
        if own:
            known.setdefault(value.untyped_storage()._cdata, f"that of result {number}")
    return found


def _has_memory(value: Any) -> bool:
    return is_tensor(value) and keepable(value) and value.numel() > 0


@contextlib.contextmanager
def steady_random_numbers() -> Iterator[None]:
    """Both backends draw the same random numbers, the program's and the settings of torch are not disturbed, and no
    cache is read or written."""
    import torch
    import torch._inductor.config as inductor_config

    with torch.random.fork_rng(), inductor_config.patch(fallback_random=True), no_caches(), own_settings():
        torch.manual_seed(0)
        yield


def copied(values: tuple[Any, ...]) -> tuple[Any, ...]:
    """Copies with the same values and layout, which require gradients and share memory where the originals do."""
    return own_copies(values)


def node_values(gm: Any, inputs: tuple[Any, ...]) -> dict[str, Any]:
    """The value of every operation, computed eagerly."""
    import torch

    values: dict[str, Any] = {}

    class Recorder(torch.fx.Interpreter):  # type: ignore[misc]
        def run_node(self, n: Any) -> Any:
            value = super().run_node(n)
            values[n.name] = value.detach().clone() if isinstance(value, torch.Tensor) else value
            return value

    with steady_random_numbers(), GraphTensors(gm):
        Recorder(clean_copy(gm)).run(*copied(inputs))
    return values


def is_tensor(value: Any) -> bool:
    import torch

    return isinstance(value, torch.Tensor)
