"""``depyf.debug(level="kernel")``: a real pdb steps through generated Triton kernels; what they compute stays the same."""

from __future__ import annotations

import importlib.util
import os
import re
import sys
from pathlib import Path

import pytest
from dumps import ROOT, run_python
from terminal import Terminal

pytestmark = pytest.mark.torch

BESIDE = Path(sys.prefix) / "triton"
"""Where ``make env`` puts triton for these tests: torch behaves differently where it is installed."""
if importlib.util.find_spec("triton") is None and not BESIDE.is_dir():
    pytest.skip("needs triton (its interpreter; no GPU)", allow_module_level=True)
ENVIRONMENT = {
    "PYTHONPATH": os.pathsep.join(
        [str(ROOT / "src"), str(ROOT / "tests" / "torch"), str(BESIDE), os.environ.get("PYTHONPATH", "")]
    )
}

PROGRAM = """
import sys
import torch
from triton_on_cpu import DEVICE
import depyf
def layer(x, w):
    h = torch.erf(x @ w)
    return (h * 2).sum(-1)
fn = torch.compile(layer)
x, w = torch.ones(3, 4, device=DEVICE), torch.full((4, 5), 0.1, device=DEVICE)
with depyf.debug(level="kernel"):
    made = fn(x, w)
torch.testing.assert_close(made, layer(x, w))
print("LEFT")
"""

OPERATIONS = """
import random
import sys
import triton, triton.language as tl, triton.runtime.interpreter as interpreter
import torch
import torch.nn.functional as F
from torch._inductor.async_compile import AsyncCompile
from torch._inductor.codecache import PyCodeCache
from triton.runtime.jit import JITFunction
from triton_on_cpu import DEVICE
import depyf

torch.manual_seed(0)
x, y = torch.randn(9, 33, device=DEVICE), torch.rand(9, 33, device=DEVICE)
i = torch.randint(0, 9, (17,), device=DEVICE)
n = torch.randint(-50, 50, (9, 33), device=DEVICE)

def pointwise(x, y):
    z = torch.sin(x) + y.sqrt().rsqrt() + torch.tanh(x) * torch.log1p(y) + F.gelu(x) + torch.expm1(-y) + F.silu(x)
    return z, torch.where(x > 0, x.exp2(), y ** 3), x.floor() + x.ceil() + x.round() + x.trunc(), torch.hypot(x, y), torch.lgamma(y + 1)
def reductions(x, y):
    return x.sum(), x.mean(0), x.amax(1), x.argmin(1), torch.var_mean(x, 1), (x > 1).any(1), (x > -9).all(), x.prod(1), torch.logsumexp(x, 1)
def softmax(x, y):
    return F.softmax(x, -1), F.log_softmax(y, 0), F.layer_norm(x, (33,)), F.cross_entropy(x, i[:9])
def scans(x, y):
    return x.cumsum(1), y.cumprod(1), torch.sort(x, 1)[0], torch.cummax(x, 1)[0]
scanned = [scans] if hasattr(interpreter.InterpreterBuilder, "get_int1_ty") else []  # Triton's interpreter since 3.3: of tuples
def indexing(x, y):
    return x[i], x.index_add(0, i, x[i]), F.embedding(i, y), torch.gather(x, 1, i[None].expand(9, 17)), x.flip(0), F.pad(x, (1, 2))
def integers(x, y):
    return n // 7, n % 7, n.abs(), n & 3, n << 2, n ^ 5, (n > 3) | (n < -3), n.float(), n.to(torch.int8), torch.clamp(n, -3, 3), -n
def pooling(x, y):
    return F.max_pool2d(x[None, None], 3), F.avg_pool2d(y[None, None], 2), F.interpolate(x[None, None], scale_factor=2.0, mode="bilinear")
def halves(x, y):
    return (x.half() + y.half()) * 2, x.bfloat16().sum(1), x.double().erfc()

STATE = (tl, tl.core, tl.math, tl.standard, tl.tensor, tl.dtype, AsyncCompile, JITFunction, interpreter.InterpretedFunction, interpreter.InterpreterBuilder)
def state():
    return [dict(vars(owner)) for owner in STATE] + [dict(interpreter.InterpretedFunction.rewritten_fn), list(PyCodeCache.modules)]
wrong = []
for function in (pointwise, reductions, softmax, *scanned, indexing, integers, pooling, halves):
    before = state()
    with depyf.debug(level="kernel"):
        got = torch.compile(function)(x, y)
    assert state() == before, function
    want = function(x, y)
    for number, (a, b) in enumerate(zip(torch.utils._pytree.tree_leaves(got), torch.utils._pytree.tree_leaves(want))):
        try:
            torch.testing.assert_close(a, b, rtol=2e-2 if function is halves else 1e-4, atol=1e-2 if function is halves else 1e-4)
        except AssertionError as error:
            wrong.append((function.__name__, number, str(error)))
p = torch.randn(33, 5, device=DEVICE, requires_grad=True)
def training(x, p):
    return (F.layer_norm(torch.relu(x @ p), (5,)) ** 2).mean()
with depyf.debug(level="kernel"):
    torch.compile(training)(x, p).backward()
made, p.grad = p.grad, None
training(x, p).backward()
torch.testing.assert_close(made, p.grad)
print("WRONG", wrong)
"""


