"""Every pass keeps its promise, on the code of whole standard library modules."""

import importlib.util
import types
from collections.abc import Iterator
from pathlib import Path

import pytest

from depyf.bytecode.codeunit import CodeUnit
from depyf.driver.invariants import InvariantError, check_labelled, check_python
from depyf.driver.passes import trace_passes
from depyf.ir.expr import Const, Name
from depyf.ir.stmt import Block, Break, Exit, ExprStmt, While

MODULES = ("argparse", "heapq", "textwrap", "contextlib", "selectors", "asyncio.tasks", "email.message", "zipfile")


def codes(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for const in code.co_consts:
        if isinstance(const, types.CodeType):
            yield from codes(const)


@pytest.mark.parametrize("name", MODULES)
def test_every_pass_keeps_its_promise(name: str) -> None:
    spec = importlib.util.find_spec(name)
    assert spec is not None and spec.origin is not None
    path = Path(spec.origin)
    count = 0
    for code in codes(compile(path.read_text(encoding="utf-8"), str(path), "exec", dont_inherit=True)):
        for _ in trace_passes(CodeUnit.from_code(code)):
            count += 1
    assert count > 20


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
