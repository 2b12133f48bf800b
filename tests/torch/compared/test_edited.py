"""``depyf.edited``: an edit of a dump shows in what the program computes, and nothing of it remains afterwards."""

from __future__ import annotations

import bdb
import contextlib
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch
import torch.utils.checkpoint

import depyf
from depyf.actions.debugger.stepping.levels import no_caches
from depyf.run.files.reading import read_manifest

pytestmark = pytest.mark.torch
BACKENDS = ("eager", "aot_eager", "inductor")


def layer(x, weight):
    h = torch.relu(x @ weight)
    return (h * 2).sin()


def values(of):
    """A result with its gradient."""
    torch.manual_seed(0)
    x, weight = torch.randn(6, 8), torch.randn(8, 4, requires_grad=True)
    result = of(x, weight)
    result.sum().backward()
    return result.detach(), weight.grad


def dumped(folder, backend, fn=layer, run=values):
    """The compiled function and what it gives; its dump is in ``folder``."""
    compiled = torch.compile(fn, backend=backend)
    with depyf.prepare_debug(folder):
        before = run(compiled)
    return compiled, before


def edit(folder, pattern, old, new, first=False):
    """Exchange a text in the one file that matches ``pattern`` and has it."""
    (path,) = [path for path in Path(folder).glob(pattern) if old in path.read_text()]
    text = path.read_text()
    assert first or text.count(old) == 1, text
    everywhere = ".kernel_" in pattern and old != "{\n"  # a kernel says it again for what is left of its last vector
    path.write_text(text.replace(old, new, -1 if everywhere else 1))
    return path


@pytest.fixture
def cold_caches():
    """Dumps have every stage."""
    with no_caches():
        yield


def equal(one, other):
    return all(torch.equal(a, b) for a, b in zip(one, other))


def close(one, other):
    return all(torch.allclose(a, b) for a, b in zip(one, other))


def used(output):
    """File -> how often, as the block says at its end."""
    return dict(re.findall(r"edited: (\S+) \(\d+ lines?\), used (\w+)", output))


@pytest.mark.parametrize("backend", BACKENDS)
def test_captured_graph(tmp_path, capsys, backend):
    compiled, before = dumped(tmp_path, backend)
    path = edit(tmp_path, "*.Captured_Graph.0.py", "h * 2;", "h * 3;")
    with depyf.edited(tmp_path):
        inside = values(compiled), values(compiled)
    expected = values(lambda x, w: (torch.relu(x @ w) * 3).sin())
    assert close(inside[0], expected) and close(inside[1], expected)
    assert used(capsys.readouterr().err) == {path.name: "2"}
    assert equal(values(compiled), before)
    torch._dynamo.reset()
    assert equal(values(torch.compile(layer, backend=backend)), before)


@pytest.mark.parametrize("entry", [0, 1])
def test_an_edit_of_one_entry_leaves_those_of_the_same_text_alone(tmp_path, capsys, entry):
    """Two entries whose graphs are the same text: one for inputs that need a gradient."""

    def double(x):
        return x * 2

    compiled = torch.compile(double, backend="eager")
    given = torch.ones(3), torch.ones(3, requires_grad=True)
    with depyf.prepare_debug(tmp_path):
        for x in given:
            compiled(x)
    path = edit(tmp_path, f"*_{entry}.Captured_Graph.0.py", "l_x_ * 2;", "l_x_ * 3;")
    with depyf.edited(tmp_path):
        inside = [compiled(x)[0].item() for x in (*given, *given)]
    assert inside == [3.0, 2.0, 3.0, 2.0] if entry == 0 else inside == [2.0, 3.0, 2.0, 3.0]
    assert used(capsys.readouterr().err) == {path.name: "2"}


