"""Everything that torch.compile reported is in the dump: breaks, recompiles, symbols, caches, kernels, skipped frames."""

from __future__ import annotations

import json
import sys

import pytest
import torch
from dumps import check_dump, check_substituted, files_of, fresh_cache, lacks

import depyf
import with_torch
from depyf.actions.asking.why import recompile_limit

pytestmark = pytest.mark.torch


def entries(manifest, name):
    return [e for f in manifest["functions"] if f["function"].endswith(name) for e in f["entries"]]


def test_skipped_frame(tmp_path):
    def skipped(x):
        try:
            x = x + 1
            print("in the try", end="")
        finally:
            x = x * 2
        for _ in range(2):
            try:
                print(end="")
            except ValueError:
                pass
        return x

    with depyf.prepare_debug(tmp_path):
        torch.compile(skipped, backend="eager")(torch.ones(2))
    manifest = check_dump(tmp_path)
    index = (tmp_path / "index.md").read_text()
    (entry,) = entries(manifest, "skipped")
    assert not entry["compiled"] and entry["failed"]
    assert entry["graph_breaks"][-1]["skipped"]
    assert "## Ran as ordinary Python\n\n- `" in index and "print() writes while the program runs" in index
    assert "1 time a function ran as ordinary Python" in index


def test_breaks_are_counted_once(tmp_path):
    def branching(x, n):
        x = x * n
        if x.sum() > 0:
            return x + n
        return x - n

    compiled = torch.compile(branching, backend="eager")
    with depyf.prepare_debug(tmp_path):
        for n in (1, 2.5, 3):
            compiled(torch.ones(2), n)
    manifest = check_dump(tmp_path)
    breaks = [b for e in entries(manifest, "branching") for b in e["graph_breaks"]]
    assert len(breaks) >= 2 and len({b["at"] for b in breaks}) == 1
    first = branching.__code__.co_firstlineno
    assert breaks[0]["at"] == f"{__file__}:{first + 2}"
    assert "depends on the values in a tensor" in breaks[0]["cause"]
    assert bool(breaks[0]["hints"]) != lacks(manifest, "hints")
    assert "- 1 distinct graph break\n" in (tmp_path / "index.md").read_text()


def encodes(x, keys):
    y = x * 2
    return json.dumps(keys), y + 1


def encodes_once_more(x, keys):
    y = x * 3
    return json.dumps(keys), y + 1


def test_break_in_a_library(tmp_path):
    """The line of the program that led there is named, and two such lines are two breaks."""
    with depyf.prepare_debug(tmp_path):
        torch.compile(encodes, backend="eager")(torch.ones(2), {"a": 1})
        torch.compile(encodes_once_more, backend="eager")(torch.ones(2), {"a": 1})
    manifest = check_dump(tmp_path)
    index = (tmp_path / "index.md").read_text()
    for function in (encodes, encodes_once_more):
        broken = [b for e in entries(manifest, function.__name__) for b in e["graph_breaks"]]
        assert broken, index
        line = f"{__file__}:{function.__code__.co_firstlineno + 2}"
        assert line in (broken[0].get("from"), broken[0]["at"])
        if "from" in broken[0]:
            assert index.count(f". {line} `return json.dumps(keys), y + 1`: ") == 1 and "   - there, in " in index


def test_break_behind_code_of_the_dump():
    """Dynamo's code runs as a file of the dump, which is none of the program's."""
    from depyf.sources.reports.graph_breaks import parse_break

    text = (
        f"Graph break in user code at {json.__file__}:105\nGraph Break Reason: why\n\nUser code traceback:\n"
        '  File "/home/me/train.py", line 45, in <module>\n    loss = model(x)\n'
        '  File "/home/me/dump/__transformed_code_0_0_for_inner.py", line 8, in inner\n    return fn(*args)\n'
        f'  File "{json.__file__}", line 105, in dumps\n    self.gen = func()\n'
    )
    caller = parse_break(text).caller
    assert caller is not None and str(caller) == "/home/me/train.py:45 in <module>"
    assert parse_break(text.replace(json.__file__, "/home/me/model.py")).caller is None


