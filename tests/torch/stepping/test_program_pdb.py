"""The pdb that ``depyf.debug()`` starts, in a pseudo-terminal: what it shows of the stack, and ``breakpoint()`` in the program."""

from __future__ import annotations

import sys
import threading

import pytest
from dumps import followed
from terminal import Terminal

import depyf

pytestmark = pytest.mark.torch

PROGRAM = """
import sys
import torch
import depyf
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = torch.nn.Linear(4, 4)
    def forward(self, x):
        h = self.lin(x)
        if h.shape[0] > 1:
            breakpoint()
        return torch.relu(h).sum()
fn = torch.compile(Net(), backend=sys.argv[1])
def main(n):
    return fn(torch.ones(n, 4))
with depyf.prepare_debug(sys.argv[2]):
    main(1)
hook = sys.breakpointhook
with depyf.debug():
    main(1)
    main(2)
assert sys.breakpointhook is hook
print("LEFT")
"""


def test_the_stack_is_that_of_the_program(tmp_path):
    """From a graph of AOTAutograd, which torch calls through a dozen functions of its own, ``up`` leads to what called it."""
    script, dump = tmp_path / "program.py", tmp_path / "dump"
    script.write_text(PROGRAM)
    terminal = Terminal([str(script), "aot_eager", str(dump)])
    graph, code = "__compiled_fn_0_0.Forward_graph.0.py", "__transformed_code_0_0_for_forward.py"
    terminal.command(f"tbreak {dump / graph}:{terminal.line(graph, 'aten.relu.default(', dump)}", "Breakpoint 1")
    shown = terminal.command("c", graph) + terminal.command("w", graph)
    assert "torch/" not in shown and shown.count("program.py(") == 2, shown
    for place in (f"{code}(", "program.py(16)main()", "program.py(21)<module>()"):
        terminal.command("up", place)
    terminal.command("p hook", "built-in")
    for place in ("program.py(16)main()", f"{code}(", f"{graph}("):
        terminal.command("down", place)
    terminal.command("r", "--Return--")
    terminal.command("n", f"{code}(")  # no function of torch in between
    terminal.command("q", "")


def test_breakpoint_in_the_programs_own_forward(tmp_path):
    """The compiler comes next, for there the graph ends: the stop is in what is left of the function."""
    script = tmp_path / "program.py"
    script.write_text(PROGRAM)
    terminal = Terminal([str(script), "eager", str(tmp_path / "dump")])
    answer = terminal.command("c", "--Call--")
    assert "program.py(12)torch_dynamo_resume_in_forward_at_12()" in answer, answer
    terminal.command("p tuple(h.shape)", "(2, 4)")
    terminal.command("up", "program.py(12)forward()")
    terminal.child.sendline("c")
    assert "LEFT" in terminal.end()


def test_breakpoints_of_others_are_left_alone(tmp_path, monkeypatch):
    import torch

    monkeypatch.setenv("DEPYF_NO_PAUSE", "1")
    fn = torch.compile(lambda x: x + 1, backend="eager")
    with depyf.prepare_debug(tmp_path / "d"):
        fn(torch.ones(2))
    calls = []

    def ours(*args, **kwargs):
        calls.append((args, kwargs))

    monkeypatch.setattr(sys, "breakpointhook", ours)
    with depyf.debug():
        breakpoint()
    assert sys.breakpointhook is ours and calls == [((), {})]
    monkeypatch.setattr(sys, "breakpointhook", sys.__breakpointhook__)
    monkeypatch.setenv("PYTHONBREAKPOINT", "0")
    with depyf.debug():
        assert sys.breakpointhook is not sys.__breakpointhook__
        breakpoint()
    assert sys.breakpointhook is sys.__breakpointhook__


THREADS = """
import sys
import threading
import torch
import depyf
def f(x):
    return (torch.sin(x) * 2).sum()
fn = torch.compile(f, backend="eager", dynamic=False)
with torch._subclasses.FakeTensorMode():
    pass  # torch 2.10 dies in the second thread that compiles where the main thread has not, with depyf or without
def main():
    results = []
    def work(n):
        results.append(fn(torch.ones(n)).item())
    for n in (2, 3):
        thread = threading.Thread(target=work, args=(n,))
        thread.start()
        thread.join()
    return results
with depyf.prepare_debug(sys.argv[1]):
    first = main()
with depyf.debug():
    second = main()
print("LEFT", first == second, sys.gettrace(), threading.gettrace())
"""