EDITS = [
    ("aot_eager", "*.Forward_graph.0.py", "aten.sin.default(mul)", "aten.cos.default(mul)", "result"),
    ("aot_eager", "*.Backward_graph.0.py", "aten.cos.default(mul)", "aten.sin.default(mul)", "gradient"),
    ("aot_eager", "*.Joint_graph.0.py", "aten.sin.default(mul)", "aten.cos.default(mul)", "result"),
    ("inductor", "*.Forward_graph.0.py", "aten.sin.default(mul)", "aten.cos.default(mul)", "result"),
    ("inductor", "*.Backward_graph.0.py", "aten.cos.default(mul)", "aten.sin.default(mul)", "gradient"),
    ("inductor", "*.Joint_graph.0.py", "aten.sin.default(mul)", "aten.cos.default(mul)", "result"),
    ("inductor", "*.BEFORE_POST_GRAD.0.py", "aten.sin.default(mul)", "aten.cos.default(mul)", "result"),
    ("inductor", "*.AFTER_POST_GRAD.0.py", "aten.sin.default(mul)", "aten.cos.default(mul)", "result"),
    ("inductor", "*.AFTER_POST_GRAD.1.py", "aten.cos.default(mul)", "aten.sin.default(mul)", "gradient"),
    ("inductor", "*.kernel_0.py", ".sin()", ".cos()", "result"),
    ("inductor", "*.kernel_0.*.cpp", ".sin()", ".cos()", "result"),
    ("inductor", "*.kernel_1.*.cpp", ".cos()", ".sin()", "gradient"),
]


@pytest.mark.parametrize(("backend", "pattern", "old", "new", "changes"), EDITS)
def test_stages_below(tmp_path, capsys, cold_caches, backend, pattern, old, new, changes):
    """The edit of one stage shows in the result or in the gradient, and in nothing else; afterwards all is as before."""
    compiled, before = dumped(tmp_path, backend)
    path = edit(tmp_path, pattern, old, new, first=True)
    with depyf.edited(tmp_path):
        inside = values(compiled), values(compiled)
    assert used(capsys.readouterr().err) == {path.name: "2"}
    with_cos = values(lambda x, w: (torch.relu(x @ w) * 2).cos())
    with_sin = values(lambda x, w: -(torch.relu(x @ w) * 2).cos())
    expected = (with_cos[0], before[1]) if changes == "result" else (before[0], with_sin[1])
    if "Joint" in pattern:
        expected = (with_cos[0], before[1])
    assert close(inside[0], expected) and equal(inside[0], inside[1])
    assert equal(values(compiled), before)
    torch._dynamo.reset()
    assert equal(values(torch.compile(layer, backend=backend)), before)


def needless_copy(x, weight):
    wide = x.expand(512, 64, 32).contiguous()
    return wide.sum(0) @ weight * 2


def test_compare_with_the_original(tmp_path):
    """A needless copy is taken out of a graph: the same results, less memory; a wrong factor is found, with its line."""

    def run(of):
        return of(torch.ones(64, 32), torch.ones(32, 16, requires_grad=True))

    compiled, _ = dumped(tmp_path, "eager", needless_copy, run)
    path = edit(tmp_path, "*.Captured_Graph.0.py", ".contiguous();", "[:];")
    found = run(lambda *args: depyf.compare(compiled, *args, edited=tmp_path))
    (graph,) = found.graphs
    assert found and graph.has_gradients and graph.after.peak < graph.before.peak / 10
    assert graph.after.seconds > 0 and graph.before.seconds > 0
    assert "Captured_Graph.0.py (1 line), used once" in str(found) and "the same" in str(found)
    edit(tmp_path, "*.Captured_Graph.0.py", " * 2;", " * 3;")
    line = next(number for number, text in enumerate(path.read_text().split("\n"), 1) if " * 3;" in text)
    found = run(lambda *args: depyf.compare(compiled, *args, edited=tmp_path))
    assert not found and found.graphs[0].results is not None and found.graphs[0].gradients is not None
    assert found.first == (
        f"first node that differs: mul, {path}:{line}: 1024 of 1024 elements differ beyond tolerance",
    )


def test_compare_of_a_kernel(tmp_path, cold_caches):
    """What Inductor generates has no nodes: results and gradients tell."""
    compiled, _ = dumped(tmp_path, "inductor")
    edit(tmp_path, "*.kernel_1.*.cpp", ".cos()", ".sin()", first=True)
    torch.manual_seed(0)
    with_gradient = torch.randn(6, 8), torch.randn(8, 4, requires_grad=True)
    found = depyf.compare(compiled, *with_gradient, edited=tmp_path)
    (graph,) = found.graphs
    assert not found and graph.results is None and graph.gradients is not None


