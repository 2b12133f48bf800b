"""A line of a program leads to the kernels that compute it, forward and backward, and to no others; also from a warm cache."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from dumps import ROOT

import with_torch
from depyf.run.records import CompileKey
from depyf.views.report.dump_view import DumpView
from depyf.views.report.links.chain_links import LinkedPane, StageChain, chain

LIBRARY = """\
import torch


def centred(x, w):
    y = x - x.mean(-1, keepdim=True)
    return torch.tanh(y) @ w
"""
PROGRAM = """\
import torch
from library import centred


class Layer(torch.nn.Module):
    def __init__(self, a, b):
        super().__init__()
        self.up = torch.nn.Linear(a, b)

    def forward(self, x):
        h = self.up(x)
        return h * torch.sigmoid(h)


first, second = Layer(24, 32), Layer(32, 8)


@torch.compile
def model(x, w):
    a = centred(x, w)
    b = first(a)
    c = second(b)
    d = torch.softmax(c, -1)
    return d.sum(0), (x * 3).cos()


w = torch.randn(16, 24, requires_grad=True)
out, other = model(torch.randn(10, 16), w)
(out * torch.arange(8.0)).sum().backward()
"""
LINES = {text.strip(): number for number, text in enumerate(PROGRAM.split("\n"), 1)}


@pytest.fixture(scope="module")
def chains(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[DumpView, StageChain]]:
    folder = tmp_path_factory.mktemp("chain")
    (folder / "library.py").write_text(LIBRARY)
    (folder / "program.py").write_text(PROGRAM)
    environment = {**os.environ, "TORCHINDUCTOR_CACHE_DIR": str(folder / "cache"), "PYTHONPATH": str(ROOT / "src")}
    found = {}
    for name in ("cold", "warm"):
        command = [sys.executable, "-m", "depyf", "run", "--out", name, "program.py"]
        done = with_torch.run(command, cwd=folder, env=environment)
        assert done.returncode == 0, done.stderr
        found[name] = read(folder / name)
    return found


def read(folder: Path) -> tuple[DumpView, StageChain]:
    view = DumpView(folder)
    return view, chain(view, CompileKey(0, "0/0"))


@pytest.fixture(params=("cold", "warm"))
def linked(
    request: pytest.FixtureRequest, chains: dict[str, tuple[DumpView, StageChain]]
) -> tuple[DumpView, StageChain]:
    return chains[request.param]


def lit(linked: tuple[DumpView, StageChain], text: str) -> dict[str, list[str]]:
    """Kind of pane -> the lines that are lit directly where the line ``text`` of the program is selected."""
    view, found = linked
    pane = next(pane for pane in found.panes if pane.title == "program.py")
    line = LINES[text]
    numbers = pane.direct.get(line) or pane.around[line]
    result: dict[str, list[str]] = {}
    for other in found.panes:
        lines = texts(view, other)
        result.setdefault(other.kind, []).extend(
            lines[at - 1].strip() for at, own in sorted(other.direct.items()) if own & numbers
        )
    return result


def texts(view: DumpView, pane: LinkedPane) -> list[str]:
    text = view.text(pane.file)
    assert text is not None
    return text.split("\n")


def code(lines: list[str]) -> list[str]:
    return [line for line in lines if not line.startswith(("#", "//"))]


def test_all_stages_are_there(linked):
    kinds = [pane.kind for pane in linked[1].panes]
    assert list(dict.fromkeys(kinds)) == [
        "source", "bytecode", "transformed", "captured", "joint", "forward", "backward", "post-grad", "wrapper", "kernel",
    ]  # fmt: skip


def test_a_line_leads_to_its_kernel_and_to_no_other(linked):
    found = lit(linked, "d = torch.softmax(c, -1)")
    assert all("softmax" in line for line in code(found["captured"]))
    assert all("softmax" in line for line in code(found["wrapper"])) and len(code(found["wrapper"])) >= 2, found[
        "wrapper"
    ]
    assert not any("extern_kernels" in line for line in found["wrapper"])
    assert any(".exp()" in line for line in found["kernel"]), "the very instruction"
    assert not any("tanh" in line or "cos()" in line for line in found["kernel"])


def test_a_matrix_product_leads_to_the_library_and_not_to_a_kernel_of_another_line(linked):
    found = lit(linked, "a = centred(x, w)")  # a caller: its operations are in a function of another file
    products = [line for line in code(found["wrapper"]) if "extern_kernels" in line]
    assert [line for line in products if "addmm" in line] == [], "those are of Linear"
    assert len(products) == 2, "forward, and the gradient of w"
    assert any("tanh" in line for line in found["kernel"]) and not any("cos()" in line for line in found["kernel"])


def test_two_lines_in_one_kernel_are_told_apart(linked):
    """tanh and cos are computed by one kernel from one input."""
    found = lit(linked, "return d.sum(0), (x * 3).cos()")
    assert any("cos()" in line for line in found["kernel"]) and not any("tanh()" in line for line in found["kernel"])


def test_backward_lines_lead_to_the_forward_line_that_they_come_from(linked):
    view, found = linked
    backward = next(pane for pane in found.panes if pane.kind == "backward")
    lines = texts(view, backward)
    sums = [at for at, text in enumerate(lines, 1) if "aten.mm.default" in text and at in backward.direct]
    assert len(sums) == 5, "two for each Linear, one for the gradient of w"
    for at in sums:
        own = {
            texts(view, source)[line - 1].strip()
            for source in found.panes
            if source.kind == "source"
            for line, numbers in source.direct.items()
            if numbers & backward.direct[at]
        }
        assert own in ({"h = self.up(x)"}, {"return torch.tanh(y) @ w"}), (lines[at - 1], own)


def test_two_calls_of_one_line_are_told_apart(linked):
    """Selecting one of two Linear operations lights one product, not that of the other layer."""
    view, found = linked
    captured = next(pane for pane in found.panes if pane.kind == "captured")
    products = [at for at, text in enumerate(texts(view, captured), 1) if ".linear(" in text]
    assert len(products) == 2
    wrapper = next(pane for pane in found.panes if pane.kind == "wrapper")
    called = [
        {
            at
            for at, numbers in wrapper.direct.items()
            if numbers & captured.direct[product] and "extern_kernels" in texts(view, wrapper)[at - 1]
        }
        for product in products
    ]
    assert all(len(one) == 1 for one in called) and not called[0] & called[1]


def test_what_a_kernel_computes_leads_back_to_the_source(linked):
    found = linked[1]
    source = next(pane for pane in found.panes if pane.title == "program.py")
    for pane in found.panes:
        if pane.kind == "kernel" and "_softmax_" in pane.title and "backward" not in pane.title:
            numbers = frozenset().union(*pane.direct.values())
            lines = {line for line, own in source.direct.items() if own & numbers}
            assert LINES["d = torch.softmax(c, -1)"] in lines and LINES["h = self.up(x)"] not in lines
            return
    raise AssertionError("no kernel of softmax")
