"""The pages of a program that is compiled ahead of time are those of the same program compiled at a call, but for what
the way changes.

What it changes (``docs/explanation/ways_to_compile.md`` lists it; everything else is compared to the letter):

- the head of a page, and what it says of a call that does not fit: torch compiles again, or the call raises;
- torch leaves guards on globals, on closures and on functions out of what is compiled ahead of time;
- Dynamo's bytecode is stored, so that it runs, not the proven text;
- the backward is compiled with the forward, not when it first runs;
- the line of the program that led to it compiles and does not call;
- torch asks the cache of AOTAutograd, and does not time the whole compilation.
"""

from __future__ import annotations

import dataclasses
import json
import math
import re
import textwrap

import pytest
import torch
import torch._inductor.utils
import torch.nn.functional as F

import depyf
from depyf.actions.explaining.shown_guards import brief
from depyf.run.store.loading import load

pytest.importorskip("torch._dynamo.aot_compile")
pytestmark = pytest.mark.torch
FACTOR = 2.0


def plain(x):
    y = x.sin() + 1
    return y * 2


def keyword(x, *, scale):
    return x.cos() * scale


def branch(x, flag):
    return x + 1 if flag else x - 1


def of_global(x):
    return x * FACTOR


def loop(x):
    for n in range(3):
        x = x + n
    return x


def unused(x, other):
    return x.relu()


def helper(x, factor=3.0, *, clamp=True):
    y = x * factor
    return y.clamp(min=0) if clamp else y


def inlined(x):
    return helper(x) + helper(x + 1, 2.0)


class Attention(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv, self.out = torch.nn.Linear(8, 24), torch.nn.Linear(8, 8)

    def forward(self, x, mask=None):
        q, k, v = self.qkv(x).chunk(3, dim=-1)
        weights = q @ k.transpose(-1, -2) / math.sqrt(8)
        if mask is not None:
            weights = weights.masked_fill(mask, float("-inf"))
        return x + self.out(F.softmax(weights, dim=-1) @ v)


class Counting(torch.nn.Module):
    """A buffer is changed in place."""

    def __init__(self):
        super().__init__()
        self.register_buffer("seen", torch.zeros(3))

    def forward(self, x):
        self.seen.add_(x.sum(0))
        return x * self.seen


class Nested(torch.nn.Module):
    def __init__(self):
        super().__init__()
        layers = [torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU()) for _ in range(2)]
        self.blocks, self.heads = torch.nn.ModuleList(layers), torch.nn.ModuleDict({"a": torch.nn.Linear(4, 2)})

    def forward(self, x):
        for block in self.blocks:
            x = x + block(x)
        return self.heads["a"](x)


@dataclasses.dataclass
class Settings:
    scale: float
    shift: torch.Tensor
    mode: str = "add"


def configured(x, *, settings, bias=None):
    y = x * settings.scale
    if settings.mode == "add":
        y = y + settings.shift
    return y if bias is None else y + bias


def several_results(x, table):
    one, (two, three) = table["one"], table["pair"]
    return {"sum": x + one, "pair": (x * two, [x - three]), "n": 3}, x.shape[0]


def sized(x):
    if x.shape[0] > 3:
        return x.sin().sum(0) * x.shape[0]
    return x.cos().sum(0)


def loss(x, weight, target):
    return F.mse_loss(torch.tanh(x @ weight), target)


def cast(x, weight):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        y = x @ weight
    return y.float() + 1


def closed(scale, offsets):
    def inner(x):
        for offset in offsets:
            x = x + offset * scale
        return helper(x)

    return inner


def defaults(x, n=2, *others, scale=1.5, **named):
    for other in others:
        x = x + other * n
    return x * scale + named.get("y", 0)


def in_place(x, out, kept):
    out.copy_(x * 2)
    kept[0].add_(out)
    kept.append(out)
    return out.view(-1)


def leading_dim_marked():
    x = torch.ones(5, 2)
    torch._dynamo.mark_dynamic(x, 0)
    return x


def ones(*sizes, **options):
    return torch.ones(*sizes, **options)