def transposed(x, y):
    return x.t() + y


def test_wrong_order_of_loops_in_a_kernel(tmp_path, cold_caches):
    """A kernel that goes through memory by columns is exchanged for one by rows: the same results, and both were timed."""
    given = torch.randn(64, 32), torch.randn(32, 64)
    compiled, _ = dumped(tmp_path, "inductor", transposed, lambda of: of(*given))
    (path,) = tmp_path.glob("*.kernel_0.*.cpp")
    head, brace, _ = path.read_text().partition("{")
    columns, rows = "for (long i = 0; i < 32; i++)", "for (long j = 0; j < 64; j++)"
    results = []
    for outer, inner in ((columns, rows), (rows, columns)):  # the result has the layout of x: 64 rows of 32
        body = "out_ptr0[32*j + i] = in_ptr0[32*j + i] + in_ptr1[64*i + j];"
        path.write_text(f"{head}{brace} {outer} {inner} {body} }}\n")
        results.append(depyf.compare(compiled, *given, edited=tmp_path))
    for found in results:
        (graph,) = found.graphs
        assert found, str(found)
        assert graph.before.seconds > 0 and graph.after.seconds > 0 and " -> " in str(found)
        assert f"{path.name} (" in found.used[0] and "used once" in found.used[0]
    assert torch.equal(compiled(*given), transposed(*given))


def with_break(x, weight):
    h = torch.relu(x @ weight)
    print(end="")
    return h * 2, [h.sum()]


def test_transformed_code(tmp_path, capsys):
    """The body is that of the file, its guards stay; lines are those of the file; a resume function is edited likewise."""
    compiled, before = dumped(tmp_path, "eager", with_break, lambda of: of(torch.ones(2, 2), torch.ones(2, 2))[0])
    first = edit(tmp_path, "__transformed_code_0_0_for_with_break.py", '(end="")', '(end="edited ")')
    (second,) = tmp_path.glob("__transformed_code_1_0_*.py")
    text = second.read_text()
    line = next(line for line in text.split("\n") if line.startswith("    return "))
    second.write_text(text.replace(line, f"    raise LookupError\n{line}"))
    with depyf.edited(tmp_path), pytest.raises(LookupError) as raised:
        compiled(torch.ones(2, 2), torch.ones(2, 2))
    output = capsys.readouterr()
    assert output.out == "edited " and used(output.err) == {first.name: "once", second.name: "once"}
    place = raised.traceback[-1]
    assert (str(place.path), place.lineno + 1) == (str(second), text[: text.index(line)].count("\n") + 1)
    assert torch.equal(compiled(torch.ones(2, 2), torch.ones(2, 2))[0], before)


@pytest.mark.parametrize("recording_outside", [True, False])
def test_edited_code_is_never_recorded_as_proven(tmp_path, recording_outside):
    compiled, _ = dumped(tmp_path / "dump", "eager")
    path = edit(tmp_path / "dump", "__transformed_code_0_0_*.py", "):\n", "):\n    unused = 1\n")
    blocks = [depyf.prepare_debug(tmp_path / "new"), depyf.edited(tmp_path / "dump")]
    first, second = blocks if recording_outside else blocks[::-1]
    with first, second:
        values(compiled)
    *_, page = sorted(
        (tmp_path / "new").glob("__transformed_code_*.py")
    )  # the last of the entries, and torch's own before
    assert f"# Verdict: EDITED: layer: EDITED: this is the text of {path}" in page.read_text()
    assert "proven" not in page.read_text()


def test_transformed_code_of_a_closure(tmp_path):
    """Free variables, cells, constants without a literal and Dynamo's own globals are those of Dynamo's code."""
    scale, seen = 3, []

    def inner(x):
        seen[:] = [float]
        return {"value": x * scale, "dtype": torch.float32}

    compiled, before = dumped(tmp_path, "eager", inner, lambda of: of(torch.ones(2)))
    (path,) = tmp_path.glob("__transformed_code_0_0_*.py")
    text = path.read_text()
    path.write_text(text.replace("'value'", "'edited'").replace('"value"', '"edited"'))
    with depyf.edited(tmp_path):
        inside = compiled(torch.ones(2))
    assert sorted(inside) == ["dtype", "edited"] and torch.equal(inside["edited"], before["value"])
    assert sorted(compiled(torch.ones(2))) == ["dtype", "value"] and seen == [float]


