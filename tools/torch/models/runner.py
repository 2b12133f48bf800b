"""One model, one mode, one backend: without depyf and with it, and what came out.

Runs in a process of its own (see ``sweep.py``).  Compile times are CPU seconds of this process alone, so that compilers
which Inductor starts, and whose results the second run takes from its cache, count in neither.
"""

from __future__ import annotations

import contextlib
import dataclasses
import shutil
import tempfile
import time
import traceback
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import torch
from torch._dynamo.convert_frame import register_bytecode_hook

import depyf
from depyf import prepare_debug
from tools.torch.models import kernels
from tools.torch.models.build import build, seed
from tools.torch.models.checks import Dumped, look, same
from tools.torch.models.rows import TRAINING, Row

Named = list[tuple[str, Any]]


@dataclasses.dataclass(frozen=True, slots=True)
class Result:
    """One line of the results file.  ``status`` is ``ok`` or says who failed."""

    model: str
    mode: str
    backend: str
    status: str
    reason: str = ""
    frames: int = 0
    breaks: int = 0
    recompiles: int = 0
    verdicts: Mapping[str, int] = dataclasses.field(default_factory=dict)
    temporaries: int = 0
    graphs: int = 0
    graphs_run: int = 0
    left_out: tuple[str, ...] = ()
    ratio: float = 0.0
    seconds: float = 0.0
    version: str = ""


def check(row: Row, mode: str, backend: str, keep: Path | None = None, compare: bool = False) -> Result:
    """Run a model both ways; ``compare``: ask ``depyf.compare`` instead.  Never raises: what goes wrong is the status
    and the reason."""
    started = time.time()
    result = Result(row.name, mode, backend, "ok")
    try:
        settle()
        warm_up(backend)
        found = _compared(row, mode, backend) if compare else _both(row, mode, backend, keep)
        result = dataclasses.replace(result, **found)
    except Exception as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        result = dataclasses.replace(
            result,
            status="error",
            reason=f"{type(error).__name__}: {str(error)[:400]} ({Path(where.filename).name}:{where.lineno})",
        )
    return dataclasses.replace(result, seconds=round(time.time() - started, 1))


def _both(row: Row, mode: str, backend: str, keep: Path | None) -> dict[str, Any]:
    try:
        want, plain = _measured(row, mode, backend)
    except Exception as error:
        return {"status": "torch", "reason": f"fails without depyf: {type(error).__name__}: {str(error)[:400]}"}
    torch._dynamo.reset()
    folder = Path(tempfile.mkdtemp(prefix="depyf-model-")) if keep is None else keep
    frames: list[Any] = []
    hook = register_bytecode_hook(lambda code, new: frames.append(code))
    try:
        with prepare_debug(folder):
            got, inside = _measured(row, mode, backend)
            leaving = time.process_time()
        with_depyf = inside + time.process_time() - leaving
        dump = look(folder, len(frames))
    finally:
        hook.remove()
        if keep is None:
            shutil.rmtree(folder, ignore_errors=True)
    return {**_judged(dump, same(want, got)), "ratio": round(with_depyf / max(plain, 1e-3), 2)}


def _compared(row: Row, mode: str, backend: str) -> dict[str, Any]:
    """What ``depyf.compare`` says of a call that was compiled before."""
    with contextlib.redirect_stderr(None):
        built = build(row)
    module = built.module.train() if mode == TRAINING else built.module.eval()
    positional = [value for name, value in built.inputs.items() if name.isdigit()]
    named = {name: value for name, value in built.inputs.items() if not name.isdigit()}
    run = torch.compile(module, backend=backend)
    with torch.set_grad_enabled(mode == TRAINING):
        try:
            for _ in range(3):  # the first call may change what guards look at
                run(*positional, **named)
        except Exception as error:
            return {"status": "torch", "reason": f"fails without depyf: {type(error).__name__}: {str(error)[:400]}"}
        with_python = None if backend == "eager" else ("eager", backend)
        found = depyf.compare(run, *positional, backends=with_python or ("eager", "aot_eager"), **named)
    findings = [graph.finding for graph in found.graphs if graph.finding is not None]
    if found.python.apart or any(finding.difference is not None for finding in findings):
        return {"status": "different", "reason": str(found)[:1500]}
    if not found.python.ran or not (found.python.entry or found.graphs):
        return {"status": "fault", "reason": " | ".join(found.python.not_compared)[:1500] or "no entry ran"}
    left = (*found.python.not_compared, *(finding.error for finding in findings))
    return {"reason": " | ".join(left)[:400], "frames": len(found.graphs)}


