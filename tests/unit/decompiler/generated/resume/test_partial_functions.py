"""Functions that are made after a break, in the middle of their defaults and annotations, which are handed on."""

from __future__ import annotations

from dataclasses import replace

import pytest

from depyf.decompiler.bytecode.codeunit import CodeUnit
from depyf.decompiler.bytecode.decode import decode
from depyf.decompiler.bytecode.files.unmarshal import loads
from depyf.decompiler.bytecode.lower import lower
from depyf.decompiler.bytecode.versions import spec_for
from depyf.decompiler.driver.pipeline import Decompiled, decompile_unit
from depyf.decompiler.generated.contract import GeneratorContract
from depyf.decompiler.options import Options
from depyf.decompiler.verify.assumptions import FUNCTIONS_NOTE
from depyf.decompiler.verify.recompiling.worker import worker_for
from depyf.decompiler.verify.whole import verify
from depyf.errors import DecompilationError
from needs import need

VERSIONS = [(3, minor) for minor in range(11, 16)]
SHOWN = Options(promises=GeneratorContract(resumed=("torch_dynamo_resume",), display_only=True, variables=frozenset()))
HEAD = f"def torch_dynamo_resume_in_f({', '.join(f'___stack{place}' for place in range(10))}, x, g):\n"
MADE = {
    "keyword only": "    def inner(a, *, b=g(2), c=3): return a\n    return inner(x)\n",
    "defaults of constants": "    def inner(a, v=1, w=2, *, b=g(2), c=g(3)): return a\n    return inner(x)\n",
    "defaults": "    def inner(a, v=g(1), w=x, *, b=g(2), c=g(3)): return a\n    return inner(x)\n",
    "a lambda": "    return (lambda a, v=g(1), *, b=g(2) or x, c=g(3): a)(x)\n",
    "annotations": "    def inner(a: g(1), v=g(1), *, b: x = g(2), c: g(4) = 4) -> g(5): return a\n    return inner(x)\n",
    "free variables": "    def inner(a, v=g(1), *, b=g(2)): return a, x\n    return inner(x)\n",
    "cells that are handed on": "    y = 3\n    def inner(a, v=g(1), *, b=g(2)): return a, y\n    return inner(x)\n",
}


def resumed(version: tuple[int, int], body: str) -> list[CodeUnit]:
    """The function, entered after each of its calls but the last, with what is on the stack there in its first parameters."""
    need(version)
    module = loads(worker_for(version).compile(HEAD + body), version)
    unit = next(const for const in module.consts if isinstance(const, CodeUnit))
    spec = spec_for(version)
    raw, lowered = decode(unit, spec), lower(unit)
    calls = [at for at, instr in enumerate(lowered.instrs) if instr.op == "CALL"]
    found = []
    for call in calls[:-1]:
        depth = lowered.depths[call + 1]
        given = () if "x" in unit.cellvars else unit.cellvars  # torch passes them on; a parameter's cell it makes again
        begin = 0 if given else raw.offsets[raw.names.index("RESUME")]
        way = (lowered.instrs[call + 1].offset - begin) // 2
        copied = [("COPY_FREE_VARS", len(given))] if given else []
        head = [*copied, ("RESUME", 0), *(("LOAD_FAST", place) for place in range(depth)), ("JUMP_FORWARD", way)]
        code = unit.code[:begin]
        for name, arg in head:
            number = spec.opnames.index(name)
            code += bytes([number, arg]) + bytes(spec.caches[number])  # in bytes
        code += unit.code[begin:]
        cells, free = (unit.cellvars, unit.freevars) if not given else ((), given)
        stack = unit.stacksize + depth
        found.append(replace(unit, code=code, linetable=b"", stacksize=stack, cellvars=cells, freevars=free))
    return found


def decompiled(unit: CodeUnit, options: Options = SHOWN) -> Decompiled:
    return decompile_unit(unit, options=options)


@pytest.mark.parametrize("name", MADE)
@pytest.mark.parametrize("version", VERSIONS)
def test_what_is_handed_on_is_taken_apart(version: tuple[int, int], name: str) -> None:
    ways = resumed(version, MADE[name])
    assert ways
    for unit in ways:
        found = decompiled(unit)
        assert found.proven, found.verdicts
        assert "__temp_" not in found.source
        assert (" v=" in found.source) == (" v=" in MADE[name])


@pytest.mark.parametrize("version", VERSIONS)
def test_the_proof_says_so(version: tuple[int, int]) -> None:
    unit = resumed(version, MADE["defaults"])[-1]
    found = decompiled(unit)
    assert FUNCTIONS_NOTE in found.verdicts[0].reason
    assert "v=___stack0[0], w=___stack0[1]" in found.source


@pytest.mark.parametrize("version", VERSIONS)
def test_code_that_runs_is_left_alone(version: tuple[int, int]) -> None:
    """The function that torch makes gets the tuple itself."""
    unit = resumed(version, MADE["defaults"])[-1]
    with pytest.raises(DecompilationError):
        decompiled(unit, Options(promises=GeneratorContract(resumed=("torch_dynamo_resume",))))


@pytest.mark.parametrize(
    "wrong",
    [
        "v=___stack0[1], w=___stack0[0]",
        "v=___stack0[0], w=___stack0[0]",
        "v=___stack0[0], w=___stack0",
        "v=___stack0[0], w=___stack0[2]",
        "v=___stack0[-2], w=x",
        "v, w=___stack0[1]",
        "v=x, w=___stack0[1]",
        "v=___stack0[0], w=___stack1[1]",
    ],
)
@pytest.mark.parametrize("version", VERSIONS)
def test_the_proof_rejects_other_parts(version: tuple[int, int], wrong: str) -> None:
    unit = resumed(version, MADE["defaults"])[-1]
    text = decompiled(unit).source.replace("v=___stack0[0], w=___stack0[1]", wrong)
    assert wrong in text
    module = loads(worker_for(version).compile(text), version)
    other = next(const for const in module.consts if isinstance(const, CodeUnit))
    assert not verify(unit, other, promises=SHOWN.promises)[0].proven
