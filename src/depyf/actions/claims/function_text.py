"""The tree of a function that is evaluated: its proven text.

Input: a code object.  Output: its ``def``, and the program's line of each line of the text.  The bytecode is the truth,
not the file: the text is decompiled, and one without a proof is not taken.
"""

from __future__ import annotations

import ast
import functools
import types
from dataclasses import dataclass

from depyf.actions.claims.terms import NotTriedError
from depyf.decompiler.driver.pipeline import decompile_code
from depyf.decompiler.emit.entry import MAKER
from depyf.errors import DepyfError
from depyf.safety.unheard import parse

_MOST = 16_000
"""Bytes of code: what is longer is no function that a person wrote."""
_MOST_OF_DYNAMO = 400_000
"""The same for transformed code, which loads each parameter of a model by a separate path."""


@dataclass(frozen=True, slots=True)
class FunctionText:
    """The syntax tree of a function, and the source line of each line."""

    tree: ast.FunctionDef | ast.Lambda
    lines: dict[int, int | None]
    filename: str


@functools.lru_cache(maxsize=512)
def function_text(code: types.CodeType, transformed: bool = False) -> FunctionText:
    """The decompiled text of ``code``.  ``transformed``: Dynamo generated the code.  NotTriedError where there is no
    proven text."""
    if len(code.co_code) > (_MOST_OF_DYNAMO if transformed else _MOST):
        raise NotTriedError(f"{code.co_name} is too long")
    if code.co_flags & 0x2A0:  # a generator, a coroutine, an asynchronous generator
        raise NotTriedError(f"{code.co_name} is a generator or a coroutine")
    try:
        made = decompile_code(code)
        tree = parse(made.source)
    except (DepyfError, SyntaxError, RecursionError) as error:
        raise NotTriedError(f"{code.co_name} has no text") from error
    if not made.proven:
        raise NotTriedError(f"the text of {code.co_name} is not proven")
    assert isinstance(tree, ast.Module)
    found = _function(tree.body)
    if found is None:
        raise NotTriedError(f"{code.co_name} is no plain function")
    return FunctionText(found, dict(made.linemap), code.co_filename)


def _function(body: list[ast.stmt]) -> ast.FunctionDef | ast.Lambda | None:
    match body:
        case [ast.Assign([ast.Name()], ast.Lambda() as tree)]:
            return tree
    defined = [one for one in body if isinstance(one, ast.FunctionDef)]
    if len(defined) != 1:
        return None
    inner = _function(defined[0].body) if defined[0].name.startswith(MAKER) else None
    return inner or defined[0]
