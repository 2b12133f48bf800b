"""Where a call that Dynamo captured begins to compute something else than Python: the first operation.

Input: a call, whose state is put back each time.  Output: sentences; () where the values of operations say nothing.
The operations that Python makes are recorded with their lines, and so are the nodes of the graphs as eager mode runs
them; what follows the last value that both have is where they part (``against_model.Comparing``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from depyf.actions.comparing.against_model import (
    RESULT,
    Comparing,
    ModelDifference,
    ModelStep,
    Trace,
    operation_name,
    recording,
    tensors_in,
)
from depyf.sources.live.origins.probes import describe

if TYPE_CHECKING:
    from depyf.actions.comparing.against_python import Calls

_OPERATIONS = ("call_function", "call_method", "call_module")


def dynamo_step(calls: Calls) -> tuple[str, ...]:
    """What the captured graphs compute first that Python does not."""
    python, graphs = Trace(), Trace()
    with recording(None, python) as record:
        calls.as_python(lambda result: record(RESULT, result))
    calls.as_graphs(_backend(graphs), lambda result: _keep(graphs, ModelStep("", RESULT, ""), result))
    if not python.values or not graphs.values:
        return ()
    found = Comparing(python, graphs, calls.rtol, calls.atol).by_values()
    return () if found is None else tuple(_told(found))


def _backend(trace: Trace) -> Callable[..., Any]:
    """Runs each graph node by node, and keeps the values."""
    import torch

    class Kept(torch.fx.Interpreter):  # type: ignore[misc]
        def run_node(self, n: Any) -> Any:
            value = super().run_node(n)
            if n.op in _OPERATIONS:
                told = describe(n)
                name = n.target if isinstance(n.target, str) else operation_name(n.target)
                _keep(trace, ModelStep(told.module, name, told.place), value)
            return value

    def backend(gm: Any, inputs: Any) -> Any:
        return torch._dynamo.disable(lambda *given: Kept(gm).run(*given))

    return backend


def _keep(trace: Trace, step: ModelStep, value: Any) -> None:
    tensors = tensors_in(value)
    if tensors:
        trace.keys.append((step.path, 0, step.operation, len(trace.keys)))
        trace.steps.append(step)
        trace.values.append(tensors)


def _told(found: ModelDifference) -> Iterator[str]:
    step, python = found.step, found.reference
    if step.operation == RESULT and python is not None and python.operation == RESULT:
        return
    if step.operation == RESULT:
        yield f"Dynamo left out {python.placed}" if python is not None else "the results alone differ"
    elif python is None or python.operation == RESULT:
        yield f"Dynamo computes {step.placed}, and Python does not"
    else:
        yield f"the first operation that differs is {step.placed}"
        if python.placed != step.placed:
            yield f"Python has {python.placed} there"
    if found.difference is not None and step.operation != RESULT:
        yield f"its value is {found.difference.got}, and Python's is {found.difference.expected}"
    if found.last_common is not None:
        yield f"the last value that is the same is that of {found.last_common.placed}"
