"""``depyf run``, ``depyf diff``, ``depyf merge``: as a user types them.  What ``depyf run`` does to a program is asked in processes
of their own (``python``), what a dump then has in processes that have imported torch (``recorded``)."""

from __future__ import annotations

import json
import shutil
import sys

import pytest
from commands import environment, python
from dumps import check_dump, files_of

import with_torch

pytestmark = pytest.mark.torch

PROGRAM = """
import sys, torch
import helper
def f(x):
    y = helper.twice(x)
    print("break")
    return y + SIZE
SIZE = int(sys.argv[1])
print(__name__, __file__, sys.argv, sys.path[0], __spec__ is None, sys.modules["__main__"].f is f)
torch.compile(f, backend="eager")(torch.ones(SIZE))
if "--raise" in sys.argv:
    raise RuntimeError("mine")
if "--exit" in sys.argv:
    sys.exit(7)
if "--interrupt" in sys.argv:
    import atexit, os, signal, time
    atexit.register(print, "at exit")
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(9)
"""


def recorded(*command, cwd, env=None):
    """``depyf run --out`` with these arguments."""
    command = [sys.executable, "-m", "depyf", "run", "--out", *command]
    return with_torch.run(command, cwd=cwd, env=environment(env))


@pytest.fixture
def program(tmp_path):
    (tmp_path / "app").mkdir()
    (tmp_path / "app" / "program.py").write_text(PROGRAM)
    (tmp_path / "app" / "helper.py").write_text("def twice(x):\n    return x * 2\n")
    (tmp_path / "app" / "__main__.py").write_text("from program import f\n")
    return tmp_path


@pytest.mark.parametrize("flags", [(), ("--raise",), ("--exit",), ("--interrupt",)])
def test_run_is_invisible(program, flags):
    plain = python("app/program.py", "3", *flags, cwd=program)
    done = python("-m", "depyf", "run", "--out", "dump", "app/program.py", "3", *flags, cwd=program)
    assert done.stdout == plain.stdout
    assert done.returncode == plain.returncode == {(): 0, ("--raise",): 1, ("--exit",): 7, ("--interrupt",): -2}[flags]
    own, where = done.stderr.rsplit("depyf: ", 1)
    assert own == plain.stderr, "the traceback too"
    assert "compiled function" in where and "dump" in where
    manifest = check_dump(program / "dump")
    assert "full_code_for_f_0.py" in files_of(manifest, kind="full_code")


def test_run_module_and_errors(program):
    command = ("-m", "depyf", "run", "--out", "dump", "-m")
    plain = python("-m", "program", "2", cwd=program / "app")
    done = python(*command, "program", "2", cwd=program / "app")
    assert plain.returncode == done.returncode == 0, done.stderr
    assert done.stdout == plain.stdout
    assert "no module named nothing_here" in recorded("dump", "-m", "nothing_here", cwd=program).stderr
    missing = recorded("dump", "nothing.py", cwd=program)
    assert missing.returncode == 4 and "cannot read nothing.py" in missing.stderr
    assert "Traceback" not in missing.stderr
    (program / "bad.py").write_text("def (:\n")
    plain = python("bad.py", cwd=program)
    done = python("-m", "depyf", "run", "bad.py", cwd=program)
    assert done.returncode == plain.returncode == 1 and plain.stderr in done.stderr
    (program / "file").write_text("")
    refused = recorded("file/x", "app/program.py", "2", cwd=program)
    assert refused.returncode == 3 and "cannot write" in refused.stderr and refused.stdout == ""


OWN = """
import sys, torch, depyf
def f(x): return x.sin() + 1
def g(x): return x.cos() * 2
def h(x): return x.tan()
torch.compile(f, backend="eager")(torch.ones(3))
try:
    depyf.prepare_debug("own.py").__enter__()
except depyf.DepyfError:
    print("refused")
def early(x): return x.exp()
torch.compile(early, backend="eager")(torch.ones(3))
with depyf.prepare_debug("inner"):
    torch.compile(g, backend="eager")(torch.ones(3))
with depyf.debug():
    torch.compile(g, backend="eager")(torch.ones(3))
torch.compile(h, backend="eager")(torch.ones(3))
sys.exit(5)
"""


