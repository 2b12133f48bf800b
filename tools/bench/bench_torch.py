"""What ``prepare_debug`` costs (part of ``make bench``): CPU time with children, as ratios within one run.

    python -m tools.bench.bench_torch [--backends eager inductor] [--programs bert gpt2 breaks] [--rounds 5]

Each program is compiled ``rounds`` times in each of three ways, in alternating order, every time from nothing (Dynamo
reset, empty Inductor cache): plain, with torch's own structured trace written to a file (``TORCH_TRACE``), and under
``prepare_debug``.  *compile* is the time inside the block, *with exit* adds what leaving it costs.  Then two checks of
compiled functions: the time of a call after the context, and the peak of traced Python memory in a call.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import logging
import os
import resource
import statistics
import sys
import tempfile
import time
import tracemalloc
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tools import ROOT

sys.path[:0] = [str(ROOT / "tests" / folder) for folder in ("torch", "support")]
os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "1")  # compilers as children of this process, so that they count

FRAMES = 60
WAYS = ("plain", "trace", "depyf")


def cpu() -> float:
    """CPU seconds of this process and of its finished children."""
    mine, children = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    return mine.ru_utime + mine.ru_stime + children.ru_utime + children.ru_stime


def breaks_program() -> str:
    """A call chain of 60 compiled frames: 30 functions with one graph break each, and what follows it."""
    parts = ["import torch", "def probe(x): return float(x.sum())", "probe = torch._dynamo.disable(probe)"]
    for number in range(FRAMES // 2):
        parts += [
            f"def step_{number}(x, scale, items):",
            f"    y = torch.sin(x) * scale + {number}",
            "    total = 0.0",
            "    for item in items:",
            "        total = total + (item * y).mean()",
            "    before = probe(y)",
            "    if before is None:",
            "        return total",
            "    z = torch.cos(y) + total",
            f"    return z / (torch.abs(z) + {number + 1}) + (x if scale > 0 else y)",
        ]
    parts += ["def chain(compiled, x):", *(f"    x = compiled[{n}](x, {n} + 0.5, [x, x + 1])" for n in range(FRAMES // 2)),
              "    return x", f"steps = [{', '.join(f'step_{n}' for n in range(FRAMES // 2))}]"]  # fmt: skip
    return "\n".join(parts) + "\n"


def programs() -> dict[str, Callable[[str], Callable[[], Any]]]:
    """Name -> (backend -> the compiled program, ready to run)."""
    import torch
    from torch_models import MODELS

    def model(name: str) -> Callable[[str], Callable[[], Any]]:
        def make(backend: str) -> Callable[[], Any]:
            torch.manual_seed(0)
            module, inputs = MODELS[name]()
            module.eval()
            run = torch.compile(module, backend=backend)

            def call() -> Any:
                with torch.no_grad():
                    return run(**inputs)

            return call

        return make

    def breaks(backend: str) -> Callable[[], Any]:
        path = Path(tempfile.mkdtemp(prefix="depyf-bench-")) / "breaks.py"
        path.write_text(breaks_program(), encoding="utf-8")
        namespace: dict[str, Any] = {}
        exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), namespace)
        compiled = [torch.compile(step, backend=backend) for step in namespace["steps"]]
        return lambda: namespace["chain"](compiled, torch.ones(8))

    return {"bert": model("bert"), "gpt2": model("gpt2"), "breaks": breaks}


@contextlib.contextmanager
def traced(folder: str) -> Iterator[None]:
    """What ``TORCH_TRACE=folder`` does: torch's own handler and formatter on the trace logger."""
    from torch._logging._internal import LazyTraceHandler, TorchLogsFormatter

    logger = logging.getLogger("torch.__trace")
    handler = LazyTraceHandler(folder)
    handler.setFormatter(TorchLogsFormatter(trace=True))
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        handler.close()


def once(make: Callable[[str], Callable[[], Any]], backend: str, way: str) -> tuple[float, float]:
    """CPU seconds in the block, and with leaving it, of one compilation from nothing."""
    import torch
    from dumps import fresh_cache

    import depyf

    torch._dynamo.reset()
    folder = tempfile.mkdtemp(prefix="depyf-bench-")
    call = make(backend)
    gc.collect()
    context: Any = {"plain": contextlib.nullcontext, "trace": lambda: traced(folder),
                    "depyf": lambda: depyf.prepare_debug(folder)}[way]()  # fmt: skip
    cache: Any = fresh_cache() if backend == "inductor" else contextlib.nullcontext()
    with cache:
        start = cpu()
        with context:
            call()
            inside = cpu() - start
        return inside, cpu() - start


