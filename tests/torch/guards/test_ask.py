"""``depyf.why`` and ``depyf.replay`` against torch's own choice, on every cached entry and on misses."""

from __future__ import annotations

import os
import re
import sys
from dataclasses import replace

import pytest
import torch

import depyf
from depyf.actions.debugger.stepping.dispatch_page import read_page
from depyf.sources.live.caches.entries import cache_entries
from depyf.sources.live.events.missing_reports import gaps
from depyf.sources.live.target import find_target
from depyf.views.dump import whole_dump

pytestmark = pytest.mark.torch
SCALE = 2
MODE = {"kind": "plain", "factor": 3}


def with_changes(text, changes):
    for old, new in changes.items():
        assert old in text
        text = text.replace(old, new)
    return text


def ran(call, *args, **kwargs):
    """(value or exception type, the code objects that ran and are cache entries' or resume functions' code)."""
    codes = []

    def profile(frame, event, _):
        if event == "call":
            codes.append(frame.f_code)

    sys.setprofile(profile)
    try:
        value = call(*args, **kwargs)
    except Exception as error:
        value = type(error)
    finally:
        sys.setprofile(None)
    return value, codes


def entry_codes(code, seen=None):
    """Every code object in torch's caches that a call of ``code`` may end in, by compile id."""
    from depyf.sources.live.resume import resume_targets

    seen = {} if seen is None else seen
    for entry in cache_entries(code):
        if entry.compile_id not in seen:
            seen[entry.compile_id] = entry.code
            for _, target in resume_targets(entry):
                entry_codes(target, seen)
    return seen


def agree(compiled, *args, **kwargs):
    """Replay, why and torch make the same choice; returns the compile ids that ran."""
    code = find_target(compiled).code
    before = [(entry.compile_id, str(entry.manager)) for entry in cache_entries(code)]
    answer = depyf.why(compiled, *args, **kwargs)
    again = depyf.replay(compiled)
    for entry in again.steps(*args, **kwargs):
        assert all(step.agrees for step in entry.steps), [step for step in entry.steps if not step.agrees]
        assert entry.runs == all(step.holds for step in entry.steps) or not entry.runs
        assert entry.runs or not entry.failing.holds
    found, replayed = ran(again, *args, **kwargs)
    assert [(entry.compile_id, str(entry.manager)) for entry in cache_entries(code)] == before, "nothing has changed"
    assert again.disagreements == ()
    with torch.compiler.set_stance("eager_on_recompile"):
        expected, real = ran(compiled, *args, **kwargs)
    names = {id(made): compile_id for compile_id, made in entry_codes(code).items()}
    chosen = [names[id(made)] for made in real if id(made) in names]
    assert [names[id(made)] for made in replayed if id(made) in names] == chosen
    assert answer.runs == (chosen[0] if chosen else None)
    if isinstance(expected, torch.Tensor):
        assert torch.equal(found, expected)
    else:
        assert found == expected
    return chosen


def check(compiled, inputs, hits):
    """All ``inputs`` agree; the first ``hits`` of them run cached code."""
    for number, (args, kwargs) in enumerate(inputs):
        chosen = agree(compiled, *args, **kwargs)
        assert bool(chosen) == (number < hits), (number, chosen)


X = torch.arange(6.0).reshape(2, 3)


def test_shapes_dtypes_and_numbers():
    def f(x, n, flag=True, *, k=1.5):
        return x * n + k if flag else x - n

    compiled = torch.compile(f, backend="eager", dynamic=False)
    for args, kwargs in [((X, 2), {}), ((X, 3), {}), ((X[0], 2), {}), ((X, 2, False), {}), ((X, 2), {"k": 2.5})]:
        compiled(*args, **kwargs)
    check(
        compiled,
        [
            ((X, 2), {}),
            ((X, 3), {}),
            ((X[0], 2), {}),
            ((X, 2, False), {}),
            ((X, 2), {"k": 2.5}),
            ((X.double(), 2), {}),
            ((X.t(), 2), {}),
            ((X[:, :2], 2), {}),
            ((X.clone().requires_grad_(), 2), {}),
            ((X, 4), {}),
            ((X, 2.0), {}),
            ((X, True), {}),
            ((X, 2, None), {}),
            ((X, 2), {"k": 1}),
            ((None, 2), {}),
            ((torch.nn.Parameter(X, requires_grad=False), 2), {}),
        ],
        hits=5,
    )


