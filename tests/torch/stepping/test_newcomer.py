"""What a new user of ``depyf.debug()`` meets: where it stops, what runs as text, what it says."""

from __future__ import annotations

import linecache
import re
import sys

import pytest
import torch
from dumps import run_python
from terminal import Terminal
from torch._dynamo.eval_frame import skip_code
from torch.utils.checkpoint import checkpoint

import depyf
from depyf.run.places.where import where_is

pytestmark = pytest.mark.torch

PROGRAM = """
import sys
import torch
import depyf
@torch.compile(backend="eager")
def scaled(x, n):
    return torch.sin(x) * n
def main(n):
    return scaled(torch.ones(3), n)
with depyf.prepare_debug(sys.argv[1]):
    main(2)
with depyf.debug():
    main(2)
print("LEFT")
"""


def test_the_pause_stands_in_the_program(tmp_path):
    """pdb shows the program's own line, two steps lead to the line after it, and the process ends without a complaint."""
    script, dump = tmp_path / "program.py", tmp_path / "dump"
    script.write_text(PROGRAM)
    terminal = Terminal([str(script), str(dump)])
    assert f"> {script}(12)" in terminal.first and "-> with depyf.debug():" in terminal.first
    stops = terminal.steps(until="-> main(2)", limit=3)
    assert f"> {script}(13)" in stops[-1]
    graph = dump / "__compiled_fn_0_0.Captured_Graph.0.py"
    terminal.command(f"b {graph}:{terminal.line(graph.name, 'torch.sin(', dump)}", "Breakpoint 1")
    terminal.command("c", f"{graph.name}(")
    terminal.child.sendline("c")
    assert terminal.end().split() == ["LEFT"]


class Lines:
    """The lines of a dump's graphs that run, as a debugger sees them."""

    def __init__(self, directory):
        self.directory, self.seen = str(directory), set()

    def trace(self, frame, event, argument):
        if not frame.f_code.co_filename.startswith(self.directory):
            return None
        if event == "line":
            self.seen.add((frame.f_code.co_filename, frame.f_lineno))
        return self.trace

    def __enter__(self):
        self.before = sys.gettrace()
        skip_code(Lines.trace.__code__)
        sys.settrace(self.trace)
        return self

    def __exit__(self, *error):
        sys.settrace(self.before)


class Clip(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, limit):
        ctx.save_for_backward(x)
        ctx.limit = limit
        return x.clamp(-limit, limit)

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        return gradient * (x.abs() < ctx.limit), None


def own_function(x, w):
    return Clip.apply(x * w, 1.5).sum()


def with_checkpoint(x, w):
    return checkpoint(lambda v: torch.sin(v * w).cos(), x, use_reentrant=False).sum()


@pytest.mark.parametrize(
    "function, inside",
    [(own_function, ["= mul.clamp(|.clamp(-1.5", ".abs()"]), (with_checkpoint, ["torch.sin("])],
    ids=["autograd.Function", "checkpoint"],
)
@pytest.mark.parametrize("level", [None, "graph"])
def test_bodies_of_operators_run_as_lines(function, inside, level, tmp_path, monkeypatch):
    """torch interprets these graphs node by node where it runs a captured graph; a breakpoint in their text is hit."""
    monkeypatch.setenv("DEPYF_NO_PAUSE", "1")
    torch._dynamo.reset()
    fn = torch.compile(function, backend="eager" if level is None else "aot_eager")

    def run():
        x, w = torch.linspace(-2, 2, 6), torch.full((6,), 1.1, requires_grad=True)
        result = fn(x, w)
        result.backward()
        return result.detach(), w.grad

    interpret = torch.fx.Interpreter.run
    with depyf.prepare_debug(tmp_path / "d"):
        expected = run()
    with depyf.debug(level=level), Lines(tmp_path / "d") as lines:
        got = run()
    assert torch.fx.Interpreter.run is interpret
    torch.testing.assert_close(got, expected, rtol=0, atol=0)
    stopped = {(linecache.getline(file, line).strip(), file, line) for file, line in lines.seen}
    for text in inside:
        places = [place for place in stopped if any(part in place[0] for part in text.split("|"))]
        assert places, (text, sorted(line for line, *_ in stopped))
        assert all(where_is(file, line).user_file == __file__ for _, file, line in places)
    assert torch.equal(run()[1], expected[1])


def test_it_says_when_something_is_compiled_inside(tmp_path):
    """The dump has no text for it, so no breakpoint stops there: the user is told, once, and not with a level."""
    script = tmp_path / "program.py"
    program = PROGRAM.replace("    main(2)\nprint", "    main(3); main(3.5); main(2)\nprint")
    script.write_text(program)
    done = run_python(str(script), str(tmp_path / "dump"))
    assert done.returncode == 0, done.stderr
    notes = [line for line in done.stderr.splitlines() if "torch compiles" in line]
    assert len(notes) == 1 and re.search(rf"scaled \({re.escape(str(script))}:\d+\)", notes[0]), done.stderr
    script.write_text(program.replace("debug()", "debug(level='graph')"))
    assert "torch compiles" not in run_python(str(script), str(tmp_path / "other")).stderr
    script.write_text(PROGRAM)
    assert "torch compiles" not in run_python(str(script), str(tmp_path / "third")).stderr