def test_pdb_steps_through_a_kernel(tmp_path):
    script = tmp_path / "program.py"
    script.write_text(PROGRAM)
    terminal = Terminal([str(script)], env=ENVIRONMENT, alone=True)
    directory = Path(re.search(r"runs is in (\S+)", terminal.first)[1])
    answer = terminal.command("c", "what is about to run is in")  # the wrapper and its kernels
    kernels = [Path(name) for name in re.findall(r"\S+triton_\w+\.py", answer)]
    kernel = next(path for path in kernels if "erf" in path.name)
    assert kernel.parent == directory
    line = terminal.line(kernel.name, "libdevice.erf(", directory)
    terminal.command(f"tbreak {kernel}:{line}, tl.program_id(0) == 0", "reakpoint")
    terminal.command("c", f"{kernel.name}({line})")
    terminal.command("p tl.program_id(0)", "0")
    place = terminal.command("import depyf; print(depyf.where())", "kernel generated by Inductor")
    assert re.search(r"program.py:[78] in layer: ", place)  # one of the lines that the kernel fuses
    terminal.command("n", f"{kernel.name}({line + 1})")
    terminal.command("p 'value', tmp1" if "tmp1 =" in kernel.read_text().split("\n")[line - 1] else "p locals()", "0.4")
    terminal.command("up", "")
    terminal.child.sendline("c")
    assert "LEFT" in terminal.end()


def test_what_kernels_compute_in_the_interpreter(tmp_path):
    script = tmp_path / "program.py"
    script.write_text(OPERATIONS)
    done = run_python(str(script), env=ENVIRONMENT, alone=True)
    assert done.returncode == 0, done.stderr[-4000:]
    assert "WRONG []" in done.stdout, done.stdout[-6000:]


