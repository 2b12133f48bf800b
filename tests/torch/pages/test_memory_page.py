"""``memory.md``: what it says is kept is what torch's autograd node really keeps."""

from __future__ import annotations

import re

import pytest
import torch
import torch.nn.functional as F
from dumps import check_dump
from torch.utils.checkpoint import checkpoint

import depyf


class Mlp(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = torch.nn.Linear(8, 32), torch.nn.Linear(32, 8)

    def forward(self, x):
        return self.second(F.gelu(self.first(x))).sin()


class Convolutions(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.norm = torch.nn.Conv2d(3, 4, 3), torch.nn.BatchNorm2d(4)

    def forward(self, x):
        return F.max_pool2d(F.relu(self.norm(self.conv(x))), 2) * 2


class Attention(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv = torch.nn.Linear(16, 48)

    def forward(self, x):
        q, k, v = self.qkv(x).chunk(3, -1)
        scores = (q @ k.transpose(-1, -2)).softmax(-1)
        return F.dropout(scores, 0.25) @ v + x.expand_as(x)


class Checkpointed(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = Mlp()

    def forward(self, x):
        return checkpoint(self.inner, x, use_reentrant=False).exp()


class Twice(torch.nn.Module):
    """A result that is kept, returned and viewed."""

    def __init__(self):
        super().__init__()
        self.w = torch.nn.Parameter(torch.ones(4, 6))

    def forward(self, x):
        y = (x @ self.w).exp()
        return y, y.flatten().tanh()


def really_kept(module, inputs, results):
    """The bytes of the storages that the autograd node keeps beyond parameters, buffers and inputs."""
    known = {t.untyped_storage().data_ptr() for t in (*module.parameters(), *module.buffers(), *inputs)}
    nodes = [r.grad_fn for r in results if r.grad_fn is not None]
    node = next(n for n in nodes if type(n).__name__ == "CompiledFunctionBackward")
    storages = {
        t.untyped_storage().data_ptr(): t.untyped_storage().nbytes() for t in node.saved_tensors if t is not None
    }
    return sum(size for pointer, size in storages.items() if pointer not in known)


PROGRAMS = {
    "mlp": (Mlp, (5, 8)),
    "convolutions": (Convolutions, (2, 3, 10, 10)),
    "attention": (Attention, (2, 7, 16)),
    "checkpointed": (Checkpointed, (5, 8)),
    "twice": (Twice, (3, 4)),
}


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("name", PROGRAMS)
def test_what_is_kept_is_what_torch_keeps(name, dynamic, tmp_path):
    torch.manual_seed(0)
    torch._dynamo.reset()
    make, shape = PROGRAMS[name]
    module, x = make(), torch.randn(shape)
    with depyf.prepare_debug(tmp_path):
        results = torch.compile(module, backend="aot_eager", dynamic=dynamic)(x)
        results = results if isinstance(results, tuple) else (results,)
        kept = really_kept(module, (x,), results)
        sum(r.sum() for r in results).backward()
    page = (tmp_path / "memory.md").read_text()
    row = next(line for line in page.splitlines() if line.startswith("| `") and "0/0" in line)
    told = row.split("|")[2].strip()
    assert told == (f"{kept} B" if kept < 10_000 else f"{kept / 1024:.1f} KiB"), page
    if dynamic:
        assert re.search(r"\d B = `[^`]*x\.size\(\d\)", page), "the formula names the program's sizes"
    assert "test_memory_page.py:" in page
    torch._dynamo.reset()


def test_inductor_plans_and_recomputes(tmp_path):
    torch._dynamo.reset()
    module, x = Mlp(), torch.randn(64, 8)
    fresh = torch._inductor.config.patch(fx_graph_cache=False)
    with fresh, torch._functorch.config.patch(enable_autograd_cache=False), depyf.prepare_debug(tmp_path):
        result = torch.compile(module)(x)
        kept = really_kept(module, (x,), (result,))
        result.sum().backward()
        with torch.no_grad():
            torch.compile(module)(x)
    manifest = check_dump(tmp_path)
    assert {"file": "memory.md", "kind": "memory", "from": []} in manifest["files"]
    page = (tmp_path / "memory.md").read_text()
    assert "Computed again in the backward" in page and "`erf`" in page
    assert "Given, no memory more: 1 parameter, 1 input" in page
    rows = [line.split("|") for line in page.splitlines() if line.startswith("| `Mlp.forward`")]
    assert rows[0][2].strip() == f"{kept / 1024:.1f} KiB"
    assert all("buffer" in cell for cell in rows[0][5:7]) and "buffer" in rows[1][5] and "no backward" in rows[1][2]
    section = (tmp_path / "index.md").read_text().split("## Kept for the backward")[1].split("\n## ")[0]
    assert "`return self.second(F.gelu(self.first(x))).sin()`" in section and len(section.strip().splitlines()) == 1
    torch._dynamo.reset()


def test_no_page_without_training(tmp_path):
    torch._dynamo.reset()
    with depyf.prepare_debug(tmp_path):
        torch.compile(torch.sin, backend="eager")(torch.ones(3))
    assert not (tmp_path / "memory.md").exists()