def test_transformed_code_that_torch_cannot_run(tmp_path):
    compiled, before = dumped(tmp_path, "eager")
    (path,) = tmp_path.glob("__transformed_code_0_0_*.py")
    path.write_text(path.read_text().replace("(x, weight):", "(x, weight, other):"))
    with (
        pytest.raises(depyf.DepyfError, match=r"_for_layer\.py:\d+: this cannot run in the place of"),
        depyf.edited(tmp_path),
    ):
        values(compiled)
    assert equal(values(compiled), before)


@pytest.mark.parametrize("backend", BACKENDS)
def test_unedited_dump_changes_no_bit(tmp_path, capsys, backend):
    compiled, before = dumped(tmp_path, backend)
    with depyf.edited(tmp_path):
        assert equal(values(compiled), before)
    assert "no file in" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("new", "problem"),
    [
        (
            "h.sum(0)",
            "the graph returns float32[4] on cpu as value 0, and what comes after it expects float32[6, 4] on cpu",
        ),
        ("h.double()", "the graph returns float64[6, 4] on cpu as value 0, and what comes after it expects float32"),
        ("h.no_such_method()", "the operation fails: AttributeError"),
        ("h if h.sum() > 0 else h", "the graph cannot be traced: TraceError"),
        ("h @ h", "the operation fails: RuntimeError"),
        ("undefined(h)", "the graph cannot be traced: NameError"),
    ],
)
def test_wrong_graph_is_an_error_at_its_line(tmp_path, new, problem):
    compiled, before = dumped(tmp_path, "aot_eager")
    path = edit(tmp_path, "*.Captured_Graph.0.py", "h * 2;", f"{new};")
    line = next(number for number, text in enumerate(path.read_text().split("\n"), 1) if new in text)
    with pytest.raises(depyf.DepyfError) as raised, depyf.edited(tmp_path):
        values(compiled)
    found, _, reason = str(raised.value).removeprefix(f"{path}:").partition(": ")
    assert (int(found) >= line) and reason.startswith(problem)
    assert equal(values(compiled), before)


WRONG_KERNELS = [("*.kernel_0.*.cpp", "nosuch(1);"), ("*.kernel_1.*.cpp", "int (;")]


@pytest.mark.parametrize(("pattern", "new"), WRONG_KERNELS)
def test_kernel_that_does_not_compile_is_an_error_at_its_line(tmp_path, cold_caches, pattern, new):
    """In the forward and in the backward; what was written for the C++ compiler is not left behind."""
    from torch._inductor.runtime.cache_dir_utils import cache_dir

    compiled, before = dumped(tmp_path, "inductor")
    marked = f"{new} // {tmp_path.name}"
    path = edit(tmp_path, pattern, "{\n", f"{{\n    {marked}\n", first=True)
    line = path.read_text().split("\n").index(f"    {marked}") + 1
    with pytest.raises(depyf.DepyfError) as raised, depyf.edited(tmp_path):
        values(compiled)
    assert str(raised.value).startswith(f"{path}:{line}: the kernel does not compile: ")
    left = [found for found in Path(cache_dir()).rglob("*.cpp") if marked in found.read_text(errors="replace")]
    left += [found for found in Path(cache_dir()).rglob("*.py") if marked in found.read_text(errors="replace")]
    assert not left
    assert equal(values(compiled), before)


@pytest.mark.parametrize("stage", ["BEFORE_POST_GRAD.1", "AFTER_POST_GRAD.1", "Backward_graph.0"])
def test_wrong_graph_of_a_backward_is_an_error_of_ours(tmp_path, cold_caches, stage):
    """Inductor wraps what it is told there, outside of a frame's compilation."""
    compiled, before = dumped(tmp_path, "inductor")
    (path,) = tmp_path.glob(f"*.{stage}.py")
    head, found, _ = path.read_text().rpartition("return ")
    path.write_text(f"{head}return ()\n")
    with pytest.raises(depyf.DepyfError) as raised, depyf.edited(tmp_path):
        values(compiled)
    line = head.count("\n") + 1
    assert found and str(raised.value).startswith(f"{path}:{line}: the graph returns 0 values")
    assert equal(values(compiled), before)


