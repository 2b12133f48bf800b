"""Tiny transformers models: bit-equal results and gradients, every frame substituted by proven code."""

from __future__ import annotations

import pytest
import torch
from dumps import check_dump, check_substituted, files_of, followed
from torch_models import MODELS, run_model
from torch_programs import same

from depyf.api import prepare_debug

pytest.importorskip("transformers")
pytestmark = pytest.mark.torch
_QUICK = {("gpt2", "aot_eager", True), ("gpt2", "eager", False), ("bert", "eager", True), ("llama", "eager", False)}


def _cases():
    return [
        pytest.param(
            name, backend, train, marks=() if (name, backend, train) in _QUICK else pytest.mark.slow,
            id=f"{name}-{backend}-{'train' if train else 'eval'}",
        )
        for name in MODELS
        for backend in ("eager", "aot_eager", "inductor")
        for train in (False, True)
    ]  # fmt: skip


@pytest.mark.parametrize(("name", "backend", "train"), _cases())
def test_model(name, backend, train, tmp_path):
    """Once with fresh compile caches, once more with warm ones (inductor)."""

    def compiled(model):
        return torch.compile(model, backend=backend)

    try:
        want = run_model(name, compiled, train)
    except Exception as error:
        if followed():
            raise
        pytest.skip(
            f"without depyf, torch {torch.__version__} does not compile this transformers: {str(error).splitlines()[0]}"
        )
    for turn in ("first", "again"):
        torch._dynamo.reset()
        with prepare_debug(tmp_path / turn):
            got = run_model(name, compiled, train)
        assert same(want, got), turn
        manifest = check_dump(tmp_path / turn)
        check_substituted(manifest)
        assert manifest["notes"] == []
        assert files_of(manifest, stage="Captured_Graph")
        if backend == "inductor":
            assert len(files_of(manifest, stage="kernel")) == (2 if train else 1) * len(
                files_of(manifest, stage="Captured_Graph")
            )
        if backend != "inductor":
            break
