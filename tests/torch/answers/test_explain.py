"""``depyf.explain``: a report after the fact, with nothing switched on before."""

from __future__ import annotations

import cProfile
import importlib
import json
import pstats

import pytest
import torch

import depyf
from depyf.sources.live.events.missing_reports import gaps

pytestmark = pytest.mark.torch


def broken(x, n=2):
    y = x * n
    print("break")
    return y + 1


def test_report(capsys):
    compiled = torch.compile(broken, backend="eager")
    assert "nothing is compiled" in str(depyf.explain(compiled))
    compiled(torch.ones(2))
    compiled(torch.ones(3))
    report = depyf.explain(compiled)
    assert report.function == "broken" and report.filename == __file__
    assert [entry.compile_id for entry in report.entries] == ["0/1", "0/0"]
    assert report.graphs == 4 and report.complete
    silent = any("compiled again" in gap for gap in gaps())  # torch 2.6 keeps no reason
    because = report.entries[0].recompiled_because
    assert because == "" if silent else "size mismatch at index 0. expected 2, actual 3" in because
    assert len(report.breaks) == 1 and "print" in report.breaks[0].cause
    assert report.breaks[0].hints or any("hints" in gap for gap in gaps())
    assert [len(resume.entries) for resume in report.resumes] == [2]
    text = str(report)
    assert f"4 compilations, 4 graphs, 1 distinct graph break{'' if silent else ', 2 recompilations'}" in text
    assert "guard x: Tensor float32[2], stride [1]" in text and "guard n == 2" in text
    data = json.loads(json.dumps(report.to_json()))
    assert data["entries"][1]["compile_id"] == "0/0" and data["resumes"][0]["entries"]
    page = report._repr_html_()
    assert page.count("<table>") == page.count("</table>") == 4 and "L[&#x27;n&#x27;] == 2" in page
    assert "<script" not in page and page.count("<details") == page.count("</details>") > 4
    assert "0x7f" not in text + page + json.dumps(data)
    capsys.readouterr()


def test_guards_on_a_module_of_torch_are_its_own():
    from depyf.actions.explaining.shown_guards import split_guards
    from depyf.sources.live.guards.printed_guards import parse_guards

    tree = """
TREE_GUARD_MANAGER:
+- RootGuardManager
| +- LAMBDA_GUARD: len(__load_module('torch').utils._pytree.SUPPORTED_NODES) == 9  # x = f(y)  # home/me/x.py:3 in f
| +- LAMBDA_GUARD: len(L['x']) == 9  # x = f(y)  # home/me/x.py:3 in f
"""
    (about,), rest = split_guards(parse_guards(tree))
    assert about.expression == "len(L['x']) == 9" and rest == 1


def test_skipped_frame(capsys):
    def loops(x):
        for _ in range(2):
            print("break")
            x = x + 1
        return x

    compiled = torch.compile(loops, backend="eager")
    compiled(torch.ones(2))
    report = depyf.explain(compiled)
    assert report.entries == () and report.skipped
    assert "not compiled, runs as ordinary Python" in str(report)
    capsys.readouterr()


def needs_four(x):
    if x.shape[0] == 4:
        return x * 2
    return x + 1


def refuses(graph, inputs):
    raise ValueError("not this graph")


def test_a_compilation_that_failed_is_shown_as_failed():
    """torch raised its error into the program: nothing ran as ordinary Python."""
    marked = torch.ones(4)
    torch._dynamo.mark_dynamic(marked, 0)
    for backend, x, told in (
        ("eager", marked, "x.size(0) is marked dynamic (mark_dynamic), and this line needs it to be 4"),
        (refuses, torch.ones(4), "the backend refuses raised ValueError: not this graph"),
    ):
        torch._dynamo.reset()
        compiled = torch.compile(needs_four, backend=backend)
        with pytest.raises(Exception, match=r"Constraints violated|not this graph"):
            compiled(x)
        report = depyf.explain(compiled)
        text = str(report)
        assert "ordinary Python" not in text and text.count(told) == 2, text
        assert "torch raised an error: nothing is compiled for needs_four (0/0)" in text
        assert report.to_json()["skipped"][0]["raised"] and "failed" in report._repr_html_()


def test_what_fullgraph_could_not_compile_did_not_run_as_python():
    torch._dynamo.reset()
    compiled = torch.compile(broken, backend="eager", fullgraph=True)
    with pytest.raises(torch._dynamo.exc.Unsupported):
        compiled(torch.ones(4))
    text = str(depyf.explain(compiled))
    assert "ordinary Python" not in text and "torch raised an error: nothing is compiled for broken" in text
    assert f'{broken.__code__.co_firstlineno + 2} `print("break")`' in text


def test_modules_and_methods():
    model = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.ReLU())
    compiled = torch.compile(model, backend="aot_eager")
    compiled(torch.ones(2, 3))
    (entry,) = depyf.explain(compiled).entries
    assert entry.graphs == 1 and entry.backend == "aot_eager"
    assert depyf.explain(torch.compile(torch.nn.Linear(1, 1), backend="eager")).entries is not None
    with pytest.raises(depyf.DepyfError, match="has no Python bytecode"):
        depyf.explain(len)