def test_syntax_error_is_one_before_anything_runs(tmp_path):
    dumped(tmp_path, "eager")
    path = edit(tmp_path, "*.Captured_Graph.0.py", "h * 2;", "h * (2;")
    with pytest.raises(depyf.DepyfError, match=r"Captured_Graph\.0\.py:\d+: not Python"), depyf.edited(tmp_path):
        raise AssertionError("the block was entered")
    assert path.exists()


def test_edit_that_is_never_used_is_an_error(tmp_path):
    _compiled, _ = dumped(tmp_path, "eager")
    edit(tmp_path, "*.Captured_Graph.0.py", "h * 2;", "h * 3;")
    with (
        pytest.raises(depyf.DepyfError, match=r"never used: its function layer .* was not compiled"),
        depyf.edited(tmp_path),
    ):
        pass
    other = torch.compile(lambda x, w: x @ w, backend="eager")
    with pytest.raises(ValueError, match="of the program"), depyf.edited(tmp_path):
        values(other)
        raise ValueError("of the program")


def test_edit_for_what_is_another_function_now_is_an_error(tmp_path):
    compiled, _ = dumped(tmp_path, "eager")
    edit(tmp_path, "*.Captured_Graph.0.py", "h * 2;", "h * 3;")
    with pytest.raises(depyf.DepyfError, match="is not what it made when the dump was written"), depyf.edited(tmp_path):
        compiled(torch.randn(5, 8), torch.randn(8, 4))


def test_python_in_an_edited_graph(tmp_path):
    """Loops, functions of its own and values assigned in place are traced as they run."""
    compiled, _ = dumped(tmp_path, "inductor")
    path = edit(tmp_path, "*.Captured_Graph.0.py", "h * 2;", "twice(h)\n        mul[0] = 1.0;")
    text = path.read_text()
    path.write_text(
        text.replace(
            "class GraphModule",
            "def twice(h):\n    for _ in range(1):\n        h = h + h\n    return h\n\n\nclass GraphModule",
            1,
        )
    )
    with depyf.edited(tmp_path):
        torch.manual_seed(0)
        x, weight = torch.randn(6, 8), torch.randn(8, 4)
        inside = compiled(x, weight)
    expected = torch.relu(x @ weight) * 2
    expected[0] = 1.0
    assert torch.allclose(inside, expected.sin())


def scaled(x, n):
    return x * n


def entries_taken(tmp_path, old, new, *calls):
    """The results of the calls in a block with edited guards, and how often torch compiled there."""
    compiled, _ = dumped(tmp_path, "eager", scaled, lambda of: of(torch.ones(3), 2))
    edit(tmp_path, "full_code_for_scaled_*.py", old, new)
    made = []
    with depyf.edited(tmp_path):
        hook = torch._dynamo.convert_frame.register_bytecode_hook(lambda code, out: made.append(code))
        try:
            results = [compiled(*call)[0].item() for call in calls]
        finally:
            hook.remove()
    assert compiled(torch.ones(3), 5)[0].item() == 5 and compiled(torch.ones(3), 2)[0].item() == 2
    return results, len(made)


N = "and same_value(L['n'], 2)"


def test_stricter_guards(tmp_path, capsys, recwarn):
    """An entry whose added guard does not hold is not taken: torch compiles another one."""
    calls = [(torch.ones(3), 2), (torch.ones(3), 2), (-torch.ones(3), 2)]
    found = entries_taken(tmp_path, N, f"{N}\n        and L['x'].sum() > 0", *calls)
    assert found == ([2.0, 2.0, -2.0], 2)
    said = capsys.readouterr().err.replace(" guards_0_0()", "")  # torch asks once more for the reason to compile again
    assert used(said) == {"full_code_for_scaled_0.py": "3"}
    assert not [warning for warning in recwarn if "looser" in str(warning.message)]


