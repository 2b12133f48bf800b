"""Inductor's kernels are written, and not built: what is asked of them is what Inductor made, not what they compute."""

from __future__ import annotations

import contextlib
import importlib.util
import sys
from pathlib import Path

import torch
import torch._functorch.config
import torch._inductor.config
from torch._inductor.async_compile import AsyncCompile

import depyf
from depyf.run.run import Run
from depyf.run.store.loading import load


@contextlib.contextmanager
def unbuilt():
    """Inside, a kernel of C++ is a function that does nothing, and no cache of torch has a graph."""
    before = AsyncCompile.cpp_pybinding
    AsyncCompile.cpp_pybinding = lambda self, *args, **kwargs: lambda *buffers: None
    try:
        with (
            torch._inductor.config.patch(fx_graph_cache=False),
            torch._functorch.config.patch(enable_autograd_cache=False),
        ):
            yield
    finally:
        AsyncCompile.cpp_pybinding = before


def module_of(source: str, folder: Path, name: str):
    """The module of a program, from a file."""
    path = folder / f"{name}.py"
    path.write_text(source)
    spec = importlib.util.spec_from_file_location(f"bill_{name}", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def marked(source: str, mark: str) -> int:
    """The number of the line that ends in ``# mark``; 0 where there is none."""
    return next((n for n, line in enumerate(source.splitlines(), 1) if line.endswith(f"# {mark}")), 0)


def recorded(module, folder: Path, options: dict[str, object] | None = None) -> Run:
    """The run of one call of ``module.program``."""
    with unbuilt(), torch.no_grad(), depyf.prepare_debug(folder):
        torch.compile(module.program, options=options or None)(module.x, module.y)
    return load(folder)