def test_what_torch_has_forgotten():
    compiled = torch.compile(broken, backend="eager")
    compiled(torch.ones(2))
    torch._dynamo.utils._compilation_metrics.clear()
    report = depyf.explain(compiled)
    assert len(report.entries) == 1 and not report.complete
    assert "no longer remembers" in str(report) and ", at least " in str(report).splitlines()[0]


def test_package_and_function():
    """``depyf.explain`` is called, and is the package that the published depyf has."""
    package = importlib.import_module("depyf.explain")
    assert package is depyf.explain and callable(depyf.explain)
    from depyf.explain import dump_src

    assert depyf.explain.dump_src is dump_src


def branches(x, mask=None):
    y = x * 2
    if mask is not None:
        y = y * mask
    if y.sum() > 0:
        return y + 1
    return y


def test_a_branch_on_a_tensor():
    """torch keeps no reason for this graph break; the code that goes on in one of two places tells it, and the line."""
    compiled = torch.compile(branches, backend="eager")
    for rows in (2, 3):
        compiled(torch.ones(rows))
    compiled(-torch.ones(3))
    compiled(torch.ones(3), torch.ones(3))
    report = depyf.explain(compiled)
    line = branches.__code__.co_firstlineno + 4
    (found,) = report.breaks
    assert found.line == line and "which way this branch goes depends on the values in a tensor" in found.cause
    assert "1 distinct graph break," in str(report) and f"graph break (line {line})" in str(report)
    page = report._repr_html_()
    between = '</span><span class="unseen">: </span>'
    assert f"graph break{between}which way" in page
    assert f"{__file__}:{line}{between}<code>if y.sum() &gt; 0:</code>" in page
    resumes = [entry for resume in report.resumes for entry in resume.entries]
    assert all("mark_dynamic(y" not in entry.advice for entry in resumes), "nobody passes y"
    left_alone = [item.cause for resume in report.resumes for item in resume.skipped]
    assert all("nothing to compile" in cause or "Dynamo gave up" in cause for cause in left_alone)
    assert not [
        part
        for part in depyf.why(compiled, torch.ones(3), torch.ones(4, 3)).refusals
        if "one entry per value" in part.advice
    ]


def test_what_a_prompt_shows():
    """``repr`` is a line or two, however much there is to tell; ``print`` shows it all."""
    compiled = torch.compile(torch.nn.Sequential(*[torch.nn.Linear(3, 3) for _ in range(20)]), backend="eager")
    compiled(torch.ones(2, 3))
    report = depyf.explain(compiled)
    from depyf.decompiler.driver.pipeline import decompile_code

    answers = [
        report, report.entries, depyf.why(compiled, torch.ones(4, 3)), depyf.why(compiled, torch.ones(2, 3)),
        depyf.compare(compiled, torch.ones(2, 3), backends=("eager", "eager")), depyf.replay(compiled),
        decompile_code(broken.__code__),
        *depyf.replay(compiled).steps(torch.ones(2, 3)), *depyf.why(compiled, torch.ones(4, 3)).refusals,
    ]  # fmt: skip
    for answer in answers:
        assert len(repr(answer)) < 400 and "\n" not in repr(answer), repr(answer)
    assert "1 compilation, 1 graph, 0 distinct graph breaks" in repr(report) and len(str(report)) > 500
    assert "no cache entry fits" in repr(answers[2]) and "cache entry 0/0 runs" in repr(answers[3])
    assert "1 graph, on the same inputs: the same" in repr(answers[4])


def test_the_line_of_a_break_that_torch_keeps():
    def says(x):
        y = x + 1
        print(end="")
        return y * 2

    compiled = torch.compile(says, backend="eager")
    compiled(torch.ones(2))
    (found,) = depyf.explain(compiled).breaks
    assert found.line == says.__code__.co_firstlineno + 2 and found.to_json()["line"] == found.line


