"""What only a GPU shows: Triton kernels as Inductor launches them, CUDA graphs, gradients, and each page about them.

``tests/torch/stepping/test_triton_kernels.py`` runs such kernels in Triton's interpreter, without a GPU.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from dumps import ROOT, check_dump, files_of

from depyf.run.records import CompileKey
from depyf.views.report.dump_view import DumpView
from depyf.views.report.links.chain_links import chain

pytestmark = [
    pytest.mark.torch,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU that torch can use"),
]

TRAINING = """\
import sys
import torch
import torch.nn.functional as F

torch.manual_seed(0)
torch.use_deterministic_algorithms(True)


class Block(torch.nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.before, self.after = torch.nn.LayerNorm(width), torch.nn.LayerNorm(width)
        self.qkv, self.out = torch.nn.Linear(width, 3 * width), torch.nn.Linear(width, width)
        self.up, self.down = torch.nn.Linear(width, 4 * width), torch.nn.Linear(4 * width, width)

    def forward(self, x):
        b, t, c = x.shape
        q, k, v = (part.view(b, t, self.heads, -1).transpose(1, 2) for part in self.qkv(self.before(x)).chunk(3, -1))
        scores = (q @ k.transpose(-2, -1)) * (c // self.heads) ** -0.5
        x = x + self.out((scores.softmax(-1) @ v).transpose(1, 2).reshape(b, t, c))
        h = F.gelu(self.up(self.after(x)))
        return x + self.down(h)


model = torch.nn.Sequential(Block(64, 4), Block(64, 4), torch.nn.Linear(64, 32)).cuda()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
compiled = torch.compile(model, mode=sys.argv[1])
x, y = torch.randn(8, 16, 64, device="cuda"), torch.randint(0, 32, (8, 16), device="cuda")
for step in range(4):
    optimizer.zero_grad()
    with torch.autocast("cuda", torch.bfloat16):
        loss = F.cross_entropy(compiled(x).float().view(-1, 32), y.view(-1))
    loss.backward()
    optimizer.step()
    print(step, loss.item().hex(), *(p.grad.double().sum().item().hex() for p in list(model.parameters())[:3]))
"""


def run(folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    """In a process of its own, with a cache that no other run has filled."""
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")]),
        "TORCHINDUCTOR_CACHE_DIR": str(folder / f"cache{len(list(folder.iterdir()))}"),
        "CUBLAS_WORKSPACE_CONFIG": ":4096:8",
    }
    command = (sys.executable, *command)
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=500)


@pytest.mark.parametrize("mode", ["default", "reduce-overhead", "max-autotune-no-cudagraphs"])
def test_training_goes_as_without_depyf(mode: str, tmp_path: Path) -> None:
    """To the last bit, in CUDA graphs, too; and the dump and its report are whole."""
    (tmp_path / "train.py").write_text(TRAINING)
    alone = run(tmp_path, "train.py", mode)
    assert alone.returncode == 0, alone.stderr
    under = run(tmp_path, "-m", "depyf", "run", "--report", "--out", "dump", "train.py", mode)
    assert under.returncode == 0, under.stderr
    steps = [line for line in under.stdout.splitlines() if re.match(r"\d 0x|\d -0x", line)]
    assert steps == alone.stdout.splitlines() and len(steps) == 4
    assert not re.search(r"depyf.*(could not|failed)", under.stderr), under.stderr
    page = tmp_path / "dump" / "report.html"
    assert page.stat().st_size > 100_000
    page.unlink()  # the manifest lists what a dump is without it
    manifest = check_dump(tmp_path / "dump")
    kernels = files_of(manifest, kind="kernel_source")
    assert sum("@triton.jit" in (tmp_path / "dump" / name).read_text() for name in kernels) >= 5, kernels


PROGRAM = """\
import torch


@torch.compile
def model(x, w):
    a = x @ w
    b = torch.relu(a) * 0.5
    c = torch.softmax(b, -1)
    return c.sum(0), (x * 3).cos()


w = torch.randn(16, 24, device="cuda", requires_grad=True)
out, other = model(torch.randn(10, 16, device="cuda"), w)
(out * torch.arange(24.0, device="cuda")).sum().backward()
"""
LINES = {text.strip(): number for number, text in enumerate(PROGRAM.split("\n"), 1)}


@pytest.fixture(scope="module")
def dump(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("gpu")
    (folder / "program.py").write_text(PROGRAM)
    done = run(folder, "-m", "depyf", "run", "--record", "--out", "dump", "program.py")
    assert done.returncode == 0, done.stderr
    return folder / "dump"


def lit(dump: Path, text: str) -> list[str]:
    """The lines of kernels and wrappers that are lit where this line of the program is selected."""
    view = DumpView(dump)
    found = chain(view, CompileKey(0, "0/0"))
    source = next(pane for pane in found.panes if pane.title == "program.py")
    numbers = source.direct.get(LINES[text]) or source.around[LINES[text]]
    return [
        line
        for pane in found.panes
        if pane.kind in ("kernel", "wrapper")
        for at, own in sorted(pane.direct.items())
        if own & numbers and not (line := (view.text(pane.file) or "").split("\n")[at - 1].strip()).startswith("#")
    ]


def test_a_line_leads_to_lines_of_triton_kernels(dump: Path) -> None:
    softmax = lit(dump, "c = torch.softmax(b, -1)")
    assert any("exp" in line and "=" in line for line in softmax), softmax
    assert not any("cos(" in line or "extern_kernels.mm" in line for line in softmax), softmax
    product = lit(dump, "a = x @ w")
    assert any("extern_kernels.mm" in line for line in product), product
    cosine = lit(dump, "return c.sum(0), (x * 3).cos()")
    assert any("cos(" in line for line in cosine) and not any("exp(" in line for line in cosine), cosine


@pytest.mark.parametrize("command", [["repro", "dump", "0/0", "-o", "bug.py"], ["gallery", "dump", "-o", "scripts"]])
def test_scripts_made_of_a_dump_run(dump: Path, command: list[str]) -> None:
    folder = dump.parent
    done = run(folder, "-m", "depyf", *command)
    assert done.returncode == 0, done.stderr
    made = [folder / "bug.py"] if command[0] == "repro" else sorted((folder / "scripts").glob("**/*.py"))
    assert made
    for script in made:
        done = run(folder, str(script))
        assert "Traceback" not in done.stderr, (script.name, done.stderr)
        assert done.returncode == 0, (script.name, done.stdout)


def test_doctor_reads_a_program_on_a_gpu(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(
        "import torch\n"
        "@torch.compile\n"
        "def f(x):\n"
        "    y = x.sin()\n"
        "    if y.sum().item() > 0:\n"
        "        y = y * 2\n"
        "    return y.cpu()\n"
        "for n in (4, 5, 6):\n"
        "    f(torch.ones(n, device='cuda'))\n"
    )
    done = run(tmp_path, "-m", "depyf", "doctor", "program.py")
    assert "program.py:5" in done.stdout, done.stdout + done.stderr


def test_compare_calls_inductor_on_a_gpu_the_same() -> None:
    import depyf

    def net(x, w):
        return (torch.softmax(torch.tanh(x @ w), -1) * weights).sum()

    torch.manual_seed(0)
    weights = torch.randn(8, device="cuda")  # without them the true gradient is zero, and both compute noise
    x, w = torch.randn(8, 8, device="cuda"), torch.randn(8, 8, device="cuda", requires_grad=True)
    found = depyf.compare(net, x, w, backends=("eager", "inductor"))
    assert found and len(found.graphs) == 1, str(found)


def test_replay_calls_the_same_kernels() -> None:
    import depyf

    compiled = torch.compile(lambda x: torch.softmax(x.sin(), -1))
    x = torch.randn(5, 7, device="cuda")
    want = compiled(x)
    assert torch.equal(depyf.replay(compiled)(x), want)