def test_run_gives_way_to_contexts_of_the_program(program):
    (program / "own.py").write_text(OWN)
    done = recorded("outer", "own.py", cwd=program, env={"DEPYF_NO_PAUSE": "1"})
    assert done.returncode == 5 and "read outer/index.md" in done.stderr, done.stderr
    assert "refused" in done.stdout
    inner, outer = check_dump(program / "inner"), check_dump(program / "outer")
    assert {f["function"] for f in inner["functions"]} == {"f", "g", "early"}
    seen = {f["function"]: not f["entries"][0]["before_recording"] for f in outer["functions"]}
    assert seen == {"f": True, "early": True, "g": False, "h": True}


def test_diff(program):
    for name, size in (("one", "3"), ("two", "3"), ("three", "4")):
        done = recorded(name, "app/program.py", size, cwd=program)
        assert done.returncode == 0, done.stderr
    same = python("-m", "depyf", "diff", "one", "two", cwd=program)
    assert same.returncode == 0, same.stdout + same.stderr
    assert "the two are the same" in same.stdout
    other = python("-m", "depyf", "diff", "one", "three", cwd=program)
    assert other.returncode == 1
    assert "0/0: they part at full_code" in other.stdout and "full_code_for_f_0.py" in other.stdout
    assert "+++" not in other.stdout
    shown = python("-m", "depyf", "diff", "-u", "--stage", "Captured_Graph", "one", "three", cwd=program)
    assert shown.returncode == 1
    assert "-        y: 'f32[3]" in shown.stdout and "+        y: 'f32[4]" in shown.stdout
    exact = python("-m", "depyf", "diff", "-u", "--strict", "--stage", "Captured_Graph", "one", "three", cwd=program)
    assert '-        y: "f32[3]' in exact.stdout and '+        y: "f32[4]' in exact.stdout
    unknown = python("-m", "depyf", "diff", "--stage", "nothing", "one", "three", cwd=program)
    assert unknown.returncode == 2 and "they have: " in unknown.stderr and "Captured_Graph" in unknown.stderr
    data = json.loads(python("-m", "depyf", "diff", "--json", "one", "three", cwd=program).stdout)
    assert data["equal"] is False and data["stages"]["Captured_Graph"]["differ"] == 2
    assert data["first_difference"]["0/0"] == "full_code_for_f_0.py"
    shutil.rmtree(program / "three")
    gone = python("-m", "depyf", "diff", "one", "three", cwd=program)
    assert gone.returncode == 4 and "three: there is no such folder" in gone.stderr


CACHED = """
import torch
torch.compile(lambda x: x.sin() * 2)(torch.ones(4, requires_grad=True)).sum().backward()
"""


def test_a_hit_in_the_caches_of_torch_is_no_difference(tmp_path):
    """Torch reports less of what it found there: files of the run that computed it, and the inputs of its graphs."""
    (tmp_path / "app.py").write_text(CACHED)
    for name in ("cold", "warm"):
        caches = {"TORCHINDUCTOR_CACHE_DIR": str(tmp_path / "caches")}
        assert recorded(name, "app.py", cwd=tmp_path, env=caches).returncode == 0
    done = python("-m", "depyf", "diff", "cold", "warm", cwd=tmp_path)
    assert done.returncode == 0, done.stdout
    assert "only 2 found 0/0 in torch's caches" in done.stdout and "the two are the same" in done.stdout
    found = json.loads(python("-m", "depyf", "diff", "--json", "warm", "cold", cwd=tmp_path).stdout)
    assert found["equal"] and "__compiled_fn_0_0.Forward_graph.0.json" in found["not_written_on_a_hit"]
    assert python("-m", "depyf", "diff", "--strict", "cold", "warm", cwd=tmp_path).returncode == 1


def test_a_setting_that_made_the_caches_miss_is_named(tmp_path):
    (tmp_path / "app.py").write_text(CACHED)
    (tmp_path / "other.py").write_text("import torch._inductor.config as c\nc.epilogue_fusion = False\n" + CACHED)
    for name in ("app", "other"):
        caches = {"TORCHINDUCTOR_CACHE_DIR": str(tmp_path / "caches")}
        assert recorded(name, f"{name}.py", cwd=tmp_path, env=caches).returncode == 0
    printed = python("-m", "depyf", "diff", "app", "other", cwd=tmp_path).stdout
    key = "the key differs in inductor_config[epilogue_fusion] True -> False"
    assert printed.count(f"2 did not find 0/0 in torch's cache (FX graph), for {key}\n") == 1, printed
    assert python("-m", "depyf", "diff", "app", "app", cwd=tmp_path).stdout.count("did not find") == 0