BEFORE = """
import sys
import torch
import depyf
@torch.compile(backend=sys.argv[1])
def scaled(x, w):
    h = torch.sin(x * w)
    return h.sum()
def main():
    scaled(torch.ones(2, 3), torch.ones(3, requires_grad=True)).backward()
main()
with depyf.prepare_debug(sys.argv[2]):
    main()
"""


@pytest.mark.parametrize(
    "backend, files",
    [
        ("eager", {"Captured_Graph.0": ("= torch.sin(", 7, '"f32[2, 3]')}),
        ("aot_eager", {"Forward_graph.0": ("aten.sin.default(", 7, '"f32[2, 3]'), "Backward_graph.0": ("aten.cos.default(", 7, '"f32[2, 3]')}),
    ],
)  # fmt: skip
def test_graphs_compiled_before_the_recording(backend, files, tmp_path):
    """They carry the name of their stage, shapes, and the user's lines, as those that were recorded do."""
    script, dump = tmp_path / "program.py", tmp_path / "dump"
    script.write_text(BEFORE)
    done = run_python(str(script), backend, str(dump))
    assert done.returncode == 0, done.stderr
    found = {path.name for path in dump.glob("__compiled_fn_*.py")}
    kept = {"__compiled_fn_0_0.Captured_Graph.0.py"}  # by torch before 2.10, though another graph runs
    assert {f"__compiled_fn_0_0.{name}.py" for name in files} in (found, found - kept)
    for name, (text, line, shape) in files.items():
        path = dump / f"__compiled_fn_0_0.{name}.py"
        number = Terminal.line(path.name, text, dump)
        assert number and shape in path.read_text().splitlines()[number - 1]
        place = where_is(str(path), number)
        assert (place.user_file, place.user_line) == (str(script), line)


def around(x, w):
    y = x.cos()
    print(end="")
    z = checkpoint(lambda v, u: torch.sin(v * u), y, w, use_reentrant=False)  # the checkpoint
    return z.exp()


def test_lines_of_recomputed_operations_and_after_a_break(tmp_path):
    """AOTAutograd says more in its comments there; and a resume function is called as the function that it resumes."""
    fn = torch.compile(around, backend="aot_eager")
    with depyf.prepare_debug(tmp_path / "d"):
        fn(torch.ones(4), torch.ones(4, requires_grad=True)).sum().backward()
    for file, text, code in (
        ("__compiled_fn_1_0.Forward_graph.0.py", "aten.sin.default(", "# the checkpoint"),
        ("__compiled_fn_1_0.Backward_graph.0.py", "aten.cos.default(", "# the checkpoint"),
        ("__compiled_fn_1_0.Forward_graph.0.py", "aten.exp.default(", "return z.exp()"),
    ):
        place = where_is(str(tmp_path / "d" / file), Terminal.line(file, text, tmp_path / "d"))
        assert (place.user_file, place.user_code[-len(code) :]) == (__file__, code), place
    assert place.user_function == "around"


def test_comparing_nothing_is_no_agreement():
    def left_alone(items):
        return [item for item in items if print(end="") is None]

    found = depyf.compare(left_alone, [1, 2])
    assert not found and "nothing was compared" in str(found)


def test_what_is_typed_at_a_stop_is_not_compiled(tmp_path):
    """In transformed code torch would compile every function that is called there: also those of the debugger and the user's."""
    script, dump = tmp_path / "program.py", tmp_path / "dump"
    script.write_text(PROGRAM)
    terminal = Terminal([str(script), str(dump)])
    code = dump / "__transformed_code_0_0_for_scaled.py"
    terminal.command(f"tbreak {code}:{terminal.line(code.name, '__compiled_fn_0_0(', dump)}", "Breakpoint 1")
    terminal.command("c", f"{code.name}(")
    terminal.command("import torch._dynamo.convert_frame as convert; compiled = []", "")
    terminal.command("!hook = convert.register_bytecode_hook(lambda code, made, c=compiled: c.append(code))", "")
    terminal.command("(lambda t: t.sin().sum() > 2)(x)", "tensor(True)")
    terminal.command("pp {'x': x}", "'x': tensor([1., 1., 1.])")
    terminal.command("[item + 1 for item in x]", "tensor(2.)")
    terminal.command("p 'compiled', compiled", "('compiled', [])")
    terminal.child.sendline("c")
    terminal.end()
    assert "torch compiles" not in terminal.text