def test_recompile_values(tmp_path):
    def scaled(x, n, flag=None):
        return x * n if flag is None else x + n

    compiled = torch.compile(scaled, backend="eager", dynamic=False)
    with depyf.prepare_debug(tmp_path):
        compiled(torch.ones(2), 1)
        compiled(torch.ones(2), 2)
        compiled(torch.ones(3), 2)
        compiled(torch.ones(3), 2, flag="yes")
    manifest = check_dump(tmp_path)
    _, second, third, newest = sorted(entries(manifest, "scaled"), key=lambda e: e["compile_id"])
    assert second["recompiled_because"][0]["expected"] == "1" and second["recompiled_because"][0]["actual"] == "2"
    assert "a tensor" in second["recompiled_because"][0]["advice"][1]["text"]
    assert third["recompiled_because"][0]["expected"] == "2" and third["recompiled_because"][0]["actual"] == "3"
    assert third["recompiled_because"][0]["advice"][0]["text"].startswith("leave out dynamic=False")
    assert newest["recompiled_because"][0]["expected"] == "None"
    assert newest["recompiled_because"][0]["actual"] == "'yes'"


def test_recompile_limit(tmp_path):
    def scaled(x, n):
        return x * n

    compiled = torch.compile(scaled, backend="eager", dynamic=False)
    limit = recompile_limit()
    with depyf.prepare_debug(tmp_path):
        for n in range(limit + 1):
            compiled(torch.ones(2), n)
    manifest = check_dump(tmp_path)
    failed = [e["failed"] for e in entries(manifest, "scaled") if not e["compiled"]]
    assert len(failed) == 1 and "recompile_limit" in failed[0]


def test_what_the_limit_refused_has_its_place_in_the_program(tmp_path):
    linear = torch.nn.Linear(2, 2)
    forward = torch.compile(torch.nn.Linear.forward, backend="eager", dynamic=False)
    with depyf.prepare_debug(tmp_path):
        for n in range(recompile_limit()):
            forward(linear, torch.ones(n + 2, 2))
        forward(linear.double(), torch.ones(2, 2, dtype=torch.float64))
    (refused,) = (cause for cause in check_dump(tmp_path)["causes"] if "dtype" in cause["text"])
    assert refused["at"].startswith(f"{__file__}:") and "linear.double()" in refused["line"]


@pytest.mark.parametrize("advised", (False, True))
def test_a_float_that_an_operator_takes_as_a_number(tmp_path, advised):
    def clipped(x, clip):
        return x.clamp(1 - clip, 1 + clip)

    compiled = torch.compile(clipped, backend="aot_eager", dynamic=True)
    with depyf.prepare_debug(tmp_path):
        for clip in (0.2, 0.1, 0.05):
            compiled(torch.ones(3), torch.tensor(clip) if advised else clip)
    causes = check_dump(tmp_path)["causes"]
    if advised:
        assert causes == []
    else:
        assert [[use["id"] for use in cause["advice"]] for cause in causes] == [["number-as-tensor"]]
        assert causes[0]["line"] == "return x.clamp(1 - clip, 1 + clip)"


def test_symbols(tmp_path):
    def halved(x):
        if x.shape[0] % 2 == 0:
            return x.view(2, -1) + 1
        return x

    def constant(x):
        return x + 1 if x.shape[0] == 7 else x

    with depyf.prepare_debug(tmp_path):
        torch.compile(halved, backend="eager", dynamic=True)(torch.ones(6))
        torch.compile(constant, backend="eager", dynamic=True)(torch.ones(7))
    manifest = check_dump(tmp_path)
    (entry,) = entries(manifest, "halved")
    (symbol,) = entry["symbols"]
    first = halved.__code__.co_firstlineno
    assert symbol["source"] == "L['x'].size()[0]" and symbol["value"] == "6"
    assert symbol["at"] == f"{__file__}:{first + 1}"
    assert any("Mod" in a["expression"] and f":{first + 1}" in a["at"] for a in symbol["assumed"])
    (entry,) = entries(manifest, "constant")
    assert entry["symbols"][0]["became"] == "7"
    assert entry["symbols"][0]["specialised_at"] == f"{__file__}:{constant.__code__.co_firstlineno + 1}"