USER_KERNELS = """
import sys
import torch
from triton_on_cpu import DEVICE
import triton, triton.language as tl
import depyf
from depyf.run.places.where import where_is

@triton.jit
def fma(a, b, c):
    return a * b + c

@triton.jit
def scale_add(x_ptr, y_ptr, out_ptr, n, factor, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    y = tl.load(y_ptr + offsets, mask=mask)
    z = fma(x, factor, y)
    tl.store(out_ptr + offsets, z, mask=mask)

@triton.autotune(configs=[triton.Config({"ROWS": 4, "COLS": 8}), triton.Config({"ROWS": 2, "COLS": 16})], key=["n"])
@triton.jit
def double_in_place(x_ptr, bias_ptr, m, n, ROWS: tl.constexpr, COLS: tl.constexpr):
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None]
    columns = tl.program_id(1) * COLS + tl.arange(0, COLS)[None, :]
    mask = (rows < m) & (columns < n)
    value = tl.load(x_ptr + rows * n + columns, mask=mask) * 2
    if bias_ptr is not None:
        value += tl.load(bias_ptr + columns, mask=columns < n)
    tl.store(x_ptr + rows * n + columns, value, mask=mask)

def fixed(x, y):
    out = torch.empty_like(x)
    n = x.numel()
    scale_add[(triton.cdiv(n, 16),)](x, y, out, n, 3.0, BLOCK=16)
    return out.sin() + 1

def tuned(x, bias):
    made = x + 1
    m, n = made.shape
    grid = lambda meta: (triton.cdiv(m, meta["ROWS"]), triton.cdiv(n, meta["COLS"]))
    double_in_place[grid](made, bias, m, n)
    return made.cos()

x, y = torch.arange(40.0, device=DEVICE), torch.ones(40, device=DEVICE)
table, bias = torch.randn(9, 33, device=DEVICE), torch.randn(33, device=DEVICE)
stops = set()
def trace(frame, event, argument):
    if event == "line" and ".kernel_0." in frame.f_code.co_filename:
        stops.add((frame.f_code.co_filename, frame.f_lineno))
    return trace
torch._dynamo.eval_frame.skip_code(trace.__code__)
for function, args, want in (
    (fixed, (x, y), torch.sin(x * 3 + y) + 1),
    (tuned, (table, bias), torch.cos((table + 1) * 2 + bias)),
    (tuned, (table, None), torch.cos((table + 1) * 2)),
):
    with depyf.debug(level="kernel"):
        sys.settrace(trace)
        got = torch.compile(function)(*args)
        sys.settrace(None)
    torch.testing.assert_close(got, want)
for kernel, text, call in (("scale_add", "z = fma(x, factor, y)", "scale_add[("), ("double_in_place", "value = tl.load(x_ptr", "double_in_place[grid]")):
    found = [(file, line) for file, line in stops if kernel in file and text in open(file).read().splitlines()[line - 1]]
    assert found, (kernel, sorted(stops))
    place = where_is(*found[0])
    assert place.stage == "kernel generated by Inductor", place
    # wrappers of torch before 2.10 do not say which lines of the program call its own kernels
    assert call in place.user_code or torch.__version__ < "2.10" and not place.user_code, place
print("FINE")
"""


def test_kernels_that_the_user_wrote(tmp_path):
    """Kernels called in a compiled function, one with a fixed grid, one that is tuned, one without a pointer."""
    script = tmp_path / "program.py"
    script.write_text(USER_KERNELS)
    done = run_python(str(script), env=ENVIRONMENT | {"DEPYF_NO_PAUSE": "1"}, alone=True)
    assert done.returncode == 0, done.stderr[-4000:]
    assert "FINE" in done.stdout and "is not stepped" not in done.stderr


def test_without_triton_it_says_what_is_missing(tmp_path):
    (tmp_path / "triton.py").write_text("raise ImportError('not here')\n")
    program = tmp_path / "program.py"
    program.write_text("import depyf\nwith depyf.debug(level='kernel'):\n    pass\n")
    done = run_python(str(program), env={"PYTHONPATH": str(tmp_path)}, alone=True)
    assert done.returncode == 1
    assert "DepyfError" in done.stderr and "needs triton and numpy" in done.stderr


def test_a_program_of_cpp_kernels_says_so(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        "import torch, depyf\n"
        "with depyf.debug(level='kernel'):\n"
        "    print(torch.compile(lambda x: x.sin() + 1)(torch.ones(3)).sum().item())\n"
    )
    done = run_python(str(program), env=ENVIRONMENT, alone=True)
    assert done.returncode == 0, done.stderr
    if "cuda" not in done.stdout:
        assert "calls no Triton kernel" in done.stderr
