"""``depyf run --check`` compares calls with Python while the program runs."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from depyf.run.causes.collect import causes_of
from depyf.run.observations.all_observations import observations_of
from depyf.run.observations.observation import ObservationKind
from depyf.run.store.loading import load

pytestmark = pytest.mark.torch

HOOK = """
import torch, torch.nn as nn
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 2))
compiled = torch.compile(model, backend="eager")
x = torch.ones(2, 4)
for step in range(6):
    if step == 3:
        model[2].register_forward_hook(lambda module, args, out: out + 1)
    compiled(x)
"""
WRONG_BACKEND = """
import torch
def wrong(gm, inputs):
    return torch._dynamo.disable(lambda *given: tuple(value + 1 for value in gm(*given)))
@torch.compile(backend=wrong)
def f(x):
    return x * 2
f(torch.ones(3))
"""
STATEFUL = """
import torch, torch.nn as nn
class Counts(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner, self.calls, self.seen = nn.Linear(3, 3), 0, []
        self.register_buffer("mean", torch.zeros(3))
    def forward(self, x):
        self.calls += 1
        self.seen.append(self.calls)
        self.mean.mul_(0.9).add_(x.mean(0), alpha=0.1)
        torch._dynamo.graph_break()
        return self.inner(x) + self.mean
torch.manual_seed(0)
model = Counts()
compiled = torch.compile(model, backend="eager")
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(5):
    x = torch.randn(4, 3)
    loss = compiled(x).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(model.calls, model.seen, loss.item(), torch.randn(1).item())
"""
DROPOUT = """
import torch, torch.nn as nn
model = torch.compile(nn.Sequential(nn.Linear(3, 3), nn.Dropout(0.5)), backend="inductor")
for _ in range(2):
    model(torch.ones(4, 3))
"""
NAN = """
import torch, torch.nn as nn
def wrong(gm, inputs):
    return torch._dynamo.disable(lambda *given: tuple(value * float("nan") for value in gm(*given)))
model = torch.compile(nn.Sequential(nn.Linear(3, 3), nn.Dropout(0.5)), backend=wrong)
for _ in range(2):
    model(torch.ones(4, 3))
"""
IN_PLACE = """
import torch, torch.nn as nn
class Net(nn.Module):
    def forward(self, x):
        return x + 1
net = Net()
net.compile(backend="eager")
for _ in range(3):
    net(torch.ones(2))
def each(items):
    return [item * 2 for item in items]
each = torch.compile(each, backend="eager")
each(torch.ones(2) for _ in range(2))
"""


ITERATORS = """
import torch
numbers = (n for n in range(100))
@torch.compile(backend="eager")
def each(xs):
    return [x + 1 for x in xs]
@torch._dynamo.disable
def take():
    return next(numbers)
@torch.compile(backend="eager")
def f(x):
    return x + take()
for i in range(4):
    print(len(each(iter([torch.ones(2)]))), f(torch.ones(1)).item())
"""
FAKE = """
import torch
@torch.library.custom_op("checked::as_double", mutates_args=())
def as_double(x: torch.Tensor) -> torch.Tensor:
    return x.double()
@as_double.register_fake
def _(x):
    return torch.empty_like(x)
@torch.compile
def f(x):
    return as_double(x) + 1
f(torch.ones(3))
"""


def run(tmp_path, text, *options, command="run"):
    program = tmp_path / "program.py"
    program.write_text(text)
    dump = tmp_path / "dump"
    done = subprocess.run(
        [sys.executable, "-m", "depyf", command, *options, "--out", str(dump), str(program)],
        capture_output=True, text=True, cwd=tmp_path,
    )  # fmt: skip
    return done, load(dump)


def test_an_entry_that_no_longer_fits(tmp_path):
    done, checked = run(tmp_path, HOOK, "--check-every", "1")
    assert done.returncode == 0, done.stderr
    (one,) = checked.checked
    assert one.apart and one.differed_at == 4 and one.key.text == "0/0" and one.function == "Sequential"
    first = observations_of(checked)[0]
    assert first.kind is ObservationKind.DIFFERENT and first.leads and first.place.line == 5
    lines = done.stderr[done.stderr.index("Fix first") :].splitlines()
    assert "1. program.py:5" in lines[1] and "the compiled `Sequential` does not do what Python does" in lines[1]
    assert "the layer is the guards: entry 0/0 ran" in done.stderr
    assert "way out: add hooks before the first call" in done.stderr
    assert lines[-1].startswith("Compared with Python: 4 of 6 calls of 1 cache entry, DIFFERENT in 1")
    assert not [cause for cause in causes_of(checked) if cause.costs.compilations], (
        "what the answer compiled is no part"
    )
    names = [path.name for path in (tmp_path / "dump").iterdir()]
    assert not [name for name in names if "unknown" in name or "kernel" in name]
    assert "does not do what Python does" in (tmp_path / "dump" / "index.md").read_text()
    assert json.loads((tmp_path / "dump" / "manifest.json").read_text())["observations"][0]["details"]


def test_what_changes_is_seen_in_a_short_run(tmp_path):
    _, checked = run(tmp_path, HOOK, "--check")
    assert [one.differed_at for one in checked.checked] == [4]


def test_a_wrong_first_call(tmp_path):
    done, checked = run(tmp_path, WRONG_BACKEND, "--check")
    (one,) = checked.checked
    assert [apart.path for apart in one.apart] == ["the result"] and one.differed_at == 1
    assert one.causes[0].startswith("the layer is the backend")
    assert "the compiled `f` does not do what Python does" in done.stderr


def test_the_program_is_as_without(tmp_path):
    plain = subprocess.run([sys.executable, "-c", STATEFUL], capture_output=True, text=True, cwd=tmp_path)
    done, checked = run(tmp_path, STATEFUL, "--check-every", "1")
    assert done.stdout == plain.stdout, done.stderr
    assert [one.apart for one in checked.checked] == [()] * len(checked.checked)
    assert sum(one.checked for one in checked.checked) == 5
    assert "Compared with Python: 5 of 5 calls of" in done.stderr and done.stderr.rstrip().endswith("the same.")


def test_random_numbers_are_named(tmp_path):
    done, checked = run(tmp_path, DROPOUT, "--check")
    assert not any(one.apart for one in checked.checked)
    assert any("random numbers" in text for one in checked.checked for text in one.not_compared), done.stderr


def test_random_numbers_make_no_nan(tmp_path):
    """Which numbers are drawn differs; that Python's are finite, and the compiled ones are none, is a difference."""
    done, checked = run(tmp_path, NAN, "--check")
    (one,) = [one for one in checked.checked if one.apart]
    assert "NaN" in one.apart[0].compiled and "NaN" not in one.apart[0].python
    assert "does not do what Python does" in done.stderr


def test_modules_in_place_and_arguments_that_are_used_up(tmp_path):
    done, checked = run(tmp_path, IN_PLACE, "--check")
    net, each = checked.checked
    assert (net.function, net.checked, net.calls, net.apart) == ("Net", 2, 3, ())
    assert each.checked == 0 and "only one run can use it" in each.not_compared[0]
    assert done.returncode == 0


def test_the_time_is_limited(tmp_path):
    _, checked = run(tmp_path, STATEFUL, "--check-every", "1", "--check-seconds", "1e-6")
    assert sum(one.checked for one in checked.checked) <= 1
    assert all("calls after 1e-06 s of comparing" in one.not_compared[-1] for one in checked.checked)
    assert checked.checked


def test_doctor(tmp_path):
    done, _ = run(tmp_path, HOOK, "--check-every", "2", command="doctor")
    assert done.returncode == 1
    assert "the compiled `Sequential` does not do what Python does" in done.stdout
    assert "DIFFERENT in 1" in done.stdout
    program = str(tmp_path / "program.py")
    wrong = subprocess.run([sys.executable, "-m", "depyf", "doctor", "--check", "--try", program], capture_output=True)
    assert wrong.returncode == 2
    wrong = subprocess.run([sys.executable, "-m", "depyf", "run", "--check-every", "0", program], capture_output=True)
    assert wrong.returncode == 4 and b"must be positive" in wrong.stderr


def test_iterators_are_not_used_up_for_the_check(tmp_path):
    """An iterator that has ended cannot be put back, and neither can a generator."""
    plain = subprocess.run([sys.executable, "-c", ITERATORS], capture_output=True, text=True, cwd=tmp_path)
    done, checked = run(tmp_path, ITERATORS, "--check-every", "1")
    assert done.stdout == plain.stdout and plain.stdout.endswith("1 4.0\n"), done.stderr
    assert not any(one.apart for one in checked.checked)
    assert next(one for one in checked.checked if one.function == "each").checked
    said = {text for one in checked.checked if one.function == "f" for text in one.not_compared}
    assert said == {"numbers is a generator, and only one run can use it"}


def test_a_fake_kernel_is_named(tmp_path):
    done, checked = run(tmp_path, FAKE, "--check")
    (one,) = checked.checked
    assert any("the fake kernel of checked::as_double" in cause for cause in one.causes), one.causes
    assert "torch.library.opcheck tests it" in done.stderr


CLOCK = """
import time, torch
laps, sent = [], []
@torch.compile(backend="eager")
def f(x, n):
    y = x + n
    laps.append(time.perf_counter())
    return y * 2, laps[-1]
for step in range(4):
    f(torch.ones(2), 3)
print(len(laps))
"""
WRITES = """
import pathlib, torch
file = pathlib.Path(__file__).with_suffix(".txt")
@torch.compile(backend="eager")
def f(x):
    y = x + 1
    with open(file, "a") as out:
        out.write("1")
    return y * 2
for step in range(4):
    f(torch.ones(2))
print(file.read_text())
"""


def test_what_two_runs_as_python_differ_in(tmp_path):
    done, checked = run(tmp_path, CLOCK, "--check")
    assert done.stdout == "4\n" and not any(one.apart for one in checked.checked), done.stderr
    told = [text for one in checked.checked for text in one.not_compared]
    assert "what differs in two runs as Python, too, such as a clock" in told, told


def test_a_call_that_writes_a_file_is_made_once(tmp_path):
    done, _ = run(tmp_path, WRITES, "--check")
    assert done.stdout == "1111\n", done.stderr
    assert "nothing could be compared (open() of a file to write is a call that acts outside" in done.stderr
