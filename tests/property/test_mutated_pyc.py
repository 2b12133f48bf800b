"""Mutated ``.pyc`` files of every version through the reader, the lowering and the whole decompiler.

Whatever comes out of it, an error is one of ours, and nothing hangs: bytes of the file, and bytes of the code alone
(which the reader then takes), are overwritten, deleted, inserted and copied at random, with a fixed seed.
"""

from __future__ import annotations

import random

import pytest

from depyf.decompiler.bytecode.codeunit import CodeUnit
from depyf.decompiler.bytecode.files.pyc import unit_of_pyc
from depyf.decompiler.bytecode.lower import lower
from depyf.decompiler.driver.pipeline import decompile_unit
from depyf.decompiler.options import Options
from depyf.errors import DepyfError
from foreign import VERSIONS, compile_with, walk

TEXT = """
class Point:
    unit = 1
    def move(self, dx, *args, by=(1, 2.5, "x"), **kw):
        for x in range(dx):
            try:
                if x > 2 and dx or not args: continue
                with open(x) as file: yield [y for y in file if y]
            except (ValueError, KeyError) as error: raise TypeError from error
            finally: self.x += 1
        while dx: dx -= f"{x!r:>{dx}}"
        return lambda: (x, super().move(*args, **kw), kw[1:2, ...])
async def wait(a):
    async with a as b: return {k: await v async for k, v in b}
"""
COUNT = 120


def spans(data: bytes, unit: CodeUnit) -> list[tuple[int, int]]:
    """Where the code and the exception tables lie in the file."""
    parts = [part for inner in walk(unit) for part in (inner.code, inner.exctable) if len(part) > 3]
    return [(start, start + len(part)) for part in parts if (start := data.find(part)) > 0]


def mutated(data: bytes, places: list[tuple[int, int]], rnd: random.Random) -> bytes:
    changed = bytearray(data)
    start, end = rnd.choice(places) if rnd.random() < 0.6 else (16, len(data))
    inside = end < len(data)
    for _ in range(rnd.choice((1, 1, 2, 4))):
        at = rnd.randrange(start, min(end, len(changed)))
        kind = rnd.random()
        if kind < 0.6:
            changed[at] = rnd.randrange(256)
        elif kind < 0.8 or inside:
            changed[at] ^= 1 << rnd.randrange(8)
        elif kind < 0.9:
            del changed[at : at + rnd.choice((1, 2, 4))]
        else:
            changed[at:at] = rnd.randbytes(rnd.choice((1, 4)))
        if len(changed) < 20:
            break
    return bytes(changed)


@pytest.mark.parametrize("version", VERSIONS)
def test_only_our_errors(version: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    source = tmp_path_factory.mktemp("mutated") / "sample.py"
    source.write_text(TEXT, encoding="utf-8")
    data = compile_with(version, [source])[0]
    places = spans(data, unit_of_pyc(data))
    rnd = random.Random(version)
    lowered = refused = 0
    for _ in range(COUNT):
        try:
            unit = unit_of_pyc(mutated(data, places, rnd))
        except DepyfError:
            refused += 1
            continue
        for inner in walk(unit):
            try:
                lower(inner)
                lowered += 1
            except DepyfError:
                refused += 1
        try:
            decompile_unit(unit, Options(verify=False))
        except DepyfError:
            refused += 1
    assert lowered > COUNT and refused > COUNT // 20