def test_dynamic_shapes():
    def f(x, y):
        return x @ y + x.shape[0]

    compiled = torch.compile(f, backend="eager", dynamic=True)
    compiled(torch.ones(3, 4), torch.ones(4, 5))
    check(
        compiled,
        [
            ((torch.ones(3, 4), torch.ones(4, 5)), {}),
            ((torch.ones(7, 8), torch.ones(8, 2)), {}),
            ((torch.ones(1, 4), torch.ones(4, 5)), {}),
            ((torch.ones(3, 4), torch.ones(4, 1)), {}),
            ((torch.ones(3, 4), torch.ones(4)), {}),
            ((torch.ones(3, 4), torch.ones(6, 5)), {}),
        ],
        hits=2,
    )


def test_containers():
    def f(items, table):
        total = 0
        for item in items:
            total = total + item
        for value in table.values():
            total = total * value
        return total

    compiled = torch.compile(f, backend="eager")
    compiled([X, X + 1], {"a": 2, "b": X})
    same = X + 1
    check(
        compiled,
        [
            (([X, X + 1], {"a": 2, "b": X}), {}),
            (([X + 1, X], {"a": 2, "b": X}), {}),
            (([X], {"a": 2, "b": X}), {}),
            (((X, X + 1), {"a": 2, "b": X}), {}),
            (([X, X + 1], {"a": 2}), {}),
            (([X, X + 1], {"a": 2, "b": X, "c": 1}), {}),
            (([X, X + 1], {"a": 2, "c": X}), {}),
            (([same, same], {"a": 2, "b": X}), {}),
        ],
        hits=1,
    )


def test_globals_modules_modes(monkeypatch):
    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.k = 3
            self.lin = torch.nn.Linear(3, 3)

        def forward(self, x):
            return self.lin(x) * self.k * SCALE * MODE["factor"]

    model = Model()
    compiled = torch.compile(model, backend="eager")
    compiled(X)
    assert agree(compiled, X) == ["0/0"]
    here = sys.modules[__name__]
    changes = [
        (here, "SCALE", 5, "the global SCALE"),
        (here, "MODE", {"kind": "plain", "factor": 4}, "the global MODE['factor']"),
        (model, "k", 4, "self.k"),
        (model, "lin", torch.nn.Identity(), "self.lin"),
    ]
    for owner, name, value, subject in changes:
        with monkeypatch.context() as patch:
            patch.setattr(owner, name, value)
            with torch.compiler.set_stance("eager_on_recompile"):
                stale = not torch.equal(compiled(X), model.forward(X))
            if not stale:  # torch 2.10 on Python 3.13.0 takes a module for unchanged, and runs what no longer fits
                assert agree(compiled, X) == []
            assert f"{subject} differs" in str(depyf.why(compiled, X))
    with torch.no_grad():
        assert agree(compiled, X) == []
        assert "expected grad_mode=True" in str(depyf.why(compiled, X)) or "check_global_state()" in str(
            depyf.why(compiled, X)
        )
    with torch.inference_mode():
        assert agree(compiled, torch.ones(2, 3)) == []
    model.eval()
    agree(compiled, X)
    assert agree(compiled, X[:1]) == []


def refusal(compiled, *args):
    (found,) = depyf.why(compiled, *args).refusals
    return found.guard.expected, found.guard.actual, found.advice


def test_torch_state_is_said_in_words():
    compiled = torch.compile(lambda x: x * 2, backend="eager")
    compiled(X)
    with torch.autocast("cpu"):
        found = refusal(compiled, X)
    if found[0].startswith("autocast"):  # torch before 2.8 says nothing of its state
        assert found == (
            "autocast={}",
            "autocast={'cpu': torch.bfloat16}",
            "make every call under the same torch.autocast",
        )
        torch.set_default_dtype(torch.float64)
        try:
            expected, actual, advice = refusal(compiled, X)
        finally:
            torch.set_default_dtype(torch.float32)
        assert (expected, actual) == ("default_dtype=torch.float32", "default_dtype=torch.float64")
        assert advice == "make every call under the same torch.set_default_dtype"
    with torch.device("meta"):
        expected, actual, advice = refusal(compiled, X)
    assert actual == "active: DeviceContext" and advice.startswith("make every call under the same modes")


