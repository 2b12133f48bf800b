"""``tools/torch/aot_captures.py``: what tests compile ahead of time is kept and opened, and nothing of it may run."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

from tools import ROOT

TESTS = """
import unittest
import torch


def plain(x, n=3):
    return x.sin() * n


class TestOfTorch(unittest.TestCase):
    def test_of_a_function(self):
        compiled = torch.compile(plain, fullgraph=True, backend="aot_eager").aot_compile(((torch.ones(3),), {}))
        self.assertTrue(torch.equal(compiled(torch.ones(3)), plain(torch.ones(3))))

    def test_of_a_package(self):
        from torch._dynamo.package import CompilePackage, DiskDynamoStore
        from torch._inductor.runtime.runtime_utils import cache_dir

        package, store = CompilePackage(plain), DiskDynamoStore()
        torch._dynamo.optimize("eager", package=package)(plain)(torch.ones(3))
        for key, backend in package.cached_backends.items():
            store.record_eager_backend(key, backend)
        store.save_package(package, cache_dir() + "/of_a_package")

    def test_that_is_not_chosen(self):
        raise AssertionError
"""
EXECUTES = """
import pickle, sys
from tools.torch.aot_captures import Executed, refuse_execution
import depyf.actions.opened.open_file
refuse_execution()
for done in (lambda: pickle.loads(pickle.dumps(print)), lambda: exec("1"), lambda: __import__("torch")):
    try:
        done()
    except Executed as refused:
        print(refused)
"""


def tool(*options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tools.torch.aot_captures", *options]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def listed(folder: Path, data: bytes) -> None:
    (folder / "0000").write_bytes(data)
    rows = [{"file": "0000", "kind": "a function", "test": "here"}]
    (folder / "captures.json").write_text(
        json.dumps({"rows": rows, "unsaved": {}, "tests": 1, "failed": 0, "skipped": 0})
    )


@pytest.mark.torch
def test_a_function_is_kept_and_opened(tmp_path: Path) -> None:
    pytest.importorskip("torch._dynamo.aot_compile")
    (tmp_path / "of_torch.py").write_text(TESTS)
    done = tool(str(tmp_path / "of_torch.py"), "--only", "of_a_function", "--out", str(tmp_path / "kept"))
    assert done.returncode == 0, done.stderr
    first, heads, row, *rest = done.stdout.splitlines()
    assert first == "1 tests, 0 failed, 0 skipped"
    found = dict(zip(heads.split()[1:], row.removeprefix("a function, aot_compile").split()))
    assert found == {"artefacts": "1", "open": "1", "wrong": "0", "functions": "1", "guards": "1", "graphs": "1", "unproven": "0"}  # fmt: skip
    assert not rest


@pytest.mark.torch
def test_what_caching_precompile_keeps_is_kept_and_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = pytest.importorskip("torch._dynamo.package")
    if not hasattr(package.DiskDynamoStore, "_write_to_local_cache"):
        pytest.skip("a torch without precompile")
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path / "cache"))
    (tmp_path / "of_torch.py").write_text(TESTS)
    done = tool(str(tmp_path / "of_torch.py"), "--only", "of_a_package")
    assert done.returncode == 0, done.stdout + done.stderr
    _, heads, row, *rest = done.stdout.splitlines()
    found = dict(zip(heads.split()[1:], row.removeprefix("an entry, caching_precompile").split()))
    assert (found["artefacts"], found["open"], found["guards"], found["unproven"]) == ("1", "1", "1", "0")
    assert not rest


def test_what_does_not_open_is_named(tmp_path: Path) -> None:
    listed(tmp_path, pickle.dumps([1])[:-3])
    done = tool("--out", str(tmp_path), "--step", "open")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "does not open" in done.stdout and "(first: 0000, here)" in done.stdout


def test_what_would_run_is_refused() -> None:
    done = subprocess.run([sys.executable, "-c", EXECUTES], cwd=ROOT, capture_output=True, text=True, check=True)
    told = done.stdout.splitlines()
    assert [line.partition(" ")[0] for line in told] == ["pickle.find_class", "exec", "import"]
