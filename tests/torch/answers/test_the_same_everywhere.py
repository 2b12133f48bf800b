"""A number and a cause are the same wherever they are told: pages, terminal, doctor, report, JSON, ``explain``."""

from __future__ import annotations

import html
import json
import re
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
import torch
from advice_programs import PROGRAMS as ADVISED

import depyf
from depyf.actions.doctor import trial
from depyf.actions.doctor.doctor_report import causes_lines, document, headline
from depyf.cli.programs.run_program import _fix_first
from depyf.run.causes.cause import Cause
from depyf.run.causes.collect import causes_of
from depyf.run.run import Run, totals_of
from depyf.run.store.loading import load
from depyf.views.pages.print_style import TERMINAL
from depyf.views.pages.sections.fix_first import ON_TERMINAL, fix_first, to_fix
from depyf.views.pages.sections.totals import words_of
from depyf.views.report.dump_view import DumpView
from depyf.views.report.panels.fix_first_panel import fix_first_panel

pytestmark = pytest.mark.torch

ONES = torch.ones(3)


def sizes(x):
    return x * 2


def met_twice(x, n):
    y = x * n
    print(end="")
    return y + 1


def branch(x):
    if x.sum() > 0:
        return x + 1
    return x - 1


def item(x):
    return x * x.sum().item()


def manual(x):
    y = x + 1
    torch._dynamo.graph_break()
    return y * 2


def in_a_loop(x):
    for _ in range(2):
        print(end="")
        x = x + 1
    return x


class Counts:
    n = 0


def counter(x):
    Counts.n += 1
    return x * Counts.n


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.up = torch.nn.Linear(3, 3)
        self.calls = 0

    def forward(self, x):
        self.calls += 1
        x = x + self.up(x)
        torch._dynamo.graph_break()
        return x * 2


