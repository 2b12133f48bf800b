"""``depyf.compare``: does the compiled call do what Python does (``against_python.py``), and does each compiled graph
compute the same on two backends, with the same real inputs?  The first node that differs is found.

A graph whose outputs (or gradients) differ is compiled again with its intermediate values as outputs (or with an offset
per intermediate value, whose gradient is that value's gradient), and the values are compared in the order they are
computed; what is rounding only (``reference.py``) is no difference.  Where showing all of them makes the difference go
away (fusion), single ones are bisected.
"""

from __future__ import annotations

import contextlib
import functools
import types
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, cast

from depyf.actions.comparing.against_python import AgainstPython, Calls, against_python
from depyf.actions.comparing.call_outcome import Output
from depyf.actions.comparing.compiled_graph import (
    Backend,
    Compiled,
    copied,
    is_tensor,
    node_values,
    steady_random_numbers,
)
from depyf.actions.comparing.graph_finding import Finding, GraphComparison, finding_lines
from depyf.actions.comparing.inductor_part import INDUCTOR, LAYERS, inductor_layer
from depyf.actions.comparing.looked_at import Looked
from depyf.actions.comparing.reference import coarsest, doubled, in_double, is_rounding
from depyf.actions.comparing.undeclared_writes import has_custom_operators, undeclared_write
from depyf.actions.comparing.wrong_fakes import wrong_fake
from depyf.errors import DepyfError
from depyf.run.causes.folding import counted
from depyf.safety.guarded import Door, problem
from depyf.sources.live.ahead.ahead_functions import ahead_functions
from depyf.sources.live.ahead.one_graph import one_graph_of
from depyf.sources.live.caches.live_run import backend_name
from depyf.sources.live.notebook_cells import in_cells
from depyf.sources.live.origins.probes import (
    ProbedNode,
    around,
    clean_copy,
    describe,
    operations,
    with_offsets,
    with_outputs,
)
from depyf.sources.live.state.graph_tensors import GraphTensors
from depyf.sources.live.state.settings import ChangedSettings
from depyf.sources.live.target import find_target
from depyf.sources.live.tensors import TensorDifference, difference


@dataclass(frozen=True, slots=True)
class Comparison:
    """What ``depyf.compare`` found; true where the compiled call does what Python does, and both backends agree on at
    least one graph, or torch raises Python's error while it compiles."""

    backends: tuple[str, str]
    graphs: tuple[GraphComparison, ...]
    python: AgainstPython
    """The call as Python against the call as it is compiled."""

    def __bool__(self) -> bool:
        seen = bool(self.graphs) or bool(self.python.raised_as)
        return bool(self.python) and seen and all(graph.finding is None for graph in self.graphs)

    @property
    def first(self) -> Finding | None:
        """The first difference, in the order the graphs ran."""
        return next((graph.finding for graph in self.graphs if graph.finding is not None), None)

    @property
    def shows_python(self) -> bool:
        """Whether there is something to say of the call as Python and compiled."""
        return bool(self.graphs or self.python.apart or self.python.raised_as) or not self.python.ran

    def remarks(self) -> list[str]:
        """The lines that say what was compared, or why nothing was."""
        if not self.graphs and (not self.python.ran or self.python.raised_as or self.python.apart):
            return ["no graph was compared"]
        if not self.graphs:
            return ["nothing was compiled in this call, so nothing was compared; depyf.explain says why"]
        return [f"{' against '.join(self.backends)}: {counted(len(self.graphs), 'graph')}, on the same inputs"]

    def outcome(self, graph: GraphComparison) -> str:
        """The outcome of one graph.  It is not "the same" where the whole call differs from Python."""
        return "both backends agree" if graph.finding is None and self.python.apart else graph.outcome

    def __str__(self) -> str:
        lines = [self.python.headline, *(f"  {line}" for line in self.python.lines())] if self.shows_python else []
        lines += self.remarks()
        for graph in self.graphs:
            lines.append(f"{graph.title}: {self.outcome(graph)}")
            if graph.finding is not None:
                lines += ["  " + line for line in finding_lines(graph.finding, *self.backends)]
        return in_cells("\n".join(lines))

    def __repr__(self) -> str:
        different = ["Python"] if self.python.apart else []
        different += [f"graph {graph.number}" for graph in self.graphs if graph.finding is not None]
        found = "the same" if self else f"{', '.join(different)} different" if different else "nothing compared"
        return f"<depyf.compare: {self.remarks()[0]}: {found}; print() shows all of it>"

    def _repr_html_(self) -> str:
        from depyf.actions.comparing.comparison_html import compare_html

        return compare_html(self)