def test_breakpoints_in_threads(tmp_path):
    """They stop, the page and the graph are stepped there; with breakpoints in the dump only, nothing is traced afterwards."""
    script, dump = tmp_path / "program.py", tmp_path / "dump"
    script.write_text(THREADS)
    terminal = Terminal([str(script), str(dump)])
    graph, page = "__compiled_fn_0_1.Captured_Graph.0.py", "full_code_for_f_0.py"
    line = terminal.line(graph, "= torch.sin(", dump)
    terminal.command(f"b {dump / graph}:{line}", "Breakpoint 1")
    if followed():
        terminal.command(f"tbreak {dump / page}:{terminal.line(page, 'if guards_0_1(', dump)}", "Breakpoint 2")
        terminal.command("c", f"{page}(")
        terminal.command("p L['x'].dim()", "1")
    terminal.command("c", f"{graph}({line})")
    terminal.command("n", f"{graph}({line + 1})")
    terminal.command("w", "program.py(14)work()")
    terminal.command("up", "__transformed_code_0_1_for_f.py(")
    terminal.child.sendline("c")
    assert "LEFT True None None" in terminal.end()


DEBUGGED = """
import sys
import torch
import depyf
def inner(x):
    return torch.sin(x)
def f(x):
    y = inner(x)
    return y * 2
fn = torch.compile(f, backend="eager")
with depyf.prepare_debug(sys.argv[1]):
    fn(torch.ones(2))
with depyf.debug():
    fn(torch.ones(2))
print("LEFT", sys.gettrace())
"""


def test_debug_at_the_prompt(tmp_path):
    """``debug EXPR`` steps from a call to the code of the dump, and past the machinery, as ``step`` does outside."""
    script, dump = tmp_path / "program.py", tmp_path / "dump"
    script.write_text(DEBUGGED)
    terminal = Terminal([str(script), str(dump)])
    terminal.prompt = "((Pdb)) "
    terminal.command("debug fn(torch.ones(2))", "ENTERING RECURSIVE DEBUGGER")
    seen = [terminal.command("s", "") for _ in range(3 if not followed() else 2)]
    assert not any("/torch/" in text for text in seen), seen
    wanted = "full_code_for_f_0.py" if followed() else "__transformed_code_0_0_for_f.py"
    assert any(wanted in text for text in seen), seen
    terminal.prompt = "(Pdb) "
    terminal.command("c", "LEAVING RECURSIVE DEBUGGER")
    terminal.command("help debug", "recursive debugger")
    terminal.command("import pdb; pdb.Pdb", "<class 'pdb.Pdb'>")
    terminal.child.sendline("c")
    assert "LEFT None" in terminal.end()


WORKERS = """
import queue
import sys
import threading
import torch
import depyf
def f(x):
    return (torch.sin(x) * 2).sum()
fn = torch.compile(f, backend="eager", dynamic=False)
asked, answered = queue.Queue(), queue.Queue()
def work():
    while (n := asked.get()) is not None:
        answered.put((fn(torch.ones(n)).item(), sys.gettrace()))
threads = [threading.Thread(target=work) for _ in range(2)]
for thread in threads:
    thread.start()
def ask(n):
    answers = []
    for _ in threads:  # one by one: two would compile it twice
        asked.put(n)
        answers.append(answered.get()[0])
    return answers
with depyf.prepare_debug(sys.argv[1]):
    first = ask(2)
with depyf.debug():
    second = ask(2)
def traced():
    asked.put(2), asked.put(2)
    return [answered.get()[1] for _ in threads]
third = traced(), traced()
for _ in threads:
    asked.put(None)
print("LEFT", first == second, sys.gettrace(), threading.gettrace(), third[1])
"""


