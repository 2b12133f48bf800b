"""What kernels move: the planted line is named, with the bytes that are counted by hand; on all pages alike."""

from __future__ import annotations

import json

import pytest
import torch
from bill_programs import MOVED
from unbuilt import marked, module_of, recorded

import depyf
from depyf.run.bill.lowering import CostKind
from depyf.run.bill.traffic import traffic_of
from depyf.run.observations.all_observations import observations_of

pytestmark = [pytest.mark.torch, pytest.mark.filterwarnings("ignore")]


@pytest.mark.parametrize("program", MOVED, ids=lambda program: program.name)
def test_the_planted_line_is_named(program, tmp_path):
    module = module_of(program.source, tmp_path, program.name)
    run = recorded(module, tmp_path / "dump", dict(program.options))
    costs = traffic_of(run).of(CostKind(program.kind))
    assert costs, [*traffic_of(run).costs]
    first = costs[0]
    other = marked(program.source, "with")
    assert (first.line.filename, first.line.line) == (module.__file__, marked(program.source, "here"))
    assert first.line.text == program.source.splitlines()[first.line.line - 1].strip()
    assert not other or first.other.line == other
    assert not program.reason or first.reason == program.reason
    assert first.bytes == pytest.approx(program.bytes, rel=0.1)
    told = [one for one in observations_of(run) if one.kind.value == program.kind]
    assert told and told[0].place.line == first.line.line
    assert (tmp_path / "dump" / "bill.md").read_text().count(f"{program.name}.py:{first.line.line}")
    page = json.loads((tmp_path / "dump" / "bill.json").read_text())
    assert page["traffic"]["bytes"] == traffic_of(run).bytes
    assert run.notes == ()


def test_nothing_is_left(tmp_path):
    """The logger of torch's scheduler is as it was, and is not switched on meanwhile."""
    import torch._inductor.scheduler as scheduler

    logger = scheduler.fusion_log
    before = dict(vars(logger))
    program = MOVED[0]
    module = module_of(program.source, tmp_path, program.name)
    heard = []
    logger.addFilter(heard.append)
    try:
        recorded(module, tmp_path / "dump")
    finally:
        logger.removeFilter(heard.append)
    assert {**vars(logger), "_cache": 0} == {**before, "_cache": 0} and heard == []


def test_what_fits_together_costs_nothing(tmp_path):
    """One kernel, no copy, no fallback: no claim."""
    source = MOVED[0].source.partition("def program")[0] + "def program(x, y):\n    return (x * y).relu().sum(1)\n"
    run = recorded(module_of(source, tmp_path, "fitting"), tmp_path / "dump")
    traffic = traffic_of(run)
    assert traffic.kernels == 1 and traffic.costs == () and observations_of(run) == ()


def test_what_is_computed_where_it_belongs_is_no_copy(tmp_path):
    """An update in place computes its value and writes it once."""
    body = "def program(x, y):\n    x.add_(y)\n    y.mul_(2).relu_()\n    return (x * y).sum(1)\n"
    source = MOVED[0].source.partition("def program")[0] + body
    run = recorded(module_of(source, tmp_path, "in_place"), tmp_path / "dump")
    traffic = traffic_of(run)
    assert traffic.bytes > 0 and traffic.of(CostKind.COPY) == ()


def test_a_graph_of_a_cache_is_said_to_be_unknown(tmp_path):
    program = MOVED[4]
    module = module_of(program.source, tmp_path, program.name)
    with torch._inductor.config.patch(fx_graph_cache=False), depyf.prepare_debug(tmp_path / "dump"):
        torch.compile(module.program, backend="aot_eager")(module.x, module.y)
    assert not (tmp_path / "dump" / "bill.md").exists()
