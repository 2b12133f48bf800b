"""Graphs with collectives: their pages and scripts run in one process, which makes up the groups."""

from __future__ import annotations

import os
import sys

import pytest
import torch

import with_torch
from depyf.actions.scripts.process_groups import groups_of

pytestmark = pytest.mark.torch

PROGRAM = """
import sys
import depyf, torch
import torch.distributed as dist
import torch.distributed._functional_collectives as collectives
from torch.testing._internal.distributed.fake_pg import FakeStore

dist.init_process_group("fake", store=FakeStore(), rank=1, world_size=4)
half = dist.new_group([0, 1])

def exchange(x):
    y = x * 2
    dist.all_reduce(y)
    z = collectives.all_gather_tensor(y, 0, half)
    w = collectives.reduce_scatter_tensor(z, "sum", 0, dist.group.WORLD)
    return z.sum() + collectives.wait_tensor(w)

with depyf.prepare_debug(sys.argv[1]):
    torch.compile(exchange, backend="aot_eager")(torch.ones(6))
"""


def ran(*command):
    paths = [path for path in sys.path if path]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    done = with_torch.run([sys.executable, *command], env=environment, imports=with_torch.ALONE)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_graphs_with_collectives_run_alone(tmp_path):
    program, dump = tmp_path / "program.py", tmp_path / "dump" / "rank_1"
    program.write_text(PROGRAM)
    ran(program, dump.parent)
    pages = sorted(dump.glob("__compiled_fn_*.py"))
    assert len(pages) >= 2
    for page in pages:
        assert "def process_groups(" in page.read_text()
        assert "tensor(" in ran(page)
    ran("-m", "depyf", "gallery", dump)
    (script,) = (dump / "gallery").glob("graph_*.py")
    assert "made-up process groups" in script.read_text()
    if torch.__version__ < "2.13":
        return  # its made-up groups leave what a collective returns as the memory was
    assert "all 2 results agree" in ran(script, "--backend", "aot_eager")


@pytest.mark.parametrize(
    ("line", "groups"),
    [
        ("a = torch.ops._c10d_functional.all_reduce.default(x, 'sum', '0');  x = None", {"0": 2}),
        ("a = torch.ops._c10d_functional.all_gather_into_tensor(x, 8, 'tp')", {"tp": 8}),
        ("a = torch.ops._c10d_functional.reduce_scatter_tensor.default(x, 'avg', 4, '3')", {"3": 4}),
        ("a = torch.ops._c10d_functional_autograd.all_to_all_single(x, [1, 2, 3], [2, 2, 2], '1')", {"1": 3}),
        ("a = torch.ops._c10d_functional.broadcast(x, 7, '0')", {"0": 2}),
        ("a = torch.ops._c10d_functional.wait_tensor.default(x)", {}),
        ("# torch.ops._c10d_functional.all_reduce(x, 'sum', '0')", {}),
    ],
)
def test_groups_of(line, groups):
    assert groups_of(line) == groups
