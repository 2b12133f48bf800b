"""The proof of code whose tests are silent takes time about linear in how many there are."""

from __future__ import annotations

from depyf.decompiler.bytecode.codeunit import CodeUnit
from depyf.decompiler.bytecode.lower import lower
from depyf.decompiler.verify.walk.equivalence import Proof, prove


def proof_of(count: int) -> Proof:
    """Of a call whose arguments are conditional expressions on locals, against the same with the tests negated."""
    names = ", ".join(f"a{i}, b{i}" for i in range(count))
    plain = ", ".join(f"a{i} if b{i} is None else b{i}" for i in range(count))
    negated = ", ".join(f"b{i} if b{i} is not None else a{i}" for i in range(count))
    one, other = (
        CodeUnit.from_code(compile(f"def f(g, {names}):\n    return g({arguments}, 1)", "f", "exec").co_consts[0])
        for arguments in (plain, negated)
    )
    return prove(lower(one), lower(other), lambda name: False, nested_proven=lambda a, b: False)


def test_steps_grow_with_the_size() -> None:
    small, large = proof_of(10).steps, proof_of(20).steps
    assert large < 4 * small
