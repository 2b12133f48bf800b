"""All guards of all earlier entries that failed, recorded; and what is predicted of them, measured."""

import pytest
import torch

import depyf
from depyf.run.causes.guard_replay import failed_values, replay
from depyf.run.run import Run
from depyf.run.store.loading import load
from depyf.sources.live.caches.entries import cache_entries
from depyf.sources.live.events.call_values import refused_call
from depyf.sources.live.guards.ask import PartOfEntry
from depyf.sources.live.recording.capture import Capture

pytestmark = pytest.mark.torch


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.calls, self.scale = 0, 1.0
        self.layer = torch.nn.Linear(4, 4)

    def forward(self, x, flag):
        self.calls += 1
        if x.shape[0] > x.shape[1]:
            x = x + 1
        return self.layer(x) * (2 if flag else 3) * self.calls * self.scale


CALLS = ((2, True, 1.0), (3, True, 1.0), (3, False, 1.0), (6, True, 2.0), (7, False, 2.0))


def recorded(folder, body) -> Run:
    torch._dynamo.reset()
    with depyf.prepare_debug(folder):
        body()
    return load(folder)


def train():
    net = Net()
    compiled = torch.compile(net, backend="eager")
    for rows, flag, scale in CALLS:
        net.scale = scale
        compiled(torch.ones(rows, 4), flag)


def test_every_guard_that_fails_is_there(tmp_path, monkeypatch):
    """The same values as where all guards of all entries are asked, one by one."""
    asked = {}
    real = Capture.take_guards

    def beside(self, entry, event):
        call = self._calls.get(entry.key)
        code, variables = (call.code, call.variables) if call is not None else (None, None)
        for earlier in cache_entries(code) if code is not None else ():
            steps = PartOfEntry(earlier, lambda expression: True, code=code).failing(variables)
            asked[entry.key.text, earlier.compile_id] = {
                value.source for step in steps for value in failed_values([_as_failed(step)])
            }
        real(self, entry, event)

    monkeypatch.setattr(Capture, "take_guards", beside)
    run = recorded(tmp_path, train)
    told = {
        (entry.key.text, refusal.entry): {value.source for value in failed_values(refusal.failed)}
        for _, entry in run.entries
        for refusal in entry.refusals
    }
    assert len(told) == 10 and told == asked


def _as_failed(step):
    from depyf.run.records import FailedGuardRecord

    return FailedGuardRecord(step.expression, None, step.differences)


def test_a_prediction_is_what_is_measured(tmp_path):
    """A counter and a flag: what is left without one of them, without both."""

    def program(count, flags):
        state = {"n": 0}

        def f(x, flag):
            y = x * state["n"]
            return y + 1 if flag else y - 1

        compiled = torch.compile(f, backend="eager")
        for number in range(6):
            state["n"] = number if count else 0
            compiled(torch.ones(3), bool(number % 2) if flags else True)

    (function,) = recorded(tmp_path / "all", lambda: program(True, True)).functions
    found = replay(function.entries)
    ways = {tuple(value.source for value in way.values): way.left for way in found.ways}
    for count, flags, freed in ((False, True, "state['n']"), (True, False, "flag")):
        measured = recorded(tmp_path / freed[0], lambda c=count, f=flags: program(c, f)).compilations
        left = next((left for values, left in ways.items() if values == (freed,)), found.compilations)
        assert left == measured, (freed, ways)
    assert found.needed == 1


def test_nothing_of_the_call_is_kept(tmp_path):
    """The values are let go when torch is done with the frame."""
    seen = []
    real = Capture.close

    def closed(self, entry, event):
        real(self, entry, event)
        seen.append(entry.key in self._calls)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Capture, "close", closed)
        recorded(tmp_path, train)
    assert len(seen) == 5 and not any(seen)
    assert refused_call() is None
