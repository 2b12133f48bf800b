"""A real debugpy adapter, spoken to as VS Code does, stops on lines of the dumped files."""

from __future__ import annotations

import json

import pytest
from dumps import NOT_FOLLOWED, followed, run_python

pytest.importorskip("debugpy")
from dap import DapClient

pytestmark = pytest.mark.torch

FOLLOWED = followed()

PROGRAM = """
import sys
import torch
import depyf
backend, directory, level = sys.argv[1:]
def layer(x, w):
    h = torch.tanh(x @ w)
    print("between")
    return (h * w.sum()).sum()
fn = torch.compile(layer, backend=backend)
w = torch.eye(3, requires_grad=True)
def main():
    fn(torch.ones(2, 3), w).backward()
with depyf.prepare_debug(directory):
    main()
with depyf.debug(level=None if level == "-" else level):
    main()
print("LEFT")
main()
"""


def first_line(path, text):
    lines = enumerate(path.read_text().splitlines(), 1)
    return next(number for number, line in lines if text in line and not line.lstrip().startswith("#"))


@pytest.fixture
def session(tmp_path):
    """Starts the program under debugpy, goes on to the pause of ``depyf.debug``; (client, dump, thread)."""
    clients = []

    def start(backend, level="-"):
        program = tmp_path / "program.py"
        program.write_text(PROGRAM)
        dump = tmp_path / "dump"
        client = DapClient(program, [backend, str(dump), level])
        clients.append(client)
        client.start()
        return client, dump, client.stopped()["thread"]

    yield start
    for client in clients:
        client.close()


def stop_at(client, dump, thread, file, text, condition=None):
    path = dump / file
    line = first_line(path, text)
    client.breakpoints(path, line, condition=condition)
    client.go("continue", thread)
    stop = client.stopped()
    assert (stop["source"]["path"], stop["line"]) == (str(path), line)
    client.breakpoints(path)
    return stop


def test_transformed_code_and_captured_graph(session):
    client, dump, thread = session("eager")
    stop = stop_at(client, dump, thread, "__transformed_code_0_0_for_layer.py", "__compiled_fn_0_0(")
    shown = client.variables(stop["id"])
    assert "tensor" in shown.get("x", ""), shown.get("<error>", shown)
    client.go("stepIn", thread)
    inside = client.stopped()
    for _ in range(30):  # torch's own wrapper frames may lie between
        if inside["source"]["path"].endswith("Captured_Graph.0.py"):
            break
        client.go("stepIn", thread)
        inside = client.stopped()
    assert inside["source"]["path"].endswith("__compiled_fn_0_0.Captured_Graph.0.py")
    stop = stop_at(client, dump, thread, "__compiled_fn_0_0.Captured_Graph.0.py", "torch.tanh(")
    place = client.evaluate("__import__('depyf').where()", stop["id"])
    assert "compile id 0/0" in place and "program.py:7 in layer: h = torch.tanh(x @ w)" in place
    before = stop["line"]
    client.go("next", thread)
    assert client.stopped()["line"] > before
    callers = [frame["source"]["path"].rpartition("/")[2] for frame in client.frames(thread)]
    assert "__transformed_code_0_0_for_layer.py" in callers and "program.py" in callers


def after(client, command, thread):
    """(file, line) where the debugger stands after ``command``."""
    client.go(command, thread)
    stop = client.stopped()
    return stop["source"]["path"].rpartition("/")[2], stop["line"]


@pytest.mark.skipif(not FOLLOWED, reason=NOT_FOLLOWED)
def test_dispatcher_guards_and_chosen_code(session):
    """A breakpoint on the dispatcher's page is hit by the program's own call; stepping in leads to what torch runs."""
    client, dump, thread = session("eager")
    stop = stop_at(client, dump, thread, "full_code_for_layer_0.py", "L, G = frame_0.enter(")
    shown = client.variables(stop["id"])
    assert "tensor" in shown.get("x", ""), shown.get("<error>", shown)
    seen = step_in(client, thread, "return __transformed_code_0_0_for_layer", dump / "full_code_for_layer_0.py")
    assert "guards_0_0" in seen
    seen = step_in(client, thread, "__compiled_fn_0_0(", dump / "__transformed_code_0_0_for_layer.py")
    assert "guards_1_0" not in seen
    stop = stop_at(client, dump, thread, "full_code_for_layer_0.py", "L['h']", condition="L['h'].numel() == 6")
    assert client.evaluate("sorted(L)[-2:]", stop["id"]) == "['h', 'w']"
    place = client.evaluate("__import__('depyf').where()", stop["id"])
    assert "compile id 1/0" in place and "program.py:9 in " in place


def step_in(client, thread, text, path):
    """Step in until the line with ``text`` of ``path`` is reached; the functions of dumped files passed on the way."""
    line, seen = first_line(path, text), []
    for _ in range(200):
        client.go("stepIn", thread)
        stop = client.stopped()
        seen.append(stop["name"])
        if (stop["source"]["path"], stop["line"]) == (str(path), line):
            return seen
    raise AssertionError(f"{path}:{line} not reached; {seen}")


