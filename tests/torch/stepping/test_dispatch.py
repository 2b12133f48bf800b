"""Under ``depyf.debug()`` the program's own calls pass through the dispatcher's page, and nothing else changes."""

from __future__ import annotations

import re
import sys
import threading

import pytest
import torch
from dumps import NOT_FOLLOWED, followed, precompiled
from terminal import Terminal
from torch._dynamo.eval_frame import skip_code
from torch._dynamo.utils import counters

import depyf
from depyf.sources.live.caches.entries import cache_entries

pytestmark = [pytest.mark.torch, pytest.mark.skipif(not followed(), reason=NOT_FOLLOWED)]


class Lines:
    """What a debugger sees: the lines that run in the files of a dump, in this thread and those it starts."""

    def __init__(self, directory):
        self.directory = str(directory)
        self.seen = []

    def __enter__(self):
        self.before = sys.gettrace()
        skip_code(Lines.trace.__code__)  # a tracer of the standard library is not compiled either
        threading.settrace(self.trace)
        sys.settrace(self.trace)
        return self

    def __exit__(self, *error):
        sys.settrace(self.before)
        threading.settrace(None)

    def trace(self, frame, event, argument):
        if not frame.f_code.co_filename.startswith(self.directory):
            return None
        if event == "call":
            name = frame.f_code.co_filename.rpartition("/")[2]
            self.seen.append((name.partition("_for_")[0].lstrip("_"), frame.f_code.co_name))
        return self.trace

    def functions(self, kind):
        return [name for start, name in self.seen if start.startswith(kind)]


@pytest.fixture(autouse=True)
def nobody_there(monkeypatch):
    monkeypatch.setenv("DEPYF_NO_PAUSE", "1")


def state(*codes):
    """What must be the same afterwards."""
    from torch._C._dynamo import eval_frame as c
    from torch._dynamo import eval_frame

    return [
        eval_frame._callback_from_stance, eval_frame._stance, c.get_eval_frame_callback(), sys.gettrace(),
        [[(e.compile_id, e.code, e.manager) for e in cache_entries(code)] for code in codes],
        [precompiled(code) for code in codes],
    ]  # fmt: skip


def check(run, directory, *functions):
    """Dump ``run``, then run it under debug with a tracer: (what the tracer saw, results before and inside)."""
    with depyf.prepare_debug(directory):
        run()
    torch.manual_seed(0)
    plain = run()
    codes = [function.__code__ for function in functions]
    before, frames = state(*codes), dict(counters["frames"])
    with depyf.debug(), Lines(directory) as lines:
        torch.manual_seed(0)
        inside = run()
    assert state(*codes) == before
    assert dict(counters["frames"]) == frames, "nothing is compiled again"
    torch.testing.assert_close(inside, plain, rtol=0, atol=0)
    return lines


def test_graph_break_and_branches(tmp_path):
    def toy(a, b):
        x = a / (torch.abs(a) + 1)
        if b.sum() < 0:
            b = b * -1
        return x * b

    fn = torch.compile(toy, backend="eager")
    lines = check(lambda: [fn(torch.ones(4), torch.full((4,), v)) for v in (-1.0, 1.0)], tmp_path / "d", toy)
    kinds = [f"{start} {name}" for start, name in lines.seen if "compiled_fn" not in start]
    assert kinds[:3] == ["full_code toy", "full_code guards_0_0", "transformed_code_0_0 toy"]
    assert len([k for k in kinds if k.startswith("full_code guards_")]) == 4  # two calls, each with a resume function
    assert sum(name.startswith("__resume_at") for name in lines.functions("full_code")) == 2


def test_recompiled_entries_are_tried_in_turn(tmp_path):
    def poly(x, n):
        return x * n

    fn = torch.compile(poly, backend="eager", dynamic=False)
    lines = check(lambda: [fn(torch.ones(size), n) for size in (2, 3) for n in (1, 2)], tmp_path / "d", poly)
    assert len(lines.functions("full_code")) > 8, "guards of several entries are looked at in one call"
    assert len(lines.functions("transformed_code")) == 4


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = torch.nn.Linear(4, 4)

    def forward(self, x, *rest, scale=2, **more):
        return torch.tanh(self.lin(x) * scale + sum(rest) + sum(more.values())).sum()

    def method(self, x):
        return self.lin(x).relu()