def compile_cost(name: str, make: Callable[[str], Callable[[], Any]], backend: str, rounds: int) -> None:
    times: dict[str, list[tuple[float, float]]] = {way: [] for way in WAYS}
    for turn in range(-1, rounds):
        order = WAYS if turn % 2 else WAYS[::-1]
        for way in order:
            found = once(make, backend, way)
            if turn >= 0:  # the first round warms everything up
                times[way].append(found)
    plain = statistics.median(inside for inside, _ in times["plain"])
    cells = [f"{name:8}{backend:10}{plain:8.2f} s"]
    for way in WAYS[1:]:
        inside = statistics.median(inside for inside, _ in times[way]) / plain
        total = statistics.median(total for _, total in times[way]) / plain
        cells.append(f"{inside:9.3f}x{total:9.3f}x")
    print("".join(cells), flush=True)


CALLED = """
def function(a, b):
    x = torch.sin(a) @ b
    probe()
    y = (x @ b).relu()
    return y @ x + a
"""


def call_cost(backend: str, rounds: int = 40) -> None:
    """A compiled call after the context against one that never saw it, in turns: time, and peak memory."""
    import torch

    import depyf

    torch._dynamo.reset()
    a = torch.randn(64, 64)
    calls: dict[str, Callable[..., Any]] = {}
    for way in ("plain", "depyf"):
        namespace: dict[str, Any] = {"torch": torch, "probe": torch._dynamo.disable(lambda: None)}
        exec(compile(CALLED, f"<{way}>", "exec"), namespace)  # a code object of its own
        calls[way] = torch.compile(namespace["function"], backend=backend)
        folder = tempfile.mkdtemp(prefix="depyf-bench-")
        with depyf.prepare_debug(folder) if way == "depyf" else contextlib.nullcontext():
            calls[way](a, a)
    for call in calls.values():
        for _ in range(20):
            call(a, a)
    found: dict[str, dict[str, list[float]]] = {way: {"time": [], "python": [], "tensors": []} for way in calls}
    for turn in range(rounds):
        for way in ("plain", "depyf")[:: 1 if turn % 2 else -1]:
            call = calls[way]
            gc.collect()
            start = time.process_time()
            for _ in range(200):
                call(a, a)
            found[way]["time"].append(time.process_time() - start)
    for turn in range(-1, 15):  # the first is below the others: nothing is in the interpreter's free lists yet
        for way in ("plain", "depyf")[:: 1 if turn % 2 else -1]:
            python, tensors = python_peak(calls[way], a), tensor_peak(calls[way], a)
            if turn >= 0:
                found[way]["python"].append(python)
                found[way]["tensors"].append(tensors)
    for what, label in (("time", "call after the context"), ("python", "peak Python memory of a call"),
                        ("tensors", "peak tensor memory of a call")):  # fmt: skip
        typical = min if what == "time" else statistics.median
        plain, ours = (typical(found[way][what]) for way in ("plain", "depyf"))
        print(f"{backend:10}{label:34}{ours / plain if plain else float(ours == plain):.3f}x", flush=True)


def python_peak(call: Callable[..., Any], a: Any) -> int:
    """Bytes of traced Python memory that a call takes beyond what was there."""
    gc.collect()
    tracemalloc.start()
    try:
        call(a, a)
        before = tracemalloc.get_traced_memory()[0]
        tracemalloc.reset_peak()
        call(a, a)
        return tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()


def tensor_peak(call: Callable[..., Any], a: Any) -> int:
    """Bytes of torch's CPU allocations that are alive at once in a call, as its profiler counts them."""
    import torch
    from torch.profiler import ProfilerActivity, profile

    with torch.no_grad(), profile(activities=[ProfilerActivity.CPU], profile_memory=True) as recorded:
        call(a, a)
    live = high = 0
    for event in recorded.profiler.kineto_results.events():
        if event.name() == "[memory]":
            live += event.nbytes()
            high = max(high, live)
    return high


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--backends", nargs="*", default=["eager", "inductor"])
    parser.add_argument("--programs", nargs="*", default=["bert", "gpt2", "breaks"])
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    import torch

    torch._dynamo.config.recompile_limit = 64
    torch.set_num_threads(1)  # threads that wait for each other take CPU time, too
    # nothing is removed while it runs: a file made after others went takes ext4 ten times as long (``recently_deleted``)
    with tempfile.TemporaryDirectory(prefix="depyf-bench-") as folder:
        tempfile.tempdir = folder
        measure(arguments)
    return 0


def measure(arguments: argparse.Namespace) -> None:
    made = programs()
    print(f"{'program':8}{'backend':10}{'plain':>10}{'trace':>10}{'with exit':>10}{'depyf':>10}{'with exit':>10}")
    for backend in arguments.backends:
        for name in arguments.programs:
            compile_cost(name, made[name], backend, arguments.rounds)
    for backend in arguments.backends:
        call_cost(backend)


if __name__ == "__main__":
    sys.exit(main())