@pytest.mark.skipif(not followed(), reason="this torch cannot be followed through full_code_for_*.py")
def test_breakpoints_in_threads_that_ran_before(tmp_path):
    """A pool of workers that is older than the pause: its threads stop, and are not traced any more in the end."""
    script, dump = tmp_path / "program.py", tmp_path / "dump"
    script.write_text(WORKERS)
    terminal = Terminal([str(script), str(dump)])
    graph = "__compiled_fn_0_0.Captured_Graph.0.py"
    line = terminal.line(graph, "= torch.sin(", dump)
    terminal.command(f"b {dump / graph}:{line}", "Breakpoint 1")
    terminal.command("c", f"{graph}({line})")
    terminal.command("w", "work()")
    terminal.command("n", f"{graph}({line + 1})")
    terminal.command("c", f"{graph}({line})")  # the other one, or the same thread for the other question
    terminal.command("cl 1", "Deleted breakpoint 1")
    terminal.child.sendline("c")
    assert "LEFT True None None [None, None]" in terminal.end()


def test_breakpoints_behind_the_block_are_kept(tmp_path):
    script, dump = tmp_path / "program.py", tmp_path / "dump"
    script.write_text(THREADS)
    terminal = Terminal([str(script), str(dump)])
    last = len(THREADS.splitlines())
    terminal.command(f"b {script}:{last}", "Breakpoint 1")
    terminal.command("c", f"program.py({last})<module>()")
    terminal.child.sendline("c")
    assert "LEFT True" in terminal.end()


POST_MORTEM = """
import pdb
import sys
import torch
import depyf
table = torch.arange(12.0).view(4, 3)
def f(i, x):
    row = torch.nn.functional.embedding(i, table) * 2
    return (torch.relu(x) @ row.T).sum()
fn = torch.compile(f, backend="aot_eager")
def main(number):
    fn(torch.tensor([number]), torch.ones(2, 3))
with depyf.prepare_debug(sys.argv[1]):
    main(1)
with depyf.debug():
    try:
        main(9)
    except IndexError:
        pdb.post_mortem()
"""


def test_post_mortem(tmp_path):
    """After an exception in compiled code, pdb shows the lines of the dump, and ``where`` says whose they are."""
    script, dump = tmp_path / "program.py", tmp_path / "dump"
    script.write_text(POST_MORTEM)
    terminal = Terminal([str(script), str(dump)])
    terminal.command("c", "_ops.py(")
    graph = "__compiled_fn_0_0.Forward_graph.0.py"
    terminal.command("w", f"{graph}({terminal.line(graph, 'aten.embedding.default(', dump)})forward()")
    place = terminal.command("import depyf; depyf.where()", "forward graph of AOTAutograd, node embedding")
    assert "program.py:8 in f: row = torch.nn.functional.embedding(i, table) * 2" in place
    terminal.command("u", graph)
    terminal.command("!import depyf; print(depyf.where().node)", "embedding")
    terminal.command("q", "")


def in_module(name, function, file="debugger.py"):
    """A function ``function`` of a module ``name`` that calls its argument."""
    scope = {"__name__": name}
    exec(compile(f"def {function}(inside):\n    return inside()\n", file, "exec"), scope)
    return scope[function]


def test_what_runs_the_program_is_no_stop():
    """pydevd and pdb are in the stack of every line of a program that they run, and of what they evaluate at a stop."""
    from depyf.actions.debugger.stepping.at_a_stop import beneath_a_stop

    def asked():
        frame = sys._getframe()
        return beneath_a_stop(frame.f_code, frame.f_globals, frame.f_back)

    def in_a_thread(function):
        answers = []
        started = threading.Thread(target=function, args=(lambda: answers.append(asked()),))
        started.start()
        started.join()
        return answers[-1]

    assert not asked()
    assert not in_module("bdb", "runcall")(asked)
    assert in_module("pdb", "default")(asked)
    assert in_module("bdb", "run")(lambda: in_module("pdb", "_getval")(asked))
    assert in_module("pdb", "do_debug")(lambda: in_module("bdb", "run")(asked)), "the debugger's own recursion"
    assert in_module("_pydevd_bundle.pydevd_vars", "evaluate_expression")(asked)
    assert not in_a_thread(in_module("pydevd", "_exec"))
    assert not in_a_thread(in_module("__main__", "run_file", "/there/debugpy/__main__.py"))
    assert in_a_thread(lambda inside: in_module("pydevd", "do_wait_suspend")(inside))
