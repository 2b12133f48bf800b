"""The pages of a program that is compiled ahead of time are those of the same program compiled at a call, but for what
the way changes.

What it changes (everything else is compared to the letter):

- the head of the page, and what it says of a call that does not fit: torch compiles again, or the call raises;
- torch leaves guards on globals, on closures and on functions out of what is compiled ahead of time;
- Dynamo's bytecode is stored, so that it runs, not the proven text;
- the backward is compiled with the forward, not when it first runs.
"""

from __future__ import annotations

import re
import textwrap

import pytest
import torch

import depyf
from depyf.run.store.loading import load

pytest.importorskip("torch._dynamo.aot_compile")
pytestmark = pytest.mark.torch
FACTOR = 2.0


def plain(x):
    y = x.sin() + 1
    return y * 2


def default(x, by=3):
    return x * by


def keyword(x, *, scale):
    return x.cos() * scale


def branch(x, flag):
    return x + 1 if flag else x - 1


def containers(x, pair, table):
    return {"sum": x + pair[0], "rest": [table["k"] * pair[1]]}


def of_global(x):
    return x * FACTOR


def loop(x):
    for n in range(3):
        x = x + n
    return x


def mutated(x, out):
    out.add_(x)
    return out * 2


def unused(x, other):
    return x.relu()


def helper(x):
    return x.exp()


def inlined(x):
    return helper(x) + helper(x + 1)


def closed(scale):
    def inner(x):
        return x * scale

    return inner


CASES = {
    "plain": (plain, (torch.ones(3),), {}),
    "default": (default, (torch.ones(3),), {}),
    "keyword": (keyword, (torch.ones(3),), {"scale": 4}),
    "branch": (branch, (torch.ones(3), True), {}),
    "containers": (containers, (torch.ones(3), (torch.ones(3), 5), {"k": torch.ones(3)}), {}),
    "global": (of_global, (torch.ones(3),), {}),
    "loop": (loop, (torch.ones(3),), {}),
    "mutated": (mutated, (torch.ones(3), torch.ones(3)), {}),
    "unused": (unused, (torch.ones(3), torch.ones(2)), {}),
    "inlined": (inlined, (torch.ones(3),), {}),
    "closure": (closed(3), (torch.ones(3),), {}),
    "gradient": (plain, (torch.ones(3, requires_grad=True),), {}),
}


def dumped(folder, call):
    torch._dynamo.reset()
    with depyf.prepare_debug(str(folder)):
        kept = call()
    assert kept is not None
    return load(folder), {path.name: path.read_text() for path in folder.glob("*.py")}


def part(pages, start):
    """The pages whose names begin so."""
    return {name: text for name, text in pages.items() if name.startswith(start)}


def statements(text):
    """A transformed page without its head, which says whether this text runs."""
    return "\n".join(line for line in text.splitlines() if not line.startswith("# "))


def guards_of(text):
    """The guards of a page, one a line, without their numbers: others stand between them."""
    body = re.search(r"def guards_0_0\(L, G\):.*?return \((.*?)\n    \)", text, re.S)[1]
    joined = " ".join(textwrap.dedent(re.sub(r"^ *#.*$", "", body, flags=re.M)).split())
    joined = re.sub(r"guard_0_0\[\d+\]", "guard_0_0[N]", joined)
    return [guard.strip() for guard in re.split(r" and (?=\w+\(|\w|\d)", joined)]


@pytest.mark.parametrize("case", CASES)
def test_pages_differ_only_by_the_way(case, tmp_path):
    function, args, kwargs = CASES[case]

    def compiled(ahead):
        made = torch.compile(function, fullgraph=True, backend="aot_eager")
        made = made.aot_compile((args, kwargs)) if ahead else made
        result = made(*args, **kwargs)
        if case == "gradient":  # at a call the backward is compiled when it runs
            result.sum().backward()
        return made

    at_call, called = dumped(tmp_path / "call", lambda: compiled(False))
    before, ahead = dumped(tmp_path / "ahead", lambda: compiled(True))

    assert called.keys() == ahead.keys()
    assert part(called, "__compiled_fn_") == part(ahead, "__compiled_fn_")
    assert part(called, "__source_of_") == part(ahead, "__source_of_")
    transformed = [part(pages, "__transformed_code_") for pages in (called, ahead)]
    assert transformed[0].keys() == transformed[1].keys()
    for name, text in transformed[0].items():
        assert statements(text) == statements(transformed[1][name])

    (name,) = part(called, "full_code_for_")
    mine, theirs = guards_of(ahead[name]), guards_of(called[name])
    assert [guard for guard in mine if guard not in theirs] == []
    left_out = [guard for guard in theirs if guard not in mine]
    assert all("G[" in guard or "same_object" in guard or "__closure__" in guard for guard in left_out), left_out
    assert "refuse(L)" in ahead[name]
    assert "recompile_limit" not in ahead[name]

    ((first, one),), ((second, other),) = at_call.entries, before.entries
    assert first.code == second.code
    assert (one.key, one.state, one.word, one.breaks) == (other.key, other.state, other.word, other.breaks)
    assert [graph.stage for graph in at_call.graphs] == [graph.stage for graph in before.graphs]
