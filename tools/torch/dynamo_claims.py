"""The share of the catalogue's frames of which Dynamo's code is proven, and what stands in the way of the others.

    python -m tools.torch.dynamo_claims --every 10            each tenth row, inference and training
    python -m tools.torch.dynamo_claims --only resnet18 ...   some rows

A frame is what Dynamo made a graph of; a model with three graphs has three, and at most the first can be proven, for it
is the one whose arguments are known.  Layers of ``torch.nn`` are rows of their own (``--layers``).
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterator
from typing import Any

import torch
from torch import nn

from depyf.actions.claims.dynamo_claim import DynamoClaim, dynamo_claim
from depyf.sources.live.caches.entries import cache_entries
from depyf.sources.live.guards.guard_tree import live_guards
from depyf.sources.live.target import find_target
from tools.torch.models import vision_libraries
from tools.torch.models.build import build
from tools.torch.models.catalogue import ROWS
from tools.torch.models.rows import TRAINING

_LAYERS: tuple[tuple[Any, tuple[int, ...]], ...] = (
    (nn.Linear(4, 4), (2, 4)), (nn.Conv1d(4, 4, 3), (2, 4, 8)), (nn.Conv2d(3, 4, 3), (2, 3, 8, 8)),
    (nn.ConvTranspose2d(3, 4, 2), (2, 3, 8, 8)), (nn.BatchNorm1d(4), (2, 4)), (nn.BatchNorm2d(3), (2, 3, 8, 8)),
    (nn.LayerNorm(4), (2, 4)), (nn.GroupNorm(2, 4), (2, 4, 8)), (nn.InstanceNorm2d(3), (2, 3, 8, 8)),
    (nn.RMSNorm(4), (2, 4)), (nn.Dropout(0.5), (2, 4)), (nn.AlphaDropout(0.5), (2, 4)), (nn.ReLU(), (2, 4)),
    (nn.GELU(), (2, 4)), (nn.SiLU(), (2, 4)), (nn.Softmax(-1), (2, 4)), (nn.PReLU(), (2, 4)), (nn.Flatten(), (2, 4)),
    (nn.MaxPool2d(2), (2, 3, 8, 8)), (nn.AvgPool2d(2), (2, 3, 8, 8)), (nn.AdaptiveAvgPool2d(2), (2, 3, 8, 8)),
    (nn.Upsample(scale_factor=2), (2, 3, 8, 8)), (nn.PixelShuffle(2), (2, 4, 8, 8)), (nn.Unfold(2), (2, 3, 8, 8)),
    (nn.TransformerEncoderLayer(8, 2, 16), (2, 3, 8)), (nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2), 2), (2, 3, 8)),
    (nn.GRUCell(4, 4), (2, 4)), (nn.LSTMCell(4, 4), (2, 4)), (nn.GLU(), (2, 4)), (nn.Bilinear(4, 4, 2), (2, 4)),
)  # fmt: skip


def main() -> int:
    vision_libraries.prepare()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--every", type=int, default=10)
    parser.add_argument("--only", nargs="*", default=())
    parser.add_argument("--library", nargs="*", default=(), help="only rows of these: timm, torchvision, paper, ...")
    parser.add_argument("--layers", action="store_true")
    chosen = parser.parse_args()
    proven = frames = 0
    reasons: Counter[str] = Counter()
    for name, module, args, kwargs in _layers() if chosen.layers else _rows(chosen.every, chosen.only, chosen.library):
        try:
            count, claim = _claimed(module, args, kwargs)
        except Exception as error:  # a row that torch cannot compile is no frame
            print(f"{name}: {type(error).__name__}: {str(error).splitlines()[0][:90]}")
            continue
        frames, proven = frames + count, proven + claim.proven
        print(f"{name}: {count} frames; {claim}", flush=True)
        if not claim.proven:
            reasons[claim.why_not.partition(" (")[0]] += 1
    print(f"{proven} of {frames} frames proven; torch {torch.__version__}, Python {sys.version.split()[0]}")
    for reason, times in reasons.most_common():
        print(f"{times:5}  {reason}")
    return 0


def _layers() -> Iterator[tuple[str, Any, tuple[Any, ...], dict[str, Any]]]:
    for layer, sizes in _LAYERS:
        inputs = (torch.ones(sizes), torch.ones(sizes)) if isinstance(layer, nn.Bilinear) else (torch.ones(sizes),)
        yield type(layer).__name__, layer, inputs, {}


def _rows(every: int, only: Any, libraries: Any) -> Iterator[tuple[str, Any, tuple[Any, ...], dict[str, Any]]]:
    rows = [row for row in ROWS if row.steps == "forward" and (not libraries or row.library in libraries)]
    for row in [one for one in rows if one.name in only] if only else rows[::every]:
        try:
            built = build(row)
        except Exception as error:  # a library that is not here
            print(f"{row.name}: {type(error).__name__}: {str(error).splitlines()[0][:90]}")
            continue
        inputs = dict(built.inputs)
        args = tuple(inputs.pop(name) for name in list(inputs) if name.isdigit())
        for mode in row.modes:
            yield f"{row.name} ({mode})", built.module.train(mode == TRAINING), args, inputs


def _claimed(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[int, DynamoClaim]:
    graphs: list[Any] = []

    def backend(gm: Any, inputs: Any) -> Any:
        graphs.append(gm)
        return gm.forward

    torch._dynamo.reset()
    compiled = torch.compile(module, backend=backend, dynamic=False)
    with torch.set_grad_enabled(module.training):
        compiled(*args, **kwargs)
        target = find_target(compiled)
        entries = cache_entries(target.function.__code__)
        if len(graphs) != 1 or len(entries) != 1:
            return max(1, len(graphs)), DynamoClaim(False, "several graphs")
        (entry,) = entries
        guards = [guard.record.expression for guard in live_guards(entry)]
        given = target.bind(args, kwargs).arguments
        return 1, dynamo_claim(target.function, given, entry.code, entry.scope, graphs[0], guards)


if __name__ == "__main__":
    sys.exit(main())
