"""No page and no message has broken joins: a preposition twice, a quotation or a bracket that nothing closes.

The program has long lines and values with quotes of every kind, breaks in libraries and in lines that torch does not name.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from dumps import ROOT

pytestmark = pytest.mark.torch

PROGRAM = """
import logging, warnings
import torch
import depyf
LONG = "it's a very long mode \\"quoted\\" `ticks` that goes on and on and on and on and on and on and on and on and on"
class Attn(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.calls, self.lin = 0, torch.nn.Linear(8, 8)
    def forward(self, x, mode=LONG):
        self.calls += 1
        if mode == "it's a very long mode \\"quoted\\" `ticks` that goes on and on and on and on and on and on and on and on": return x
        return self.lin(x) * self.calls
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.h = torch.nn.ModuleList([Attn(), Attn()])
    def forward(self, x):
        for block in self.h:
            x = block(x)
        if x.sum() > 1e9: logging.getLogger("x").warning("a long 'message' with \\"quotes\\" and %s and more and more and more and more and more and more and more", x)
        return torch.tensor([float(x[0, 0].item()), 1.0]).sum() * x
def gb(x):
    torch._dynamo.graph_break()
    return x + 1
def loops(x):
    for i in range(3):
        print(f"it's {i}", end="")
        x = x + 1
    return x
def many(x, name):
    return x * len(name)
def catching(x):
    with warnings.catch_warnings():
        warnings.warn("it's 'odd")
    return x * 2
def fixed(x):
    return x.view(4, 4) + 1
net = torch.compile(Net(), backend="eager")
for n in (2, 3, 4):
    net(torch.randn(n, 8))
for f in (gb, loops, catching):
    compiled = torch.compile(f, backend="eager")
    for n in (2, 3):
        compiled(torch.ones(n))
        print(depyf.explain(compiled))
m = torch.compile(many, backend="eager")
for name in ("a", "it's a", 'b "c" d', "e" * 200, "it's " + "f" * 200, "`g`"):
    print(depyf.why(m, torch.ones(3), name))
    m(torch.ones(3), name)
x = torch.randn(4, 4)
torch._dynamo.mark_dynamic(x, 0)
try:
    torch.compile(fixed, backend="eager")(x)
except Exception:
    pass
for fn in (net, m):
    print(depyf.explain(fn))
"""

_WORD = "in|at|from|of|to|by|with|on"
_BROKEN = {
    "a word twice": re.compile(rf"\b({_WORD}|the|a|is|and) \1\b"),
    "two prepositions": re.compile(rf"\b(?:at|from|to|in) (?:{_WORD})\b"),
    "an empty place": re.compile(r"\( |\(\)|\(\(|, ,|,,|:\s*:|: ;|[\w.] ,|\.,|\s\.(?=\s|$)|(?<!\w):0\b"),
    "something of the process": re.compile(r"0x[0-9a-f]{6}|<\w+ object"),
}
_CALL = re.compile(r"[\w.]+\(\)")
_CODE = re.compile(r"(?<!`)(`+)(?!`)(.*?)(?<!`)\1(?!`)")
_TORCH = re.compile(
    r"^\s*(?:hint|torch|- hint|- torch)\b.*|^\s*- (?:Detected|Dynamo|Cannot|User|This|The) .*|^ *torch says.*"
)
"""What torch says is passed on as it is."""


def problems(text: str) -> list[str]:
    """The lines that are broken, each with what is wrong with it."""
    found = []
    for line in text.splitlines():
        if _TORCH.match(line):
            continue
        if line.count("`") % 2:
            found.append(f"a code span that is open: {line}")
        plain = _CALL.sub("CALL", _CODE.sub("CODE", re.sub(r"\\.", "x", line)))
        found += [f"{what}: {line}" for what, pattern in _BROKEN.items() if pattern.search(plain)]
        if plain.count("(") != plain.count(")") and "..." not in plain:
            found.append(f"brackets: {line}")
        quotes = re.findall('"', plain)
        apart = [*re.findall(r"(?<!\w)'(?=\w)", plain)], [*re.findall(r"(?<=[\w.])'(?!\w)", plain)]
        if len(quotes) % 2 or (len(apart[0]) != len(apart[1]) and '"' not in plain):
            found.append(f"a quotation that is open: {line}")
    return found


@pytest.mark.parametrize(
    "text",
    [
        "at in a line that torch did not name",
        "met in in f",
        "see `f(x",
        "raise ValueError('no such",
        "it says. , then",
        "in (f.py:3",
    ],
)
def test_what_is_broken_is_found(text: str) -> None:
    assert problems(text)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    folder = tmp_path_factory.mktemp("words")
    (folder / "prog.py").write_text(PROGRAM)
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", "depyf", "run", "--out", "dump", "prog.py"], cwd=folder, capture_output=True,
        text=True, env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT / "src")}, check=True,
    )  # fmt: skip
    return folder / "dump", done.stdout + done.stderr.partition("depyf: ")[2]


def test_pages(run: tuple[Path, str]) -> None:
    pages = sorted(run[0].glob("*.md"))
    assert len(pages) >= 1
    assert [f"{page.name}: {problem}" for page in pages for problem in problems(page.read_text())] == []


def test_terminal_explain_and_why(run: tuple[Path, str]) -> None:
    assert "Fix first" in run[1] and "does not run" in run[1] and "runs as ordinary Python" in run[1]
    assert problems(run[1]) == []
