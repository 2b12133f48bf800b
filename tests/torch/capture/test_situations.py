"""The ways torch.compile is used: each with and without the recording gives the same, and nothing is missing in the dump."""

from __future__ import annotations

import os
import subprocess
import sys
import threading

import pytest
import torch
from dumps import ROOT, check_dump, check_substituted, files_of, followed, run_python
from torch_programs import same

from depyf.api import prepare_debug

pytestmark = pytest.mark.torch


def recorded(run, directory):
    """The manifest of ``run`` under recording, its result compared with that of a run without."""
    want = run()
    torch._dynamo.reset()
    with prepare_debug(directory):
        got = run()
    assert same(want, got)
    manifest = check_dump(directory)
    check_substituted(manifest)
    return manifest


def cond(x):
    return torch.cond(x.sum() > 0, lambda t: t.sin(), lambda t: t.cos(), (x,))


def while_loop(x):
    from torch._higher_order_ops.while_loop import while_loop as loop

    return loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * 2), (torch.tensor(0), x))[1]


def scan(x):
    from torch._higher_order_ops.scan import scan as loop

    return loop(lambda carry, y: (carry + y, carry * 1.0), torch.zeros(2), x.view(-1, 2))[1]


def checkpointed(x):
    from torch.utils.checkpoint import checkpoint

    return checkpoint(lambda t: torch.tanh(t @ t.t()), x.view(2, 2), use_reentrant=False)


def flex(x):
    from torch.nn.attention.flex_attention import flex_attention

    q = x.view(1, 1, 2, 2)
    return flex_attention(q, q, q, score_mod=lambda score, b, h, i, j: score + (i - j))


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("function", [cond, while_loop, scan, checkpointed, flex], ids=lambda f: f.__name__)
def test_higher_order(function, backend, tmp_path):
    def run():
        return torch.compile(function, backend=backend, fullgraph=True)(torch.arange(1.0, 5.0))

    manifest = recorded(run, tmp_path)
    (name,) = files_of(manifest, stage="Captured_Graph")
    text = (tmp_path / name).read_text()
    assert "torch.ops.higher_order" in text or "flex_attention" in text
    if function is not flex:  # its score function needs no class of its own
        assert text.count("class ") > 1, "the subgraphs are missing"
    runs = "Captured_Graph" if backend == "eager" else "Forward_graph"
    steppable = {item["steppable"] for item in manifest["files"] if item.get("stage") == runs}
    assert steppable == {True}


def test_checkpoint_in_training(tmp_path):
    def run():
        x = torch.arange(4.0, requires_grad=True)
        torch.compile(checkpointed, backend="aot_eager")(x).sum().backward()
        return [x.grad]

    manifest = recorded(run, tmp_path)
    assert files_of(manifest, stage="Backward_graph") and files_of(manifest, stage="Joint_graph")


def test_fullgraph_failure_is_the_users(tmp_path):
    def broken(x):
        print("no")
        return x + 1

    compiled = torch.compile(broken, backend="eager", fullgraph=True)
    with prepare_debug(tmp_path), pytest.raises(torch._dynamo.exc.Unsupported, match="print"):
        compiled(torch.ones(2))
    (entry,) = [e for f in check_dump(tmp_path)["functions"] for e in f["entries"]]
    assert not entry["compiled"] and entry["failed"]
    assert "print" in entry["graph_breaks"][0]["cause"]
    assert entry["graph_breaks"][0]["at"] == f"{__file__}:{broken.__code__.co_firstlineno + 1}"


def test_mark_dynamic(tmp_path):
    def run():
        x = torch.ones(6)
        torch._dynamo.mark_dynamic(x, 0)
        compiled = torch.compile(lambda t: t * t.shape[0], backend="eager")
        return [compiled(x), compiled(torch.ones(9))]

    manifest = recorded(run, tmp_path)
    (function,) = manifest["functions"]
    assert len(function["entries"]) == 1 and function["entries"][0]["symbols"][0]["source"] == "L['t'].size()[0]"


class Layer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = torch.nn.Linear(4, 4)

    def forward(self, x):
        return torch.relu(self.inner(x))


def test_regional_compilation(tmp_path):
    """Equal submodules compiled one by one share the entries of one function."""

    def run():
        torch.manual_seed(0)
        layers = torch.nn.ModuleList(Layer() for _ in range(3))
        for layer in layers:
            layer.compile(backend="eager")
        x = torch.ones(2, 4)
        for _ in range(2):
            for layer in layers:
                x = layer(x)
        return [x.detach()]

    manifest = recorded(run, tmp_path)
    assert [f["function"] for f in manifest["functions"] if f["entries"]] == [
        "Layer.forward" if sys.version_info >= (3, 11) else "forward"  # code objects know no more before
    ]