def _judged(dump: Dumped, difference: str) -> dict[str, Any]:
    figures = {field.name: getattr(dump, field.name) for field in dataclasses.fields(dump) if field.name != "faults"}
    if difference:
        return {"status": "different", "reason": difference, **figures}
    if dump.faults:
        return {"status": "fault", "reason": " | ".join(dump.faults[:4])[:1500], **figures}
    if dump.frames == 0:
        return {"status": "fault", "reason": "nothing was compiled", **figures}
    return figures


def _measured(row: Row, mode: str, backend: str) -> tuple[Named, float]:
    """The named outputs (and gradients) of a fresh model, and the CPU seconds of its compiled run."""
    with contextlib.redirect_stderr(None):
        built = build(row)
    module = built.module.train() if mode == TRAINING else built.module.eval()
    positional = [value for name, value in built.inputs.items() if name.isdigit()]
    named = {name: value for name, value in built.inputs.items() if not name.isdigit()}
    before = time.process_time()
    if row.steps == "generate":
        found = _generated(module, named, backend)
    else:
        run = torch.compile(module, backend=backend)
        seed(11)  # dropout
        if mode == TRAINING:
            output = run(*positional, **named)
            loss(output).backward()
            found = [
                *tensors("output", output),
                *((f"{name}.grad", p.grad) for name, p in sorted(module.named_parameters())),
            ]
            found += [(name, buffer) for name, buffer in sorted(module.named_buffers())]
        else:
            with torch.no_grad():
                found = list(tensors("output", run(*positional, **named)))
    return found, time.process_time() - before


def _generated(module: Any, inputs: dict[str, Any], backend: str) -> Named:
    """Greedy generation with a static cache, each step through the compiled ``forward``."""
    module.forward = torch.compile(module.forward, backend=backend)
    with torch.no_grad():
        output = module.generate(
            **inputs, max_new_tokens=4, min_new_tokens=4, do_sample=False, cache_implementation="static",
            return_dict_in_generate=True, output_logits=True,
        )  # fmt: skip
    return [("sequences", output.sequences), *tensors("logits", output.logits)]


def loss(output: Any) -> torch.Tensor:
    """The model's own loss, or one made of every output that has a gradient."""
    own = output.get("loss") if isinstance(output, Mapping) else None
    if isinstance(own, torch.Tensor) and own.requires_grad:
        return own.sum()
    parts = [
        value.float().square().mean()
        for _, value in tensors("", output)
        if value.requires_grad and value.is_floating_point()
    ]
    if not parts:
        raise ValueError("no output of this model has a gradient")
    return torch.stack(parts).sum()


def tensors(name: str, value: Any, depth: int = 6) -> Iterator[tuple[str, Any]]:
    """Every tensor in an output, with a name that says where it is."""
    if isinstance(value, torch.Tensor):
        yield name, value
    elif depth == 0:
        return
    elif isinstance(value, (list, tuple)):
        for at, item in enumerate(value):
            yield from tensors(f"{name}[{at}]", item, depth - 1)
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from tensors(f"{name}.{key}", item, depth - 1)
    elif hasattr(value, "__dict__") and not isinstance(value, (type, torch.nn.Module)) and not callable(value):
        yield from tensors(name, vars(value), depth - 1)


def warm_up(backend: str) -> None:
    """Import, and let torch set up, what the first compilation of a process needs."""

    if backend == "inductor":
        kernels.together()

    def small(x: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.dropout((x @ x.T).softmax(-1), 0.5).sum()

    # a CUDA build starts autograd's threads for devices, and then no fork may compute a gradient
    differentiable = not torch.backends.cuda.is_built()
    result = torch.compile(small, backend=backend)(torch.ones(2, 2, requires_grad=differentiable))
    if differentiable:
        result.backward()
    torch._dynamo.reset()


def settle() -> None:
    """Graphs are compiled anew in both runs; C++ that was compiled once, in whichever run or row, is not.

    The kernels are scalar: what depyf sees of a kernel is its text, and g++ takes a third less time than over vector types.
    """
    from torch._functorch import config as functorch
    from torch._inductor import config as inductor

    torch.set_num_threads(1)
    inductor.fx_graph_cache = False
    inductor.cpp.simdlen = 1
    functorch.enable_autograd_cache = False
