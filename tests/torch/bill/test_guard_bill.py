"""Guards of a call: the line that needs most of them is named, and those that failed are counted; a filter is judged by what it saves."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from bill_programs import GUARDED
from unbuilt import marked, module_of

import depyf
from depyf.actions.doctor.switches import SwitchError, leave_out_guards
from depyf.actions.doctor.trial import Measured
from depyf.actions.doctor.ways import WayOutcome, guard_ways, judged
from depyf.contexts import PrepareDebug
from depyf.run.bill.guard_bill import COLD, WARM, guard_bill, guards_of_a_call, microseconds, time_by_line
from depyf.run.bill.guard_filters import GUARD_FILTERS
from depyf.run.run import RunTotals
from depyf.run.store.loading import load
from depyf.views.pages.bill.compile_time import guard_lines

pytestmark = [pytest.mark.torch, pytest.mark.filterwarnings("ignore")]


@pytest.mark.parametrize("program", GUARDED, ids=lambda program: program.name)
def test_the_planted_line_is_named(program, tmp_path):
    module = module_of(program.source, tmp_path, program.name)
    compiled = torch.compile(module.program, backend="eager")
    with depyf.prepare_debug(tmp_path / "dump"):
        compiled(module.x, module.y)
        for statement in program.calls:
            exec(statement, {"module": module})
            compiled(module.x, module.y)
    run = load(tmp_path / "dump")
    first = guard_bill(run)[0]
    own = [line for line in first.lines if line.place is not None and line.place.filename == module.__file__]
    assert own[0].place.line == marked(program.source, "here")
    assert first.failed == program.failed and first.guards == len(run.entries[-1][1].guards)
    assert sum(line.guards for line in first.lines) <= first.guards
    page = (tmp_path / "dump" / "bill.md").read_text()
    assert f"{program.name}.py:{own[0].place.line}" in page
    assert ("none of them ever failed" in page) == (program.failed == 0)


def test_torch_measures_and_depyf_where_it_may(tmp_path):
    module = module_of(GUARDED[0].source, tmp_path, "measured")
    prepare = PrepareDebug(str(tmp_path / "dump"), True, False)
    prepare.measures_guards = True
    prepare.__enter__()
    try:
        torch.compile(module.program, backend="eager")(module.x, module.y)
    finally:
        prepare.__exit__(None, None, None)
    run = load(tmp_path / "dump")
    ((key, cold),) = microseconds(run, COLD).items()
    assert cold >= 0 and microseconds(run)[key] > 0 and guards_of_a_call(run) == microseconds(run)[key]
    assert WARM in dict(run.times[0].seconds) and run.notes == ()


@pytest.mark.parametrize("program", GUARDED, ids=lambda program: program.name)
def test_what_guards_take_is_told_by_line(program, tmp_path):
    module = module_of(program.source, tmp_path, program.name)
    prepare = PrepareDebug(str(tmp_path / "dump"), True, False)
    prepare.measures_guards = True
    with prepare:
        torch.compile(module.program, backend="eager")(module.x, module.y)
    run = load(tmp_path / "dump")
    (key,) = microseconds(run)
    times = time_by_line(run, key)
    here = next(time for time in times if (time.file, time.line) == (module.__file__, marked(program.source, "here")))
    assert here.seconds > 0 and [time.seconds for time in times] == sorted((t.seconds for t in times), reverse=True)
    assert {(time.file, time.line) for time in times} <= {
        ("", 0) if guard.place is None else (guard.place.filename, guard.place.line)
        for guard in run.entries[0][1].guards
    }
    assert all(time.seconds >= 0 for time in times) and run.notes == ()
    printed = "\n".join(guard_lines(replace(run, times=(replace(run.times[0], guards=(replace(here, seconds=0.5),)),))))
    assert f"    500000 us for those of {here.file}:{here.line} `" in printed


def test_nothing_is_measured_in_the_process_of_the_user(tmp_path):
    module = module_of(GUARDED[0].source, tmp_path, "unmeasured")
    with depyf.prepare_debug(tmp_path / "dump"):
        torch.compile(module.program, backend="eager")(module.x, module.y)
    assert WARM not in dict(load(tmp_path / "dump").times[0].seconds)


@pytest.mark.parametrize("one", GUARD_FILTERS, ids=lambda one: one.name)
def test_a_filter_leaves_guards_out(one, tmp_path, monkeypatch):
    from torch._dynamo.guards import CheckFunctionManager

    monkeypatch.setattr(CheckFunctionManager, "__init__", CheckFunctionManager.__init__)  # set back at the end
    module = module_of(GUARDED[2].source, tmp_path, one.name)
    leave_out_guards(one.name)
    with depyf.prepare_debug(tmp_path / "dump"):
        torch.compile(module.program, backend="eager")(module.x, module.y)
    (bill,) = guard_bill(load(tmp_path / "dump"))
    assert bill.left_out > 0 or "inbuilt" in one.name


def test_a_filter_that_torch_lacks_is_told():
    with pytest.raises(SwitchError):
        leave_out_guards("no_such_filter")


BEFORE = Measured(0, RunTotals(compilations=1), 1.0, guards=100.0, calls={})


@pytest.mark.parametrize(
    "guards, compilations, outcome",
    [
        (40.0, 1, WayOutcome.HELPS),
        (95.0, 1, WayOutcome.NOTHING),
        (40.0, 2, WayOutcome.WORSE),
    ],
)
def test_what_a_filter_saves_is_measured(guards, compilations, outcome):
    first = guard_ways(BEFORE)[0]
    after = replace(BEFORE, guards=guards, totals=RunTotals(compilations=compilations))
    assert judged(first, BEFORE, after, True).outcome is outcome


def test_few_guards_are_not_worth_a_try():
    assert guard_ways(replace(BEFORE, guards=5.0)) == ()
