"""What two backends do differently besides the values of operations: errors, settings of torch, what autograd can go
back from, strides, writes to inputs, and what a custom operator does not declare.

Input: a captured graph, its inputs, and what both backends made of it.  Output: ``Finding``, None for no difference.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from depyf.actions.comparing.graphs.compiled_graph import Compiled, copied, is_tensor, steady_random_numbers
from depyf.actions.comparing.graphs.graph_finding import Finding
from depyf.actions.comparing.graphs.looked_at import Looked
from depyf.actions.comparing.graphs.undeclared_writes import has_custom_operators, undeclared_write
from depyf.actions.comparing.graphs.wrong_fakes import wrong_fake
from depyf.safety.guarded import Door, problem
from depyf.sources.live.origins.probes import ProbedNode, clean_copy, describe, ending_at, operations
from depyf.sources.live.state.graph_tensors import GraphTensors
from depyf.sources.live.state.settings import ChangedSettings
from depyf.sources.live.tensors import OTHER_MEMORY, OTHER_STRIDES, TensorDifference, strides_that_count


def outputs_or_error(compiled: Compiled, inputs: tuple[Any, ...]) -> tuple[list[Any], Exception | None]:
    try:
        return compiled.outputs(inputs), None
    except Exception as error:
        return [], error


def gradients_or_error(compiled: Compiled, inputs: tuple[Any, ...]) -> tuple[list[Any], Exception | None]:
    try:
        return compiled.gradients(inputs), None
    except Exception as error:
        return [], error


def of_errors(gm: Any, inputs: tuple[Any, ...], first: Compiled, second: Compiled, raised: Exception) -> Finding | None:
    """The first backend raises an error: a difference where the second does not, with the same inputs."""
    _, other = outputs_or_error(second, inputs)
    if other is not None and problem(other) == problem(raised):
        return None
    return Finding(_raising(gm, inputs), False, _errors_apart(raised, other), raised=True)


def of_refusal(gm: Any, inputs: tuple[Any, ...], second: Callable[[Any], Compiled], error: Exception) -> Finding:
    """The second backend alone raises an error: with the first operation that it cannot run after those before it."""
    node = _first_that_raises(gm, lambda made: outputs_or_error(second(made), inputs)[1], error)
    return Finding(node, False, _errors_apart(None, error), raised=True)


def of_refused_backward(
    gm: Any, inputs: tuple[Any, ...], second: Callable[[Any], Compiled], error: Exception
) -> Finding:
    """The same for the backward: with the first operation that has none, after those before it."""
    node = _first_that_raises(gm, lambda made: gradients_or_error(second(made), inputs)[1], error)
    return Finding(node, True, _errors_apart(None, error), raised=True)


def _first_that_raises(gm: Any, raised: Callable[[Any], Exception | None], error: Exception) -> ProbedNode | None:
    """``raised``: what a graph raises that ends with an operation of ``gm``."""
    nodes = operations(gm)
    low, high = 0, len(nodes)
    while low < high:
        middle = (low + high) // 2
        refused = raised(ending_at(gm, nodes[middle].name))
        low, high = (low, middle) if refused is not None and type(refused) is type(error) else (middle + 1, high)
    return describe(nodes[low]) if low < len(nodes) else None


def _errors_apart(first: Exception | None, second: Exception | None) -> TensorDifference:
    said = ["no error" if error is None else problem(error) for error in (first, second)]
    reason = "only one of them raises an error" if first is None or second is None else "not the same error"
    return TensorDifference(said[0], said[1], 0, (), (0.0, 0.0), reason)


def _raising(gm: Any, inputs: tuple[Any, ...]) -> Any:
    """The operation that raises an error in eager mode."""
    node = Looked(gm, inputs).last
    return None if node is None or node.op in ("placeholder", "output") else describe(node)


def of_settings(gm: Any, inputs: tuple[Any, ...], one: dict[str, Any], other: dict[str, Any]) -> Finding | None:
    """A setting of torch that both backends do not leave alike, with the operation that changes it."""
    before = ChangedSettings()
    for path in {**one, **other}:
        first, second = (changed.get(path, before.before(path)) for changed in (one, other))
        if first != second:
            node = Looked(gm, inputs, setting=path).setter
            apart = TensorDifference(f"{first}", f"{second}", 0, (), (0.0, 0.0), "a setting of the whole process")
            return Finding(None if node is None else _placed(gm, node), False, apart, setting=path)
    return None


def of_tracking(gm: Any, first: Compiled, second: Compiled) -> Finding:
    """An output that autograd can go back from on one backend alone."""
    pairs = list(zip(first.tracked, second.tracked))
    number = next((n for n, (one, other) in enumerate(pairs) if one != other), None)
    said = ["requires_grad=True" if value else "requires_grad=False" for value in pairs[number or 0]]
    apart = TensorDifference(said[0], said[1], 0, (), (0.0, 0.0), "one of them has no gradient")
    return Finding(None if number is None else _output(gm, number), True, apart)


def of_strides(gm: Any, expected: list[Any], got: list[Any]) -> Finding | None:
    """A result that one backend lays out in memory in another way."""
    for number, (one, other) in enumerate(zip(expected, got)):
        if not is_tensor(one) or not is_tensor(other):
            continue
        strides = [strides_that_count(value) for value in (one, other)]
        if strides[0] != strides[1]:
            said = [f"{list(value.shape)} with strides {tuple(value.stride())}" for value in (one, other)]
            apart = TensorDifference(said[0], said[1], 0, (), (0.0, 0.0), OTHER_STRIDES)
            return Finding(_output(gm, number), False, apart, strides=True)
    return None


def of_memory(gm: Any, one: list[str], other: list[str]) -> Finding | None:
    """A result that has the memory of another tensor on one backend alone: a write to the one is a write to the
    other."""
    number = next((n for n, (first, second) in enumerate(zip(one, other)) if first != second), None)
    if number is None:
        return None
    apart = TensorDifference(one[number], other[number], 0, (), (0.0, 0.0), OTHER_MEMORY)
    return Finding(_output(gm, number), False, apart, memory=True)


def _output(gm: Any, number: int) -> ProbedNode | None:
    """The operation that computes the output of that number."""
    (output,) = (node for node in gm.graph.nodes if node.op == "output")
    given = output.args[0] if isinstance(output.args[0], (tuple, list)) else output.args
    node = given[number] if number < len(given) else None
    return describe(node) if getattr(node, "op", "output") in ("call_function", "call_method", "call_module") else None


def _placed(gm: Any, node: Any) -> ProbedNode:
    """A node, with the line before it where torch gives it none, as for a call of code that torch wrote."""
    found, place = describe(node), ""
    for one in operations(gm):
        if one is node:
            break
        place = describe(one).place or place
    return found if found.place or not place else replace(found, place=f"a line after {place}")


def of_written(gm: Any, inputs: tuple[Any, ...], apart: tuple[int, TensorDifference], found: Finding) -> Finding:
    """An input differs after the graph: with the operation that writes to it first, or the input where none does."""
    number, difference = apart
    if not is_tensor(inputs[number]):
        return found
    node = Looked(gm, inputs, number).writer
    given = [one for one in gm.graph.nodes if one.op == "placeholder"][number]
    return replace(found, node=describe(node or given), difference=difference, written=True, outside=node is None)


def of_an_input(gm: Any, inputs: tuple[Any, ...], position: int, found: Finding) -> Finding:
    """The gradient of an input differs, and that of no operation: the backward of what uses the input is wrong."""
    placeholders = [node for node in gm.graph.nodes if node.op == "placeholder"]
    wanted = [node for node, value in zip(placeholders, inputs) if is_tensor(value) and value.requires_grad]
    if position >= len(wanted):
        return found
    users = tuple(describe(user) for user in wanted[position].users if user.op != "output")
    return replace(found, node=describe(wanted[position]), used_by=users)


def undeclared(gm: Any, inputs: tuple[Any, ...]) -> Finding | None:
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