@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
def test_aot_forward_and_backward(session, backend):
    """With inductor, only level="aot" brings these graphs back; the program's text is the same.

    From the call through the guards and Dynamo's code into the graphs and back to the program, with conditions and watch
    expressions on the way.
    """
    client, dump, thread = session(backend, "-" if backend == "aot_eager" else "aot")
    page, code = "full_code_for_layer_0.py", "__transformed_code_0_0_for_layer.py"
    if FOLLOWED:
        stop = stop_at(client, dump, thread, page, "L, G = frame_0.enter(", condition="x.shape == (2, 3)")
        assert client.watch("tuple(w.shape)", stop["id"]) == "(3, 3)"
        lines = [after(client, "next", thread)[1] for _ in range(2)]
        assert lines[-1] == first_line(dump / page, "return __transformed_code_0_0_for_layer")
    stop = stop_at(client, dump, thread, code, "__compiled_fn_0_0(", condition="x.sum() == 6")
    assert client.watch("x.sum().item()", stop["id"]) == "6.0"
    stop = stop_at(client, dump, thread, "__compiled_fn_0_0.Forward_graph.0.py", "aten.tanh.default(", "mm.dim() == 2")
    assert "Tensor" in client.evaluate("type(mm)", stop["id"])
    callers = [(frame["source"]["path"].rpartition("/")[2], frame["id"]) for frame in client.frames(thread)]
    (above,) = [number for name, number in callers if name == code]
    assert client.watch("tuple(x.shape)", above) == "(2, 3)", "the frame above is there, with its variables"
    file, _ = after(client, "stepOut", thread)
    assert file == code
    resumed = next(dump.glob("__transformed_code_1_0_for_torch_dynamo_resume_*.py")).name
    stop = stop_at(client, dump, thread, resumed, "__compiled_fn_1_0(", condition="h.numel() == 6")
    assert client.watch("h.numel()", stop["id"]) == "6"
    stop = stop_at(
        client, dump, thread, "__compiled_fn_0_0.Backward_graph.0.py", "= torch.ops.aten.", "tangents_1.dim() == 2"
    )
    place = client.evaluate("__import__('depyf').where()", stop["id"])
    assert "backward graph of AOTAutograd" in place and "h = torch.tanh(x @ w)" in place
    file, _ = after(client, "stepOut", thread)
    assert file == "program.py"


def above(client, thread, name):
    """The id of the frame that stands in the file ``name``, further out than the stop."""
    callers = [(frame["source"]["path"].rpartition("/")[2], frame["id"]) for frame in client.frames(thread)]
    (found,) = [number for file, number in callers if file == name]
    return found


def test_captured_graph(session):
    """Condition, watch expressions with live tensors, ``next``, the frame above, ``stepOut``, and where it came from."""
    client, dump, thread = session("eager")
    graph, code = "__compiled_fn_0_0.Captured_Graph.0.py", "__transformed_code_0_0_for_layer.py"
    stop = stop_at(client, dump, thread, graph, "torch.tanh(", condition="L_x_.sum() == 6 and L_w_.requires_grad")
    assert client.watch("L_x_.sum().item()", stop["id"]) == "6.0"
    assert "tensor" in client.variables(stop["id"])["L_w_"]
    place = client.evaluate("__import__('depyf').where()", stop["id"])
    assert "captured graph, node h" in place and "h = torch.tanh(x @ w)" in place
    assert client.watch("tuple(x.shape)", above(client, thread, code)) == "(2, 3)"
    file, line = after(client, "next", thread)
    assert (file, line) == (graph, stop["line"] + 1)
    assert client.watch("tuple(h.shape)", client.frames(thread)[0]["id"]) == "(2, 3)"
    file, _ = after(client, "stepOut", thread)
    assert file == code


def test_generated_wrapper(session):
    """The same for what inductor generated, forward and backward."""
    client, dump, thread = session("inductor")
    wrapper, code = "__compiled_fn_0_0.kernel_0.py", "__transformed_code_0_0_for_layer.py"
    stop = stop_at(client, dump, thread, wrapper, "args.clear()", condition="sum(a.numel() for a in args) == 15")
    assert client.evaluate("len(args)", stop["id"]) == "2"
    stop = stop_at(client, dump, thread, wrapper, "return (", condition="buf1.dim() == 2")
    assert client.watch("abs(buf1.sum().item() - 6 * 0.76159) < 1e-3", stop["id"]) == "True", "tanh(1), live"
    assert "tensor" in client.variables(stop["id"])["buf1"]
    assert client.watch("tuple(x.shape)", above(client, thread, code)) == "(2, 3)"
    place = client.evaluate("__import__('depyf').where()", stop["id"])
    assert "wrapper generated by Inductor" in place and "program.py:7 in layer" in place
    file, _ = after(client, "stepOut", thread)
    assert file == code
    backward = "__compiled_fn_0_0.kernel_1.py"
    stop = stop_at(client, dump, thread, backward, "args.clear()", condition="args[-1].dim() == 2")
    file, line = after(client, "next", thread)
    assert file == backward and line > stop["line"]
    assert client.watch("tuple(tangents_1.shape)", client.frames(thread)[0]["id"]) == "(2, 3)"
    file, _ = after(client, "stepOut", thread)
    assert file == "program.py"


def test_after_the_context_nothing_stops(session):
    client, dump, thread = session("eager")
    graph = dump / "__compiled_fn_0_0.Captured_Graph.0.py"
    stop_at(client, dump, thread, graph.name, "torch.tanh(")
    client.breakpoints(graph, first_line(graph, "torch.tanh("))
    client.go("continue", thread)
    client.event("terminated")
    assert "LEFT" in "".join(client.output)


def test_batch_run_of_the_same_program(tmp_path):
    """The program that the debugger tests run is sound, and the manifest lists what it wrote."""
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    done = run_python(str(program), "eager", str(tmp_path / "dump"), "-")
    assert done.returncode == 0, done.stderr
    assert json.loads((tmp_path / "dump" / "manifest.json").read_text())["files"]
