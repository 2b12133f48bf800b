"""An evaluation with one input changed says what a new evaluation with that input says."""

from __future__ import annotations

import random
import textwrap

from depyf.dump.graphs.graph_text import read_graph
from depyf.dump.graphs.value_types import tensor_type
from depyf.gallery.incremental import Evaluation
from depyf.gallery.intervals import Span

INPUTS = [
    *(f'x{i}: "f32[4, 4][4, 1]cpu"' for i in range(3)), *(f'i{i}: "i64[4][1]cpu"' for i in range(2)),
    'm: "b8[4][1]cpu"', 't: "f32[9, 4][4, 1]cpu"',
]  # fmt: skip
SPANS = [Span(-8, 8), Span(0, 0), Span(0, 3), Span(0.5, 1.5), Span(-(2.0**40), 2.0**40), Span(1, 1)]


def graph_of(parameters, lines):
    page = f"class GraphModule(torch.nn.Module):\n    def forward(self, {', '.join(parameters)}):\n"
    graph = read_graph(page + textwrap.indent("\n".join([*lines, "return ()"]), "        ") + "\n", "")
    assert graph is not None
    return graph, {p.name: kind for p in graph.parameters if (kind := tensor_type(p.type, {})) is not None}


def random_lines(seed):
    """Statements over the inputs and each other's results: sinks, in-place operations, values that become unknown."""
    draw = random.Random(seed)
    floats, integers = ["x0", "x1", "x2"], ["i0", "i1"]
    lines = []
    for number in range(12):
        x, y, i, j = draw.choice(floats), draw.choice(floats), draw.choice(integers), draw.choice(integers)
        new = f"v{number}"
        kind, text = draw.choice([
            ("f", f"{x} + {y}"), ("f", f"{x} * {y}"), ("f", f"torch.sqrt({x})"), ("f", f"{x}.relu()"), ("f", f"{x} ** {y}"),
            ("f", f"torch.matmul({x}, {y})"), ("f", f"torch.where(m, {x}, {y})"), ("f", f"torch.log({x})"),
            ("f", f"{x}.add_({y})"), ("f", f"torch.nn.functional.embedding({i}, t)"), ("i", f"{i} + {j}"),
            ("i", f"{i}.clamp(min = 0)"), ("i", f"{i}.cumsum(0)"), ("i", f"{i}.ne(1)"),
        ])  # fmt: skip
        (floats if kind == "f" else integers).append(new)
        lines.append(f'{new}: "f32[4, 4][4, 1]cpu" = {text}' if kind == "f" else f'{new}: "i64[4][1]cpu" = {text}')
        if draw.random() < 0.2:
            lines.append(f"{x}[{i}] = {y}")
    return lines


def test_changes_are_followed():
    found = 0
    for seed in range(60):
        graph, types = graph_of(INPUTS, random_lines(seed))
        draw = random.Random(seed)
        spans = {name: draw.choice(SPANS) for name in types}
        evaluation = Evaluation(graph, spans, types, {})
        for name in types:
            for span in SPANS:
                fresh = Evaluation(graph, {**spans, name: span}, types, {})
                assert evaluation.bad(name, span) == fresh.bad(), (seed, name, span)
                found += bool(fresh.bad() != evaluation.bad())
            spans[name] = draw.choice(SPANS)
            evaluation.set(name, spans[name])
            fresh = Evaluation(graph, spans, types, {})
            assert evaluation.complaints() == fresh.complaints(), (seed, name)
    assert found > 300  # the changes did change something


def test_many_inputs_do_not_cost_a_graph_each(monkeypatch):
    run, evaluated = Evaluation._run, []
    monkeypatch.setattr(
        Evaluation, "_run", lambda self, number, values: evaluated.append(number) or run(self, number, values)
    )
    layers = 300
    inputs = ['x: "f32[4, 4][4, 1]cpu"', *(f'v{n}: "f32[4][1]cpu"' for n in range(layers))]
    graph, types = graph_of(inputs, [f"y{n} = torch.sqrt(v{n})" for n in range(layers)])
    evaluation = Evaluation(graph, dict.fromkeys(types, Span(-8, 8)), types, {})
    for name in types:
        evaluation.bad(name, Span(0, 1))
    assert layers < len(evaluated) < 4 * layers
