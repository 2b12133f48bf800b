"""``depyf.testing`` and the pytest plugin: clear messages, and nothing where nothing is wrong."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
import torch
from dumps import ROOT

from depyf.testing import assert_graph_count, assert_no_graph_breaks, assert_no_recompiles

pytestmark = pytest.mark.torch


def breaks(x):
    y = x + 1
    print("break")  # the line
    return y * 2


def fine(x, n=2):
    return x.sin() * n


def compiled(fn, **options):
    return torch.compile(fn, backend="eager", **options)


def test_graph_breaks(capsys):
    torch._dynamo.reset()
    with assert_no_graph_breaks():
        compiled(fine)(torch.ones(2))
    with pytest.raises(AssertionError) as failed, assert_no_graph_breaks():
        compiled(breaks)(torch.ones(2))
    text = str(failed.value)
    line = breaks.__code__.co_firstlineno + 2
    assert text.startswith("1 graph break:") and f"{__file__}:{line} in breaks [0/0]" in text.replace("[1/0]", "[0/0]")
    assert "cause: " in text and "print" in text
    capsys.readouterr()


def test_skipped_function(capsys):
    def loops(x):
        for _ in range(2):
            print("break")
            x = x + 1
        return x

    with pytest.raises(AssertionError, match="graph break"), assert_no_graph_breaks():
        compiled(loops)(torch.ones(2))
    capsys.readouterr()


def test_recompiles():
    fn = compiled(fine, dynamic=False)
    with assert_no_recompiles():
        fn(torch.ones(2))
        fn(torch.zeros(2))
    with pytest.raises(AssertionError) as failed, assert_no_recompiles():
        fn(torch.ones(3))
        fn(torch.ones(2), 3)
    text = str(failed.value)
    assert text.startswith("2 recompilations:") and f"fine ({__file__}:" in text
    assert "expected 2, actual 3" in text and "advice: " in text


def test_graph_count(capsys):
    fn = compiled(breaks)
    with assert_graph_count(2):
        fn(torch.ones(2))
    with pytest.raises(AssertionError, match=r"captured 0\n.*compiled before"), assert_graph_count(2):
        fn(torch.ones(2))
    with assert_graph_count(0):
        fn(torch.ones(2))
    with pytest.raises(AssertionError, match=r"expected 1 graph, torch\.compile captured 2"), assert_graph_count(1):
        compiled(breaks, dynamic=False)(torch.ones(4))
    capsys.readouterr()


def test_other_exceptions_go_through():
    with pytest.raises(KeyError), assert_graph_count(9), assert_no_graph_breaks(), assert_no_recompiles():
        raise KeyError


SUITE = """
import sys

import pytest
@pytest.mark.no_graph_breaks
def test_breaks(one): one()
@pytest.mark.no_graph_breaks
def test_fine(two): two()
def test_fixture(one, no_graph_breaks): one()
@pytest.mark.graph_count(2)
@pytest.mark.no_recompiles
def test_count(one): one()
@pytest.mark.graph_count("x")
def test_wrong(two): two()
@pytest.fixture
def one():
    import torch
    torch._dynamo.reset()
    def f(x):
        y = x + 1
        print("break")
        return y * 2
    return lambda: torch.compile(f, backend="eager")(torch.ones(2))
@pytest.fixture
def two():
    import torch
    one = torch.compile(lambda x: x + 1, backend="eager")
    return lambda: one(torch.ones(2))
"""


def run_pytest(folder, text, *options):
    (folder / "test_it.py").write_text(text)
    env = dict(os.environ) | {"PYTHONPATH": str(ROOT / "src"), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    command = [sys.executable, "-m", "pytest", "-p", "depyf.pytest_plugin", "-q", "-c", os.devnull, "--rootdir", str(folder), *options, str(folder)]  # fmt: skip
    return subprocess.run(command, env=env, capture_output=True, text=True, check=False, cwd=folder)


def test_plugin(tmp_path):
    done = run_pytest(tmp_path, SUITE, "--strict-markers")
    assert "3 failed, 2 passed" in done.stdout, done.stdout
    assert "pytest_plugin.py" not in done.stdout  # a traceback would show nothing but depyf
    for name in ("test_breaks", "test_fixture", "test_wrong"):
        assert f"FAILED test_it.py::{name}" in done.stdout, done.stdout
    assert "1 graph break:" in done.stdout and "graph_count takes one number" in done.stdout


HIDDEN = """
import pytest, torch
torch._dynamo.config.suppress_errors = False
def f(x):
    y = x + 1
    for _ in range(2):
        print("break")
        y = y * 2
    return y