def test_inductor_stages(tmp_path):
    def loss(x, w):
        return torch.relu(x @ w).sum()

    def alike(x, w):
        return torch.relu(x @ w).sum()

    compiled = torch.compile(loss)
    with fresh_cache():
        with depyf.prepare_debug(tmp_path / "cold"):
            compiled(torch.ones(4, 4), torch.ones(4, 4, requires_grad=True)).backward()
        torch._dynamo.reset()
        with depyf.prepare_debug(tmp_path / "warm"):
            compiled(torch.ones(4, 4), torch.ones(4, 4, requires_grad=True)).backward()
        with depyf.prepare_debug(tmp_path / "alike"):
            torch.compile(alike)(torch.ones(4, 4), torch.ones(4, 4, requires_grad=True)).backward()
    cold, warm = check_dump(tmp_path / "cold"), check_dump(tmp_path / "warm")
    for manifest in (cold, warm):
        check_substituted(manifest)
        for stage in ("Captured_Graph", "Joint_graph", "Forward_graph", "Backward_graph"):
            assert len(files_of(manifest, stage=stage)) == 1, stage
        assert len(files_of(manifest, stage="kernel")) == 2
        assert len(files_of(manifest, stage="AFTER_POST_GRAD")) == (
            0 if manifest is warm and lacks(warm, "post-grad graphs of a cache hit") else 2
        )
        kernels = files_of(manifest, kind="kernel_source")
        assert kernels and all(name.endswith(".cpp") for name in kernels)
    assert "FX graph miss" in (tmp_path / "cold" / "index.md").read_text()
    assert "FX graph hit" in (tmp_path / "warm" / "index.md").read_text()
    # the graphs of a hit name the lines of the function that filled the cache
    for folder in ("cold", "warm", "alike"):
        for page in (tmp_path / folder).glob("*_graph.0.py"):
            text = page.read_text()
            assert ("Taken from a compile cache" in text) == (folder == "alike" and " in loss, code" in text), page
    assert len(files_of(cold, stage="BEFORE_PRE_GRAD")) == (0 if lacks(cold, "before and after the pre-grad") else 1)
    text = (tmp_path / "cold" / files_of(cold, kind="kernel_source")[0]).read_text()
    assert text.startswith("// Kernel cpp_fused") and 'extern "C"' in text
    timings = json.loads((tmp_path / "cold" / "timings.json").read_text())["seconds"]["0_0"]
    assert timings["entire_frame_compile_time"] > 0 and any(name.startswith("backward.") for name in timings)


def test_a_page_written_on_the_way_has_the_lines_of_the_last_one():
    from depyf.run.records import CompileKey, GraphRecord
    from depyf.views.pages.graph_page import graph_page, quick_page

    text = """class GraphModule(torch.nn.Module):
    def forward(self, arg0_1: "f32[2][1]cpu"):
        _foreach_add = torch.ops.aten._foreach_add_.Scalar([arg0_1], 1);  arg0_1 = None
        getitem: "f32[2][1]cpu" = _foreach_add[0];  _foreach_add = None
        return (getitem,)
"""
    record = GraphRecord(CompileKey(0, "0/0"), "AFTER_POST_GRAD", 0, text)
    line = "        _foreach_add = [arg0_1];  torch.ops.aten._foreach_add_.Scalar(_foreach_add, 1);  arg0_1 = None\n"
    assert line in quick_page(record) and line in graph_page(record)


def changes_a_list(tensors):
    torch._foreach_add_(tensors, 1.5)
    return [t * 2 for t in tensors]


def test_operators_that_change_lists(tmp_path):
    """Inductor takes items of the result of an operator that returns nothing; the page of that graph runs."""
    with fresh_cache(), depyf.prepare_debug(tmp_path):
        torch.compile(changes_a_list, backend="inductor")([torch.ones(2), torch.ones(3)])
    for page in tmp_path.glob("__compiled_fn_*POST_GRAD.*.py"):
        done = with_torch.run([sys.executable, page], imports=with_torch.ALONE)
        assert done.returncode == 0, (page.read_text(), done.stderr)


def test_original_code(tmp_path):
    def breaks(x):
        y = x + 1
        print(end="")
        return y * 2

    with depyf.prepare_debug(tmp_path):
        torch.compile(breaks, backend="eager")(torch.ones(2))
    names = files_of(check_dump(tmp_path), kind="original_code")
    assert len(names) == 2
    texts = [(tmp_path / name).read_text() for name in names]
    assert "y = x + 1" in texts[0] and "RETURN_VALUE" in texts[0] and f"{__file__}:" in texts[0]
    assert "return y * 2" in texts[1] and "RETURN_VALUE" in texts[1]