@pytest.mark.parametrize("new", ["", "and type_is(L['n'], 'int')", "and (same_value(L['n'], 2) or L['n'] > 4)"])
def test_looser_guards(tmp_path, new):
    """Code that was compiled for 2 runs for 5, as the warning says; torch's other guards are still asked."""
    calls = [(torch.ones(3), 2), (torch.ones(3), 5), (torch.ones(3, dtype=torch.int64), 5)]
    with pytest.warns(
        RuntimeWarning, match=r"_0\.py:\d+: .* looser than torch's: without same_value\(L\['n'\], 2\), code"
    ):
        found = entries_taken(tmp_path, N, new, *calls)
    assert found == ([2.0, 2.0, 5], 2)


def test_guards_that_fail(tmp_path, capsys):
    """A guard that raises does not hold; one that names what is not there is an error at its line."""
    calls = [(torch.ones(3), 2), (-torch.ones(3), 2)]
    raising = f"{N}\n        and (L['x'].sum() > 0 or L['m'])"
    assert entries_taken(tmp_path / "raises", N, raising, *calls) == ([2.0, -2.0], 2)
    assert "a guard that raises does not hold: KeyError: 'm'" in capsys.readouterr().err
    torch._dynamo.reset()
    with pytest.raises(depyf.DepyfError, match=r"_0\.py:\d+: a guard can use .*, not missing"):
        entries_taken(tmp_path / "unknown", N, f"{N}\n        and missing(L)", *calls)
    torch._dynamo.reset()
    with pytest.raises(depyf.DepyfError, match=r"_0\.py:\d+: guards_0_0\(\) has to be one return"):
        entries_taken(tmp_path / "more", "    return (\n", "    print()\n    return (\n", *calls)


@pytest.mark.parametrize(("new", "why"), [("L['x'].sum() < 0", ""), ("L['m']", r" \(KeyError: 'm'\)")])
def test_guard_that_does_not_hold_for_the_call_that_compiles(tmp_path, new, why):
    """Torch asks no guard then: the call is an error at the guard's line, and returns nothing."""
    with pytest.raises(
        depyf.DepyfError, match=r"_0\.py:(\d+): this guard does not hold for the call .* entry" + why
    ) as raised:
        entries_taken(tmp_path, N, f"{N}\n        and {new}", (torch.ones(3), 2))
    (path,) = tmp_path.glob("full_code_for_scaled_*.py")
    line = next(number for number, text in enumerate(path.read_text().split("\n"), 1) if f"and {new}" in text)
    assert f":{line}: " in str(raised.value)
    assert torch.compile(scaled, backend="eager")(torch.ones(3), 2)[0].item() == 2


STEPPED = [
    ("eager", "*.Captured_Graph.0.py", "h * 2;", "h * 3;"),
    ("aot_eager", "*.Forward_graph.0.py", "aten.sin.default(mul)", "aten.cos.default(mul)"),
    ("aot_eager", "*.Backward_graph.0.py", "aten.cos.default(mul)", "aten.sin.default(mul)"),
]


@pytest.mark.parametrize("stepping", [False, True])
@pytest.mark.parametrize(("backend", "pattern", "old", "new"), STEPPED)
def test_breakpoints_in_edited_graphs(tmp_path, backend, pattern, old, new, stepping):
    """A debugger stops at the edited line, with the values of the graph by their names; with ``debug`` around it, too."""
    compiled, _ = dumped(tmp_path, backend)
    path = edit(tmp_path, pattern, old, new, first=True)
    line = next(number for number, text in enumerate(path.read_text().split("\n"), 1) if new in text)
    found = []

    class Debugger(bdb.Bdb):
        def user_line(self, frame):
            if frame.f_lineno == line and frame.f_code.co_filename == str(path):
                found.append(sorted(name for name in frame.f_locals if name in ("h", "mul", "relu")))
            self.set_continue()

    debugger = Debugger()
    with depyf.edited(tmp_path):
        values(compiled)
        with depyf.debug() if stepping else contextlib.nullcontext():
            assert debugger.set_break(str(path), line) is None
            debugger.runcall(values, compiled)
            debugger.clear_all_breaks()
    assert found == [["h"] if backend == "eager" else ["mul", "relu"]]


