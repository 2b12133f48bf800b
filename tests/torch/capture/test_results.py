"""Same results with and without depyf, a complete dump, and proven code in every frame."""

from __future__ import annotations

import pytest
import torch
import torch._inductor.config
from dumps import check_dump, check_substituted, files_of, followed, fresh_cache
from torch_programs import PROGRAMS, same

from depyf.api import prepare_debug

pytestmark = pytest.mark.torch
_QUICK_INDUCTOR = {"toy", "toy_grad", "closure_over_graph"}


def _cases():
    for name in PROGRAMS:
        for backend in ("eager", "aot_eager", "inductor"):
            quick = backend != "inductor" or name in _QUICK_INDUCTOR
            yield pytest.param(name, backend, marks=() if quick else pytest.mark.slow)


def run_both(program, tmp_path, **options):
    """The program without and with depyf, each in a fresh Dynamo; the manifest of the dump."""

    def compiled(fn):
        return torch.compile(fn, **options)

    want = program(compiled)
    torch._dynamo.reset()
    with prepare_debug(tmp_path / "dump"):
        got = program(compiled)
    assert same(want, got)
    return check_dump(tmp_path / "dump")


@pytest.mark.parametrize(("name", "backend"), list(_cases()))
def test_program(name, backend, tmp_path):
    manifest = run_both(PROGRAMS[name], tmp_path, backend=backend)
    assert manifest["notes"] == []
    check_substituted(manifest)


@pytest.mark.parametrize("dynamic", [True, False])
@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_dynamic_shapes(dynamic, backend, tmp_path):
    manifest = run_both(PROGRAMS["toy_recompiled"], tmp_path, backend=backend, dynamic=dynamic)
    check_substituted(manifest)
    entries = next(f for f in manifest["functions"] if f["resume_of"] is None)["entries"]
    assert len(entries) == (1 if dynamic else 3)


def test_stages(tmp_path):
    """The README example under inductor, trained: every stage is there, under the compile id of its forward."""
    # before torch 2.8 a warm cache has no post-grad graph
    with fresh_cache() if followed() else torch._inductor.config.patch(force_disable_caches=True):
        manifest = run_both(PROGRAMS["toy_grad"], tmp_path, backend="inductor")
    for stage in ("Captured_Graph", "Joint_graph", "Forward_graph", "Backward_graph"):
        assert files_of(manifest, stage=stage, compile_id="0/0") == [f"__compiled_fn_0_0.{stage}.0.py"]
    assert len(files_of(manifest, stage="AFTER_POST_GRAD", compile_id="0/0")) == 2
    came_from = {item["file"]: item["from"] for item in manifest["files"]}
    assert came_from["__compiled_fn_0_0.kernel_1.py"] == ["__compiled_fn_0_0.AFTER_POST_GRAD.1.py"]
    (before,) = came_from["__compiled_fn_0_0.AFTER_POST_GRAD.1.py"]
    if before == "__compiled_fn_0_0.BEFORE_POST_GRAD.1.py":  # torch 2.8 reports that of a backward, too
        (before,) = came_from[before]
    assert before == "__compiled_fn_0_0.Backward_graph.0.py"
    assert came_from["__compiled_fn_0_0.Backward_graph.0.py"] == ["__compiled_fn_0_0.Joint_graph.0.py"]
    assert came_from["__compiled_fn_0_0.Captured_Graph.0.py"][0].endswith("torch_programs.py:26")
    assert files_of(manifest, stage="kernel", compile_id="0/0") == [
        "__compiled_fn_0_0.kernel_0.py",
        "__compiled_fn_0_0.kernel_1.py",
    ]
    assert files_of(manifest, kind="full_code") == ["full_code_for_toy_function_0.py"]
    assert len(files_of(manifest, kind="transformed_code")) == 3


def test_disassembly_on_request(tmp_path):
    with prepare_debug(tmp_path, log_bytecode=True):
        torch.compile(lambda x: x + 1, backend="eager")(torch.ones(2))
    manifest = check_dump(tmp_path)
    (name,) = files_of(manifest, kind="bytecode")
    assert "RETURN_VALUE" in (tmp_path / name).read_text()


def test_by_hand_and_from_a_thread(tmp_path):
    import threading

    context = prepare_debug(str(tmp_path))
    fn = torch.compile(lambda x: x * 2, backend="eager")
    out = []
    for step in (context.__enter__, lambda: out.append(fn(torch.ones(2))), lambda: context.__exit__(None, None, None)):
        thread = threading.Thread(target=step)
        thread.start()
        thread.join()
    assert torch.equal(out[0], torch.full((2,), 2.0))
    assert files_of(check_dump(tmp_path), stage="Captured_Graph")


def test_same_directory_again_adds_to_it(tmp_path):
    with prepare_debug(tmp_path):
        torch.compile(lambda x: x * 2, backend="eager")(torch.ones(2))
    torch._dynamo.reset()
    with prepare_debug(tmp_path):
        torch.compile(lambda x: x * 3, backend="eager")(torch.ones(2))
    manifest = check_dump(tmp_path)
    assert files_of(manifest, kind="full_code") == ["full_code_for_lambda_0.py", "full_code_for_lambda_1.py"]


def test_old_dump_is_replaced(tmp_path):
    (tmp_path / "full_code_for_gone_0.py").write_text("")
    (tmp_path / "mine.txt").write_text("keep")
    (tmp_path / "manifest.json").write_text(
        '{"format": 1, "files": [{"file": "full_code_for_gone_0.py", "kind": "full_code"}]}'
    )
    with prepare_debug(tmp_path):
        pass
    left = ["index.md", "manifest.json", "mine.txt", "run.jsonl", "timings.json"]
    assert sorted(path.name for path in tmp_path.iterdir()) == left


@pytest.mark.usefixtures("heap_of_its_own")
@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_objects_live_as_long_as_without(backend, tmp_path):
    """At a graph break and after the call, as many tensors are alive as without depyf."""
    import gc

    alive = []

    def count():
        gc.collect()
        alive.append(sum(type(item) is torch.Tensor for item in gc.get_objects()))

    def f(x, extra):
        y = x.sin()
        z = [y * 2, extra + 1]
        w = z[1].sum()
        count()
        if y.sum() > 0:
            z = None
        count()
        return w

    def run():
        fn = torch.compile(f, backend=backend)
        base = []
        for sign in (1.0, -1.0):
            alive.clear()
            fn(torch.full((4,), sign), torch.zeros(4))
            count()
            base.append(list(alive))
        return base

    run()  # compiling allocates
    want = run()
    torch._dynamo.reset()
    with prepare_debug(tmp_path):
        run()
        got = run()
    check_substituted(check_dump(tmp_path))
    differences = [[b - a for a, b in zip(x, y)] for x, y in zip(want, got)]
    assert len({value for row in differences for value in row}) == 1, (want, got)
