"""``depyf.why`` and ``depyf.compare`` in a notebook: the answers as HTML, folded, with the program's lines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from depyf.dump.pages import notebook
from depyf.dump.pages.notebook import Markup, Part, chip, dim, folded, joined, line

if TYPE_CHECKING:
    from depyf.dynamo.asking.compare import Comparison, Finding, GraphComparison
    from depyf.dynamo.asking.why import Refusal, Why


def why_html(answer: Why) -> Markup:
    """Which entry runs, and below it what each of the others wanted; the first is open."""
    outcome = line(chip("runs" if answer.runs is not None else "no entry fits", _kind(answer.runs)), answer.outcome)
    refusals = [_refusal(refusal, opened=position == 0) for position, refusal in enumerate(answer.refusals)]
    return notebook.report(answer.function, answer.place, outcome, *refusals)


def _kind(runs: str | None) -> str:
    return "good" if runs is not None else "warn"


def _refusal(refusal: Refusal, opened: bool) -> Markup:
    from depyf.dynamo.asking.why import subject
    from depyf.dynamo.guards.guard_values import plain

    guard = refusal.guard
    if guard is None:
        return line(chip(refusal.compile_id), f"does not run: {refusal.because}")
    rows: list[tuple[Part, Part]] = [
        (dim("guard"), notebook.code(plain(guard.expression))),
        (dim("expected"), notebook.code(guard.expected)),
        (dim("actual"), notebook.code(guard.actual)),
    ]
    place = guard.place
    known = place is not None and "torch/_dynamo/" not in place.filename
    source = notebook.source(f"{place.filename}:{place.line}", place.text) if known and place is not None else ""
    advice = line(chip("advice", "good"), refusal.advice) if refusal.advice else ""
    head = joined([chip(refusal.compile_id), f"does not run: {subject(guard.expression)}"])
    return folded(head, source, notebook.table((), rows), advice, opened=opened)


def compare_html(comparison: Comparison) -> Markup:
    """Each graph with whether it is the same; what differs is open."""
    same = bool(comparison)
    word = "the same" if same else "different" if comparison.graphs else "nothing compared"
    lines = [line(dim(text)) for text in comparison.remarks()]
    graphs = [_graph(graph, comparison.backends) for graph in comparison.graphs]
    return notebook.report(
        " against ".join(comparison.backends), "", *lines, *graphs, chips=[chip(word, "good" if same else "bad")]
    )


def _graph(graph: GraphComparison, names: tuple[str, str]) -> Markup:
    finding = graph.finding
    kind, word = ("good", "the same") if finding is None else ("bad", "DIFFERENT")
    head = joined([chip(word, kind), f"graph {graph.number} ", dim(f"{graph.operations} operations")])
    inside = _finding(finding, names) if finding is not None else [_source(graph.place) if graph.place else ""]
    return folded(head, *inside, opened=finding is not None)


def _finding(finding: Finding, names: tuple[str, str]) -> list[Part]:
    from depyf.dynamo.asking.compare import headline

    parts: list[Part] = [line(headline(finding), kind="bad")]
    if finding.node is not None and finding.node.place:
        parts.append(_source(finding.node.place))
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
