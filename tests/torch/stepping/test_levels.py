"""``depyf.debug(level=...)``: any backend is stepped at any level, and everything is as before afterwards."""

from __future__ import annotations

import re
import sys

import pexpect
import pytest
from dumps import check_dump, refused_at_a_stop, run_python
from terminal import Terminal, bare_environment

pytestmark = pytest.mark.torch

PROGRAM = """
import gc
import sys
import torch
import depyf
from depyf.sources.live.caches.entries import cache_entries
from torch._dynamo import convert_frame
import torch._dynamo.eval_frame as eval_frame
backend, directory, level = sys.argv[1:]
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = torch.nn.Linear(4, 4)
    def forward(self, x):
        return torch.tanh(self.lin(x)).sum()
torch.manual_seed(0)
net = Net()
fn = torch.compile(net, backend=backend)
x = torch.randn(2, 4)
def main():
    net.zero_grad()
    out = fn(x)
    out.backward()
    return out, net.lin.weight.grad.clone()
with depyf.prepare_debug(directory):
    before = main()
def state():
    entries = [e.compile_id for e in cache_entries(Net.forward.__code__) if "Deleted" not in type(e.manager).__name__]
    return entries, dict(convert_frame._bytecode_hooks), eval_frame._stance, sys.gettrace()
start = state()
config = torch._dynamo.config
setattr(config, "recompile_limit" if hasattr(config, "recompile_limit") else "cache_size_limit", 3)
for _ in range(4):
    with depyf.debug(level=level):
        inside = main()
    assert torch.allclose(before[0], inside[0]) and torch.allclose(before[1], inside[1])
assert state() == start, (state(), start)
del inside  # its derivative is ours
gc.collect()
assert not [one for one in gc.get_objects() if type(one).__name__ == "LevelRun"], "torch's entries hold none"
torch._dynamo.config.error_on_recompile = True
after = main()
assert torch.equal(before[0], after[0]) and torch.equal(before[1], after[1])
"""


@pytest.mark.parametrize(
    "backend, level",
    [("eager", "aot"), ("eager", "wrapper"), ("aot_eager", "graph"), ("inductor", "graph"), ("inductor", "aot")],
)
def test_everything_is_as_before(backend, level, tmp_path):
    """More often than torch's recompile limit allows; the program's own entries are used afterwards."""
    dump = tmp_path / "dump"
    done = run_python(PROGRAM, backend, str(dump), level, env={"DEPYF_NO_PAUSE": "1"})
    assert done.returncode == 0, done.stderr
    assert not re.search("cannot be (?!followed)", done.stderr), "what cannot be followed says so"
    stages = {"graph": ["Captured_Graph.0"], "aot": ["Forward_graph.0", "Backward_graph.0"], "wrapper": ["kernel_0"]}
    for stage in stages[level]:
        assert list(dump.glob(f"__compiled_fn_0_*.{stage}.py")), sorted(p.name for p in dump.iterdir())
    check_dump(dump)
    written = list(dump.glob("__compiled_fn_0_*.Captured_Graph.0.py"))
    assert len(written) == 1, "the same graph again is the same file"


PDB_PROGRAM = PROGRAM.split("def state")[0] + "with depyf.debug(level=level):\n    main()\n"


def test_pdb_in_a_terminal(tmp_path):
    """A real pdb in a pseudo-terminal: an inductor model is stepped in its AOT backward, with live tensors."""
    script = tmp_path / "program.py"
    script.write_text(PDB_PROGRAM)
    dump = tmp_path / "dump"
    child = pexpect.spawn(
        sys.executable, [str(script), "inductor", str(dump), "aot"], env=bare_environment(),
        encoding="utf-8", timeout=240, dimensions=(50, 300),
    )  # fmt: skip
    try:
        child.expect_exact("(Pdb) ")
        assert "compiled again at level 'aot'" in child.before
        path = dump / "__compiled_fn_0_0.Backward_graph.0.py"
        lines = path.read_text().splitlines()
        line = next(number for number, text in enumerate(lines, 1) if "aten.mul.Tensor(" in text)
        for command, answer in (
            (f"b {path}:{line}", f"Breakpoint 1 at {path}:{line}"),
            ("c", f"{path.name}({line})"),
            ("p tangents_1 is None, type(primals_3).__name__", "Tensor"),
            ("import depyf; print(depyf.where())", "backward graph of AOTAutograd"),
            ("display mul", "display mul"),
            ("n", f"{path.name}("),
            ("p mul.shape", "torch.Size("),
            ("r", "--Return--"),
            ("up", ">"),
        ):
            child.sendline(command)
            child.expect_exact("(Pdb) ")
            assert answer in child.before, (command, child.before)
        child.sendline("cl 1")
        child.expect_exact("(Pdb) ")
        child.sendline("c")
        child.expect(pexpect.EOF)
    finally:
        child.close(force=True)
    assert child.exitstatus == 0


