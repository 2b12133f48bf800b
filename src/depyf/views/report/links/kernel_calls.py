"""Which operations of a graph each call of a kernel computes.

Input: a wrapper, the texts of its kernels, the graph that it was made from (after Inductor's post-grad passes), and
what ``nodes.json`` says of the wrapper.  Output: for each call the names of operations of that graph, and of operations
of the captured graph where torch's comment names those only.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from depyf.run.graphs.node_origins import KernelNodes
from depyf.views.report.links.data_flow import LAUNCH, computed_by_calls, is_allocation, is_view
from depyf.views.report.links.graph_lines import GraphLines
from depyf.views.report.links.kernel_text import KernelText
from depyf.views.report.links.wrapper_text import KernelCall, WrapperText


@dataclass(frozen=True, slots=True)
class CallOrigins:
    """``nodes``: operations of the graph; ``captured``: of the captured graph."""

    nodes: tuple[str, ...]
    captured: tuple[str, ...] = ()
    inferred: bool = False
    """Nothing is recorded of the call: a compile cache answered."""


def written_by(call: KernelCall, kernels: dict[str, KernelText]) -> tuple[str, ...]:
    """The buffers that a call writes."""
    kernel = kernels.get(call.kernel)
    if kernel is None:
        return call.written
    pairs = zip(kernel.parameters, call.arguments)
    return tuple(name for (_, writes), name in pairs if writes and name)


def read_by(call: KernelCall, kernels: dict[str, KernelText]) -> tuple[str, ...]:
    """The buffers and inputs whose values a call reads, without those that it only writes."""
    kernel = kernels.get(call.kernel)
    if kernel is None:
        return tuple(name for name in call.arguments if name and (call.in_place or name not in call.written))
    fills = {
        name
        for (one, _), name in zip(kernel.parameters, call.arguments)
        if one.startswith("out_ptr") or one in kernel.overwritten
    }
    return tuple(name for name in call.arguments if name and name not in fills)


def call_origins(
    wrapper: WrapperText, kernels: dict[str, KernelText], graph: GraphLines, noted: tuple[KernelNodes, ...]
) -> list[CallOrigins]:
    """The operations that each of ``wrapper.calls`` computes, in order."""
    known = {node.name for node in graph.nodes}
    written = [written_by(call, kernels) for call in wrapper.calls]
    found: list[CallOrigins] = []
    if noted:
        by_record = _by_record(wrapper, written, noted)
        found = [CallOrigins(tuple(name for name in names if name in known)) for names in by_record]
    else:
        found = [CallOrigins(())] * len(wrapper.calls)
    uses: dict[str, int] = {}
    for call in wrapper.calls:
        uses[call.kernel] = uses.get(call.kernel, 0) + 1
    for number, call in enumerate(wrapper.calls):
        if found[number].nodes:
            continue
        kernel = kernels.get(call.kernel)
        names = tuple(name for name in kernel.nodes if name in known) if kernel and uses[call.kernel] == 1 else ()
        found[number] = CallOrigins(names)
    if any(not one.nodes for one in found):
        flow = computed_by_calls(wrapper, [read_by(call, kernels) for call in wrapper.calls], written, graph)
        found = [
            one if one.nodes else CallOrigins(flow[number], inferred=bool(flow[number]))
            for number, one in enumerate(found)
        ]
    for number, call in enumerate(wrapper.calls):
        if not found[number].nodes and call.sources:
            own = tuple(name for name in call.sources if name in known)
            found[number] = CallOrigins(own, tuple(name for name in call.sources if name not in own))
    nothing = {node.name for node in graph.nodes if is_view(node) or is_allocation(node)}
    return [_without(one, nothing) for one in _launches_apart(wrapper, kernels, graph, found)]


def _without(origins: CallOrigins, nothing: set[str]) -> CallOrigins:
    """Views and allocations compute nothing: the view between two kernels is in the origins of both, and often of
    another line."""
    nodes = tuple(name for name in origins.nodes if name not in nothing)
    return replace(origins, nodes=nodes) if nodes else origins


def _launches_apart(
    wrapper: WrapperText, kernels: dict[str, KernelText], graph: GraphLines, found: list[CallOrigins]
) -> list[CallOrigins]:
    """A kernel of the program is one operation of the graph.  torch names it also at the kernels that fill its
    arguments, and names those operations at its own call."""
    launches = [node.name for node in graph.nodes if node.target.startswith(LAUNCH)]
    apart = []
    for call, origins in zip(wrapper.calls, found):
        if call.kernel in kernels and kernels[call.kernel].by_program:
            left = [name for name in launches if name in call.sources] or launches
            if left:
                launches.remove(left[0])
                origins = CallOrigins((left[0],))
        apart.append(origins)
    every = {node.name for node in graph.nodes if node.target.startswith(LAUNCH)}
    return [one if len(one.nodes) == 1 else _without(one, every) for one in apart]


def _by_record(wrapper: WrapperText, written: list[tuple[str, ...]], noted: tuple[KernelNodes, ...]) -> list[list[str]]:
    """By the buffers that a call writes.  A call without a named output (it changes an input, or its output stays in a
    kernel) stands between its neighbours."""
    of_buffer = {buffer: number for number, kernel in enumerate(noted) for buffer in kernel.buffers}
    groups: list[set[int]] = [{of_buffer[name] for name in names if name in of_buffer} for names in written]
    taken = set().union(*groups)
    last = -1
    rest = [number for number in range(len(noted)) if number not in taken]
    for number, group in enumerate(groups):
        if group:
            last = max(last, *group)
            continue
        following = min((min(other) for other in groups[number + 1 :] if other), default=len(noted))
        between = [one for one in rest if last < one < following]
        if between:
            group.update(between)
            rest = [one for one in rest if one not in between]
    generated = [number for number, call in enumerate(wrapper.calls) if call.kernel and groups[number]]
    for one in rest:  # what it writes never leaves the kernel, which computes what comes next, too
        later = [number for number in generated if max(groups[number]) > one]
        if later:
            groups[min(later, key=lambda number: min(entry for entry in groups[number] if entry > one))].add(one)
    return [sorted({name for one in sorted(group) for name in noted[one].nodes}) for group in groups]
