"""``depyf.debug(stop_on=...)``: stop on the first line of a graph that creates a NaN or an infinity.

The graph's text is compiled with a check after each assignment, on the line of the assignment, so that the program runs
the same operations and a debugger shows the same file.  A line *creates* a value that none of its operands had.
"""

from __future__ import annotations

import ast
import sys
import types
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

from depyf.bytecode.host.breakpoints import STOPS_AT_ONCE
from depyf.debugger.pause import should_pause, stopper
from depyf.debugger.where import Where, where_is
from depyf.errors import NonFiniteError
from depyf.safety.guarded import Door, say

StopOn = Literal["nan", "inf"]
KINDS: tuple[StopOn, ...] = ("nan", "inf")
_CHECK, _STOP = "depyf: check the value", "depyf: stop here"


@dataclass
class NonFiniteWatch:
    """Watches the graphs of one ``depyf.debug(stop_on=...)``; stops once."""

    kind: StopOn
    found: list[Where] = field(default_factory=list)

    def instrument(self, code: types.CodeType, text: str) -> types.CodeType:
        """``code``, compiled from the graph file ``text``, with the checks; itself where they cannot be added."""
        tree = ast.parse(text)
        forward = _function_at(tree, code.co_firstlineno)
        if forward is None:
            return code
        forward.body = [part for statement in forward.body for part in self._watched(statement, forward.lineno)]
        module = compile(ast.fix_missing_locations(tree), code.co_filename, "exec", dont_inherit=True)
        made = _code_at(module, code.co_name, code.co_firstlineno)
        return code if made is None else _with_consts(made, {_CHECK: self._check, _STOP: stopper()})

    def _watched(self, statement: ast.stmt, other_line: int) -> list[ast.stmt]:
        return [statement] if self.kind == "inf" and _meant(statement) else _watched(statement, other_line)

    def _check(self, name: str, value: Any, operands: tuple[str, ...]) -> bool:
        """Is this where to stop?  Called by the graph after ``name = ...``."""
        frame = sys._getframe(1)
        created = False
        with Door("depyf: a value cannot be looked at"):
            created = not self.found and self._creates(frame, name, value, operands)
        if not created:
            return False
        place = where_is(frame.f_code.co_filename, frame.f_lineno)
        self.found.append(place)
        what = "a NaN" if self.kind == "nan" else "an infinity"
        message = f"{name} is the first value of a graph with {what} that its operands do not have\n{place}"
        if not should_pause():
            raise NonFiniteError(message, place)
        say(f"depyf: {message}", out=True)
        return True

    def _creates(self, frame: types.FrameType, name: str, value: Any, operands: tuple[str, ...]) -> bool:
        if not self._has(value):
            return False
        scope = frame.f_locals
        return not any(self._has(scope[operand]) for operand in operands if operand in scope and operand != name)

    def _has(self, value: Any) -> bool:
        if isinstance(value, (tuple, list)):
            return any(self._has(item) for item in value)
        import torch

        if not isinstance(value, torch.Tensor) or not (value.is_floating_point() or value.is_complex()):
            return False
        with torch.no_grad():
            test: Callable[[Any], Any] = torch.isnan if self.kind == "nan" else torch.isinf
            return bool(test(value.detach()).any())


def _function_at(tree: ast.Module, line: int) -> ast.FunctionDef | None:
    return next((n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef) and n.lineno == line), None)


def _meant(statement: ast.stmt) -> bool:
    """Does it say infinity, or fetch a constant?  An attention mask does, and no computation went wrong there."""
    value = getattr(statement, "value", None)
    return isinstance(value, ast.Attribute) or any(
        isinstance(node, ast.Name) and node.id == "inf" for node in ast.walk(value or ast.Pass())
    )


def _watched(statement: ast.stmt, other_line: int) -> list[ast.stmt]:
    """``statement`` and, where it assigns the result of a computation to a name, the check after it.

    Where pdb stops only at the next line that begins, the call stands on ``other_line``, so that the rest of the
    statement's own line begins after it: the debugger shows that line, and the operands are still there.
    """
    target = statement.targets[0] if isinstance(statement, ast.Assign) else getattr(statement, "target", None)
    value = getattr(statement, "value", None)
    if (
        not isinstance(target, ast.Name)
        or not isinstance(value, ast.expr)
        or isinstance(value, (ast.Constant, ast.Name))
    ):
        return [statement]
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id in ("iter", "next"):
        return [statement]  # a boxed argument is taken out of its list
    operands = sorted({node.id for node in ast.walk(value) if isinstance(node, ast.Name)})
    check = ast.Call(
        _bound(_CHECK),
        [
            ast.Constant(target.id),
            ast.Name(target.id, ast.Load()),
            ast.Tuple([ast.Constant(name) for name in operands], ast.Load()),
        ],
        [],
    )
    call = ast.Expr(ast.Call(_bound(_STOP), [], []))
    stop = ast.If(check, [call, ast.Pass()], [])
    for node in ast.walk(stop):
        if isinstance(node, (ast.expr, ast.stmt)):
            node.lineno = node.end_lineno = statement.end_lineno or statement.lineno
            node.col_offset = node.end_col_offset = 0
    if not STOPS_AT_ONCE:
        for node in ast.walk(call):
            if isinstance(node, (ast.expr, ast.stmt)):
                node.lineno = node.end_lineno = other_line
    return [statement, stop]


def _bound(name: str) -> ast.expr:
    """The constant that a function takes the place of; not called as such, for the compiler would warn of that."""
    return ast.BoolOp(ast.Or(), [ast.Constant(name), ast.Constant(name)])


def _code_at(module: types.CodeType, name: str, line: int) -> types.CodeType | None:
    for const in module.co_consts:
        if isinstance(const, types.CodeType):
            if const.co_name == name and const.co_firstlineno == line:
                return const
            found = _code_at(const, name, line)
            if found is not None:
                return found
    return None


def _with_consts(code: types.CodeType, values: dict[str, Any]) -> types.CodeType:
    consts = tuple(values.get(const, const) if isinstance(const, str) else const for const in code.co_consts)
    return code.replace(co_consts=consts)
