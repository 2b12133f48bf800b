"""Programs that crash the published depyf 0.20 on torch 2.13, and corners of torch.compile."""

from __future__ import annotations

import re
import subprocess
import sys
import warnings

import pytest
import torch
from dumps import check_dump, check_substituted, files_of, fresh_cache
from torch_programs import same

from depyf.api import prepare_debug

pytestmark = pytest.mark.torch


def test_no_graph_but_cells_and_a_break(tmp_path):
    def run():
        def f(x):
            def g():
                return x

            print("break")
            return g

        return torch.compile(f, backend="eager")(torch.ones(3))()

    want = run()
    torch._dynamo.reset()
    with prepare_debug(tmp_path):
        got = run()
    assert same(want, got)
    check_substituted(check_dump(tmp_path))


def test_nested_graph_breaks(tmp_path):
    def run():
        def g(x):
            y = x + 1
            print("break in g")
            return y * 2

        def f(x):
            z = g(x.sin())
            return z + 1

        return torch.compile(f, backend="eager")(torch.ones(3))

    if not hasattr(torch._dynamo.config, "nested_graph_breaks"):
        pytest.skip("this torch has no nested graph breaks")
    with torch._dynamo.config.patch(nested_graph_breaks=True):
        want = run()
        torch._dynamo.reset()
        with prepare_debug(tmp_path):
            got = run()
    assert same(want, got)
    manifest = check_dump(tmp_path)
    check_substituted(manifest)
    assert files_of(manifest, kind="full_code") == ["full_code_for_f_0.py"]
    # torch 2.10 makes a resume function with free variables in place, under its own name
    text = (tmp_path / "full_code_for_f_0.py").read_text()
    assert re.search(r"^def (__resume_at_\d|torch_dynamo_resume_in_f_at_)", text, re.M)


def test_pycodecache_load_inside(tmp_path):
    from torch._inductor.codecache import PyCodeCache

    with prepare_debug(tmp_path):
        module = PyCodeCache.load("def hello():\n    return 41\n")
    assert module.hello() == 41
    check_dump(tmp_path)


def test_compiled_autograd(tmp_path):
    from torch._dynamo import compiled_autograd

    def run():
        layer = torch.nn.Linear(4, 4)
        with torch.no_grad():
            layer.weight.fill_(0.5)
        with compiled_autograd._enable(torch.compile(backend="eager")):
            layer(torch.ones(2, 4)).sum().backward()
        return layer.weight.grad

    want = run()
    torch._dynamo.reset()
    with prepare_debug(tmp_path):
        got = run()
    assert same(want, got)
    manifest = check_dump(tmp_path)
    found = [item for item in manifest["files"] if item.get("stage") == "Compiled_Autograd_Graph"]
    assert found or any(item.get("compile_id", "").startswith("!") for item in manifest["files"])


def test_compiled_autograd_has_one_list_of_entries_per_function(tmp_path):
    """torch compiles ``call_backward`` of its own under ``!0/..``, ``!1/..``, ``!2/..``: one code object, one page."""
    from torch._dynamo import compiled_autograd

    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2

    forward = torch.compile(lambda x: Double.apply(x) * 3, backend="eager", dynamic=False)
    grads, kept = [], []  # each call makes a class: while the values live, none is at the address of an earlier one
    with prepare_debug(tmp_path), compiled_autograd._enable(torch.compile(backend="eager")):
        for size in (2, 3, 4):
            x = torch.ones(size, requires_grad=True)
            kept.append(forward(x).sum())
            kept[-1].backward()
            grads.append(x.grad)
    assert all(same(grad, torch.full((len(grad),), 6.0)) for grad in grads)
    manifest = check_dump(tmp_path)
    entries = {f["function"]: f["entries"] for f in manifest["functions"] if f["resume_of"] is None}
    if "call_backward" not in entries:
        pytest.skip("this torch compiles no call_backward")
    ids = [entry["compile_id"] for entry in entries["call_backward"]]
    assert len(ids) >= 2 and len({name.split("/")[0] for name in ids}) == len(ids), ids
    (page,) = tmp_path.glob("full_code_for_call_backward_*.py")
    assert all(f"guards_ca{name[1:].replace('/', '_')}(L, G)" in page.read_text() for name in ids)
    assert (tmp_path / f"__original_code_{ids[0].split('/')[1]}_for_call_backward.txt").exists()
    index = "".join(page.read_text() for page in sorted(tmp_path.glob("*.md")))  # long sections have their own pages
    assert "a backward that compiled autograd captured calls it" in index
    assert "got torch.autograd.function.ApplyTemplateBackward (another class of that name)" in index


def test_subprocess_compile_mode(tmp_path, monkeypatch):
    from torch._inductor import compile_fx

    if not hasattr(compile_fx, "FxCompileMode"):
        pytest.skip("this torch compiles in its own process only")
    if sys.version_info < (3, 11):  # where no object has a __getstate__ to pickle it by, torch's warns of its absence
        warnings.filterwarnings("ignore", r"undefined OpHandler\.__[gs]etstate__, please add missing op schema")
    monkeypatch.setattr(compile_fx, "fx_compile_mode", compile_fx.FxCompileMode.SUBPROCESS)
    with fresh_cache(), prepare_debug(tmp_path):
        x = torch.ones(33, requires_grad=True)
        torch.compile(lambda t: (t.sin() + t.cos() * 3.125).sum())(x).backward()
    assert len(files_of(check_dump(tmp_path), stage="kernel")) == 2


