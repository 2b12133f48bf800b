"""Guards that a filter leaves out: each is told with its line and with a call that runs all the same.  Such a call is made:
with all guards torch compiles again for it; without them the result is another one than Python's."""

from __future__ import annotations

import json

import pytest
import torch
from torch import nn

import depyf
from depyf.run.guards.broken_guards import left_out
from depyf.run.store.loading import load

pytestmark = pytest.mark.torch
SCALE = 3.0


def helper(x):
    return x * 2


def another_function(x):
    return x * 5


def toy(x, n=3, flag=True):
    y = x * SCALE + n
    if flag:
        y = helper(y)
    return y + x.shape[0]


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.names, self.options, self.factor = ["a"], {"k": 3}, 2
        self.drop = nn.Dropout(0.5)

    def forward(self, x):
        return self.drop(x) * self.factor + len(self.names) + self.options["k"]


def only_flag(guards):
    return [guard.name != "flag" for guard in guards]


def compiled_with(function, keep, backend="eager", **options):
    torch._dynamo.reset()
    options |= {"options": {"guard_filter_fn": keep}} if keep is not None else {}
    return torch.compile(function, backend=backend, **options)


def recorded(tmp_path, function, keep, *args, **options):
    with depyf.prepare_debug(str(tmp_path)):
        compiled = compiled_with(function, keep, **options)
        compiled(*args)
    return compiled, entry_of(tmp_path)


def entry_of(folder):
    (function,) = load(folder).functions
    (entry,) = function.entries
    return left_out(function, entry)


@pytest.fixture
def made(monkeypatch):
    """Makes the change and the call of a way, as the program would: the names that it writes are globals here."""

    def make(way, **names):
        for name in ("SCALE", "helper"):  # put back at the end
            monkeypatch.setitem(globals(), name, globals()[name])
        for name, value in names.items():
            monkeypatch.setitem(globals(), name, value)
        monkeypatch.setitem(globals(), "result", None)
        exec("\n".join(way.lines).replace(way.call, f"result = {way.call}"), globals())
        return globals()["result"]

    return make


@pytest.fixture(scope="module")
def of_toy(tmp_path_factory):
    folder = tmp_path_factory.mktemp("toy")
    recorded(folder, toy, torch.compiler.skip_all_guards_unsafe, torch.ones(3))
    return folder, entry_of(folder)


TOY = {
    "n == 3": ["toy(x, n=4, flag=True)"],
    "flag is True": ["toy(x, n=3, flag=False)"],
    "SCALE == 3.0": ["SCALE = 4.0; toy(x, n=3, flag=True)"],
    "helper has the code of when it was compiled": ["helper = another_function; toy(x, n=3, flag=True)"],
    "torch.is_grad_enabled() is True": ["with torch.no_grad(): toy(x, n=3, flag=True)"],
    "x: Tensor float32[3], stride [1]": [
        "toy(x.new_ones(4), n=3, flag=True)",
        "toy(x.to(torch.float64), n=3, flag=True)",
    ],
}


def test_each_guard_in_words_with_its_line_and_calls(of_toy):
    found = of_toy[1]
    assert {guard.said: [way.text for way in guard.ways] for guard in found.guards} == TOY
    assert found.by == ("torch.compiler.skip_all_guards_unsafe",)
    lines = {guard.said: guard.record.place.text for guard in found.guards if guard.record.place is not None}
    assert lines["n == 3"] == "y = x * SCALE + n" and lines["flag is True"] == "if flag:"


@pytest.mark.parametrize("said, number", [(said, number) for said, ways in TOY.items() for number in range(len(ways))])
def test_with_all_guards_the_call_is_compiled_again(of_toy, made, said, number):
    count = []

    def backend(gm, inputs):
        count.append(gm)
        return gm

    way = next(guard for guard in of_toy[1].guards if guard.said == said).ways[number]
    compiled = compiled_with(toy, None, backend=backend, dynamic=False)
    compiled(torch.ones(3))
    made(way, toy=compiled, x=torch.ones(3))
    assert len(count) == 2


@pytest.mark.parametrize("said", [said for said in TOY if "grad" not in said])
def test_without_the_guard_the_result_is_another_one(of_toy, made, said):
    way = next(guard for guard in of_toy[1].guards if guard.said == said).ways[0]
    compiled = compiled_with(toy, torch.compiler.skip_all_guards_unsafe)
    compiled(torch.ones(3))
    assert depyf.compare(compiled, torch.ones(3)).python
    compared = made(way, toy=lambda *args, **named: depyf.compare(compiled, *args, **named), x=torch.ones(3))
    assert not compared.python, str(compared)


def test_a_module_in_eval_and_what_it_holds(tmp_path):
    model = Net()
    _, found = recorded(tmp_path, model, torch.compiler.skip_all_guards_unsafe, torch.ones(3))
    ways = {guard.said: guard.ways[0] for guard in found.guards}
    assert ways["self.drop.training is True"].lines == ("self.drop.training = False", "self(x)")
    for said in ("self.drop.training is True", "self.factor == 2", "len(self.names) == 1", "self.options['k'] == 3"):
        fresh = Net().train("training" in said)
        compiled = compiled_with(fresh, torch.compiler.skip_all_guards_unsafe)
        compiled(torch.ones(3))
        way = ways[said]
        exec(way.change, {"self": fresh})
        assert not depyf.compare(compiled, torch.ones(3)).python, said