def with_subgraphs(x):
    h = torch.utils.checkpoint.checkpoint(lambda y: torch.relu(y) * 2, x, use_reentrant=False)
    return torch.cond(x.sum() > 0, lambda v: v.sin(), lambda v: v.cos(), (h,))


@pytest.mark.parametrize("backend", BACKENDS[:2])
def test_subgraphs(tmp_path, backend):
    """An edit in the graph of a checkpoint or of a branch is used; one of a class that is no subgraph is an error."""
    given = torch.ones(3)
    compiled, before = dumped(tmp_path, backend, with_subgraphs, lambda of: of(given))
    path = edit(tmp_path, "*.Captured_Graph.0.py", "relu * 2;", "relu * 3;")
    edit(tmp_path, "*.Captured_Graph.0.py", "= h_1.sin();", "= h_1.tan();")
    with depyf.edited(tmp_path):
        inside = compiled(given)
    assert torch.equal(inside, torch.full((3,), 3.0).tan()) and torch.equal(compiled(given), before)
    assert not depyf.compare(compiled, given, edited=tmp_path)
    text = path.read_text()
    path.write_text(text.replace("h_1.tan()", "h_1.no_such()"))
    line = text[: text.index("h_1.tan()")].count("\n") + 1
    with pytest.raises(depyf.DepyfError, match=rf"0\.py:{line}: the operation fails"), depyf.edited(tmp_path):
        compiled(given)
    path.write_text(text.rstrip("\n") + "\n\n    class unknown(torch.nn.Module):\n        pass\n")
    with pytest.raises(depyf.DepyfError, match=r"unknown is no subgraph of this graph"), depyf.edited(tmp_path):
        compiled(given)


def test_pages_that_cannot_be_edited_are_refused(tmp_path):
    dumped(tmp_path, "eager")
    (path,) = tmp_path.glob("full_code_for_*.py")
    path.write_text(path.read_text() + "# edited\n")
    with pytest.raises(depyf.DepyfError, match="this page is for reading"), depyf.edited(tmp_path):
        raise AssertionError("the block was entered")


@pytest.mark.parametrize("name", ["../outside.py", "/etc/hostname", "folder/../../outside.py", 7, None, ["a"]])
def test_names_that_lead_out_of_the_dump_are_refused(tmp_path, name):
    """``edited``, ``export`` and ``repro`` open no file but those in the folder, whatever the manifest says."""
    folder = tmp_path / "dump"
    dumped(folder, "eager")
    (tmp_path / "outside.py").write_text("raise SystemExit\n")
    manifest = json.loads((folder / "manifest.json").read_text())
    for item in manifest["files"]:
        if item["kind"] in ("graph", "full_code"):
            item["file"] = name
    (folder / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(depyf.DepyfError), depyf.edited(folder):
        raise AssertionError("the block was entered")
    for command in (["export", str(folder), "-o", str(tmp_path / "package")], ["repro", str(folder), "0/0"]):
        done = subprocess.run([sys.executable, "-m", "depyf", *command], capture_output=True, text=True, cwd=tmp_path)
        assert done.returncode not in (0, 1) or "Traceback" not in done.stderr, done.stderr
        assert done.returncode != 0, (command, done.stdout)


def test_links_are_not_read(tmp_path):
    dumped(tmp_path / "dump", "eager")
    (path,) = (tmp_path / "dump").glob("*.Captured_Graph.0.py")
    outside = tmp_path / "outside.py"
    outside.write_text(path.read_text() + "\nraise SystemExit\n")
    path.unlink()
    path.symlink_to(outside)
    with pytest.raises(depyf.DepyfError, match="symbolic link"), depyf.edited(tmp_path / "dump"):
        raise AssertionError("the block was entered")


def test_dump_without_checksums_is_refused(tmp_path):
    dumped(tmp_path, "eager")
    manifest = tmp_path / "manifest.json"
    manifest.write_text(re.sub(r'\n *"(?:sha256|line_checksums)": "\w+"(,?)', r'\n"x": 1\1', manifest.read_text()))
    assert read_manifest(tmp_path).files
    with pytest.raises(depyf.DepyfError, match="kept no checksums"), depyf.edited(tmp_path):
        raise AssertionError("the block was entered")
