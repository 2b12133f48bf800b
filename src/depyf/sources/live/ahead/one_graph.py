"""What ``torch.compiler.precompile`` makes of one graph (torch 2.15): a capture, or what ``load`` returns.

Input: any object.  Output: ``OneGraph``: what the driver of the artefact checks of a call, found in its globals.  None
for other objects.  Nothing is called but what a module tells its parameters and buffers by.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
import torch.utils._pytree as pytree

from depyf.sources.live.ahead.precompiled import forward_of
from depyf.sources.live.pure_access import attribute, is_a, short_name
from depyf.sources.live.pure_tensors import is_tensor, tensor


@dataclass(frozen=True, slots=True)
class OneGraph:
    """An artefact with one graph.  The fields are literals in its text."""

    backend: str
    count: int
    modules: tuple[int, ...]
    """Which arguments are modules."""
    shapes: tuple[tuple[int | None, ...] | None, ...]
    dtypes: tuple[str | None, ...]
    devices: tuple[str | None, ...]
    bounds: tuple[Any, ...]
    structure: str | None
    """How the inputs are nested, as torch writes it."""
    names: tuple[str, ...]
    """Of parameters, then of buffers."""
    tensors: tuple[tuple[Any, str, str], ...]
    """Sizes, dtype and device of each of those."""

    def refusals(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Iterator[str]:
        """Why the driver rejects this call, in its order of checks; nothing where it runs the graph."""
        if kwargs:
            yield f"it takes no arguments by name, such as {next(iter(kwargs))}"
            return
        if len(args) != self.count:
            yield f"it takes {self.count} arguments, and {len(args)} are given"
            return
        modules = []
        for position in self.modules:
            if not _is_module(args[position]):
                yield f"argument {position} must be a module, and is a {short_name(type(args[position]))}"
                return
            modules.append(args[position])
        yield from self._of_inputs([value for place, value in enumerate(args) if place not in self.modules])
        yield from self._of_modules(modules)

    def _of_inputs(self, inputs: list[Any]) -> Iterator[str]:
        leaves, structure = pytree.tree_flatten(tuple(inputs))
        if self.structure is not None and structure != pytree.treespec_loads(self.structure):
            yield "its inputs are nested in another way than those of the capture"
            return
        if len(leaves) != len(self.shapes):
            yield f"its inputs hold {len(self.shapes)} values, and those of the call {len(leaves)}"
            return
        rows = zip(leaves, self.shapes, self.dtypes, self.devices, self.bounds)
        for number, (value, shape, dtype, device, bounds) in enumerate(rows):
            if shape is None or not is_tensor(value):
                continue
            yield from _of_tensor(f"input {number}", value, shape, dtype, device)
            sizes = _sizes_of(value)
            for dim, (low, high) in (bounds or {}).items():
                size = sizes[dim] if dim < len(sizes) else None
                if size is not None and ((low is not None and size < low) or (high is not None and size > high)):
                    limits = " and ".join(
                        f"{word} {limit}" for word, limit in (("at least", low), ("at most", high)) if limit is not None
                    )
                    yield f"input {number} has size {size} in dimension {dim}, declared as {limits}"

    def _of_modules(self, modules: list[Any]) -> Iterator[str]:
        found = dict(_tensors_of(modules))
        if tuple(found) != self.names:
            missing = [name for name in self.names if name not in found]
            more = [name for name in found if name not in self.names]
            said = [f"it lacks {', '.join(missing)}"] if missing else []
            said += [f"it also has {', '.join(more)}"] if more else []
            yield f"the module has other parameters than that of the capture: {'; '.join(said) or 'in another order'}"
            return
        for (name, value), (shape, dtype, device) in zip(found.items(), self.tensors):
            yield from _of_tensor(name, value, shape, dtype, device)

    def checks(self) -> Iterator[str]:
        """The conditions that the driver checks for a call, in words."""
        yield f"{self.count} argument{'' if self.count == 1 else 's'}, none by name"
        yield from (f"argument {position} is a module" for position in self.modules)
        for number, (shape, dtype, device) in enumerate(zip(self.shapes, self.dtypes, self.devices)):
            if shape is not None:
                yield f"input {number}: {_tensor_in_words(shape, dtype, device)}"
        for name, (shape, dtype, device) in zip(self.names, self.tensors):
            yield f"{name}: {_tensor_in_words(shape, dtype, device)}"


def one_graph_of(value: Any) -> OneGraph | None:
    """The loaded artefact of one graph that ``value`` is; None for any other object."""
    function = forward_of(value)
    said = attribute(function, "__globals__")
    if type(said) is not dict or "GRAD_PARAM_INDICES" not in said or "NUM_POSITIONAL_ARGS" not in said:
        return None
    columns = [(*said[f"PARAM_{part}"], *said[f"BUFFER_{part}"]) for part in ("SHAPES", "DTYPES", "DEVICES")]
    return OneGraph(
        str(said["BACKEND"]),
        said["NUM_POSITIONAL_ARGS"],
        tuple(said["MODULE_POSITIONS"]),
        tuple(said["USER_INPUT_SHAPES"]),
        tuple(said["USER_INPUT_DTYPES"]),
        tuple(said["USER_INPUT_DEVICES"]),
        tuple(said["USER_INPUT_BOUNDS"]),
        said["IN_SPEC"],
        (*said["PARAM_NAMES"], *said["BUFFER_NAMES"]),
        tuple(zip(*columns)),
    )


def graph_of_capture(module: Any) -> OneGraph:
    """The artefact of a graph that was captured in this process."""
    columns = [
        (*getattr(module, f"_param_{part}"), *getattr(module, f"_buffer_{part}"))
        for part in ("shapes", "dtypes", "devices")
    ]
    return OneGraph(
        module._backend,
        module._num_positional_args,
        tuple(module._module_positions),
        tuple(module._user_input_shapes),
        tuple(module._user_input_dtypes),
        tuple(module._user_input_devices),
        tuple(module._user_input_bounds),
        None,
        (*module._param_names, *module._buffer_names),
        tuple(zip(*columns)),
    )


def _is_module(value: Any) -> bool:
    return is_a(value, torch.nn.Module)


def _sizes_of(value: Any) -> tuple[int | None, ...]:
    """None for a size that is symbolic."""
    return tuple(size if type(size) is int else None for size in tensor(value).size or ())


def _tensors_of(modules: list[Any]) -> Iterator[tuple[str, Any]]:
    """Parameters, then buffers, each once, as the driver names them."""
    seen: set[int] = set()
    for kind in ("named_parameters", "named_buffers"):
        for number, module in enumerate(modules):
            for name, value in getattr(module, kind)(remove_duplicate=False):
                if id(value) not in seen:
                    seen.add(id(value))
                    yield name if len(modules) == 1 else f"m{number}.{name}", value


def _of_tensor(what: str, value: Any, shape: Any, dtype: str | None, device: str | None) -> Iterator[str]:
    view, sizes = tensor(value), _sizes_of(value)
    if len(sizes) != len(shape) or any(wanted not in (None, size) for size, wanted in zip(sizes, shape)):
        yield f"{what} has sizes {sizes}, and it wants {_sizes(shape)}"
    if dtype is not None and str(view.dtype) != dtype:
        yield f"{what} has dtype {view.dtype}, and it wants {dtype}"
    if device is not None and str(view.device) != device:
        yield f"{what} is on {view.device}, and it wants {device}"


def _tensor_in_words(shape: Any, dtype: str | None, device: str | None) -> str:
    return ", ".join(filter(None, (f"sizes {_sizes(shape)}", dtype, device)))


def _sizes(shape: Any) -> str:
    return str(tuple(shape)).replace("None", "any")
