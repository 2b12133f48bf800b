"""Damaged files of torch, opened: each gives texts or a clear error, soon, and nothing of it is executed.

    python -m tools.fuzz.artefacts --count 20000 [--seed 0] [FILE ...]

FILE: what ``save_compiled_function`` wrote, an entry of a cache, or a file of a precompile artefact; without one, torch makes
some, the last where it has ``torch.compiler.precompile``.  A mutation cuts the file, changes bytes, moves or repeats parts, or
swaps opcodes and small numbers, in pickles inside of it too, those in base64 among them.  Anything but texts or a ``DepyfError``,
a warning too, is printed with its seed, and so is what takes longer than ``SLOW``.
"""

from __future__ import annotations

import argparse
import base64
import binascii
import random
import re
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from depyf.actions.opened.open_file import opened
from depyf.errors import DepyfError

if TYPE_CHECKING:
    import torch

SLOW = 10.0
OPCODES = b"(.0122FIJKLMNPQRSTUVXabcdeghijlopqrstu}]B8C\x80\x81\x82\x83\x84\x85\x86\x87\x88\x89\x8a\x8b\x8c\x8d\x8e\x8f\x90\x91\x92\x93\x94\x95\x96\x97\x98"


def mutated(data: bytes, seed: int) -> bytes:
    """``data`` with one to four changes, most of which keep the lengths that it says."""
    rng = random.Random(seed)
    packed = list(PACKED.finditer(data))
    if packed and rng.randrange(3):
        one = rng.choice(packed)
        try:
            inner = base64.b64decode(one[1], validate=True)
        except binascii.Error:
            return _changed(data, rng)
        return data[: one.start(1)] + base64.b64encode(_changed(inner, rng)) + data[one.end(1) :]
    return _changed(data, rng)


PACKED = re.compile(rb"(?m)^_[A-Z_]+ = '([A-Za-z0-9+/=]{20,})'$")
"""A pickle in the text of a precompile artefact."""


def _changed(data: bytes, rng: random.Random) -> bytes:
    found = bytearray(data)
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        _change(found, rng)
    return bytes(found)


def _change(found: bytearray, rng: random.Random) -> None:
    size = len(found)
    at = rng.randrange(size) if size else 0
    length = rng.choice((1, 1, 2, 4, 16, 200))
    what = rng.randrange(10)
    if what == 0:
        del found[at:]
    elif what == 1:
        del found[at : at + length]
    elif what == 2:
        found[at:at] = found[at : at + length] * rng.choice((1, 2, 50))
    elif what == 3:
        other = rng.randrange(size) if size else 0
        found[at : at + length] = found[other : other + length]
    elif what <= 6:
        found[at : at + 1] = bytes((rng.choice(OPCODES),))
    elif what == 7:
        found[at : at + length] = rng.randbytes(len(found[at : at + length]))
    elif what == 8:
        found[at : at + 1] = bytes((rng.choice((0, 1, 2, 3, 127, 128, 255)),))
    else:  # a bit
        found[at : at + 1] = bytes(one ^ 1 << rng.randrange(8) for one in found[at : at + 1])


def outcome(data: bytes) -> str:
    """``texts`` or ``clear error``; whatever else is raised is the caller's.  AssertionError for a warning."""
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        try:
            opened(data, "mutant")
            found = "texts"
        except DepyfError as error:
            assert str(error).isprintable(), repr(str(error))
            found = "clear error"
    assert not heard, str(heard[0].message)
    return found


def seeds(folder: Path) -> list[bytes]:
    """Files of torch's own: with sizes that may vary, with a backward, with a closure."""
    import torch

    def plain(x: torch.Tensor, n: int = 3, *, k: float = 2.5) -> torch.Tensor:
        return torch.relu(torch.sin(x) * n + k) if x.shape[0] > 2 else x

    weight = torch.ones(3, 2)

    def closure(x: torch.Tensor) -> torch.Tensor:
        return (x @ weight).sum()

    made = []
    for number, (function, backend, dynamic, grad) in enumerate(
        ((plain, "inductor", False, False), (plain, "inductor", True, True), (closure, "aot_eager", False, False))
    ):
        compiled = torch.compile(function, fullgraph=True, backend=backend, dynamic=dynamic)
        path = folder / str(number)
        compiled.aot_compile(((torch.ones(4, 3, requires_grad=grad),), {})).save_compiled_function(str(path))
        made.append(path.read_bytes())
    return [*made, *precompiled(folder, weight)]


def precompiled(folder: Path, weight: torch.Tensor) -> list[bytes]:
    """The two files of an artefact of one graph, and that of frames; none of a torch before 2.15."""
    import torch

    if not hasattr(getattr(torch.compiler, "precompile", None), "capture"):
        return []
    from torch._dynamo.precompile_context import EagerCacheArtifact
    from torch._dynamo.precompile_package import precompile_capture
    from torch._precompile import _build_multigraph_artifact

    files = [folder / "one.py", folder / "one.cache"]
    with torch.compiler.precompile.capture(
        torch.nn.functional.linear, artifact_path=str(files[0]), cache_path=str(files[1])
    ) as capture:
        capture(torch.ones(2, 2), torch.ones(3, 2))
    session = precompile_capture(of_frames, backend="eager")
    with session as call:
        for n in (2, 3):
            call(torch.ones(3), n)
    graphs = {key: EagerCacheArtifact(key=key, content=one) for key, one in session._package.cached_backends.items()}
    text, _ = _build_multigraph_artifact(session._package.cache_entry(), graphs, session.summary(), "eager", of_frames)
    return [*(file.read_bytes() for file in files), text.encode()]


def of_frames(x: torch.Tensor, n: int) -> torch.Tensor:
    """A graph break, and a number that each variant fixes."""
    import torch

    y = x * n
    torch._dynamo.graph_break()
    return y + 1


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=Path, metavar="FILE")
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0, help="the first seed")
    options = parser.parse_args(argv)
    with tempfile.TemporaryDirectory() as folder:
        files = [file.read_bytes() for file in options.files] or seeds(Path(folder))
    counts: Counter[str] = Counter()
    slowest = 0.0
    for seed in range(options.seed, options.seed + options.count):
        begun = time.process_time()  # others may have the processor
        try:
            found = outcome(mutated(files[seed % len(files)], seed))
        except Exception as error:
            found = "wrong"
            place = traceback.extract_tb(error.__traceback__)[-1]
            print(f"seed {seed}: {type(error).__name__}: {error} ({place.filename}:{place.lineno})")
        taken = time.process_time() - begun
        if taken > SLOW:
            print(f"seed {seed}: {taken:.1f} s")
            found = "slow"
        slowest = max(slowest, taken)
        counts[found] += 1
    print(", ".join(f"{count} {name}" for name, count in counts.most_common()), f"; the slowest took {slowest:.2f} s")
    return bool(counts["wrong"] + counts["slow"])


if __name__ == "__main__":
    sys.exit(main())