class Counting(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = torch.nn.Linear(4, 4)
        self.calls = 0

    def forward(self, x):
        self.calls += 1
        y = self.lin(x) * self.calls
        return y.sigmoid()


def scaled(x, n):
    return x * n + 1


def test_functions_compiled_in_between():
    """A graph break in a loop: the function runs as Python, and what it calls is compiled by itself."""
    inner = Counting().requires_grad_(False)

    def step(x):
        for n in range(2):
            print(end="")
            x = scaled(x, n)
            x = inner(x)
        return x

    torch._dynamo.reset()
    torch._dynamo.utils._compilation_metrics.clear()
    compiled = torch.compile(step, backend="eager", dynamic=False)
    for _ in range(3):
        compiled(torch.ones(4))
    report = depyf.explain(compiled)
    names = [part.function.rpartition(".")[2] for part in report.inside]
    assert sorted(names) == ["forward", "scaled"], names
    of = dict(zip(names, report.inside))
    assert len(of["forward"].entries) == 6 and len(of["scaled"].entries) == 2
    line = step.__code__.co_firstlineno + 4
    assert [call.line for call in of["forward"].calls] == [line]
    assert report.graphs == 8 and "6 recompilations" in str(report).splitlines()[0]
    text = str(report)
    assert f"Counting.forward, called at line {line} `x = inner(x)`: 1/0 ... 1/5 ok" in text.replace("2/", "1/")
    assert "self.calls == " in text and text.count("self.calls == ") <= 2, "alike entries stand together"
    data = json.loads(json.dumps(report.to_json()))
    assert [len(part["entries"]) for part in data["inside"]] == [len(part.entries) for part in report.inside]
    assert "Counting.forward" in report._repr_html_()
    alone = depyf.explain(torch.compile(scaled, backend="eager"))
    assert not alone.inside and len(alone.entries) == 2


def test_functions_compiled_after_a_break():
    """What the rest of a function calls stands inside the function, its own rest below it."""

    class Broken(torch.nn.Module):
        def forward(self, x):
            y = x + 1
            print(end="")
            return y * 2

    class Outer(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.parts = torch.nn.ModuleList(Broken() for _ in range(2))

        def forward(self, x):
            for part in self.parts:
                x = part(x)
            return x

    outer = Outer()

    def step(x):
        y = outer(x)
        print(end="")
        return y + 1

    torch._dynamo.reset()
    torch._dynamo.utils._compilation_metrics.clear()
    compiled = torch.compile(step, backend="eager")
    compiled(torch.ones(3))
    report = depyf.explain(compiled)
    (found,) = report.inside
    assert found.function.endswith("Outer.forward") and found.skipped and not found.entries
    (broken,) = found.inside
    assert broken.function.endswith("Broken.forward") and len(broken.resumes) == 1
    assert [len(line) - len(line.lstrip()) for line in report.call_tree()] == [0, 2, 4, 6, 2, 2]


class Limited:
    calls = 0


def limited(x):
    Limited.calls += 1
    return x * Limited.calls


def test_the_recompile_limit():
    """Of the call that reached it torch keeps no name: it is known by the number of the function."""
    torch._dynamo.reset()
    Limited.calls = 0
    compiled = torch.compile(limited, backend="eager")
    for _ in range(10):
        compiled(torch.ones(3))
    report = depyf.explain(compiled)
    text = str(report)
    assert len(report.entries) == 8 and "recompile_limit allows" in report.skipped[0].cause
    assert "7 recompilations of limited (0/1 ... 0/7), then it ran as ordinary Python" in text
    assert "1 time a function ran as ordinary Python" in text.splitlines()[0]
    torch._dynamo.reset()
    other = torch.compile(scaled, backend="eager")
    other(torch.ones(3), 1)
    assert not depyf.explain(other).skipped, "it has the number of the other function"


def kinds(x, n, flag, names, mode):
    return x * n * len(names) if flag and mode is None else x + 1


@pytest.mark.parametrize(
    ("second", "told"),
    [
        ((2, True, ["a"], None), "n == 1; expected 1, got 2"),
        ((1, False, ["a"], None), "flag == True; expected True, got False"),
        ((1, True, ["a", "b"], None), "len(names) == 1; expected 1, got 2"),
        ((1, True, ["a"], "m"), "mode is None; expected None, got 'm'"),
    ],
)
def test_the_value_that_was_found(second, told):
    """The guards of the entry that was made for a call say what the call had."""
    torch._dynamo.reset()
    compiled = torch.compile(kinds, backend="eager", dynamic=False)
    compiled(torch.ones(3), 1, True, ["a"], None)
    compiled(torch.ones(3), *second)
    because = depyf.explain(compiled).entries[0].recompiled_because
    silent = any("compiled again" in gap for gap in gaps())  # torch 2.6 keeps no reason
    assert because == "" if silent else because.partition(" (")[0] == f"0/0 did not fit: {told}"


class Blocks(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = torch.nn.ModuleList(torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.ReLU()) for _ in range(6))
        self.factor = 1

    def forward(self, x):
        for block in self.blocks:
            x = block(x) * self.factor
        return x


def test_guards_are_read_once(monkeypatch):
    """Printing them and taking them apart is nearly all that it costs."""
    model = Blocks()
    compiled = torch.compile(model, backend="eager")
    for factor in range(3):
        model.factor = factor
        compiled(torch.ones(2, 3))
    printed = []
    manager = torch._dynamo.guards.GuardManagerWrapper
    monkeypatch.setattr(
        manager, "__str__", lambda self, original=manager.__str__: printed.append(self) or original(self)
    )
    depyf.explain(compiled)  # what is kept for all explanations is there
    printed.clear()
    profile = cProfile.Profile()
    report = profile.runcall(depyf.explain, compiled)
    assert len(printed) == len(report.entries) >= 2
    guards = sum(len(entry.guards) for entry in report.entries)
    assert pstats.Stats(profile).total_calls < 600 * guards, (guards, pstats.Stats(profile).total_calls)