def test_reset_inside(tmp_path):
    def f(x):
        return x + 1

    def h(x):
        return x + 2

    with prepare_debug(tmp_path):
        torch.compile(f, backend="eager")(torch.ones(3))
        torch._dynamo.reset()
        torch.compile(h, backend="eager")(torch.ones(3))
        torch.compile(h, backend="eager")(torch.ones(4))
    manifest = check_dump(tmp_path)
    assert files_of(manifest, kind="full_code") == ["full_code_for_f_0.py", "full_code_for_h_0.py"]
    assert files_of(manifest, kind="transformed_code") == [
        "__transformed_code_0_0_for_f.py",
        "__transformed_code_0_0r1_for_h.py",
        "__transformed_code_0_1r1_for_h.py",
    ]


def test_late_backward_lands_with_its_forward(tmp_path):
    """The backward of graph 0 is compiled after graph 1."""
    first = torch.compile(lambda x: x.sin().sum(), backend="inductor")
    second = torch.compile(lambda x: x.cos().sum(), backend="inductor")
    with prepare_debug(tmp_path):
        a, b = torch.ones(5, requires_grad=True), torch.ones(5, requires_grad=True)
        one, two = first(a), second(b)
        two.backward()
        one.backward()
    manifest = check_dump(tmp_path)
    for number, op in ((0, "cos"), (1, "sin")):
        text = (tmp_path / f"__compiled_fn_{number}_0.Backward_graph.0.py").read_text()
        assert f"aten.{op}.default" in text
        assert files_of(manifest, stage="kernel", compile_id=f"{number}/0") == [
            f"__compiled_fn_{number}_0.kernel_{k}.py" for k in (0, 1)
        ]
        wrapper = (tmp_path / f"__compiled_fn_{number}_0.kernel_1.py").read_text()
        assert "_backward']" in wrapper and f".{op}()" in wrapper


def test_skipped_frame_says_why(tmp_path):
    def f(x, *, k=1):
        for i in range(3):
            x = x + k
            print("in loop", i)
        return x

    with prepare_debug(tmp_path):
        torch.compile(f, backend="eager")(torch.zeros(2))
    check_dump(tmp_path)
    text = (tmp_path / "full_code_for_f_0.py").read_text()
    assert "nothing was compiled" in text
    assert f"# Because: {__file__}:{f.__code__.co_firstlineno + 3}: print() writes" in text
    assert "def f(x, *, k):" in text
    assert "Nothing was compiled" in text and "No entry fits" not in text
    told = torch.__version__ >= "2.13"  # before, the report of the break does not say it
    where = "in a loop" if told else "there"
    assert f"Dynamo cannot go on after a graph break {where}" in (tmp_path / "index.md").read_text()


def test_user_exception_passes_through(tmp_path):
    class Mine(Exception):
        pass

    with pytest.raises(Mine), prepare_debug(tmp_path):
        torch.compile(lambda x: x + 1, backend="eager")(torch.ones(2))
        raise Mine
    assert files_of(check_dump(tmp_path), stage="Captured_Graph")


def test_forked_child_leaves_the_dump_alone(tmp_path):
    script = """
import os, sys, torch
from depyf.api import prepare_debug
directory = sys.argv[1]
with prepare_debug(directory):
    f = torch.compile(lambda x: x + 1, backend="eager")
    f(torch.ones(2))
    pid = os.fork()
    if pid == 0:
        torch.compile(lambda x: x + 2, backend="eager")(torch.ones(2))
        os._exit(0)
    os.waitpid(pid, 0)
"""
    from dumps import run_python

    done = run_python(script, str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert len(files_of(check_dump(tmp_path), stage="Captured_Graph")) == 1


def test_killed_process_leaves_a_readable_dump(tmp_path):
    script = """
import os, sys, torch
from depyf.api import prepare_debug
prepare_debug(sys.argv[1]).__enter__()
torch.compile(lambda x: x + 1, backend="aot_eager")(torch.ones(2))
os.kill(os.getpid(), 9)
"""
    from dumps import run_python

    done = run_python(script, str(tmp_path))
    assert done.returncode == -9
    names = sorted(path.name for path in tmp_path.iterdir())
    assert "__compiled_fn_0_0.Captured_Graph.0.py" in names
    assert "__transformed_code_0_0_for_lambda.py" in names
    assert "not finished" in (tmp_path / "index.md").read_text()
    for name in names:
        if not name.endswith(".py"):
            continue
        subprocess.run([sys.executable, "-m", "py_compile", str(tmp_path / name)], check=True)


_UNDER_THE_HOOK = """
import sys, threading, types

from torch._C._dynamo.eval_frame import set_eval_frame

from depyf.decompiler.driver.pipeline import decompile_code

text = "def f(a):\\n" + "    if a:\\n        return\\n" * 600 + "    g()\\n"
code = next(const for const in compile(text, "<returns>", "exec").co_consts if isinstance(const, types.CodeType))
found = []

def work():
    set_eval_frame(False)  # what runs while a compiled function does: each frame of Python takes C stack
    found.append(decompile_code(code).source == text)
    set_eval_frame(None)

work()
threading.stack_size(256 * 1024)
thread = threading.Thread(target=work)
thread.start(); thread.join()
print(found)
"""


def test_deep_code_while_dynamo_evaluates_the_frames():
    """In the main thread, and in a thread whose stack is small, as all others are that are started from then on."""
    done = subprocess.run([sys.executable, "-c", _UNDER_THE_HOOK], capture_output=True, text=True, timeout=300)
    assert done.stdout == "[True, True]\n", (done.returncode, done.stdout, done.stderr[-2000:])
