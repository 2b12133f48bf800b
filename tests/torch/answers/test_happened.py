"""What ``depyf diff`` and ``merge`` say happened differently, before they list files."""

from __future__ import annotations

import pytest
import torch
from commands import python
from dumps import check_dump

from depyf.api import prepare_debug
from depyf.run.records import CacheRecord
from depyf.views.compare.run_diff import events_apart
from run_records import entry, function, functions_of

pytestmark = pytest.mark.torch


def noisy(x, loud):
    y = x.sin()
    if loud:
        print(end="")
    return y + 1


def late(x):
    return x * 2


def dump(directory, runs):
    torch._dynamo.reset()
    with prepare_debug(directory):
        for function, *args in runs:
            torch.compile(function, backend="eager")(*args)
    check_dump(directory)
    return functions_of(directory)


def test_events(tmp_path):
    x = torch.ones(3)
    one = dump(tmp_path / "1", [(noisy, x, False), (late, x)])
    two = dump(tmp_path / "2", [(noisy, x, True), (late, x), (late, torch.ones(4))])
    assert events_apart(one, one) == []
    lines = events_apart(one, two)
    line = noisy.__code__.co_firstlineno + 3
    assert lines[0].startswith(f"noisy ({__file__}:{line - 3}): only 2 breaks the graph at {__file__}:{line}: print()")
    assert "only 2 compiled it again" in lines[1] and lines[1].count("expected 3") == 1
    assert lines[2].endswith("1 compilation in 1, 2 in 2")
    assert "from 1/0 on compile ids are of other functions (1/0 is late in 1" in lines[3]
    assert any("only 1 breaks the graph" in line for line in events_apart(two, one))


def test_functions_of_one_side(tmp_path):
    one = dump(tmp_path / "1", [(noisy, torch.ones(3), False)])
    assert events_apart(one, [])[0].startswith("only 1 compiled noisy (")
    many = [function(f"f{n}", f"f.py:{n}", entry(f"{n}/0")) for n in range(30)]
    assert events_apart([], many)[-1] == "and 18 more"


def test_what_was_compiled_before_comes_last(tmp_path):
    """A run did not compile what it found: an earlier test may have left a function that lives on."""
    old = function("old", "f.py:1", entry("ahead0/0", before=True))
    new = function("new", "f.py:9", entry("0/0"))
    assert events_apart([old, new], []) == [
        "only 1 compiled new (f.py:9)",
        "only in 1: old (f.py:1), which was compiled before its recording began",
    ]
    assert events_apart([old], [old]) == []


def test_names_and_lines_of_other_versions():
    """Before Python 3.11 code has no qualified name; the lines of a library move."""
    here, there = (function(name, "m.py:3", entry("0/0")) for name in ("Model.forward", "forward"))
    lib = function("O.step", "/a/site-packages/torch/o.py:9", entry("1/0"))
    other = function("step", "/b/lib/site-packages/torch/o.py:12", entry("1/0"))
    assert events_apart([here, lib], [there, other]) == []


def test_what_a_cache_had():
    def run(*caches):
        found = tuple(CacheRecord(name, status) for name, status in caches)
        return [function("f", "m.py:3", entry("0/0", caches=found))]

    cold, warm = run(("AOTAutograd", "miss"), ("FX graph", "miss")), run(("FX graph", "hit"), ("AOTAutograd", "hit"))
    said = "found 0/0 in torch's caches (AOTAutograd, FX graph): what a hit does not run again is in"
    assert events_apart(cold, warm) == [f"only 2 {said} 1 only"]
    assert events_apart(warm, cold) == [f"only 1 {said} 2 only"]
    assert events_apart(warm, warm) == events_apart(cold, cold) == []


RANKS = """
import os, torch, torch.distributed as dist
dist.init_process_group("gloo")
rank = dist.get_rank()
def step(x, loud):
    y = x * 2
    if loud:
        print(end="")
    return y + 1
torch.compile(step, backend="eager")(torch.ones(3), rank == 1)
dist.destroy_process_group()
"""


def test_merge_tells_the_graph_break_of_one_rank(tmp_path):
    (tmp_path / "ranks.py").write_text(RANKS)
    done = python(
        "-m", "torch.distributed.run", "--standalone", "--nproc_per_node=2",
        "-m", "depyf", "run", "--out", "dump", str(tmp_path / "ranks.py"),
        cwd=tmp_path, env={"OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    merged = python("-m", "depyf", "merge", "dump", cwd=tmp_path)
    assert merged.returncode == 1, merged.stderr
    head = merged.stdout.splitlines()
    assert head[1] == "rank 1: diverges (1 is rank_0, 2 is rank_1)"
    assert f"only 2 breaks the graph at {tmp_path / 'ranks.py'}:8: print()" in head[2]
    changed = [line.strip() for line in head if line.startswith("      ") and line.strip()[:1] in "-+"]
    assert any(line.startswith("-") for line in changed) and any(line.startswith("+") for line in changed), (
        merged.stdout
    )