TYPED = """
import sys
import torch
import depyf
backend, dump, level = sys.argv[1:]
def f(x, w):
    return (torch.tanh(x @ w) * w.sum()).sum()
fn = torch.compile(f, backend=backend)
gn = torch.compile(lambda x: torch.sin(x) + 1, backend=backend, fullgraph=True)
w = torch.eye(3, requires_grad=True)
def main():
    out = fn(torch.ones(2, 3), w)
    out.backward()
    return out.item(), w.grad.sum().item()
with depyf.prepare_debug(dump):
    first = main()
w.grad = None
compiled = []
torch._dynamo.convert_frame.register_bytecode_hook(lambda code, made: compiled.append(code.co_name))
with depyf.debug(level=level):
    second = main()
print("SAME", torch.allclose(torch.tensor(first), torch.tensor(second)))
"""


@pytest.mark.parametrize(
    "backend, level, file, text",
    [
        ("eager", "graph", "__compiled_fn_0_0.Captured_Graph.0.py", "torch.tanh("),
        ("inductor", "aot", "__compiled_fn_0_0.Backward_graph.0.py", "aten.mm.default("),
        ("inductor", "wrapper", "__compiled_fn_0_0.kernel_0.py", "extern_kernels.mm("),
    ],
)
def test_what_is_typed_at_a_stop_is_not_compiled(backend, level, file, text, tmp_path):
    """Calls of compiled functions, with sizes that nothing fits, and with those of the entry that is running."""
    script, dump = tmp_path / "program.py", tmp_path / "dump"
    script.write_text(TYPED.replace(", fullgraph=True", "") if refused_at_a_stop() else TYPED)
    terminal = Terminal([str(script), backend, str(dump), level])
    terminal.command(f"tbreak {dump / file}:{terminal.line(file, text, dump)}", "Breakpoint 1")
    terminal.command("c", f"{file}(")  # what the program compiled is what runs: the dump's own file
    terminal.command("import __main__; before = list(__main__.compiled)", "")
    terminal.command("p __main__.gn(torch.zeros(2))", "tensor([1., 1.])")
    terminal.command("p __main__.gn(torch.zeros(3))", "tensor([1., 1., 1.])")
    terminal.command("p __main__.fn(torch.zeros(5, 3), __main__.w)", "tensor(0.")
    terminal.command("!held = __main__.fn(torch.zeros(2, 3), __main__.w)", "")
    terminal.command("p held", "tensor(0.")
    terminal.prompt = "((Pdb)) "
    terminal.command("debug __main__.gn(torch.zeros(4))", "RECURSIVE")
    terminal.prompt = "(Pdb) "
    terminal.command("c", "LEAVING")
    import torch

    untouched = hasattr(torch._dynamo.types, "FrameExecStrategy")  # torch 2.6 can only leave a function alone for ever
    terminal.command("p before, __main__.compiled == before", f"(['f'], {untouched})")
    terminal.command("import depyf; depyf.where()", file)
    terminal.child.sendline("c")
    assert "SAME True" in terminal.end()


def test_pause_for_a_file_that_is_new(tmp_path):
    """It is no part of the compilation: tensors have values at the prompt, and a step leads into the file."""
    script, dump = tmp_path / "program.py", tmp_path / "dump"
    script.write_text(TYPED)
    terminal = Terminal([str(script), "eager", str(dump), "aot"])
    for stage, caller in (
        ("Forward_graph", " __compiled_fn_0_0(x, w)"),
        ("Backward_graph", "-> out.backward()"),
    ):
        assert caller in terminal.command("c", f"what is about to run is in {dump / f'__compiled_fn_0_1.{stage}.0.py'}")
        terminal.command("p __import__('torch').ones(2) + 1", "tensor([2., 2.])")
        terminal.command("n", "--Return--")
        terminal.command("n", f"{stage}.0.py(7)forward()")
        file = f"__compiled_fn_0_1.{stage}.0.py"
        first = next(line for line in range(8, 30) if " = " in (dump / file).read_text().splitlines()[line - 1])
        terminal.command("n", f"{file}({first})forward()")
    terminal.child.sendline("c")
    assert "SAME True" in terminal.end()


def test_bad_arguments(tmp_path):
    import depyf

    with pytest.raises(depyf.DepyfError, match="'graph', 'aot', 'wrapper', 'kernel'"):
        depyf.debug(level="bytecode")
    with pytest.raises(depyf.DepyfError, match="'nan' or 'inf'"):
        depyf.debug(stop_on="zero")
    with pytest.raises(depyf.DepyfError, match="wrapper"):
        depyf.debug(stop_on="nan", level="wrapper")
