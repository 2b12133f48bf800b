"""Precompile artefacts for tests (torch 2.15): of one graph, and of frames, which this torch makes for no caller yet."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

if not hasattr(getattr(torch.compiler, "precompile", None), "capture"):
    pytest.skip("torch.compiler.precompile is of torch 2.15", allow_module_level=True)

SCALE = 3.0


def act(x):
    return x.relu()


class Net(torch.nn.Module):
    def __init__(self, inner=act):
        super().__init__()
        self.linear = torch.nn.Linear(3, 3)
        self.inner = inner

    def forward(self, x):
        return self.inner(self.linear(x))


def call(model, x):
    return model(x)


def step(model, x, n=2):
    y = model(x) * n
    return y + SCALE


def chosen(x, flag, mode="sum"):
    y = x + 1 if flag else x - 1
    return y.sum() if mode == "sum" else y


def broken(model, x):
    y = model(x)
    torch._dynamo.graph_break()
    return y + 1


def captured(folder: Path, *args: Any, function=call, backend="eager") -> Path:
    """The artefact of one graph; its cache is beside it."""
    path = folder / "one.py"
    with torch.compiler.precompile.capture(
        function, artifact_path=str(path), cache_path=str(folder / "one.cache"), backend=backend
    ) as capture:
        capture(*args)
    return path


def of_frames(folder: Path, function: Any, *calls: tuple[Any, ...]) -> tuple[Path, Any]:
    """The artefact of all frames of ``calls``, and torch's summary."""
    from torch._dynamo.precompile_context import EagerCacheArtifact
    from torch._dynamo.precompile_package import precompile_capture
    from torch._precompile import _build_multigraph_artifact, _write_artifact
    from torch.compiler._cache import CacheArtifactManager

    session = precompile_capture(function, backend="eager")
    with session as capture:
        for args in calls:
            capture(*args)
    graphs = {key: EagerCacheArtifact(key=key, content=one) for key, one in session._package.cached_backends.items()}
    with CacheArtifactManager.with_fresh_cache():
        texts = _build_multigraph_artifact(session._package.cache_entry(), graphs, session.summary(), "eager", function)
    path = folder / "frames.py"
    _write_artifact(str(path), str(folder / "frames.cache"), *texts)
    torch._dynamo.reset()
    for name in [name for name in function.__globals__ if name.startswith("__resume_at")]:
        del function.__globals__[name]  # torch loads no resume function under a name that is taken
    return path, session.summary()


def loaded(path: Path) -> Any:
    return torch.compiler.precompile.load(str(path), str(path.with_suffix(".cache")))
