"""``depyf.edited``: an edit of a dump shows in what the program computes, and nothing of it remains afterwards."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import torch

import depyf
from depyf.dump.files.reading import read_manifest

pytestmark = pytest.mark.torch
BACKENDS = ("eager", "aot_eager", "inductor")


def layer(x, weight):
    h = torch.relu(x @ weight)
    return (h * 2).sin()


def values(of):
    """A result with its gradient."""
    torch.manual_seed(0)
    x, weight = torch.randn(4, 8), torch.randn(8, 3, requires_grad=True)
    result = of(x, weight)
    result.sum().backward()
    return result.detach(), weight.grad


def dumped(folder, backend, fn=layer, run=values):
    """The compiled function and what it gives; its dump is in ``folder``."""
    compiled = torch.compile(fn, backend=backend)
    with depyf.prepare_debug(folder):
        before = run(compiled)
    return compiled, before


def edit(folder, pattern, old, new):
    """Exchange a text in the one file that matches ``pattern``."""
    (path,) = Path(folder).glob(pattern)
    text = path.read_text()
    assert text.count(old) == 1, text
    path.write_text(text.replace(old, new))
    return path


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
            "the graph returns float32[3] on cpu as value 0, and what comes after it expects float32[4, 3] on cpu",
        ),
        ("h.double()", "the graph returns float64[4, 3] on cpu as value 0, and what comes after it expects float32"),
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
        compiled(torch.randn(5, 8), torch.randn(8, 3))


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
        x, weight = torch.randn(4, 8), torch.randn(8, 3)
        inside = compiled(x, weight)
    expected = torch.relu(x @ weight) * 2
    expected[0] = 1.0
    assert torch.allclose(inside, expected.sin())


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