CASES = {
    "plain": lambda: (plain, (ones(3),), {}),
    "keyword": lambda: (keyword, (ones(3),), {"scale": 4}),
    "branch": lambda: (branch, (ones(3), True), {}),
    "global": lambda: (of_global, (ones(3),), {}),
    "loop": lambda: (loop, (ones(3),), {}),
    "unused": lambda: (unused, (ones(3), ones(2)), {}),
    "inlined": lambda: (inlined, (ones(3),), {}),
    "gradient": lambda: (plain, (ones(3, requires_grad=True),), {}),
    "attention": lambda: (Attention().forward, (ones(2, 4, 8), torch.zeros(4, 4, dtype=torch.bool)), {}),
    "buffer": lambda: (Counting().forward, (ones(4, 3),), {}),
    "nested modules": lambda: (Nested().forward, (ones(2, 4),), {}),
    "dataclass": lambda: (configured, (ones(3),), {"settings": Settings(2.0, ones(3)), "bias": ones(3)}),
    "several results": lambda: (several_results, (ones(3), {"one": ones(3), "pair": (ones(3), 2.0)}), {}),
    "a size that varies": lambda: (sized, (leading_dim_marked(),), {}),
    "training": lambda: (loss, (ones(2, 3), ones(3, 2, requires_grad=True), ones(2, 2)), {}),
    "autocast": lambda: (cast, (ones(2, 3), ones(3, 2)), {}),
    "closure": lambda: (closed(2, [ones(3), 4.0]), (ones(3),), {}),
    "defaults": lambda: (defaults, (ones(3), 3, ones(3), ones(3)), {"y": ones(3)}),
    "arguments changed in place": lambda: (in_place, (ones(2, 3), ones(2, 3), [ones(2, 3)]), {}),
}


@dataclasses.dataclass
class Dumped:
    """A recording of one way, and what depyf answers after it."""

    run: object
    pages: dict[str, str]
    explained: list[str]
    why: list[list[str]]
    guards_on_globals: list[str]
    """As ``explain`` writes them."""

    def part(self, start):
        """The pages whose names begin so."""
        return {name: text for name, text in self.pages.items() if name.startswith(start)}


def recorded(folder, case, ahead, backend="aot_eager"):
    """Compile a program one way and call it, the backward included; ask why calls run, and why they do not."""
    torch._dynamo.reset()
    torch.manual_seed(0)
    function, args, kwargs = CASES[case]()
    with (
        torch._inductor.utils.fresh_cache(),
        depyf.prepare_debug(str(folder)),
    ):  # torch's own is of all programs of the machine
        made = torch.compile(function, fullgraph=True, backend=backend)
        made = made.aot_compile((args, kwargs)) if ahead else made
        front = (function.__self__,) if ahead and hasattr(function, "__self__") else ()
        result = made(*front, *args, **kwargs)
        if isinstance(result, torch.Tensor) and result.requires_grad:  # at a call the backward is compiled when it runs
            result.sum().backward()
    pages = {path.name: path.read_text() for path in folder.iterdir()}
    _, args, kwargs = CASES[case]()
    asked = [depyf.why(made, *front, *args, **kwargs), depyf.why(made, *front, args[0].double(), *args[1:], **kwargs)]
    whys = [str(one).splitlines() for one in asked]
    report = depyf.explain(made)
    expressions = [guard.expression for entry in report.entries for guard in entry.guards]
    of_globals = [f"    guard {brief(text)}" for text in expressions if "G[" in text]
    return Dumped(load(folder), pages, str(report).splitlines(), whys, of_globals)


def statements(text):
    """A transformed page without its head, which says whether this text runs."""
    return "\n".join(line for line in text.splitlines() if not line.startswith("# "))


def guards_of(text):
    """The guards of a page, one a line, without their numbers: others stand between them."""
    body = re.search(r"def guards_0_0\(L, G\):.*?return \((.*?)\n    \)", text, re.S)[1]
    joined = " ".join(textwrap.dedent(re.sub(r"^ *#.*$", "", body, flags=re.M)).split())
    joined = re.sub(r"guard_0_0\[\d+\]", "guard_0_0[N]", joined)
    return [guard.strip() for guard in re.split(r" and (?=\w+\(|\w|\d)", joined)]


def index_lines(text):
    """The index without what the way changes: who led to it, the number of guards, what is left out, torch's caches."""
    text = re.sub(r"\n## Guards left out\n.*?(?=\n## |\Z)", "", text, flags=re.S)
    text = re.sub(r"(called|compiled) at test_same_pages\.py:\d+ `.*?`:", "LED TO", text)
    text = re.sub(r"(compiled|compiled ahead of time), \d+ guards", "MADE", text)
    return re.sub(r"\| [^|]*\|$", "| CACHES |", text, flags=re.M)


