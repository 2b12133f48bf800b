"""Every pass keeps its promise, on the code of whole standard library modules."""

import importlib.util
import types
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from depyf.decompiler.bytecode.codeunit import CodeUnit
from depyf.decompiler.driver.decompilation import Decompilation
from depyf.decompiler.driver.invariants import InvariantError, check_labelled, check_python
from depyf.decompiler.driver.rungs import READABLE, Attempt, Rung, validate
from depyf.decompiler.driver.steps import trace_passes
from depyf.decompiler.ir.expr import Const, Name
from depyf.decompiler.ir.stmt import Block, Break, Exit, ExprStmt, While
from depyf.errors import DecompilationError

MODULES = ("argparse", "heapq", "textwrap", "contextlib", "selectors", "asyncio.tasks", "email.message", "zipfile")


def codes(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for const in code.co_consts:
        if isinstance(const, types.CodeType):
            yield from codes(const)


@pytest.mark.parametrize("rung", Rung, ids=lambda rung: rung.name)
@pytest.mark.parametrize("name", MODULES)
def test_every_pass_keeps_its_promise(name: str, rung: Rung) -> None:
    """Not every rung has statements for all code; where it has, each pass leaves what the next one expects."""
    spec = importlib.util.find_spec(name)
    assert spec is not None and spec.origin is not None
    path = Path(spec.origin)
    count = refused = 0
    for code in codes(compile(path.read_text(encoding="utf-8"), str(path), "exec", dont_inherit=True)):
        try:
            for _ in trace_passes(CodeUnit.from_code(code), Attempt(rung)):
                count += 1
        except DecompilationError:
            refused += 1
    assert count > 20 * (refused + 1)


@pytest.mark.parametrize("rung", Rung, ids=lambda rung: rung.name)
def test_passes_stand_in_the_order_they_ask_for(rung: Rung) -> None:
    validate(rung.passes)
    names = [step.name for step in rung.passes]
    known = {step.name for one in Rung for step in one.passes}
    for step in rung.passes:
        assert step.why, step.name
        assert set(step.after) <= known, step.name
    assert names[0] == "lower"


def test_a_pass_out_of_order_is_found() -> None:
    with pytest.raises(ValueError, match="stands twice"):
        validate((*READABLE, READABLE[-1]))
    with pytest.raises(ValueError, match="stands before"):
        validate(tuple(reversed(READABLE)))


def test_a_broken_invariant_is_no_next_rung(monkeypatch: pytest.MonkeyPatch) -> None:
    """An invariant is checked after each pass of a decompilation, and its violation is not taken for code without a text."""
    step = next(step for step in READABLE if step.name == "labels")

    def leaves_a_break(state: Any) -> None:
        state.body = (Break(),)

    broken = replace(step, run=leaves_a_break)
    passes = tuple(broken if one is step else one for one in READABLE)
    monkeypatch.setattr(Rung, "passes", passes)
    with pytest.raises(InvariantError, match="outside of a loop"):
        Decompilation().body(CodeUnit.from_code(codes.__code__))


def test_an_exit_needs_its_label() -> None:
    check_labelled((Block(1, (Exit(1),)),))
    with pytest.raises(InvariantError):
        check_labelled((Block(1, (Exit(2),)),))


def test_a_break_needs_a_loop() -> None:
    check_python((While(Const(True), (Break(),)),))
    with pytest.raises(InvariantError):
        check_python((Break(),))
    with pytest.raises(InvariantError):
        check_python((Block(1, (ExprStmt(Name("x", "fast")),)),))
