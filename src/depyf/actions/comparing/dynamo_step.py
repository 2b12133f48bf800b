"""Where a call that Dynamo captured begins to compute something else than Python: the first operation.

Input: a call, whose state is put back each time.  Output: sentences; () where the values of operations say nothing.
The operations that Python makes are recorded with their lines, and so are the nodes of the graphs as eager mode runs
them; the first value that only one of them has is where they part (``value_traces.py``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from depyf.actions.comparing.against_model import operation_name, recording, tensors_in
from depyf.actions.comparing.value_traces import RESULT, Comparing, ModelDifference, ModelStep, ValueTrace
from depyf.sources.live.origins.probes import describe

if TYPE_CHECKING:
    from depyf.actions.comparing.against_python import Calls

_OPERATIONS = ("call_function", "call_method", "call_module")


def dynamo_step(calls: Calls) -> tuple[str, ...]:
    """Sentences on the first operation in which the captured graphs differ from Python; () for none."""
    python, graphs = ValueTrace(), ValueTrace()
    with recording(None, python) as record:
        calls.as_python(lambda result: record(RESULT, result))
    calls.as_graphs(
        _backend(graphs), lambda result: _keep(graphs, ModelStep("", RESULT, ""), result, range(len(graphs.steps)))
    )
    if not python.values or not graphs.values:
        return ()
    found = Comparing(python, graphs, calls.rtol, calls.atol).first()
    return () if found is None else tuple(_told(found))


def _backend(trace: ValueTrace) -> Callable[..., Any]:
    """Runs each graph node by node, and keeps the values."""
    import torch

    known: dict[Any, int] = {}

    class KeptNodes(torch.fx.Interpreter):  # type: ignore[misc]
        def run_node(self, n: Any) -> Any:
            value = super().run_node(n)
            if n.op in _OPERATIONS:
                told = describe(n)
                name = n.target if isinstance(n.target, str) else operation_name(n.target)
                before = sorted({known[node] for node in n.all_input_nodes if node in known})
                if _keep(trace, ModelStep(told.module, name, told.place), value, before):
                    known[n] = len(trace.steps) - 1
            return value

    def backend(gm: Any, inputs: Any) -> Any:
        return torch._dynamo.disable(lambda *given: KeptNodes(gm).run(*given))

    return backend


def _keep(trace: ValueTrace, step: ModelStep, value: Any, depends: Sequence[int]) -> bool:
    """Whether there is a tensor to keep."""
    tensors = tensors_in(value)
    if tensors:
        trace.add(step, (step.path, 0, step.operation, len(trace.keys)), tensors, depends)
    return bool(tensors)


def _told(found: ModelDifference) -> Iterator[str]:
    own, others = found.other_operations
    step, python = own or found.step, others or found.reference
    if step.operation == RESULT and (python is None or python.operation == RESULT):
        return
    if step.operation == RESULT:
        yield f"Dynamo left out {python.placed}" if python is not None else "the results alone differ"
    elif python is None or python.operation == RESULT:
        yield f"Dynamo computes {step.placed}, and Python does not"
    else:
        yield f"the first operation that differs is {step.placed}"
        if python.placed != step.placed:
            yield f"Python has {python.placed} there"
    if found.difference is not None and not any(found.other_operations) and step.operation != RESULT:
        yield f"its value is {found.difference.got}, and Python's is {found.difference.expected}"
    if found.last_common is not None:
        yield f"the last value that is the same is that of {found.last_common.placed}"
