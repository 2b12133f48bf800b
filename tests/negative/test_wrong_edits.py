"""The negative controls: of all edits that change what a program means, the verifier must accept none."""

from __future__ import annotations

import ast
import dis
import importlib.util
import types
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from depyf.decompiler.bytecode.codeunit import CodeUnit
from depyf.decompiler.verify import verify
from rewrites import rewritten
from tools.proof.wrong_edits import wrong_edits

STDLIB = ("textwrap", "heapq", "contextlib", "copy", "shlex", "json.decoder", "asyncio.locks", "dataclasses", "queue")


def subjects() -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """The functions of ``subjects.py`` that this interpreter can parse."""
    here = Path(__file__).parent
    text = "\n\n\n".join((here / name).read_text(encoding="utf-8") for name in ("subjects.py", "subjects_3_11.py.txt"))
    for part in text.split("\n\n\n")[1:]:
        try:
            (node,) = ast.parse(part).body
        except SyntaxError:
            continue
        assert isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
        yield node


SUBJECTS = {node.name: node for node in subjects()}


def compiled(tree: ast.Module) -> types.CodeType:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return compile(tree, "<edit>", "exec", dont_inherit=True)


def shown(code: types.CodeType) -> Any:
    """Everything a disassembly shows, so that "the edit changed nothing" does not depend on our own code."""
    instructions = [
        (i.opname, shown(i.argval) if isinstance(i.argval, types.CodeType) else (type(i.argval), repr(i.argval)))
        for i in dis.get_instructions(code)
    ]
    fixed = (code.co_name, code.co_varnames, code.co_argcount, code.co_kwonlyargcount, code.co_posonlyargcount)
    return fixed, code.co_flags, getattr(code, "co_exceptiontable", b""), instructions


def missed(tree: ast.Module, stride: int, first: int, rewrite: bool = False) -> tuple[int, list[str]]:
    """How many edits changed the code, and those the verifier did not notice."""
    original = compiled(tree)
    before = shown(original)
    unit = CodeUnit.from_code(original)
    count = 0
    accepted = []
    for name, line, edited in wrong_edits(tree, stride, first):
        try:
            code = compiled(edited)
            if shown(code) == before:
                continue
            if rewrite:
                code = compiled(rewritten(edited))
        except SyntaxError:
            continue
        count += 1
        verdict = verify(unit, CodeUnit.from_code(code))[0]
        if verdict.proven:
            accepted.append(f"{name} at line {line}: {verdict.status.value}")
    return count, accepted


@pytest.mark.parametrize("name", SUBJECTS)
def test_no_wrong_edit_is_accepted(name: str) -> None:
    count, accepted = missed(ast.Module([SUBJECTS[name]], []), 1, 0)
    assert not accepted
    assert count > 0


@pytest.mark.parametrize("name", SUBJECTS)
def test_nor_under_rewrites_that_keep_the_meaning(name: str) -> None:
    _, accepted = missed(ast.Module([SUBJECTS[name]], []), 3, 1, rewrite=True)
    assert not accepted


@pytest.mark.parametrize("module", STDLIB)
def test_no_wrong_edit_of_the_standard_library_is_accepted(module: str) -> None:
    found = importlib.util.find_spec(module)
    assert found is not None and found.origin is not None
    total = 0
    for node in ast.parse(Path(found.origin).read_text(encoding="utf-8")).body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            count, accepted = missed(ast.Module([node], []), 31, len(node.name) % 31)
            total += count
            assert not accepted
    assert total > 5