def test_diff_of_one_program_in_two_folders(program):
    shutil.copytree(program / "app", program / "other" / "app")
    for name, folder in (("one", program), ("two", program / "other")):
        done = recorded(str(program / name), "app/program.py", "3", cwd=folder)
        assert done.returncode == 0, done.stderr
    found = python("-m", "depyf", "diff", "one", "two", cwd=program)
    assert found.returncode == 0 and "the two mean the same" in found.stdout, found.stdout + found.stderr
    assert found.stdout.split("\n\n")[1].startswith("stage"), found.stdout  # nothing happened differently
    assert python("-m", "depyf", "diff", "--strict", "one", "two", cwd=program).returncode == 1


MOVING = """
import torch
def helper(x):
    return x * 2
def other(x):
    return x.cos() - 1
class A:
    def run(self, x):
        return x.sin() + 1
class B:
    def run(self, x):
        return x.tan() - 2
def f(x):
    y = helper(x)
    print("break")
    if y.sum() > 0:
        y = y + 1
    return y + 3
c = lambda function: torch.compile(function, backend="aot_eager")
c(other)(torch.ones(3))
for g in (c(f), c(A().run), c(B().run)):
    g(torch.ones(3)), g(torch.ones(4)), g(torch.ones(5))
"""


@pytest.fixture(scope="module")
def moving(tmp_path_factory):
    """One program in several states, each run once, in one folder as a user edits it."""
    folder = tmp_path_factory.mktemp("moving")

    def edited(*edits):
        text = MOVING
        for before, after in edits:
            assert before in text
            text = text.replace(before, after)
        return text

    states = {
        "first": edited(),
        "lines": edited(("def helper", "# one\n\n# two\ndef helper"), ("def f(x)", "\n\ndef f(x)")),
        "swapped": edited(
            ("class A:\n    def run(self, x):\n        return x.sin() + 1\n", ""), ("def f(x)", "class A:\n    def run(self, x):\n        return x.sin() + 1\ndef f(x)")
        ),
        "changed": edited(("import torch\n", "import torch\n\n\n"), ("y + 3", "y + 4")),
        "renamed": edited(("def other", "\ndef another"), ("c(other)", "c(another)")),
        "more": edited(("def f(x)", "def new(x):\n    return x - 1\ndef f(x)"), ("c(other)(", "c(new)(torch.ones(3)); c(other)(")),
    }  # fmt: skip
    for name, text in states.items():
        (folder / "p.py").write_text(text)
        done = recorded(name, "p.py", cwd=folder)
        assert done.returncode == 0, done.stderr
    return folder


def test_lines_inserted_above_are_no_difference(moving):
    done = python("-m", "depyf", "diff", "first", "lines", cwd=moving)
    assert done.returncode == 0 and "the two mean the same" in done.stdout, done.stdout
    assert done.stdout.split("\n\n")[1].startswith("stage"), "nothing happened differently"
    assert python("-m", "depyf", "diff", "--strict", "first", "lines", cwd=moving).returncode == 1


def test_functions_of_one_name_are_paired_by_their_code(moving):
    done = python("-m", "depyf", "diff", "first", "swapped", cwd=moving)
    assert done.returncode == 0 and "the two mean the same" in done.stdout, done.stdout


def test_what_really_changed_is_shown(moving):
    done = python("-m", "depyf", "diff", "first", "changed", cwd=moving)
    assert done.returncode == 1
    assert "p.py:13) has another source in 2 (-1 +1 lines)" in done.stdout, done.stdout
    assert "    -    return y + 3\n    +    return y + 4\n" in done.stdout
    assert "run" not in done.stdout and "other.py" not in done.stdout, "nothing of other functions"


def test_a_function_that_was_renamed(moving):
    done = python("-m", "depyf", "diff", "first", "renamed", cwd=moving)
    assert "p.py:5) is called another in 2" in done.stdout and done.returncode == 0, done.stdout