def test_export_inside(tmp_path):
    class Model(torch.nn.Module):
        def forward(self, x):
            return torch.relu(x) + 1

    def run():
        program = torch.export.export(Model(), (torch.ones(3),), strict=True)
        return [program.module()(torch.ones(3)), torch.compile(lambda t: t + 1, backend="eager")(torch.ones(3))]

    manifest = recorded(run, tmp_path)
    captured = files_of(manifest, stage="Captured_Graph")
    of_functions = {e["compile_id"] for f in manifest["functions"] for e in f["entries"]}
    alone = [
        f["file"] for f in manifest["files"] if f["file"] in map(str, captured) and f["compile_id"] not in of_functions
    ]
    index = (tmp_path / "index.md").read_text()
    assert all(f"[{name}]({name}), captured for `torch.export`" in index for name in alone)
    assert ("## Graphs of no compiled function" in index) == bool(alone)


def test_several_threads(tmp_path):
    def make(number):
        namespace = {"torch": torch}
        exec(f"def work_{number}(x):\n    y = torch.sin(x) + {number}\n    print(end='')\n    return y * 2", namespace)
        return namespace[f"work_{number}"]

    def run():
        results = [None] * 4

        def work(number):
            results[number] = torch.compile(functions[number], backend="aot_eager")(torch.ones(3))

        threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return results

    functions = [make(number) for number in range(4)]
    manifest = recorded(run, tmp_path)
    names = {f["function"] for f in manifest["functions"]}
    assert {f"work_{n}" for n in range(4)} <= names
    for number in range(4):
        (item,) = [
            i for i in manifest["files"] if i.get("function") == f"work_{number}" and i["kind"] == "transformed_code"
        ]
        assert files_of(manifest, stage="Forward_graph", compile_id=item["compile_id"])


class Squares(torch.utils.data.Dataset):
    """Each worker process compiles, too: that goes to dumps of their own below the parent's."""

    def __len__(self):
        return 4

    def __getitem__(self, index):
        return torch.compile(lambda x: x * x + 1, backend="eager")(torch.tensor(float(index)))


@pytest.mark.skipif(sys.platform != "linux", reason="forks")
def test_forked_workers(tmp_path):
    def run():
        loader = torch.utils.data.DataLoader(Squares(), batch_size=2, num_workers=2, multiprocessing_context="fork")
        compiled = torch.compile(lambda x: x.sum() * 2, backend="eager")
        return [compiled(batch) for batch in loader]

    manifest = recorded(run, tmp_path)
    assert [f["from"].rpartition(":")[0] for f in manifest["functions"]] == [__file__]
    assert len(manifest["forks"]) == 2, manifest["forks"]
    for name in manifest["forks"]:
        child = check_dump(tmp_path / name)
        (function,) = child["functions"]
        assert function["from"] == f"{__file__}:{Squares.__getitem__.__code__.co_firstlineno + 1}"
        assert f"[{name}]({name}/index.md)" in (tmp_path / "index.md").read_text()


DYING = """
import os, sys, torch, depyf.api as depyf
def early(x): return torch.sin(x) + 1
def late(x): return torch.cos(x) + 1
context = depyf.prepare_debug(sys.argv[1])
context.__enter__()
torch.compile(early, backend="aot_eager")(torch.ones(3))
how = sys.argv[2]
if how == "exit": sys.exit(3)
if how == "_exit": os._exit(4)
if how == "raise": raise ValueError("the program is broken")
if how == "return": pass
if how == "block":
    context.__exit__(None, None, None)
    with depyf.prepare_debug(sys.argv[1]):
        torch.compile(late, backend="aot_eager")(torch.ones(3))
        raise ValueError("the program is broken")
"""


@pytest.mark.parametrize(("how", "status"), [("exit", 3), ("_exit", 4), ("raise", 1), ("return", 0), ("block", 1)])
def test_program_that_dies(how, status, tmp_path):
    """Whatever ends the program, what torch had reported is on disk; where Python still runs, so is the summary."""
    script = tmp_path / "dying.py"
    script.write_text(DYING)
    done = run_python(str(script), str(tmp_path / "dump"), how)
    assert done.returncode == status, done.stderr
    names = {path.name for path in (tmp_path / "dump").iterdir()}
    assert {"__compiled_fn_0_0.Captured_Graph.0.py", "__transformed_code_0_0_for_early.py", "index.md"} <= names
    index = (tmp_path / "dump" / "index.md").read_text()
    if how == "_exit":
        assert "not finished" in index and index.endswith("finished:\n\n- 0/0\n")
        compile((tmp_path / "dump" / "__compiled_fn_0_0.Forward_graph.0.py").read_text(), "graph", "exec")
    else:
        check_dump(tmp_path / "dump")
        assert "`early`" in index
    if how == "block":
        assert "`late`" in index


