"""The order of local variables, which dead code may fix, is that of the original where the code can look at it."""

from __future__ import annotations

import dataclasses
import sys
from typing import Any

import pytest

from depyf.decompiler.bytecode.codeunit import CodeUnit
from depyf.decompiler.bytecode.files.unmarshal import loads
from depyf.decompiler.driver.pipeline import decompile_unit
from depyf.decompiler.verify import Status, verify
from depyf.decompiler.verify.assumptions import VARIABLE_ORDER_NOTE
from depyf.decompiler.verify.recompiling.recompile import recompile
from depyf.decompiler.verify.recompiling.worker import worker_for
from depyf.decompiler.verify.signature import SHOWN, misplaced
from needs import need

VERSIONS = [(3, minor) for minor in range(8, 16)]
LOOKING = [
    "def f(a):\n    if 0: w = 3\n    y = 2; w = 4\n    return list(locals())\n",
    "def f(a):\n    y = 2; w = 4\n    return list(locals())\n    w = 3\n",
    "def f(a):\n    if a:\n        return\n        w = 3\n    y = 2; w = 4\n    return list(locals())\n",
    "def f(a):\n    if a:\n        raise a\n        for w, v in a: pass\n    y = 2; v = 5; w = 4\n    return list(locals())\n",
    "def f(a):\n    while 0:\n        for w, v in a: pass\n    y = 2; v = 5; w = 4\n    return dir(), [*vars()]\n",
    "import sys\ndef f(a):\n    if False: w = 3\n    y = 2; w = 4\n    return list(sys._getframe().f_locals)\n",
    "def f(a):\n    if 0:\n        global g\n        w = 3\n    y = 2; w = 4\n    g = 1\n    return eval('list(locals())')\n",
    "def f(a):\n    def inner(y):\n        if 0: z = 1\n        x = 1; z = 2; return list(locals())\n    return inner(1), list(locals())\n",
]
INLINED = [
    "def f(a):\n    [x for x in a]\n    for y in a:\n        if None: z = 1\n        if z: pass\n    return dir()\n",
    "def f(a):\n    if 0: w = 3\n    y = [b for b in a]; w = [c for d in a for c in d]\n    return [*vars()], y, w\n",
    "def f(a):\n    if 0: z = a\n    w = {v: u for u, v in a}\n    if 0: u = 1\n    return list(locals())\n",
]
"""Comprehensions that are inlined since 3.12, whose variables are among those of the function."""
SILENT = "def f(a):\n    if 0: w = 3\n    y = a(); w = a()\n    return 1\n"
PLAIN = "def f(a):\n    y = a(); w = a()\n    return 1\n"


def run(source: str) -> Any:
    space: dict[str, Any] = {}
    exec(compile(source, "order", "exec", 0, True), space)
    return space["f"](())


@pytest.mark.parametrize("source", LOOKING + INLINED)
@pytest.mark.parametrize("version", VERSIONS)
def test_what_looks_at_its_variables_sees_them_in_order(version: tuple[int, int], source: str) -> None:
    need(version)
    unit = loads(worker_for(version).compile(source), version)
    found = decompile_unit(unit)
    tested = "if 0 and 0" in found.source  # nothing less makes a variable up to 3.9
    assert {v.status for v in found.verdicts[1:]} <= {Status.IDENTICAL, *([Status.EQUIVALENT] if tested else [])}
    assert not tested or version < (3, 10)
    assert not list(misplaced(unit, loads(worker_for(version).compile(found.source), version)))
    if version == sys.version_info[:2]:
        assert run(found.source) == run(source)


def test_another_order_is_no_proof_then() -> None:
    original = CodeUnit.from_code(compile(LOOKING[0], "order", "exec", 0, True))
    text = "def f(a):\n    y = 2; w = 4\n    return list(locals())\n"
    found = verify(original, recompile(text, original.version).unit)
    assert (found[1].status, found[1].reason) == (Status.UNVERIFIED, SHOWN)
    assert not found[0].proven


def test_and_an_assumption_elsewhere() -> None:
    original = CodeUnit.from_code(compile(SILENT, "order", "exec", 0, True))
    found = verify(original, recompile(PLAIN, original.version).unit)
    assert found[1].status is Status.EQUIVALENT
    assert VARIABLE_ORDER_NOTE in found[1].reason
    assert verify(original, recompile(SILENT, original.version).unit)[1].status is Status.IDENTICAL


def test_variables_that_only_dead_code_binds_do_not_count() -> None:
    dead = CodeUnit.from_code(
        compile("def f(a):\n    if 0: w = 3\n    y = a(); z = a()\n    return 1\n", "order", "exec", 0, True)
    )
    plain = CodeUnit.from_code(compile("def f(a):\n    y = a(); z = a()\n    return 1\n", "order", "exec", 0, True))
    assert verify(dead, plain)[1].status is Status.IDENTICAL


def test_an_order_by_hand() -> None:
    """Names exchanged in the table, with their numbers in the code: nothing else differs."""
    unit = CodeUnit.from_code(
        compile("def f(a):\n    y = a(); w = a()\n    return y, w\n", "order", "exec", 0, True)
    ).consts[0]
    other = CodeUnit.from_code(
        compile("def f(a):\n    w = y = 0\n    y = a(); w = a()\n    return y, w\n", "o", "exec", 0, True)
    ).consts[0]
    assert unit.varnames != other.varnames
    turned = dataclasses.replace(unit, varnames=("a", "w", "y"))
    assert not verify(unit, turned)[0].proven