def test_compile_ids_that_moved_on(moving):
    """One more function comes first: what was 0/0 is 1/0, and is compared with it."""
    done = python("-m", "depyf", "diff", "first", "more", cwd=moving)
    assert done.returncode == 1 and "only 2 compiled new (" in done.stdout
    listed = [line for line in done.stdout.splitlines() if line.startswith(("differs", "only in"))]
    assert listed and all(line.startswith("only in 2") for line in listed), done.stdout


RANKS = """
import os, sys, torch
import torch.distributed as dist
import depyf
from torch.nn.parallel import DistributedDataParallel
dist.init_process_group("gloo")
rank = dist.get_rank()
torch.manual_seed(0)
def plain(x):
    return x.sin() + (1 if sys.argv[1] == "same" else rank)
class Layer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = torch.nn.Linear(4, 4)
    def forward(self, x):
        return self.lin(x).relu()
with depyf.prepare_debug(sys.argv[2]):
    torch.compile(plain, backend="eager")(torch.ones(3) + rank)  # other data: the graphs are the same
    model = DistributedDataParallel(Layer())
    torch.compile(model, backend="aot_eager")(torch.ones(2, 4)).sum().backward()
dist.destroy_process_group()
"""


@pytest.mark.parametrize("kind", ["same", "different"])
def test_two_ranks(kind, tmp_path):
    (tmp_path / "ranks.py").write_text(RANKS)
    env = {"OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo"}
    done = python(
        "-m", "torch.distributed.run", "--standalone", "--nproc_per_node=2", "ranks.py", kind, "dump",
        cwd=tmp_path, env=env,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    for rank in (0, 1):
        manifest = check_dump(tmp_path / "dump" / f"rank_{rank}")
        assert "full_code_for_plain_0.py" in files_of(manifest, kind="full_code")
        assert files_of(manifest, stage="Backward_graph")
    merged = python("-m", "depyf", "merge", "dump", cwd=tmp_path)
    data = json.loads(python("-m", "depyf", "merge", "--json", "dump", cwd=tmp_path).stdout)
    if kind == "same":
        assert merged.returncode == 0, merged.stdout
        assert "rank 1: the same" in merged.stdout and data["equal"] is True
    else:
        assert merged.returncode == 1
        assert (
            "rank 1: diverges" in merged.stdout and "they part at full_code (full_code_for_plain_0.py)" in merged.stdout
        )
        assert {item["compile_id"] for item in data["ranks"]["1"]["differences"]} == {"0/0"}, "DDP itself is the same"
    hint = python("-m", "depyf", "diff", "dump", "dump/rank_0", cwd=tmp_path)
    assert hint.returncode == 4 and "depyf merge" in hint.stderr
    by_rank = python("-m", "depyf", "diff", "dump", "dump", cwd=tmp_path)
    assert by_rank.returncode == 0 and "rank 0: the two are the same\nrank 1: the two are the same\n" in by_rank.stdout
    shutil.copytree(tmp_path / "dump" / "rank_0", tmp_path / "other" / "rank_0")
    lacking = python("-m", "depyf", "diff", "dump", "other", cwd=tmp_path)
    assert lacking.returncode == 1 and "rank 0: the two are the same\nrank 1: only in 1\n" in lacking.stdout
    data = json.loads(python("-m", "depyf", "diff", "--json", "dump", "other", cwd=tmp_path).stdout)
    assert data["equal"] is False and data["only_first"] == [1] and data["ranks"]["0"]["equal"] is True
    alone = python("-m", "depyf", "merge", "dump/rank_0", cwd=tmp_path)
    assert alone.returncode == 4 and "one process only" in alone.stderr


DIES = """
import os, sys, torch
rank = int(os.environ["RANK"])
def f(x, wanted):
    y = (x * 2).sum()
    print(end="")
    return y * wanted
step = torch.compile(f, backend="aot_eager")
for rows in (2, 5) if rank else (2,):
    step(torch.ones(rows, requires_grad=True), 1.5).backward()
if sys.argv[1:]:
    os._exit(1)
"""


@pytest.mark.parametrize("both", [False, True])
def test_a_rank_that_dies(both, tmp_path):
    """What torch had reported until then is compared, and differs where a rank did something else, not for its page."""
    (tmp_path / "p.py").write_text(DIES)
    for rank in (0, 1):
        ranks = {"RANK": str(rank), "WORLD_SIZE": "2"}
        done = recorded("d", "p.py", *(["die"] if rank or both else []), cwd=tmp_path, env=ranks)
        assert ("rank 0: 1 compiled function; read d/rank_0/index.md first; `depyf merge d`" in done.stderr) == (
            not rank and not both
        )
    done = python("-m", "depyf", "merge", "d", cwd=tmp_path)
    assert done.returncode == 1 and "rank 1: has not finished: it died" in done.stdout, done
    assert ("rank_0: has not finished" in done.stdout) == both
    assert "0/1: only in 2\n" in done.stdout and "only in 2  0/1: " in done.stdout, "only rank 1 compiled it"
    assert "0/0: they part" not in done.stdout and "only in 1" not in done.stdout, done.stdout
    done = python("-m", "depyf", "diff", "d/rank_1", "d/rank_1", cwd=tmp_path)
    assert done.returncode == 0 and "has not finished" in done.stdout


VALUES = """
import sys, torch
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.verbose = torch.nn.Linear(2, 2), torch.nn.Linear(2, 2), False
    def forward(self, x, scale=2.0):
        h = self.a(x)
        if self.verbose:
            print(end="")
        return self.b(h) * scale
model = Model()
model.verbose = "-v" in sys.argv
torch.compile(model, backend="eager")(torch.ones(2, 2))
"""


def test_the_guard_that_tells_why(tmp_path):
    """Of all guards that differ the one with another value is shown; compile ids of one side are one line."""
    (tmp_path / "p.py").write_text(VALUES)
    for name, *more in (("one",), ("two", "-v")):
        assert recorded(name, "p.py", *more, cwd=tmp_path).returncode == 0
    said = python("-m", "depyf", "diff", "one", "two", cwd=tmp_path).stdout
    assert "    -L['self'].verbose is False\n    +L['self'].verbose is True\n" in said, said
    assert "1/0: only in 2\n" in said and "only in 2  1/0: " in said and "_1_0.Captured" not in said, said


def test_where_long_lines_differ():
    from depyf.views.compare.difference_lines import first_change
    from depyf.views.compare.stages import StageDifference

    def changed(*lines):
        return first_change(StageDifference("f", "full_code", "0/0", "both", 1, 1, ("--- one", "+++ two", *lines)))

    one, two = changed(
        *(f"{sign}    check({'a' * 200}, size=[{n}, 8], {'b' * 200})" for sign, n in (("-", 4), ("+", 5)))
    )
    assert one.startswith("-    ...aaa") and "size=[4, 8]" in one and "size=[5, 8]" in two
    assert len(one) <= 150 and len(two) <= 150
    assert changed("-  a", "+  b") == ["-  a", "+  b"]


MODES = """
import sys, torch
@torch.compile(backend="eager")
def f(x, mode):
    return x.sin() if mode == "a" else x.cos() if mode == "b" else x.tan()
for mode in sys.argv[1]:
    f(torch.ones(2), mode)
"""


@pytest.mark.parametrize(
    ("modes", "told", "never"),
    [
        (("ab", "abc"), ["0/2: only in 2"], ["0/0: ", "0/1: "]),
        (("abc", "ab"), ["0/2: only in 1"], ["0/0: ", "0/1: "]),
        (("abc", "ac"), ["0/1: only in 1"], ["0/0: ", "0/2: ", "only in 2"]),
        (("ac", "abc"), ["0/1: only in 2"], ["0/0: ", "0/2: ", "only in 1"]),
    ],
    ids=repr,
)
def test_one_entry_more_is_told_alone(modes, told, never, tmp_path):
    (tmp_path / "program.py").write_text(MODES)
    for folder, mode in zip(("one", "two"), modes):
        recorded(folder, "program.py", mode, cwd=tmp_path)
    done = python("-m", "depyf", "diff", "one", "two", cwd=tmp_path)
    lines = done.stdout.splitlines()
    assert all(line in lines for line in told), done.stdout
    assert not any(line.startswith(tuple(never)) for line in lines), done.stdout
    page = json.loads(python("-m", "depyf", "diff", "--json", "one", "two", cwd=tmp_path).stdout)
    assert [key for key in page["first_difference"] if key] == [told[0].partition(":")[0]]
