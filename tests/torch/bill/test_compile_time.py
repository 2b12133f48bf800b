"""What tracing took, by line: the planted line is first, with how often it calls; time is counted in questions of a clock."""

from __future__ import annotations

import itertools
import json
import logging
import types
from dataclasses import replace

import pytest
import torch
from bill_programs import TRACED
from unbuilt import marked, module_of

import depyf
from depyf.run.bill.traced_calls import traced_lines
from depyf.run.store.loading import load
from depyf.sources.live.tracing import inlined_calls
from depyf.views.pages.bill.compile_time import compile_time_lines, costly_lines

pytestmark = [pytest.mark.torch, pytest.mark.filterwarnings("ignore")]


@pytest.fixture(autouse=True)
def counted_time(monkeypatch):
    """Each question of the clock is a second later than the one before."""
    clock = itertools.count()
    monkeypatch.setattr(inlined_calls, "time", types.SimpleNamespace(perf_counter=lambda: float(next(clock))))


def traced(source, folder, name):
    module = module_of(source, folder, name)
    with depyf.prepare_debug(folder / "dump"):
        torch.compile(module.program, backend="eager")(module.x, module.y)
    return module, load(folder / "dump")


@pytest.mark.parametrize("program", TRACED, ids=lambda program: program.name)
def test_the_planted_line_is_named(program, tmp_path):
    module, run = traced(program.source, tmp_path, program.name)
    first = costly_lines(run)[0]
    assert (first.file, first.line) == (module.__file__, marked(program.source, "here"))
    assert (first.calls, first.called) == (program.calls, program.called)
    assert run.notes == ()


def test_what_is_called_is_in_its_caller(tmp_path):
    """Seconds of a call hold those of what it calls, and the tree has each path once."""
    _, run = traced(TRACED[0].source, tmp_path, "tree")
    (tree,) = (times.traced for times in run.times if times.traced)
    assert tree[0].depth == 0 and tree[0].function == "Net.forward"
    above = []
    for call in tree:
        del above[call.depth :]
        assert not above or above[-1].seconds >= call.seconds
        above.append(call)
    assert sum(call.function == "Block.forward" for call in tree) == 1
    page = json.loads((tmp_path / "dump" / "timings.json").read_text())
    assert [call["function"] for call in page["traced"]["0_0"]] == [call.function for call in tree]
    assert '"traced":' not in (tmp_path / "dump" / "run.jsonl").read_text()


def test_the_terminal_names_the_line(tmp_path):
    module, run = traced(TRACED[0].source, tmp_path, "told")
    assert compile_time_lines(run) == []  # a small graph
    seconds = (("entire_frame_compile_time", 50.0),)
    times = tuple(replace(one, seconds=seconds) for one in run.times if one.traced)
    large = replace(run.functions[0], entries=tuple(replace(e, operations=480) for e in run.functions[0].entries))
    lines = compile_time_lines(replace(run, times=times, functions=(large,)))
    assert f"{module.__file__}:{marked(TRACED[0].source, 'here')} `x = block(x)" in lines[1]


def test_recursion_counts_its_outermost_call(tmp_path):
    source = (
        "import torch\nx = torch.ones(4)\ny = x\n\ndef again(x, n):\n    if n == 0:\n        return x\n"
        "    return again(x.sin(), n - 1)\n\ndef program(x, y):\n    return again(x, 6)\n"
    )
    _, run = traced(source, tmp_path, "again")
    (tree,) = (times.traced for times in run.times if times.traced)
    lines = {line.line: line for line in traced_lines([tree])}
    assert lines[8].seconds <= lines[11].seconds


def test_the_logger_of_torch_is_left_as_it_was(tmp_path):
    from torch._dynamo import symbolic_convert

    logger = symbolic_convert.log
    before, heard = dict(vars(logger)), []
    logger.addFilter(heard.append)
    try:
        traced(TRACED[1].source, tmp_path, "left")
    finally:
        logger.removeFilter(heard.append)
    assert {**vars(logger), "_cache": 0} == {**before, "_cache": 0}
    assert [record for record in heard if record.levelno < logging.WARNING] == []
