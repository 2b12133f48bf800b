"""torch's own log beside a recording: both are whole, and what the log tells is what the recording saw."""

from __future__ import annotations

from pathlib import Path

import pytest

from depyf.sources.trace_log.log_files import find_logs
from tools.torch.log_facts import compared, recorded

pytestmark = pytest.mark.torch

PROGRAM = """
import torch

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(4, 4)
        self.k = 2

    def forward(self, x, n):
        y = self.layer(x) * n * self.k
        if y.sum() > 0:
            return y.view(x.size(0) * 2, -1)
        return -y

def fails(x):
    return x @ torch.ones(7, 7)

net = torch.compile(Net(), backend="aot_eager")
for rows, n in ((2, 3), (2, 4), (5, 4)):
    net(torch.ones(rows, 4), n).sum().backward()
net.k = 5
net(torch.ones(5, 4), 4)
try:
    torch.compile(fails, backend="aot_eager")(torch.ones(3, 3))
except Exception:
    pass
"""


def test_a_log_tells_what_was_recorded(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    live, logged = recorded(program, tmp_path)
    found = compared(live, logged)
    assert [(name, where) for name, where, _, _ in found.different] == []
    equal, absent = sum(found.equal.values()), sum(found.absent.values())
    assert equal > 0.85 * (equal + absent), f"{equal} equal, {absent} lacking"
    assert (live.compilations, live.recompilations) == (logged.compilations, logged.recompilations)
    assert not live.notes and not logged.notes
    (log,) = find_logs(tmp_path / "logs").logs.values()  # whole, although depyf listens to the same logger
    with log.records() as lines:
        assert sum(1 for _ in lines) > 100
    assert not lines.faults and not lines.cut and not lines.changed