WARM = """
import sys, torch, depyf.api as depyf
def f(x, w):
    y = torch.relu(x @ w)
    print(end="")
    return (y * 2).sum()
with depyf.prepare_debug(sys.argv[1]):
    torch.compile(f)(torch.ones(4, 4), torch.ones(4, 4, requires_grad=True)).backward()
"""


def test_warm_caches_in_a_fresh_process(tmp_path):
    """A warm cache leaves out only what torch did not compute again, and the index says so."""
    script = tmp_path / "warm.py"
    script.write_text(WARM)
    env = {"TORCHINDUCTOR_CACHE_DIR": str(tmp_path / "cache")}
    trees = {}
    for turn in ("cold", "warm", "again"):
        done = run_python(str(script), str(tmp_path / turn), env=env)
        assert done.returncode == 0, done.stderr
        check_substituted(check_dump(tmp_path / turn))
        trees[turn] = {p.name: p.read_text() for p in (tmp_path / turn).iterdir() if p.name != "timings.json"}
    assert trees["warm"] == trees["again"]
    missing = trees["cold"].keys() - trees["warm"].keys()
    # before torch 2.8 a cache holds no post-grad graph
    left_out = (
        ".BEFORE_",
        *([] if followed() else [".AFTER_POST_GRAD."]),
        ".AFTER_PRE",
        ".AFTER_JOINT",
        ".Backward_graph.0.json",
        ".Forward_graph.0.json",
        "bill.md",  # Inductor tells its reasons while it works
    )
    assert missing and all(any(part in name for part in left_out) for name in missing), missing
    assert not trees["warm"].keys() - trees["cold"].keys()
    assert "Where a cache answered *hit*" in trees["warm"]["index.md"]
    changed = {name for name in trees["warm"] if trees["warm"][name] != trees["cold"][name]}
    # how AOTAutograd calls the graphs, and what its operations come from, is not computed again either
    changed = {name for name in changed if not name.endswith((".Forward_graph.0.json", ".nodes.json"))}
    assert changed <= {"index.md", "manifest.json", "run.jsonl", "bill.json"}, changed


FORKS = """
import os, sys, torch, depyf
def f(x): return x.sin() + 1
def g(x): return x.cos() * 2
compiled, other = torch.compile(f, backend="eager"), torch.compile(g, backend="eager")
def child(work):
    pid = os.fork()
    if pid == 0:
        work()
        sys.exit(0) if work is not silent else os._exit(0)
    os.waitpid(pid, 0)
def silent(): pass
def compiles(): compiled(torch.ones(4))
def grandchild(): child(compiles)
def by_hand():
    with depyf.prepare_debug(sys.argv[1] + "_by_hand"):
        compiled(torch.ones(5))
def never(): other(torch.ones(3))
with depyf.prepare_debug(sys.argv[1]):
    compiled(torch.ones(3))
    for work in (silent, compiles, grandchild, by_hand): child(work)
child(never)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="forks")
def test_forked_children_have_dumps_of_their_own(tmp_path):
    (tmp_path / "forks.py").write_text(FORKS)
    done = subprocess.run(
        [sys.executable, str(tmp_path / "forks.py"), str(tmp_path / "dump")],
        env=dict(os.environ) | {"PYTHONPATH": str(ROOT / "src")}, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = sorted(str(path.parent.relative_to(tmp_path)) for path in tmp_path.rglob("manifest.json"))
    assert found == ["dump", "dump/fork_2", "dump/fork_3/fork_1", "dump_by_hand"]
    assert check_dump(tmp_path / "dump")["forks"] == ["fork_2", "fork_3"]
    manifest = check_dump(tmp_path / "dump" / "fork_2")
    (function,) = manifest["functions"]
    entries = {e["compile_id"]: e["before_recording"] for e in function["entries"]}
    assert entries == {"0/1": False, "0/0": True}  # what the parent compiled, where the child compiled more of it
    with prepare_debug(tmp_path / "dump"):  # a new dump in the same folder
        pass
    assert not (tmp_path / "dump" / "fork_2").exists()