class Blocks(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = torch.nn.ModuleList(Block() for _ in range(2))

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return x


class Mlp(torch.nn.Module):
    def forward(self, x):
        y = x + 1
        torch._dynamo.graph_break()
        return y * 2


class Layer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.mlp = Mlp()

    def both(self, x):
        return self.mlp(x)

    def forward(self, x):
        return x + self.both(x)


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.ModuleList([torch.nn.Identity(), Layer()])

    def forward(self, x):
        return self.layers[1](self.layers[0](x))


model = Model()


def in_a_module(x):
    """A break in a module of a module, reached through a method."""
    return model(x * 3)


def nested(x):
    """A break in a callee, which three functions meet, and a counter in a function that is compiled alone."""
    return blocks[0](x).sum() * 2


blocks = []
OWN = {
    nested: [(ONES,)] * 6,
    sizes: [(ONES,), (torch.ones(4),)],
    met_twice: [(ONES, 2), (ONES, 3)],
    branch: [(ONES,)],
    item: [(ONES,)],
    manual: [(ONES,)],
    in_a_loop: [(ONES,)],
    counter: [(ONES,)] * 10,
    in_a_module: [(ONES,)],
}
OTHERS = ("train-and-eval", "write-outside", "same-keys", "check-outside", "not-traced")


@dataclass(frozen=True)
class Told:
    folder: Path
    run: Run
    causes: tuple[Cause, ...]


def told(folder: Path) -> Told:
    run = load(folder)
    return Told(folder, run, causes_of(run))


@pytest.fixture(scope="module", params=[*(f.__name__ for f in OWN), *OTHERS])
def known(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("dump")
    torch._dynamo.reset()
    Counts.n = 0
    blocks[:] = [Blocks()]
    own = {function.__name__: function for function in OWN}.get(request.param)
    with depyf.prepare_debug(folder):
        if own is None:
            ADVISED[request.param].run(False)
        else:
            compiled = torch.compile(own, backend="eager")
            for arguments in OWN[own]:
                compiled(*arguments)
    return told(folder), None if own is None else depyf.explain(own)


def test_the_pages(known):
    found, _ = known
    words, index = words_of(totals_of([found.run])), (found.folder / "index.md").read_text()
    happened = index.partition("## What happened")[2].partition("\n## ")[0]
    for text in (words.compilations, words.breaks, words.recompilations, words.ran_as_python, words.errors):
        assert text in happened
    assert "\n".join(fix_first(found.causes)) in index
    breaks = index.partition("## Graph breaks\n")[2].partition("\n## ")[0]
    assert sum(line[:1].isdigit() for line in breaks.splitlines()) == len(found.run.breaks)


def test_the_json(known):
    found, _ = known
    page = json.loads((found.folder / "manifest.json").read_text())
    assert page["causes"] == [cause.to_json() for cause in found.causes]
    entries = [entry for function in page["functions"] for entry in function["entries"]]
    assert sum(not entry["failed"] for entry in entries) == found.run.compilations
    assert sum(bool(e["recompiled_because"]) for e in entries if not e["failed"]) == found.run.recompilations


def test_the_report(known):
    found, _ = known
    panel = fix_first_panel(DumpView(found.folder), None)
    run, counts = found.run, panel["counts"]
    assert [cause["text"] for cause in panel["causes"]] == [cause.text for cause in found.causes]
    assert (counts["compilations"], counts["breaks"], counts["recompilations"]) == (
        run.compilations, len(run.breaks), run.recompilations,
    )  # fmt: skip
    assert (counts["python"], counts["failed"]) == (run.ran_as_python, run.errors)


def test_the_terminal(known, tmp_path):
    """The end of ``depyf run``, and ``depyf doctor``."""
    found, _ = known
    seconds = found.run.seconds_of
    assert (
        _fix_first(found.folder)[0][: 2 * ON_TERMINAL]
        == (fix_first(found.causes, ON_TERMINAL, TERMINAL, seconds)[: 2 * ON_TERMINAL])
    )
    measured = trial._measured(found.folder, tmp_path / "result.json", 0)
    words = words_of(totals_of([found.run]))
    said = headline("program", measured)
    assert f": {words.compilations}, {words.breaks}" in said
    assert (words.ran_as_python in said) == bool(found.run.ran_as_python)
    assert measured.causes == found.causes
    text = "\n".join(causes_lines(measured))
    assert all(cause.text in text for cause in to_fix(found.causes)[:7])
    page = document("program", measured, None, None)
    assert (page["compilations"], page["graph_breaks"]) == (found.run.compilations, len(found.run.breaks))


NOT_KEPT = {"`n` is a constant of the compiled code (2, 3)": "`n` is a constant of the compiled code (2)"}
"""A number that became a symbol is in no guard: torch does not keep what it was."""
IN_A_LOOP = {"blocks.0.blocks.0": ""}
"""Which of the modules that a loop calls it was: torch does not keep it."""
PREDICTED = re.compile(r" \(\d+ compilations? -> \d+(?: or more)?, predicted\)")
"""The caches do not keep which guards failed: nothing is predicted of them."""


def test_explain(known):
    """Made of torch's caches, on a terminal, in a notebook and as JSON."""
    found, report = known
    if report is None:
        return
    run, words = found.run, words_of(totals_of([found.run]))
    told = [words.compilations, words.breaks, words.recompilations]
    told += [words.ran_as_python] if run.ran_as_python else []
    facts = report.facts()
    assert facts == [*told[:1], facts[1], *told[1:]] and facts[1].startswith(f"{run.graph_count} graph")
    theirs = [replace(cause, module=IN_A_LOOP.get(cause.module, cause.module)) for cause in found.causes]
    assert [(c.kind, c.place, c.advice, c.costs, c.module) for c in report.causes] == [
        (c.kind, c.place, c.advice, c.costs, c.module) for c in theirs
    ]
    lines = fix_first(theirs, ON_TERMINAL, TERMINAL)
    for text, kept in NOT_KEPT.items():
        lines = [line.replace(text, kept) for line in lines]
    lines = [PREDICTED.sub("", line) for line in lines]
    assert fix_first(report.causes, ON_TERMINAL, TERMINAL) == lines
    text, page, data = str(report), html.unescape(report._repr_html_()), json.loads(json.dumps(report.to_json()))
    assert text.splitlines()[0].endswith(": " + ", ".join(facts)) and ", ".join(facts) in repr(report)
    assert all(fact in page for fact in facts)
    for cause in report.causes:
        assert cause.text in text and cause.text in page
    assert data["causes"] == [cause.to_json() for cause in report.causes]
    assert sum(len(part.breaks) for part in report.all() if part.entries) + run.ran_as_python >= len(run.breaks)