def test_what_is_not_there_and_what_is_of_another_class():
    def f(x, d, flag):
        return x * d["k"] if flag else x

    compiled = torch.compile(f, backend="eager")
    compiled(X, {"k": 2}, True)
    expected, actual, advice = refusal(compiled, X, {"z": 2}, True)
    assert expected == "2" and "KeyError" in actual and advice == "let d['k'] be there in every call, or in none"
    assert refusal(compiled, X, {"k": 2}, 1) == (
        "True (bool)", "1 (int)", "let flag be a bool in every call, or an int in every call",
    )  # fmt: skip
    assert agree(compiled, X, {"k": 2}, 1) == []

    def g(x, s):
        return x * len(s)

    compiled = torch.compile(g, backend="eager")
    compiled(X, {1, 2})
    assert refusal(compiled, X, {1, 3})[:2] == ("{1, 2}", "{1, 3}")


def test_conditions_on_sizes_and_marks():
    def f(x):
        return x * 2 if x.shape[0] > 10 else x + 1

    compiled = torch.compile(f, backend="eager", dynamic=True)
    compiled(torch.ones(4))
    assert "became a condition" in refusal(compiled, torch.ones(12))[2]
    assert "sizes 0 and 1 are always compiled separately" in refusal(compiled, torch.ones(1))[2]
    compiled = torch.compile(lambda x: x * 3, backend="eager")
    compiled(X)
    marked = torch.ones(X.shape)
    torch._dynamo.mark_dynamic(marked, 0)
    assert refusal(compiled, marked)[2] == "mark the tensors of every call alike, from the first call on"


def test_breaks_and_closures(capsys):
    offset = 1.0

    def f(x, y=2):
        a = x * offset
        print("break")
        b = a + y
        if b.sum() > 0:
            return b * 2
        return b - 2

    compiled = torch.compile(f, backend="eager")
    compiled(X)
    compiled(-X)
    assert len(agree(compiled, X)) == 3
    assert len(agree(compiled, -X)) == 3
    assert agree(compiled, X, 5) == ["0/0"], "the miss is in the resume function"
    offset = 2.0
    assert agree(compiled, X) == []
    capsys.readouterr()


def test_other_backend_and_first_call():
    def f(x):
        return x + 1

    compiled = torch.compile(f, backend="eager")
    assert "no cache entry" in str(depyf.why(compiled, X))
    with pytest.raises(depyf.DepyfError, match="no compiled code"):
        depyf.replay(compiled)
    compiled(X)
    other = torch.compile(f, backend="aot_eager")
    if cache_entries(f.__code__)[0].backend is None:
        assert any("backend of a cache entry" in what for what in gaps())
        assert depyf.why(other, X).runs == "0/0"
        return
    assert depyf.why(other, X).runs is None
    assert "another backend" in str(depyf.why(other, X))
    with pytest.raises(TypeError):
        depyf.why(compiled)


def test_recompile_limit():
    def f(x, n):
        return x * n

    compiled = torch.compile(f, backend="eager", dynamic=False)
    name = "recompile_limit" if hasattr(torch._dynamo.config, "recompile_limit") else "cache_size_limit"
    with torch._dynamo.config.patch({name: 2}):
        compiled(X, 1)
        compiled(X, 2)
        answer = depyf.why(compiled, X, 3)
    assert answer.runs is None and "recompile limit" in answer.outcome
    assert [refusal.guard.actual for refusal in answer.refusals] == ["3", "3"]
    assert answer.to_json()["refusals"][0]["guard"] == "L['n'] == 2"


def test_dumped_page_runs(tmp_path, capsys):
    def f(x):
        y = x + 1
        print("break")
        return y * 2

    compiled = torch.compile(f, backend="eager")
    with depyf.prepare_debug(tmp_path):
        expected = compiled(X)
    page = depyf.replay(tmp_path / "full_code_for_f_0.py")
    assert torch.equal(page(X), expected)
    assert page.disagreements == ()
    assert not page.steps(X.double())[0].runs
    assert sorted(path.suffix for path in tmp_path.iterdir() if path.is_dir()) == [], "no __pycache__"
    torch._dynamo.reset()
    with pytest.raises(depyf.DepyfError, match="not alive"):
        page(X)
    with pytest.raises(depyf.DepyfError, match="no full_code_for"):
        depyf.replay(tmp_path / "manifest.json")
    capsys.readouterr()