@dataclass
class _Run:
    """One call of ``compare``: the two backends and what was seen so far."""

    backends: tuple[Backend, Backend]
    rtol: float | None
    atol: float | None
    output: Output
    graphs: list[GraphComparison] = field(default_factory=list)
    _coarse: float = 0.0
    """The largest tolerance of the types that the graph computes in."""

    def backend(self, gm: Any, example_inputs: Any) -> Callable[..., Any]:
        """The backend Dynamo is given: each call of the graph is run on both."""
        import torch

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
                return _undeclared(gm, inputs) or self._of_backends(gm, inputs)
        except Exception as error:  # of a backend: the program's call goes on
            return Finding(None, False, None, f"it could not be compared: {problem(error)}")

    def _of_backends(self, gm: Any, inputs: tuple[Any, ...]) -> Finding | None:
        self._coarse = coarsest(gm)
        first, second = (Compiled(backend, clean_copy(gm)) for backend in self.backends)
        expected, raised = _outputs(first, inputs)
        if raised is not None:
            return _accepted(gm, raised, second, inputs)
        got = second.outputs(inputs)
        if len(expected) != len(got):
            counts = [len(values) - len(inputs) for values in (expected, got)]
            whole = TensorDifference(
                f"{counts[0]} results", f"{counts[1]} results", 0, (), (0.0, 0.0), "not as many results"
            )
            return Finding(None, False, whole)
        changed = _of_settings(gm, inputs, first.settings, second.settings)
        if changed is not None:  # what differs besides may follow from it
            return replace(changed, layer=self._layer_of_a_setting(gm, inputs, first.settings))
        apart = self._first_apart(expected, got, lambda: Compiled("eager", in_double(gm)).outputs(doubled(inputs)))
        if apart is not None:
            found = self._locate(gm, inputs, apart[1], gradient=False)
            if found.node is None and not found.error:
                found = self._of_an_argument(gm, inputs, expected, got, found)
            return self._layer(gm, inputs, expected, found, False)
        expected, got = first.gradients(inputs), second.gradients(inputs)
        if first.tracked != second.tracked:
            return replace(_untracked(gm, first, second), layer=self._layer_of_tracking(gm, inputs, first))
        apart = self._first_apart(expected, got, lambda: Compiled("eager", in_double(gm)).gradients(doubled(inputs)))
        if apart is None:
            return self._printed(gm, inputs, first, second)
        found = self._locate(gm, inputs, apart[1], gradient=True)
        if found.node is None and not found.error:
            found = _of_an_input(gm, inputs, apart[0], found)
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
        apart = self._first_apart(own, other, list)
        return found if apart is None else _of_written(gm, inputs, apart, found)

    def _layer(self, gm: Any, inputs: tuple[Any, ...], expected: list[Any], found: Finding, gradient: bool) -> Finding:
        """``found`` with the first layer of Inductor whose results differ, each with those before it."""
        differs = functools.partial(self._differs, gm, inputs, expected, gradient)
        layer = inductor_layer(differs, lambda: self._nearby(gm, inputs, found)) if self._on_inductor else ""
        return replace(found, layer=layer)

    def _differs(self, gm: Any, inputs: tuple[Any, ...], expected: list[Any], gradient: bool, backend: Backend) -> bool:
        compiled = Compiled(backend, clean_copy(gm))
        got = compiled.gradients(inputs) if gradient else compiled.outputs(inputs)
        return len(got) == len(expected) and self._first_apart(expected, got, list) is not None

    def _nearby(self, gm: Any, inputs: tuple[Any, ...], found: Finding) -> Callable[[Backend], bool] | None:
        """The same question for the few operations around, which compile fast; None where they do not differ."""
        if found.node is not None and not found.gradient:
            with contextlib.suppress(Exception):
                part, values = around(gm, found.node.name, node_values(gm, inputs))
                expected = Compiled(self.backends[0], clean_copy(part)).outputs(values)
                got = Compiled("inductor", clean_copy(part)).outputs(values)
                exactly = functools.partial(Compiled("eager", in_double(part)).outputs, doubled(values))
                if self._first_apart(expected, got, exactly) is not None:  # more than rounding
                    return functools.partial(self._differs, part, values, expected, False)
        return None

    def _first_layer(self, gm: Any, differs: Callable[[Compiled], bool]) -> str:
        """The first layer whose code differs as Inductor's does; "" where Inductor is not compared."""
        if not self._on_inductor:
            return ""
        for backend, layer in LAYERS:
            with contextlib.suppress(Exception):
                if differs(Compiled(backend, clean_copy(gm))):
                    return layer
        return INDUCTOR

    def _layer_of_a_setting(self, gm: Any, inputs: tuple[Any, ...], expected: dict[str, Any]) -> str:
        def differs(compiled: Compiled) -> bool:
            compiled.outputs(inputs)
            return compiled.settings != expected

        return self._first_layer(gm, differs)

    def _layer_of_tracking(self, gm: Any, inputs: tuple[Any, ...], first: Compiled) -> str:
        def differs(compiled: Compiled) -> bool:
            compiled.gradients(inputs)
            return compiled.tracked != first.tracked

        return self._first_layer(gm, differs)

    @property
    def _on_inductor(self) -> bool:
        return backend_name(self.backends[1]) == "inductor" or self.backends[1] == "inductor"

    def _first_apart(
        self, expected: list[Any], got: list[Any], exactly: Callable[[], list[Any]]
    ) -> tuple[int, TensorDifference] | None:
        """Position and kind of the first difference; ``exactly`` computes the same values in double precision."""
        exact: list[Any] | None = None if self.rtol is None and self.atol is None else []
        for position, (one, other) in enumerate(zip(expected, got)):
            apart = difference(one, other, self.rtol, self.atol)
            if apart is None:
                continue
            if exact is None:
                try:
                    exact = exactly()
                except Exception:  # an operation without a kernel for float64: then nothing is put down to rounding
                    exact = []
            if (
                len(exact) != len(expected)
                or not apart.wrong
                or not is_rounding(one, other, exact[position], exact, self._coarse)
            ):
                return position, apart
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
        apart = self._first_apart(
            expected, got, lambda: self._values("eager", in_double(gm), doubled(inputs), nodes, gradient)
        )
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