@pytest.mark.parametrize("backend", ["eager", "inductor"])
def test_compiled_before(backend, tmp_path):
    def early(x):
        return torch.sin(x) + 1

    def later(x):
        return torch.cos(x) + 1

    compiled = torch.compile(early, backend=backend)
    expected = compiled(torch.ones(3))
    with depyf.prepare_debug(tmp_path):
        torch.compile(later, backend=backend)(torch.ones(3))
        assert torch.equal(compiled(torch.ones(3)), expected)
    manifest = check_dump(tmp_path)
    (entry,) = entries(manifest, "early")
    assert entry["compiled"] and entry["before_recording"] and entry["guards"]
    (name,) = [n for n in files_of(manifest, kind="transformed_code") if "early" in n]
    assert "__compiled_fn_0_0(x)" in (tmp_path / name).read_text()
    stage = "Captured_Graph" if backend == "eager" else "kernel"
    assert files_of(manifest, stage=stage, compile_id="0/0")
    assert not entries(manifest, "later")[0]["before_recording"]
    before = {item.name: item.read_text() for item in tmp_path.iterdir() if item.name != "timings.json"}
    with depyf.prepare_debug(tmp_path):  # again: nothing is recorded twice
        compiled(torch.ones(3))
    assert before == {item.name: item.read_text() for item in tmp_path.iterdir() if item.name != "timings.json"}


def test_never_compiled(tmp_path):
    def generated(x):
        yield x + 1

    with depyf.prepare_debug(tmp_path):
        list(torch.compile(generated, backend="eager")(torch.ones(2)))
    manifest = check_dump(tmp_path)
    if sys.version_info < (3, 11):  # a generator starts after the call, when torch.compile no longer listens
        assert manifest["never_compiled"] == []
        return
    assert any(f["function"].endswith("generated") and "generator" in f["reason"] for f in manifest["never_compiled"])


def test_the_same_function_after_a_reset(tmp_path):
    """Compile ids begin anew: what torch has in its cache is the last 0/0, and the page of the first one says so."""

    def scaled(x, n):
        return x * n

    compiled = torch.compile(scaled, backend="eager", dynamic=False)
    with depyf.prepare_debug(tmp_path):
        for n in (2.5, 3.5):
            compiled(torch.ones(2), n)
            compiled(torch.ones(3), n)
            torch._dynamo.reset()
        compiled(torch.ones(2), 4.5)
    manifest = check_dump(tmp_path)
    states = [e["state"] for e in entries(manifest, "scaled")]
    assert states[-1] == "live" and set(states[:-1]) == {"event"}, states
    pages = sorted(tmp_path.glob("full_code_for_scaled_*.py"))
    assert [page.read_text().count("no longer in torch's cache") for page in pages] == [2, 2, 0]


def test_symbols_of_library_code(tmp_path):
    """The line of the program that gave torch's module its input, not the line in the module."""
    model = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3))

    def applied(x):
        return model(x) * 2

    with depyf.prepare_debug(tmp_path):
        torch.compile(applied, backend="eager", dynamic=True)(torch.ones(2, 3, 8, 8))
    page = (tmp_path / "shapes.md").read_text()
    assert f"test_capture.py:{applied.__code__.co_firstlineno + 1} `return model(x) * 2`, `conv2d`" in page


def test_kernels_in_cpp(tmp_path):
    def softened(x):
        return x.softmax(-1).sum(0)

    with fresh_cache(), depyf.prepare_debug(tmp_path):
        torch.compile(softened, options={"cpp_wrapper": True})(torch.ones(3, 8))
    manifest = check_dump(tmp_path)
    kernels = files_of(manifest, kind="kernel_source")
    assert any("cpp_fused" in name for name in kernels) and any("cpp_wrapper" in name for name in kernels), kernels
    (wrapper,) = tmp_path.glob("*.cpp_wrapper.cpp")
    for name in {*kernels} - {wrapper.name}:
        assert 'extern "C"' in (tmp_path / name).read_text()
        assert f"{name.split('.')[-2]}(" in wrapper.read_text()


class Made(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.scale = torch.nn.Parameter(torch.ones(width))
        self.seen = set()

    def forward(self, x):
        self.seen.add(1)
        return x * self.scale


def makes_a_module(x):
    module = Made(4)
    return module(x), module


def makes_containers(x):
    kept = {"empty": set(), "full": {1, 2}, "frozen": frozenset((3,)), "bytes": bytearray(b"a"), "object": [{"a": 1}]}
    torch._dynamo.graph_break()
    return x + 1, kept, set(), [set(), set()]


@pytest.mark.parametrize("function", (makes_a_module, makes_containers))
def test_frames_that_make_sets_run(tmp_path, function):
    """A text calls ``set()``, where Dynamo's own bytecode has an instruction."""
    with depyf.prepare_debug(tmp_path):
        got = torch.compile(function, backend="eager")(torch.ones(4))
    check_substituted(check_dump(tmp_path))
    assert torch.equal(got[0], function(torch.ones(4))[0])