@pytest.mark.parametrize("how", ["another file", "another folder", "changed", "link", "pipe", "folder", "missing"])
def test_nothing_but_our_pages_is_executed(how, tmp_path):
    def f(x):
        return x + 1

    compiled = torch.compile(f, backend="eager")
    with depyf.prepare_debug(tmp_path / "dump"):
        compiled(X)
    page = tmp_path / "dump" / "full_code_for_f_0.py"
    text, marker = page.read_text(), tmp_path / "executed"
    hostile = text + f"\nopen({str(marker)!r}, 'w').close()\n"
    if how == "another file":
        page = tmp_path / "dump" / "full_code_for_g_0.py"
        page.write_text(hostile)
    elif how == "another folder":
        (tmp_path / "other").mkdir()
        page = tmp_path / "other" / page.name
        page.write_text(hostile)
        (tmp_path / "other" / "manifest.json").write_text((tmp_path / "dump" / "manifest.json").read_text())
    elif how == "changed":
        page.write_text(hostile)
    elif how == "link":
        (tmp_path / "hostile.py").write_text(hostile)
        page.unlink()
        page.symlink_to(tmp_path / "hostile.py")
    else:
        page.unlink()
        if how == "pipe":
            os.mkfifo(page)
        elif how == "folder":
            page.mkdir()
    with pytest.raises(depyf.DepyfError, match="full_code_for"):
        depyf.replay(page)
    if how == "changed":
        with pytest.raises(depyf.DepyfError, match="has changed"):  # nor is it followed by depyf.debug
            read_page(page)
    assert not marker.exists()


def test_disagreement_is_noticed(tmp_path, monkeypatch):
    """A page whose guards say something else than torch's: torch is right, and the difference is reported."""

    def f(x, n):
        return x * n

    compiled = torch.compile(f, backend="eager", dynamic=False)
    make = whole_dump.full_code_page
    changed = {"same_value(L['n'], 2)": "same_value(L['n'], 3)"}

    def made(*given):
        page = make(*given)
        return replace(page, text=with_changes(page.text, changed))

    monkeypatch.setattr(whole_dump, "full_code_page", made)
    with depyf.prepare_debug(tmp_path):
        compiled(X, 2)
    page = depyf.replay(tmp_path / "full_code_for_f_0.py")
    with pytest.warns(RuntimeWarning, match="as Python False, torch says True"):
        page(X, 2)
    assert len(page.disagreements) == 1


def test_another_way_to_call_it():
    def stretched(x, *args, **kwargs):
        return x + len(args) + len(kwargs)

    compiled = torch.compile(stretched, backend="eager")
    compiled(torch.ones(2))
    compiled(torch.ones(2), 1)
    said = str(depyf.why(compiled, torch.ones(2), 1, 2, b=1))
    assert "pass as many positional arguments in every call" in said
    assert len(re.findall("advice +pass ", said)) == 2, said


def multiplied(t, k):
    return t * k


def through(a, n):
    b = a + 1
    return multiplied(b, n)


class Chain(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = torch.nn.Linear(4, 4)
        self.k = 2

    def forward(self, x):
        return through(self.lin(x), self.k)


def test_the_calls_that_led_to_the_line_of_a_guard():
    """From the operations of the graph; the lines of torch's own modules are in no stack, its modules are."""
    torch._dynamo.reset()
    model = Chain().requires_grad_(False)
    compiled = torch.compile(model, backend="eager", dynamic=False)
    compiled(torch.ones(2, 4))
    model.k = 3
    (refusal,) = depyf.why(compiled, torch.ones(3, 4)).refusals
    found = {one.about: one for one in refusal.differences}
    assert [call.text for call in found["self.k"].callers] == [
        "return through(self.lin(x), self.k)",
        "return multiplied(b, n)",
    ]
    assert found["self.k"].place.text == "return t * k"
    assert found["x"].place.filename.endswith("linear.py")
    assert [call.text for call in found["x"].callers] == ["return through(self.lin(x), self.k)"]
    text = str(depyf.why(compiled, torch.ones(3, 4)))
    assert "in multiplied: return t * k\n" in text and "from " in text and "in through: return multiplied(b, n)" in text
    told = {d["subject"]: d["called_from"] for d in refusal.to_json()["differences"]}
    assert len(told["self.k differs"]) == 2


def test_a_line_of_the_function_itself_was_called_by_none():
    torch._dynamo.reset()
    compiled = torch.compile(multiplied, backend="eager", dynamic=False)
    compiled(torch.ones(2), 2)
    (refusal,) = depyf.why(compiled, torch.ones(2), 3).refusals
    assert refusal.differences[0].callers == ()
