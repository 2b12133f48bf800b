"""``make models``: run the catalogue, with depyf and without, and print the table.

    python -m tools.torch.models [--only NAME ...] [--suite SUITE ...] [--families] [--mode inference training]
        [--backend eager aot_eager inductor] [--shard 1/4] [--seconds 300] [--results FILE] [--any-version] [--again STATUS ...]

Results go, line by line, to the results file; a sweep that is started again goes on where the last one ended, for the same
source of depyf (``--any-version``: whatever it was).  Exit status 0: everything that was asked for is there and ok.
"""

from __future__ import annotations

import argparse
import gc
import importlib
import json
import os
import sys
import tempfile
import warnings
from pathlib import Path

from tools.torch.models import sweep, table, vision_libraries
from tools.torch.models.rows import BACKENDS, MODES

COMMON = {"transformers": "transformers.modeling_layers", "timm": "timm", "torchvision": "torchvision"}
"""Library -> the module that imports what all of its models need."""


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="models", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME", help="parts of the names of models")
    parser.add_argument("--suite", nargs="+", default=[], choices=("huggingface", "timm", "torchbench", "recent"))
    parser.add_argument(
        "--families", action="store_true", help="one model per family of control flow, once: what the tests run"
    )
    parser.add_argument("--mode", nargs="+", default=list(MODES), choices=MODES)
    parser.add_argument("--backend", nargs="+", default=list(BACKENDS), choices=BACKENDS)
    parser.add_argument("--shard", default="1/1", metavar="K/N", help="every N-th task, from the K-th on")
    parser.add_argument("--seconds", type=float, default=300, help="limit per model, mode and backend")
    parser.add_argument("--results", type=Path, default=sweep.ROOT / "models_out" / "results.jsonl")
    parser.add_argument("--any-version", action="store_true", help="take over results of another source of depyf")
    parser.add_argument(
        "--again", nargs="+", default=[], metavar="STATUS", help="run what ended so once more (ok, fault, torch, ...)"
    )
    parser.add_argument("--table", action="store_true", help="run nothing, print the table of the results file")
    parser.add_argument(
        "--compare", action="store_true", help="ask depyf.compare, and dump nothing; with another --results"
    )
    parser.add_argument("--keep", type=Path, help="keep the dumps, one folder per task")
    arguments = parser.parse_args()
    number, _, shards = arguments.shard.partition("/")

    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "1")
    warnings.simplefilter("ignore")
    vision_libraries.prepare()
    from tools.torch.models.catalogue import AOT, BY_NAME, FAMILIES, ROWS

    rows = sweep.select(
        [BY_NAME[name] for name in FAMILIES] if arguments.families else ROWS, arguments.only, arguments.suite
    )
    if arguments.families:
        wanted = sweep.subset(rows, AOT)
    else:
        wanted = sweep.tasks(rows, arguments.mode, arguments.backend, (int(number), int(shards or 1)))
    keys = [task.key for task in wanted]
    version = sweep.version()
    arguments.results.parent.mkdir(parents=True, exist_ok=True)
    found = sweep.earlier(arguments.results, None if arguments.any_version or arguments.table else version)
    todo = [task for task in wanted if task.key not in found or found[task.key]["status"] in arguments.again]
    if not arguments.table:
        _run(todo, arguments, version, found)
    print("\n".join(table.lines(rows, found, keys)))
    return 0 if all(key in found and found[key]["status"] == "ok" for key in keys) else 1


def _run(
    todo: list[sweep.Task],
    arguments: argparse.Namespace,
    version: str,
    found: dict[tuple[str, str, str], dict[str, object]],
) -> None:
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    _import_once({task.backend for task in todo}, {task.row.library for task in todo})
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    log = Path(tempfile.mkdtemp(prefix="depyf-models-")) / "output.txt"
    # no thread that refreshes: this process forks
    with Progress(*columns, console=Console(stderr=True), auto_refresh=False) as progress:
        bar = progress.add_task("", total=len(todo))
        for task in todo:
            progress.update(bar, description=f"{task.row.name} {task.mode} {task.backend}", refresh=True)
            keep = arguments.keep / "-".join(task.key) if arguments.keep else None
            result = {**sweep.run_forked(task, arguments.seconds, log, keep, arguments.compare), "version": version}
            found[task.key] = result
            with arguments.results.open("a") as stream:
                stream.write(json.dumps(result) + "\n")
            if result["status"] != "ok":
                progress.console.print(
                    f"{task.row.name} {task.mode} {task.backend}: {result['status']}: {result['reason']}", markup=False
                )
            progress.advance(bar)
        progress.update(bar, description="done", refresh=True)


def _import_once(backends: set[str], libraries: set[str]) -> None:
    """What every task needs, before the first fork."""

    import tqdm

    from tools.torch.models import runner

    tqdm.tqdm.monitor_interval = 0  # no thread that a fork would lose
    runner.settle()
    for backend in sorted(backends | {"eager"}):
        runner.warm_up(backend)  # what the first compilation imports and sets up
    for library in libraries & set(COMMON):
        importlib.import_module(COMMON[library])
    importlib.import_module("depyf.contexts")  # which `prepare_debug` imports when it is called
    gc.collect()
    gc.freeze()  # a collection in a child need not look at, and copy, what this process holds


if __name__ == "__main__":
    sys.exit(main())