def _outputs(compiled: Compiled, inputs: tuple[Any, ...]) -> tuple[list[Any], Exception | None]:
    try:
        return compiled.outputs(inputs), None
    except Exception as error:
        return [], error


def _accepted(gm: Any, raised: Exception, second: Compiled, inputs: tuple[Any, ...]) -> Finding | None:
    """The first backend raises an error: a difference where the second does not, with the same inputs."""
    _, other = _outputs(second, inputs)
    if other is not None and problem(other) == problem(raised):
        return None
    apart = TensorDifference(problem(raised), "no error" if other is None else problem(other), 0, (), (0.0, 0.0),
                             "only one of them raises an error" if other is None else "not the same error")  # fmt: skip
    return Finding(_raising(gm, inputs), False, apart, raised=True)


def _raising(gm: Any, inputs: tuple[Any, ...]) -> Any:
    """The operation that raises an error in eager mode."""
    node = Looked(gm, inputs).last
    return None if node is None or node.op in ("placeholder", "output") else describe(node)


def _of_settings(gm: Any, inputs: tuple[Any, ...], one: dict[str, Any], other: dict[str, Any]) -> Finding | None:
    """A setting of torch that both backends do not leave alike, with the operation that changes it."""
    before = ChangedSettings()
    for path in {**one, **other}:
        first, second = (changed.get(path, before.before(path)) for changed in (one, other))
        if first != second:
            node = Looked(gm, inputs, setting=path).setter
            apart = TensorDifference(f"{first}", f"{second}", 0, (), (0.0, 0.0), "a setting of the whole process")
            return Finding(None if node is None else _placed(gm, node), False, apart, setting=path)
    return None


def _untracked(gm: Any, first: Compiled, second: Compiled) -> Finding:
    """An output that autograd can go back from on one backend alone."""
    (output,) = (node for node in gm.graph.nodes if node.op == "output")
    given = output.args[0] if isinstance(output.args[0], (tuple, list)) else output.args
    pairs = list(zip(first.tracked, second.tracked))
    number = next((n for n, (one, other) in enumerate(pairs) if one != other), None)
    node = given[number] if number is not None and number < len(given) else None
    said = ["requires_grad=True" if value else "requires_grad=False" for value in pairs[number or 0]]
    apart = TensorDifference(said[0], said[1], 0, (), (0.0, 0.0), "one of them has no gradient")
    found = describe(node) if getattr(node, "op", "output") in ("call_function", "call_method", "call_module") else None
    return Finding(found, True, apart)


def _placed(gm: Any, node: Any) -> ProbedNode:
    """A node, with the line before it where torch gives it none, as for a call of code that torch wrote."""
    found, place = describe(node), ""
    for one in operations(gm):
        if one is node:
            break
        place = describe(one).place or place
    return found if found.place or not place else replace(found, place=f"a line after {place}")


