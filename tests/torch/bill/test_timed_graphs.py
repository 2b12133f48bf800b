"""``depyf gallery --time``: each graph eager against compiled, in pairs; the slower ones first, with what their bill says."""

from __future__ import annotations

import pytest
import torch
from bill_programs import _SMALL
from torch import nn
from unbuilt import module_of

import depyf
from depyf.actions.gallery.script import Script
from depyf.actions.gallery.timed_graphs import TimedGraph, WayTimes, table_lines, time_scripts
from depyf.cli import main
from depyf.gallery import write_gallery
from depyf.run.store.loading import load

pytestmark = [pytest.mark.torch, pytest.mark.filterwarnings("ignore")]

TRAINED = (
    _SMALL
    + """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(4, 4)

    def forward(self, x, y):
        return self.lin(x).relu() + y

program = Net()
"""
)


@pytest.fixture
def dump(tmp_path):
    module = module_of(TRAINED, tmp_path, "trained")
    with depyf.prepare_debug(tmp_path / "dump"):
        torch.compile(module.program, backend="aot_eager")(module.x, module.y).sum().backward()
    return tmp_path / "dump"


def test_a_graph_is_timed_forward_and_backward(dump, tmp_path):
    scripts = write_gallery(dump, tmp_path / "scripts")[""].scripts
    (one,) = time_scripts(tmp_path / "scripts", scripts, load(dump), backend="aot_eager", pairs=3)
    assert one.problem == ""
    for way in (one.eager, one.compiled):
        assert len(way.forward) == len(way.backward) == 3 and min(*way.forward, *way.backward) > 0
        assert way.memory > 0
    assert len(one.ratios) == 3 and one.quartiles[0] <= one.ratio <= one.quartiles[1]


def test_the_command_prints_a_table(dump, tmp_path, capfd):
    status = main(["gallery", str(dump), "-o", str(tmp_path / "s"), "--time", "--pairs", "2", "--backend", "eager"])
    lines = capfd.readouterr().out.splitlines()
    (row,) = (line for line in lines if line.startswith("0/0 "))
    assert status == 0 and "Net.forward" in row and any(line.startswith("Of 1 graph") for line in lines)


def test_a_script_that_cannot_run_is_told(dump, tmp_path):
    scripts = write_gallery(dump, tmp_path / "scripts")[""].scripts
    (tmp_path / "scripts" / scripts[0].file).write_text("raise ValueError('broken')\n")
    (one,) = time_scripts(tmp_path / "scripts", scripts, load(dump), pairs=2)
    assert one.ratio is None and "ValueError: broken" in one.problem
    assert table_lines([one]) == [f"not timed: {scripts[0].file}: ValueError: broken"]


def made(name, eager, compiled, about=""):
    script = Script(f"{name}.py", "", name, "f", "", (), 0, ())
    ways = [WayTimes(times, (0.0,) * len(times), 8) for times in (eager, compiled)]
    return TimedGraph(script, *ways, about=about)


def test_slower_graphs_are_told_with_their_bill():
    slow = made("1/0", (1.0, 1.0, 1.0), (1.5, 1.6, 1.4), "copy, 3.0 MiB, a.py:4: the program asks for a copy")
    fast, even = made("0/0", (1.0, 1.0, 1.0), (0.5, 0.5, 0.6)), made("2/0", (1.0, 1.0, 1.0), (0.9, 1.1, 1.0))
    lines = table_lines([slow, even, fast])
    assert lines[1].split()[:4] == ["1/0", "1.00", "s", "1.50"]
    assert "Of 3 graphs 1 is faster compiled, 1 is slower, 1 even or within the spread." in lines
    assert "  1/0: copy, 3.0 MiB, a.py:4: the program asks for a copy" in lines


def test_pairs_alternate(monkeypatch, tmp_path):
    """Each pair is in the other order than the one before: a machine that gets slower makes neither way slower."""
    import importlib.util

    from depyf.actions.gallery import timed_graphs

    spec = importlib.util.spec_from_file_location("timing_of_tests", timed_graphs._TIMER)
    timing = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(timing)
    ways = []
    real = timing._round

    def heard(way, calls, clock):
        ways.append(way)
        return real(way, calls, clock)

    monkeypatch.setattr(timing, "_round", heard)
    script = type("S", (), {})()
    script.Captured = lambda: nn.Identity()
    script.make_inputs = lambda: {"x": torch.ones(2)}
    script.ambient = torch.no_grad
    found = timing.timed(script, "eager", 4)
    eager, compiled = ways[:2]
    assert [way is eager for way in ways[2:]] == [True, False, False, True, True, False, False, True]
    assert len(found["rounds"]["eager"]) == 4 and compiled is not eager