def test_a_size_of_a_range(tmp_path):
    def sized(x):
        return x + 1 if x.shape[0] > 2 else x - 1

    _, found = recorded(tmp_path, sized, torch.compiler.skip_all_guards_unsafe, torch.ones(3, 2), dynamic=True)
    ways = {guard.said: guard.ways[0] for guard in found.guards}
    assert ways["3 <= x.size(0)"].text == "sized(x.new_ones(2, 5))"
    compiled = compiled_with(sized, torch.compiler.skip_all_guards_unsafe, dynamic=True)
    compiled(torch.ones(3, 2))
    assert not depyf.compare(compiled, torch.ones(2, 5)).python


def test_ahead_of_time_a_global_that_is_rebound(tmp_path, made, monkeypatch):
    pytest.importorskip("torch._dynamo.aot_compile")
    with depyf.prepare_debug(str(tmp_path)):
        compiled = torch.compile(toy, fullgraph=True, backend="aot_eager").aot_compile(((torch.ones(3),), {}))
    found = entry_of(tmp_path)
    assert {guard.said: guard.ways[0].text for guard in found.guards} == {
        "SCALE == 3.0": "SCALE = 4.0; compiled(x, n=3, flag=True)",
        "helper has the code of when it was compiled": "helper = another_function; compiled(x, n=3, flag=True)",
    }
    assert found.by == ("aot_compile stores no guard on globals",)
    assert depyf.compare(compiled, torch.ones(3)).python
    for guard in found.guards:
        with monkeypatch.context() as patch:
            for name in ("SCALE", "helper"):
                patch.setitem(globals(), name, globals()[name])
            asked = made(
                guard.ways[0], compiled=lambda *args, **named: depyf.compare(compiled, *args, **named), x=torch.ones(3)
            )
            assert not asked.python, guard.said


def test_caching_precompile_leaves_out_what_asks_for_one_object(tmp_path):
    if not hasattr(torch._dynamo.config, "caching_precompile"):
        pytest.skip("a torch without precompile")
    with torch._dynamo.config.patch(caching_precompile=True):
        _, found = recorded(tmp_path, toy, None, torch.ones(3))
    assert found.by == ("caching_precompile stores no guard that asks for one object",)
    assert [guard.ways[0].text for guard in found.guards] == ["helper = another_function; toy(x, n=3, flag=True)"]


def test_caching_precompile_and_a_filter(tmp_path):
    if not hasattr(torch._dynamo.config, "caching_precompile"):
        pytest.skip("a torch without precompile")
    with torch._dynamo.config.patch(caching_precompile=True):
        _, found = recorded(tmp_path, toy, only_flag, torch.ones(3))
    assert {guard.said: guard.record.left_out_by.partition(" ")[0] for guard in found.guards} == {
        "flag is True": "guard_filter_fn",
        "helper has the code of when it was compiled": "caching_precompile",
    }


def test_what_the_filter_keeps_is_not_told(tmp_path):
    _, found = recorded(tmp_path, toy, only_flag, torch.ones(3))
    assert [guard.said for guard in found.guards] == ["flag is True"] and found.rest == 0
    assert found.by[0].startswith("guard_filter_fn only_flag (test_left_out_guards.py:")


@pytest.mark.parametrize("keep", (None, lambda guards: [True] * len(guards)))
def test_nothing_is_said_where_all_are_asked(tmp_path, keep):
    compiled, found = recorded(tmp_path, toy, keep, torch.ones(3))
    assert found.count == 0
    assert "left out" not in (tmp_path / "index.md").read_text()
    assert "left out" not in str(depyf.explain(compiled))


def test_all_pages_tell_of_it(tmp_path):
    compiled, _ = recorded(tmp_path, toy, torch.compiler.skip_all_guards_unsafe, torch.ones(3))
    index = (tmp_path / "index.md").read_text()
    assert "guards left out (torch.compiler.skip_all_guards_unsafe)" in index
    assert "`n == 3` at " in index and "runs all the same: `toy(x, n=4, flag=True)`" in index
    (page,) = tmp_path.glob("full_code_for_toy*.py")
    assert "#   n == 3  (test_left_out_guards.py:" in page.read_text()
    assert "#     runs all the same: toy(x, n=4, flag=True)" in page.read_text()
    data = json.loads((tmp_path / "guards.json").read_text())
    numbers = data["entries"][0]["left_out"]
    assert any(data["guards"][number]["expression"] == "same_value(L['n'], 3)" for number in numbers)
    report = depyf.explain(compiled)
    assert "      n == 3  # runs all the same: toy(x, n=4, flag=True)" in str(report)
    told = report.to_json()["entries"][0]["left_out"]
    assert {one["guard"]: one["ways"][0] for one in told}["SCALE == 3.0"] == ["SCALE = 4.0", "toy(x, n=3, flag=True)"]
    assert "left out: torch.compiler.skip_all_guards_unsafe" in report._repr_html_()


def test_the_report_has_them(tmp_path):
    from depyf.views.report.dump_view import DumpView
    from depyf.views.report.panels.guards_panel import guards_panel

    recorded(tmp_path, toy, torch.compiler.skip_all_guards_unsafe, torch.ones(3))
    panel = guards_panel(DumpView(tmp_path), None)
    found = {guard["expression"]: guard for guard in panel["guards"]}
    assert found["same_value(L['n'], 3)"]["left_out"] == "torch.compiler.skip_all_guards_unsafe"
    assert found["same_value(L['n'], 3)"]["ways"] == ["toy(x, n=4, flag=True)"]
