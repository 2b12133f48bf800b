"""``depyf.compare`` in a notebook: the answers as HTML, folded, with the program's lines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from depyf.run.causes.folding import counted
from depyf.sources.live.notebook_cells import in_cells
from depyf.views.pages import notebook
from depyf.views.pages.notebook import Markup, Part, chip, dim, fact, folded, joined, line

if TYPE_CHECKING:
    from depyf.actions.comparing.against_model import ModelComparison
    from depyf.actions.comparing.compare import Comparison
    from depyf.actions.comparing.graphs.graph_finding import Finding, GraphComparison
    from depyf.actions.comparing.value_traces import ModelDifference


def compare_html(comparison: Comparison) -> Markup:
    """The comparison as HTML, graph by graph; graphs that differ are open."""
    same = bool(comparison)
    word = "the same" if same else "different" if comparison.graphs else "nothing compared"
    python = comparison.python
    shown = comparison.shows_python
    lines = [line(python.headline, kind="bad" if python.apart else "")] if shown else []
    lines += [line(text) for text in (python.lines() if shown else ())]
    lines += [line(dim(text)) for text in comparison.remarks()]
    graphs = [_graph(graph, comparison.outcome(graph), comparison.backends) for graph in comparison.graphs]
    page = notebook.report(
        " against ".join(comparison.backends), "", *lines, *graphs, chips=[fact(word, "good" if same else "bad")]
    )
    return Markup(in_cells(page))


def model_html(comparison: ModelComparison) -> Markup:
    """The comparison with a reference as HTML: the first operation or module that differs."""
    model, reference = comparison.names
    found = comparison.first
    head = fact("the same", "good") if found is None else fact("DIFFERENT", "bad")
    return notebook.report(
        f"{model} against the reference {reference}",
        "",
        line(dim(comparison.headline)),
        *(_of_model(found) if found else ()),
        chips=[head],
    )


def _of_model(found: ModelDifference) -> list[Part]:
    parts: list[Part] = [line(found.headline, kind="bad")]
    for side, place in found.places():
        parts += [line(dim(side)), _source(place)]
    apart = found.difference
    if found.reference is not None and apart is None:
        parts.append(line(f"where the reference has {found.reference}"))
    parts += [line(found.shows_in)] if found.shows_in else []
    if apart is not None:
        values = [
            (dim(side), notebook.code(str(value)))
            for side, value in (("reference", apart.expected), ("model", apart.got))
        ]
        parts += [notebook.table((), values), line(apart.reason)]
    parts += [line("its ", notebook.code(name), f" differs: {weight.reason}") for name, weight in found.weights]
    if found.last_common is not None:
        parts.append(line(dim(f"the last that is the same: {found.last_common}")))
    return parts


def _graph(graph: GraphComparison, outcome: str, names: tuple[str, str]) -> Markup:
    finding = graph.finding
    head = joined(
        [
            chip(outcome, "good" if finding is None else "bad"),
            f"graph {graph.number}, ",
            dim(counted(graph.operations, "operation")),
        ]
    )
    inside = _finding(finding, names) if finding is not None else [_source(graph.place) if graph.place else ""]
    return folded(head, *inside, opened=finding is not None)


def _finding(finding: Finding, names: tuple[str, str]) -> list[Part]:
    from depyf.actions.comparing.graphs.graph_finding import advice_lines, headline, labels

    if finding.difference is None:
        return [line(finding.error)]
    parts: list[Part] = [line(headline(finding), kind="bad")]
    parts += [line(chip("advice", "good"), text) for text in advice_lines(finding)]
    if finding.node is not None and finding.node.place:
        parts.append(_source(finding.node.place))
    if finding.node is not None and finding.node.module:
        parts.append(line(dim("in module "), notebook.code(finding.node.module)))
    if finding.layer:
        parts.append(line(f"the layer is {finding.layer}"))
    names = labels(finding, names)
    for user in finding.used_by:
        parts.append(line(f"which the backward of {user.name} ({user.operation}) computes"))
        parts.append(_source(user.place))
    if finding.error:
        return [*parts, line(finding.error)]
    apart = finding.difference
    values = [(dim(name), notebook.code(str(value))) for name, value in zip(names, (apart.expected, apart.got))]
    parts += [notebook.table((), values), line(apart.reason)]
    if apart.wrong:
        parts.append(line(f"farthest apart at {list(apart.index)}: {apart.worst[0]:.8g} against {apart.worst[1]:.8g}"))
    return parts


def _source(place: str) -> Markup:
    """``file:line in function: code`` as a line of the program."""
    where, _, code = place.partition(": ")
    return notebook.source(where, code)
