"""Each graph of a call on two backends, with the same real inputs, and the first node whose value or gradient differs.

A graph whose outputs (or gradients) differ is compiled again with its intermediate values as outputs (or with an offset
per intermediate value, whose gradient is that value's gradient), and the values are compared in the order they are
computed; what is rounding only (``reference.py``) is no difference.  Where showing all of them makes the difference go
away (fusion), single ones are bisected.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, cast

from depyf.actions.comparing.call_outcome import Output
from depyf.actions.comparing.graphs.compiled_graph import (
    Backend,
    Compiled,
    copied,
    is_tensor,
    node_values,
    steady_random_numbers,
)
from depyf.actions.comparing.graphs.graph_effects import (
    gradients_or_error,
    of_an_input,
    of_errors,
    of_memory,
    of_refusal,
    of_refused_backward,
    of_settings,
    of_strides,
    of_tracking,
    of_written,
    outputs_or_error,
    undeclared,
)
from depyf.actions.comparing.graphs.graph_finding import Finding, GraphComparison
from depyf.actions.comparing.graphs.inductor_part import INDUCTOR, LAYERS, inductor_layer
from depyf.actions.comparing.graphs.looked_at import Looked
from depyf.actions.comparing.graphs.reference import DoubleReference, coarsest, doubled, size_of
from depyf.actions.comparing.graphs.undeclared_writes import has_custom_operators
from depyf.safety.guarded import problem
from depyf.sources.live.caches.live_run import backend_name
from depyf.sources.live.origins.probes import around, clean_copy, describe, operations, with_offsets, with_outputs
from depyf.sources.live.state.graph_tensors import GraphTensors
from depyf.sources.live.tensors import TensorDifference, difference

_UNSTEADY = "its results are others in each run, as those of memory that nothing has written to"


@dataclass
class TwoBackends:
    """One call of ``compare``: the two backends and the graphs that were seen so far."""

    backends: tuple[Backend, Backend]
    rtol: float | None
    atol: float | None
    output: Output
    graphs: list[GraphComparison] = field(default_factory=list)
    rounding: dict[tuple[int, ...], float] = field(default_factory=dict)
    """Shape of a value -> the largest difference that was put down to rounding, as a root mean square."""
    _coarse: float = 0.0
    """The largest tolerance of the types that the graph computes in."""

    @property
    def differs(self) -> bool:
        """Whether values or effects of a graph differ."""
        return any(graph.finding and not graph.finding.memory for graph in self.graphs)

    def backend(self, gm: Any, example_inputs: Any) -> Callable[..., Any]:
        """The backend Dynamo is given: each call of the graph is run on both."""
        import torch
        from torch.fx._lazy_graph_module import _LazyGraphModule

        _LazyGraphModule.force_recompile(gm)  # its first call would be one of the module, which prints errors

        def run(*inputs: Any) -> Any:
            copies = copied(inputs)
            if not any(graph.number == number and graph.finding for graph in self.graphs):
                with self.output.withheld():
                    finding = self._compare(gm, copies)
                if finding is not None or not any(graph.number == number for graph in self.graphs):
                    nodes = operations(gm)
                    place = describe(nodes[0]).place if nodes else ""
                    self.graphs[:] = [graph for graph in self.graphs if graph.number != number]
                    self.graphs.append(GraphComparison(number, len(nodes), place, finding))
            return gm.forward(*inputs)  # no call: the program's hooks for all modules would run

        self._count = number = getattr(self, "_count", 0) + 1
        return cast("Callable[..., Any]", torch._dynamo.disable(run))

    def _compare(self, gm: Any, inputs: tuple[Any, ...]) -> Finding | None:
        try:
            with steady_random_numbers():  # a backward draws some, too
                return undeclared(gm, inputs) or self._of_backends(gm, inputs)
        except Exception as error:  # of a backend: the program's call goes on
            return Finding(None, False, None, f"it could not be compared: {problem(error)}")

    def _of_backends(self, gm: Any, inputs: tuple[Any, ...]) -> Finding | None:
        self._coarse = coarsest(gm)
        first, second = (Compiled(backend, clean_copy(gm)) for backend in self.backends)
        expected, raised = outputs_or_error(first, inputs)
        if raised is not None:
            found = of_errors(gm, inputs, first, second, raised)
            return found and replace(found, layer=self._layer_of_an_error(gm, inputs, raised))
        got, refused = outputs_or_error(second, inputs)
        if refused is not None and not second.is_made:
            raise refused
        if refused is not None:
            found = of_refusal(gm, inputs, functools.partial(Compiled, self.backends[1]), refused)
            return replace(found, layer=self._layer_of_an_error(gm, inputs, None))
        if len(expected) != len(got):
            counts = [len(values) - len(inputs) for values in (expected, got)]
            whole = TensorDifference(
                f"{counts[0]} results", f"{counts[1]} results", 0, (), (0.0, 0.0), "not as many results"
            )
            return Finding(None, False, whole)
        changed = of_settings(gm, inputs, first.settings, second.settings)
        if changed is not None:  # what differs besides may follow from it
            return replace(changed, layer=self._layer_of_a_setting(gm, inputs, first.settings))
        apart = self._first_apart(expected, got, _reference(gm, inputs))
        if apart is not None and self._first_apart(expected, first.outputs(inputs)) is not None:
            return Finding(None, False, None, _UNSTEADY)
        if apart is not None:
            found = self._locate(gm, inputs, apart[1], gradient=False)
            if found.node is None and not found.error:
                found = self._of_an_argument(gm, inputs, expected, got, found)
            return self._layer(gm, inputs, expected, found, False)
        count = len(expected) - len(inputs) - len(GraphTensors(gm).copies())
        laid_out = of_strides(gm, expected[:count], got[:count])
        if laid_out is not None:
            return replace(laid_out, layer=self._layer_of_strides(gm, inputs, expected[:count]))
        shared = of_memory(gm, first.memory, second.memory)
        if shared is not None:
            return replace(shared, layer=self._layer_of_memory(gm, inputs, first.memory))
        expected = first.gradients(inputs)
        got, refused = gradients_or_error(second, inputs)
        if refused is not None:
            found = of_refused_backward(gm, inputs, functools.partial(Compiled, self.backends[1]), refused)
            return replace(found, layer=self._layer_of_a_backward(gm, inputs))
        if first.tracked != second.tracked:
            return replace(of_tracking(gm, first, second), layer=self._layer_of_tracking(gm, inputs, first))
        apart = self._first_apart(expected, got, _reference(gm, inputs, gradients=True))
        if apart is None:
            return self._printed(gm, inputs, first, second)
        found = self._locate(gm, inputs, apart[1], gradient=True)
        if found.node is None and not found.error:
            found = of_an_input(gm, inputs, apart[0], found)
        return self._layer(gm, inputs, expected, found, True)

    def _printed(self, gm: Any, inputs: tuple[Any, ...], first: Compiled, second: Compiled) -> Finding | None:
        """What an operator of the program prints is a difference, too, where only one backend runs it."""
        if not has_custom_operators(gm):
            return None
        texts = []
        for compiled in (first, second):  # compiled by now: what the compiler prints is none of it
            self.output.taken()
            compiled.outputs(inputs)
            texts.append(self.output.taken())
        if texts[0] == texts[1]:
            return None
        looked = Looked(gm, inputs, heard=self.output.taken)
        apart = TensorDifference(repr(texts[0]), repr(texts[1]), 0, (), (0.0, 0.0), "standard output differs")
        return Finding(None if looked.printer is None else describe(looked.printer), False, apart, printed=True)

    def _of_an_argument(
        self, gm: Any, inputs: tuple[Any, ...], expected: list[Any], got: list[Any], found: Finding
    ) -> Finding:
        """Where an input differs afterwards, with the operation that writes to it, or its name."""
        first = len(expected) - len(inputs) - len(GraphTensors(gm).copies())
        own, other = (values[first : first + len(inputs)] for values in (expected, got))
        apart = self._first_apart(own, other)
        return found if apart is None else of_written(gm, inputs, apart, found)

    def _layer(self, gm: Any, inputs: tuple[Any, ...], expected: list[Any], found: Finding, gradient: bool) -> Finding:
        """``found`` with the first layer of Inductor whose results differ, each with those before it."""
        differs = functools.partial(self._differs, gm, inputs, expected, gradient)
        if self._second == "inductor":
            return replace(found, layer=inductor_layer(differs, lambda: self._nearby(gm, inputs, found)))
        return replace(found, layer=self._first_layer(differs))

    def _differs(self, gm: Any, inputs: tuple[Any, ...], expected: list[Any], gradient: bool, backend: Backend) -> bool:
        compiled = Compiled(backend, clean_copy(gm))
        got = compiled.gradients(inputs) if gradient else compiled.outputs(inputs)
        return len(got) == len(expected) and self._first_apart(expected, got) is not None

    def _nearby(self, gm: Any, inputs: tuple[Any, ...], found: Finding) -> Callable[[Backend], bool] | None:
        """The same question for the few operations around, which compile fast; None where they do not differ."""
        if found.node is not None and not found.gradient:
            with contextlib.suppress(Exception):
                part, values = around(gm, found.node.name, node_values(gm, inputs))
                expected = Compiled(self.backends[0], clean_copy(part)).outputs(values)
                got = Compiled("inductor", clean_copy(part)).outputs(values)
                if self._first_apart(expected, got, _reference(part, values)) is not None:  # more than rounding
                    return functools.partial(self._differs, part, values, expected, False)
        return None

    def _first_layer(self, differs: Callable[[Backend], bool]) -> str:
        """The first layer whose code differs, of those that the second backend has; "" where that is the program's."""
        names = [backend for backend, _ in LAYERS]
        if self._second not in (*names, "inductor"):
            return ""
        for backend, layer in LAYERS:
            with contextlib.suppress(Exception):
                if backend == self._second or differs(backend):
                    return layer
        return INDUCTOR

    def _layer_of_a_setting(self, gm: Any, inputs: tuple[Any, ...], expected: dict[str, Any]) -> str:
        def differs(backend: Backend) -> bool:
            compiled = Compiled(backend, clean_copy(gm))
            compiled.outputs(inputs)
            return compiled.settings != expected

        return self._first_layer(differs)

    def _layer_of_an_error(self, gm: Any, inputs: tuple[Any, ...], expected: Exception | None) -> str:
        def differs(backend: Backend) -> bool:
            raised = outputs_or_error(Compiled(backend, clean_copy(gm)), inputs)[1]
            return type(raised) is not type(expected) or f"{raised}" != f"{expected}"

        return self._first_layer(differs)

    def _layer_of_a_backward(self, gm: Any, inputs: tuple[Any, ...]) -> str:
        """Where a backward raises an error that has none in eager mode."""
        return self._first_layer(
            lambda backend: gradients_or_error(Compiled(backend, clean_copy(gm)), inputs)[1] is not None
        )

    def _layer_of_strides(self, gm: Any, inputs: tuple[Any, ...], expected: list[Any]) -> str:
        def differs(backend: Backend) -> bool:
            return of_strides(gm, expected, Compiled(backend, clean_copy(gm)).outputs(inputs)) is not None

        return self._first_layer(differs)

    def _layer_of_memory(self, gm: Any, inputs: tuple[Any, ...], expected: list[str]) -> str:
        def differs(backend: Backend) -> bool:
            compiled = Compiled(backend, clean_copy(gm))
            compiled.outputs(inputs)
            return of_memory(gm, expected, compiled.memory) is not None

        return self._first_layer(differs)

    def _layer_of_tracking(self, gm: Any, inputs: tuple[Any, ...], first: Compiled) -> str:
        def differs(backend: Backend) -> bool:
            compiled = Compiled(backend, clean_copy(gm))
            compiled.gradients(inputs)
            return compiled.tracked != first.tracked

        return self._first_layer(differs)

    @property
    def _second(self) -> str:
        """The name of the second backend."""
        return backend_name(self.backends[1])

    def _first_apart(
        self, expected: list[Any], got: list[Any], reference: DoubleReference | None = None
    ) -> tuple[int, TensorDifference] | None:
        """Position and kind of the first difference.  Without a ``reference`` nothing is put down to rounding."""
        for position, (one, other) in enumerate(zip(expected, got)):
            apart = difference(one, other, self.rtol, self.atol)
            if apart is not None:
                known = reference if apart.wrong and self.rtol is None and self.atol is None else None
                if known is None or not known.explains(expected, got, position, self._coarse):
                    return position, apart
                shape = tuple(one.shape)
                self.rounding[shape] = max(self.rounding.get(shape, 0.0), size_of(one.double() - other.double()))
        return None

    def _locate(self, gm: Any, inputs: tuple[Any, ...], whole: TensorDifference, *, gradient: bool) -> Finding:
        values = node_values(gm, inputs)
        nodes = [node for node in operations(gm) if is_tensor(values.get(node.name))]
        try:
            found = self._probe(gm, inputs, nodes, False)  # a value may be wrong that shows in gradients only
            if found is not None:
                gradient = False
            elif gradient:  # in the order in which they are computed
                nodes = [node for node in nodes if values[node.name].is_floating_point()][::-1]
                found = self._probe(gm, inputs, nodes, True)
            found = found or self._bisect(gm, inputs, nodes, gradient)
        except Exception as error:
            return Finding(None, gradient, whole, f"its nodes could not be compared: {type(error).__name__}: {error}")
        if found is None:
            return Finding(None, gradient, whole)
        users = tuple(describe(user) for user in found[0].users if user.op != "output") if gradient else ()
        return Finding(describe(found[0]), gradient, found[1], used_by=users)

    def _probe(
        self, gm: Any, inputs: tuple[Any, ...], nodes: list[Any], gradient: bool
    ) -> tuple[Any, TensorDifference] | None:
        """The first of ``nodes`` that differs when all of them are looked at at once."""
        expected, got = (self._values(backend, gm, inputs, nodes, gradient) for backend in self.backends)
        exact = DoubleReference(
            gm, inputs, lambda made: self._values("eager", made, doubled(inputs), nodes, gradient), gradient
        )
        apart = self._first_apart(expected, got, exact)
        return None if apart is None else (nodes[apart[0]], apart[1])

    def _bisect(
        self, gm: Any, inputs: tuple[Any, ...], nodes: list[Any], gradient: bool
    ) -> tuple[Any, TensorDifference] | None:
        """The first of ``nodes`` that differs when it is looked at alone, if what follows a difference differs too."""
        low, high, found = 0, len(nodes), None
        while low < high:
            middle = (low + high) // 2
            apart = self._probe(gm, inputs, nodes[middle : middle + 1], gradient)
            if apart is None:
                low = middle + 1
            else:
                high, found = middle, apart
        return found

    def _values(
        self, backend: Backend, gm: Any, inputs: tuple[Any, ...], nodes: list[Any], gradient: bool
    ) -> list[Any]:
        import torch

        names = [node.name for node in nodes]
        if not gradient:
            made = Compiled(backend, with_outputs(gm, names)).outputs(inputs)
            order = [node.name for node in operations(gm) if node.name in names]
            return [made[order.index(name)] for name in names]
        shapes = node_values(gm, inputs)
        order = [node.name for node in operations(gm) if node.name in names]
        offsets = tuple(torch.zeros_like(shapes[name]).requires_grad_() for name in order)
        count = len(inputs)
        graph = with_offsets(gm, names)
        gradients = Compiled(backend, graph).gradients((*inputs, *offsets), all_inputs=True)[count:]
        return [gradients[order.index(name)] for name in names]


def _reference(gm: Any, inputs: tuple[Any, ...], gradients: bool = False) -> DoubleReference:
    """Of the results of a graph, or of the gradients of its inputs."""

    def run(graph: Any) -> list[Any]:
        made = Compiled("eager", graph)
        return made.gradients(doubled(inputs)) if gradients else made.outputs(doubled(inputs))

    return DoubleReference(gm, inputs, run, gradients)
