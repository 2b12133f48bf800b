"""``examples/gallery``: each script runs and agrees with eager mode; regenerating gives the same text."""

from __future__ import annotations

import importlib.util
import sys
import types
from pathlib import Path

import pytest
import torch
from dumps import as_in_a_process_of_its_own, traces_autocast_calls

import with_torch

pytestmark = pytest.mark.torch
ROOT = Path(__file__).resolve().parents[3]
GALLERY = ROOT / "examples" / "gallery"
SCRIPTS = sorted(GALLERY.glob("*/graph_*.py"))
REGENERATED = ("classifier", "graph_break", "kv_cache")


def gallery_tool() -> types.ModuleType:
    spec = importlib.util.spec_from_file_location("gallery_tool", ROOT / "tools" / "docs" / "gallery.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_model_is_there():
    models = gallery_tool().gallery_models.MODELS
    assert {path.parent.name for path in SCRIPTS} == set(models)
    assert len(models) >= 12
    assert sum(path.stat().st_size for path in GALLERY.rglob("*") if path.is_file()) < 1_000_000
    text = (GALLERY / "README.md").read_text()
    assert all(f"]({name}/index.md)" in text for name in models)


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_script(path, capsys):
    if "_enter_autocast" in path.read_text() and not traces_autocast_calls():
        pytest.skip("this torch cannot compile a graph that enters autocast, with depyf or without")
    module = types.ModuleType("gallery_script")
    exec(compile(path.read_text(), str(path), "exec", dont_inherit=True), module.__dict__)
    with as_in_a_process_of_its_own():
        assert module.main([]) == 0, capsys.readouterr().out
    assert "results agree" in capsys.readouterr().out


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_double_precision(path, capsys):
    """What a script does where rounding errors decide the results."""
    module = types.ModuleType("gallery_script")
    exec(compile(path.read_text(), str(path), "exec", dont_inherit=True), module.__dict__)
    with as_in_a_process_of_its_own(), module.Double():
        assert module.compare(types.SimpleNamespace(backend="none", seed=0), 1e-6).failed == 0, capsys.readouterr().out
    assert "float32" not in capsys.readouterr().out


def test_other_values_and_sizes(capsys):
    """The seed and the dynamic sizes at the top may be changed."""
    (path,) = (GALLERY / "dynamic_shapes").glob("graph_*.py")
    text = path.read_text()
    changed = text.replace("\ns77 = 3 ", "\ns77 = 6 ")
    assert changed != text
    module = types.ModuleType("gallery_script")
    exec(compile(changed, str(path), "exec", dont_inherit=True), module.__dict__)
    with as_in_a_process_of_its_own():
        assert module.main(["--seed", "5", "--backend", "none"]) == 0, capsys.readouterr().out


def test_script_as_a_program():
    (path,) = (GALLERY / "conditional").glob("graph_*.py")
    done = with_torch.run([sys.executable, "-I", path, "--backend", "none"], imports=with_torch.ALONE)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("name", REGENERATED)
def test_regenerating_gives_the_same_text(name, tmp_path):
    recorded_with = next(iter((GALLERY / name).glob("graph_*.py"))).read_text().split("recorded with torch ")[1]
    version = recorded_with.partition(";")[0]
    if torch.__version__.partition("+")[0] != version:
        pytest.skip(f"examples/gallery was written with torch {version}")
    gallery_tool().make(name, tmp_path)
    want = {path.name: path.read_text() for path in (GALLERY / name).iterdir()}
    assert {path.name: path.read_text() for path in (tmp_path / name).iterdir()} == want