@pytest.mark.parametrize("backend", ["eager", "inductor"])
def test_modules_methods_and_gradients(backend, tmp_path):
    torch.manual_seed(0)
    net, other = Net(), Net()
    fn = torch.compile(net, backend=backend)
    other.compile(backend=backend)
    method = torch.compile(net.method, backend=backend)
    x = torch.randn(3, 4)

    def run():
        net.zero_grad()
        fn(x, 1, 2, scale=3, plus=4).backward()
        return net.lin.weight.grad.clone(), other(x), method(x)

    lines = check(run, tmp_path / "d", Net.forward, Net.method)
    assert {"forward", "method"} <= set(lines.functions("full_code"))


def test_closures_defaults_and_cells(tmp_path):
    def make(k):
        def outer(x, /, y=2, *, z=3):
            def inner(v):
                return v * y

            return inner(x) + k + z

        return torch.compile(outer, backend="eager"), outer

    (one, code), (two, _) = make(1), make(torch.ones(2))
    lines = check(lambda: [one(torch.ones(2)), two(torch.ones(2), z=1), two(torch.ones(2))], tmp_path / "d", code)
    assert lines.functions("full_code").count("outer") == 3


def test_exceptions_autograd_hooks_and_threads(tmp_path):
    @torch.compile(backend="eager")
    def hook(gradient):
        return gradient * 2

    @torch.compile(backend="eager")
    def fails(x):
        torch._dynamo.graph_break()
        raise KeyError(x.shape[0])

    def run():
        x = torch.ones(3, requires_grad=True)
        x.register_hook(hook)
        (x * x).sum().backward()
        with pytest.raises(KeyError, match="3"):
            fails(x)
        results = []
        thread = threading.Thread(target=lambda: results.append(hook(torch.ones(2))))
        thread.start()
        thread.join()
        return x.grad, results[0]

    lines = check(run, tmp_path / "d")
    assert lines.functions("full_code").count("hook") == 2
    assert "fails" in lines.functions("full_code")


@pytest.mark.parametrize("skip", [False, True])
def test_stances_and_fullgraph(skip, tmp_path):
    def poly(x, n):
        return torch.sin(x) * n

    compilations = []
    backend = lambda gm, inputs: compilations.append(gm) or gm.forward
    fn = torch.compile(poly, backend=backend, fullgraph=True, dynamic=False)
    run = lambda: [fn(torch.ones(2), 1), fn(torch.ones(2), 2)]
    with depyf.prepare_debug(tmp_path / "d"):
        run()
    with depyf.debug(), Lines(tmp_path / "d") as lines:
        with torch.compiler.set_stance("fail_on_recompile", skip_guard_eval_unsafe=skip):
            run()
            if not skip:
                with pytest.raises(RuntimeError, match="fail_on_recompile"):
                    fn(torch.ones(2), 3)
        followed = len(lines.functions("full_code"))
        with torch.compiler.set_stance("force_eager"):
            run()
        assert len(lines.functions("full_code")) == followed, "torch looks for nothing"
        fn(torch.ones(2), 4)  # a miss compiles, as without us
    assert followed and len(compilations) == 3


def test_two_backends_share_a_code_object(tmp_path):
    def poly(x):
        return torch.sin(x)

    one = torch.compile(poly, backend="eager")
    two = torch.compile(poly, backend="aot_eager")
    check(lambda: [one(torch.ones(2)), two(torch.ones(2))], tmp_path / "d", poly)