def same_pages(called, ahead):
    for one in (called, ahead):
        one.pages.pop("bill.md", None)  # of guards by line, where there are many of them
    assert called.pages.keys() == ahead.pages.keys()
    for start in ("__compiled_fn_", "__source_of_", "__original_code_", "shapes", "memory", "layers", "breaks"):
        assert called.part(start) == ahead.part(start)
    transformed = called.part("__transformed_code_")
    assert transformed
    for name, text in transformed.items():
        assert statements(text) == statements(ahead.pages[name])
    assert index_lines(called.pages["index.md"]) == index_lines(ahead.pages["index.md"])


def same_guards(called, ahead):
    (name,) = called.part("full_code_for_")
    mine, theirs = guards_of(ahead.pages[name]), guards_of(called.pages[name])
    assert [guard for guard in mine if guard not in theirs] == []
    left_out = [guard for guard in theirs if guard not in mine]
    assert all("G[" in guard or "same_object" in guard or "__closure__" in guard for guard in left_out), left_out
    assert "refuse(L)" in ahead.pages[name]
    assert "recompile_limit" not in ahead.pages[name]
    at_call, before = listed_guards(called, "guards"), listed_guards(ahead, "guards")
    assert [guard for guard in before if guard not in at_call] == []
    told = [guard["expression"] for guard in (*before, *listed_guards(ahead, "left_out"))]
    assert [guard["expression"] for guard in at_call if guard["expression"] not in told] == []


def listed_guards(one, of):
    """The guards of the entry in ``guards.json``, those that are left out or the others; without torch's number of the
    globals."""
    listed = json.loads(re.sub(r"__builtins_dict___\d+", "__builtins_dict__", one.pages["guards.json"]))
    (entry,) = listed["entries"]
    return [listed["guards"][number] for number in entry.get(of, ())]


def same_answers(called, ahead):
    lines = [re.sub(r", (ahead of time|compiled in [\d.]+ s)$", "", line) for line in called.explained]
    ours = [re.sub(r", (ahead of time|compiled in [\d.]+ s)$", "", line) for line in ahead.explained]
    of_torch = re.compile(r"    and \d+ guards? on torch's own state, modules and functions")
    left_out = [line for line in lines if line not in ours and not of_torch.fullmatch(line)]
    left_out = [line.partition("  # ")[0] for line in left_out if "no guard on the hooks of self" not in line]
    assert [line for line in left_out if line not in called.guards_on_globals] == []
    added = "\n".join(line for line in ours if line not in lines and not of_torch.fullmatch(line))
    assert re.fullmatch(r"(    \d+ guards? left out: .*(\n      .*)*)?", added), added
    assert called.why[0][0].endswith(": cache entry 0/0 runs")
    assert ahead.why[0][0].endswith(": runs as it was compiled ahead of time (0/0)")
    assert called.why[1][1:] == ahead.why[1][1:]


def same_records(called, ahead):
    ((first, one),), ((second, other),) = called.run.entries, ahead.run.entries
    assert first.code == second.code
    assert (one.key, one.state, one.word, one.breaks) == (other.key, other.state, other.word, other.breaks)
    assert [graph.stage for graph in called.run.graphs] == [graph.stage for graph in ahead.run.graphs]


@pytest.mark.parametrize("case", CASES)
def test_pages_differ_only_by_the_way(case, tmp_path):
    called, ahead = (recorded(tmp_path / str(way), case, way) for way in (False, True))
    same_pages(called, ahead)
    same_guards(called, ahead)
    same_answers(called, ahead)
    same_records(called, ahead)


def test_kernels_are_the_same(tmp_path):
    """torch numbers the graphs of a process: that number is in the code of Inductor."""
    with torch._inductor.utils.fresh_cache():
        called, ahead = (recorded(tmp_path / str(way), "a size that varies", way, "inductor") for way in (False, True))
    for one in (called, ahead):
        for name, text in one.part("__compiled_fn_").items():
            one.pages[name] = re.sub(r"AOT ID: \['\d+_", "AOT ID: ['N_", text)
    assert any("kernel" in name for name in called.pages)
    same_pages(called, ahead)