def g(x):
    return x * 2
f_c, g_c = torch.compile(f, backend="eager"), torch.compile(g, backend="eager", dynamic=False)
@pytest.mark.parametrize("size", [2, 3])
def test_first(size):
    f_c(torch.ones(2))
    g_c(torch.ones(size))
@pytest.mark.parametrize("size", [pytest.param(2, marks=pytest.mark.no_graph_breaks), 3])
def test_given_up(size):
    x = torch.ones(size)
    f_c(x)
class TestSizes:
    @pytest.mark.no_recompiles
    def test_again(self):
        for size in (2, 3):
            g_c(torch.ones(size))
"""


def test_what_earlier_tests_compiled_hides_nothing(tmp_path):
    """torch gave f up, and has entries of both sizes of g, when the marked tests run."""
    without = run_pytest(tmp_path, HIDDEN)
    assert "5 passed" in without.stdout, "the reason for the option"
    done = run_pytest(tmp_path, HIDDEN, "--depyf-reset", "--junitxml=junit.xml", "-p", "xdist.plugin", "-n", "1")
    assert "2 failed, 3 passed" in done.stdout, done.stdout + done.stderr
    lines = HIDDEN.split("\n")
    first = lines.index('@pytest.mark.parametrize("size", [pytest.param(2, marks=pytest.mark.no_graph_breaks), 3])') + 1
    assert f"test_it.py:{first}: test_given_up[2]: 1 graph break:" in done.stdout, done.stdout
    assert f"called in {tmp_path}/test_it.py:{lines.index('    f_c(x)') + 1}: f_c(x)" in done.stdout, done.stdout
    assert f"called in {tmp_path}/test_it.py:{len(lines) - 1}: g_c(torch.ones(size))" in done.stdout, done.stdout
    report = (tmp_path / "junit.xml").read_text()
    assert '<property name="depyf" value="1 graph break"' in report and 'value="1 recompilation"' in report


def test_plugin_is_light(tmp_path):
    done = run_pytest(tmp_path, "import sys\ndef test_it(): assert 'torch' not in sys.modules\n")
    assert "1 passed" in done.stdout, done.stdout


def test_other_options_and_sizes_in_a_failure():
    """What torch's words say is not said again; another ``dynamic=`` is another backend to torch."""

    def doubled(x):
        return x * 2

    compiled = torch.compile(doubled, backend="eager")
    compiled(torch.ones(2))
    with pytest.raises(AssertionError) as failed, assert_no_recompiles():
        compiled(torch.ones(3))
    assert str(failed.value).count("expected 2") == 1, failed.value
    with pytest.raises(AssertionError) as failed, assert_no_recompiles():
        torch.compile(doubled, backend="eager", dynamic=True)(torch.ones(4))
    said = str(failed.value)
    assert "call torch.compile once for the function" in said or "BACKEND_MATCH" not in said


def closing(n):
    scale = [n]

    def inner(x):
        y = x + scale[0]
        print("break")
        return y * scale[0]

    return inner


@pytest.mark.parametrize("made", [lambda: breaks, lambda: closing(2), lambda: torch.nn.Sequential(Broken())])
def test_a_function_that_an_earlier_test_compiled_breaks_again(made, capsys):
    """Its entries hold the break, and it is called; torch compiles nothing, and has its globals back afterwards."""
    torch._dynamo.reset()
    fn = compiled(made())
    fn(torch.ones(2))
    scopes = [vars(module) for module in list(sys.modules.values()) if module is not None]
    before = [{k: v for k, v in scope.items() if "__resume_at" in k} for scope in scopes]
    for _ in range(2):
        with pytest.raises(AssertionError, match="1 graph break:") as failed, assert_no_graph_breaks():
            assert torch.equal(fn(torch.ones(2)), fn(torch.ones(2)))
        assert "print" in str(failed.value) and "/0]" in str(failed.value)
    assert before == [{k: v for k, v in scope.items() if "__resume_at" in k} for scope in scopes]
    with assert_no_graph_breaks():
        compiled(fine)(torch.ones(2))  # it is there, and not called
    with assert_graph_count(0):
        fn(torch.ones(2))
    capsys.readouterr()


class Broken(torch.nn.Module):
    def forward(self, x):
        y = x + 1
        print("break")
        return y * 2