def test_compiled_function_called_while_standing_in_the_dispatcher(tmp_path):
    """A watch expression at a stop: torch holds a lock there, which the same thread must not wait for."""

    def poly(x):
        return torch.sin(x) + 1

    fn = torch.compile(poly, backend="eager")
    with depyf.prepare_debug(tmp_path / "d"):
        fn(torch.ones(2))
    answers = []

    def trace(frame, event, argument):
        if frame.f_code.co_name == "guards_0_0" and not answers:
            answers.append(None)
            answers[0] = fn(torch.zeros(2))
        return trace if frame.f_code.co_filename.startswith(str(tmp_path)) else None

    with depyf.debug():
        sys.settrace(trace)
        try:
            result = fn(torch.ones(2))
        finally:
            sys.settrace(None)
    assert torch.equal(answers[0], torch.ones(2)) and torch.equal(result, torch.sin(torch.ones(2)) + 1)


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit])
def test_leaving_the_debugger_leaves_the_program(kind, tmp_path):
    def poly(x, *rest, k=1):
        inner = lambda: (x, rest)
        return torch.sin(x) * k + len(inner())

    fn = torch.compile(poly, backend="eager")
    with depyf.prepare_debug(tmp_path / "d"):
        fn(torch.ones(2), 3)

    def trace(frame, event, argument):
        if frame.f_code.co_name == "guards_0_0":
            sys.settrace(None)
            raise kind("left")
        return trace

    with pytest.raises(kind, match="left"), depyf.debug():
        sys.settrace(trace)
        fn(torch.ones(2), 3)
    assert torch.equal(fn(torch.ones(2), 3), torch.sin(torch.ones(2)) + 2)


def test_torch_function_modes_and_subclasses_notice_nothing(tmp_path):
    from torch.overrides import TorchFunctionMode

    class Log(TorchFunctionMode):
        calls = 0

        def __torch_function__(self, func, types, args=(), kwargs=None):
            Log.calls += 1
            return func(*args, **(kwargs or {}))

    def poly(x):
        return torch.sin(x) + 1

    fn = torch.compile(poly, backend="eager")

    def run():
        Log.calls = 0
        with Log():
            fn(torch.ones(2))
        return torch.tensor(Log.calls)

    lines = check(run, tmp_path / "d", poly)
    assert "guards_0_0" in lines.functions("full_code")


def test_without_a_debugger_no_page_is_followed(tmp_path, monkeypatch):
    from depyf.actions.debugger.stepping import followed_dispatch

    def poly(x):
        return torch.sin(x) + 1

    fn = torch.compile(poly, backend="eager")
    with depyf.prepare_debug(tmp_path / "d"):
        fn(torch.ones(2))
    monkeypatch.setattr(followed_dispatch.Dispatcher, "follow", lambda *_: pytest.fail("followed"))
    before = sys.gettrace()
    sys.settrace(None)
    try:
        with depyf.debug():
            fn(torch.ones(2))
    finally:
        sys.settrace(before)


PROGRAM = """
import re
import sys
import torch
import depyf
def toy(a, b):
    x = a / (torch.abs(a) + 1)
    if b.sum() < 0:
        b = b * -1
    return x * b
fn = torch.compile(toy, backend="eager")
def main():
    for value in (-1.0, 1.0):
        fn(torch.ones(4), torch.full((4,), value))
with depyf.prepare_debug(sys.argv[1]):
    main()
with depyf.debug():
    main()
print("LEFT")
"""


def test_pdb_steps_from_the_call_into_the_graph(tmp_path):
    """In a terminal: ``step`` at the user's call leads through dispatcher and guards into transformed code and graph."""
    script = tmp_path / "program.py"
    script.write_text(PROGRAM)
    terminal = Terminal([str(script), str(tmp_path / "dump")])
    stops = terminal.steps(until="Captured_Graph.0.py", limit=80)
    call = next(i for i, stop in enumerate(stops) if "fn(torch.ones(4)" in stop)
    files = list(dict.fromkeys(re.findall(r"> \S*/([\w.]+)\(", "\n".join(stops[call:]))))
    assert files == [
        "program.py", "full_code_for_toy_0.py", "__transformed_code_0_0_for_toy.py", "__compiled_fn_0_0.Captured_Graph.0.py"
    ]  # fmt: skip
    assert any("guards_0_0()->True" in stop for stop in stops)
    assert any("torch goes on in __transformed_code_0_0_for_toy"[-12:] in stop for stop in stops)
    line = terminal.line("full_code_for_toy_0.py", "L, G = frame_2.enter({", directory=tmp_path / "dump")
    terminal.command(f"tbreak {tmp_path / 'dump' / 'full_code_for_toy_0.py'}:{line}", "Breakpoint")
    terminal.command("c", f"full_code_for_toy_0.py({line})__resume_at")
    terminal.command("up", "__transformed_code_0_0_for_toy.py")
    terminal.command("q", "")
    assert "LEFT" not in terminal.end() and "BdbQuit" in terminal.text