def _of_written(gm: Any, inputs: tuple[Any, ...], apart: tuple[int, TensorDifference], found: Finding) -> Finding:
    """An input differs after the graph: with the operation that writes to it first, or the input where none does."""
    number, difference = apart
    if not is_tensor(inputs[number]):
        return found
    node = Looked(gm, inputs, number).writer
    given = [one for one in gm.graph.nodes if one.op == "placeholder"][number]
    return replace(found, node=describe(node or given), difference=difference, written=True, outside=node is None)


def _of_an_input(gm: Any, inputs: tuple[Any, ...], position: int, found: Finding) -> Finding:
    """The gradient of an input differs, and that of no operation: the backward of what uses the input is wrong."""
    placeholders = [node for node in gm.graph.nodes if node.op == "placeholder"]
    wanted = [node for node, value in zip(placeholders, inputs) if is_tensor(value) and value.requires_grad]
    if position >= len(wanted):
        return found
    users = tuple(describe(user) for user in wanted[position].users if user.op != "output")
    return replace(found, node=describe(wanted[position]), used_by=users)


def _undeclared(gm: Any, inputs: tuple[Any, ...]) -> Finding | None:
    """What a custom operator says of itself and does not do: it explains whatever else differs."""
    if not has_custom_operators(gm):
        return None
    with steady_random_numbers(), GraphTensors(gm), Door("depyf: what operators write to could not be checked"):
        fake = wrong_fake(gm, copied(inputs))
        if fake is not None:
            return Finding(describe(fake.node), False, fake.difference, fake=fake.operator)
        found = undeclared_write(clean_copy(gm), copied(inputs))
        if found is not None:
            node = describe(found.node) if found.node is not None else None
            return Finding(node, False, found.difference, writes=(found.operator, found.argument), alias=found.alias)
    return None


def original_of(fn: Any) -> Any:
    """The callable that the program passed to ``torch.compile``; ``fn`` itself where it is not compiled."""
    if ahead_functions(fn):
        target = find_target(fn)
        return functools.partial(target.function, *target.leading) if target.leading else target.function
    if type(fn) is types.MethodType:
        return types.MethodType(original_of(fn.__func__), fn.__self__)
    return getattr(fn, "_orig_mod", None) or getattr(fn, "_torchdynamo_orig_callable", None) or fn


def _backend(calls: Calls) -> Backend:
    """The backend to compare with eager mode: that of the compiled callable."""
    found = calls.target.backend if calls.target is not None else None
    return "inductor" if found is None or backend_name(found) == "eager" else cast("Backend", found)


def _compiled(fn: Any, original: Any, asked: dict[str, Any]) -> Any:
    """``fn`` as ``torch.compile`` wraps it; nothing is compiled yet."""
    import torch

    if original is not fn:
        raise DepyfError(
            f"depyf.compare({next(iter(asked))}=...): this callable is compiled already, and is compared as it is; "
            "give what was given to torch.compile to have it compiled in another way"
        )
    try:
        return torch.compile(fn, **asked)
    except Exception as error:
        raise DepyfError(f"depyf.compare: torch.compile refuses this: {problem(error)}") from error


def compare(
    fn: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    backends: tuple[Backend, Backend] | None,
    rtol: float | None,
    atol: float | None,
    asked: dict[str, Any],
) -> Comparison:
    """See ``depyf.compare``, which lists the errors.  ``asked``: arguments of ``torch.compile``."""
    if backends is not None and len(backends) != 2:
        raise DepyfError(f"depyf.compare(backends={backends!r}): give two, the reference first")
    if one_graph_of(fn) is not None:
        raise DepyfError(
            "this precompile artefact keeps one graph, and not the function that it was made of: there is nothing to "
            "compare it with here; call both, and give the results to torch.testing.assert_close"
        )
    original = original_of(fn)
    calls = Calls(_compiled(fn, original, asked) if asked else fn, original, args, kwargs, rtol, atol, asked)
    backends = backends or ("eager", _backend(calls))
    run = _Run(backends, rtol, atol, calls.output)
    python = against_python(
        calls,
        run.backend,
        graphs_agree=lambda: not any(graph.finding for graph in run.graphs),
        was_compared=lambda backend: any(backend is one or backend_name(backend) == one for one in run.backends),
    )
    if python.error is not None and not run.graphs and not python.raised_as:  # most likely it was called in a wrong way
        raise python.error
    if python.error is not None:
        python.error.__traceback__ = None  # it holds frames, and these what the program would free
    names = tuple(b if isinstance(b, str) else backend_name(b) or type(b).__name__ for b in backends)
    return Comparison((names[0], names[1]), tuple(sorted(run.graphs, key=lambda graph: graph.number)), python)
