"""``depyf.debug(stop_on=...)``: stop on the first line of a graph that creates a NaN or an infinity.

The graph's text is compiled with a check after each assignment, on the line of the assignment, so that the program runs
the same operations and a debugger shows the same file.  A line *creates* a value that none of its operands had.
"""

from __future__ import annotations

import ast
import functools
import math
import sys
import types
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from depyf.actions.debugger.pause import should_pause, stopper
from depyf.decompiler.bytecode.host.breakpoints import STOPS_AT_ONCE
from depyf.errors import NonFiniteError
from depyf.run.places.where import where_is
from depyf.safety.guarded import Door, say
from depyf.safety.unheard import parse
from depyf.sources.live.events.module_path import node_module
from depyf.sources.live.tensors import statistics

StopOn = Literal["nan", "inf"]
KINDS: tuple[StopOn, ...] = ("nan", "inf")
_NOT_WRITTEN = frozenset(("empty", "empty_like", "empty_strided", "empty_permuted", "new_empty", "new_empty_strided"))
"""Operators whose result nothing has been written to; in an ATen graph the name of an overload follows."""
_CHECK, _STOP = "depyf: check the value", "depyf: stop here"


@dataclass(frozen=True, slots=True)
class WatchedValue:
    """A tensor or a number at a stop: the range of its finite elements, and how many are not finite."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    low: float
    high: float
    nans: int
    infs: int
    first: tuple[int, ...] | None
    """The index of the first element that is not finite."""

    def __str__(self) -> str:
        total = math.prod(self.shape)
        kind = f"{self.name}: {self.dtype}{list(self.shape)}"
        range_ = f"min {self.low:.6g} max {self.high:.6g}" if total > self.nans + self.infs else "no finite element"
        if self.first is None:
            return f"{kind} {range_}, all finite" if total else f"{kind} without elements"
        odd = " and ".join(f"{count} {what}" for count, what in ((self.nans, "NaN"), (self.infs, "inf")) if count)
        return f"{kind} {range_}, {odd} of {total}, the first at {list(self.first)}"


@dataclass
class NonFiniteWatch:
    """Watches the graphs of one ``depyf.debug(stop_on=...)``; stops at each line that creates such a value."""

    kind: StopOn
    found: bool = False
    """A line has created one."""

    @property
    def nothing_found(self) -> str:
        """The line for the end of a block without a stop; "" where there was one."""
        what = "a NaN" if self.kind == "nan" else "an infinity"
        return "" if self.found else (
            f"no line of a graph created {what} in this block. PyTorch's own kernels ran the graphs here, one "
            "operation at a time: what only a fused kernel of Inductor makes is not seen. "
            "depyf.compare(function, *arguments) compares the compiled results with Python's"
        )  # fmt: skip

    def instrument(self, code: types.CodeType, text: str, modules: dict[str, str]) -> types.CodeType:
        """``code``, compiled from the graph file ``text``, with the checks; itself where they cannot be added.

        ``modules``: names of the graph -> the path of the module that computes it.
        """
        tree = parse(text)
        forward = _function_at(tree, code.co_firstlineno)
        if forward is None:
            return code
        forward.body = [part for statement in forward.body for part in self._watched(statement, forward.lineno)]
        module = compile(ast.fix_missing_locations(tree), code.co_filename, "exec", dont_inherit=True)
        made = _code_at(module, code.co_name, code.co_firstlineno)
        if made is None:
            return code
        return _with_consts(made, {_CHECK: functools.partial(self._check, modules), _STOP: stopper()})

    def _watched(self, statement: ast.stmt, other_line: int) -> list[ast.stmt]:
        return [statement] if self.kind == "inf" and _meant(statement) else _watched(statement, other_line)

    def _check(self, modules: dict[str, str], name: str, value: Any, operands: tuple[str, ...]) -> bool:
        """Is this where to stop?  Called by the graph after ``name = ...``."""
        frame = sys._getframe(1)
        error = None
        with Door("depyf: a value cannot be looked at"):
            if self._creates(frame, name, value, operands):
                error = self._found(frame, name, value, operands, modules.get(name, ""))
        if error is None:
            return False
        self.found = True
        if not should_pause():
            raise error
        say(f"depyf: {error}", out=True)
        return True

    def _found(
        self, frame: types.FrameType, name: str, value: Any, operands: tuple[str, ...], module: str
    ) -> NonFiniteError:
        place = where_is(frame.f_code.co_filename, frame.f_lineno)
        what = "a NaN" if self.kind == "nan" else "an infinity"
        scope = frame.f_locals
        (made, *_) = [found for found in _values(name, value) if self._has(found[1])]
        given = [found for operand in operands if operand in scope for found in _values(operand, scope[operand])]
        shown, ranges = _watched_value(*made), tuple(_watched_value(*found) for found in given)
        lines = [f"{name} has {what} that none of its operands has", str(place)]
        lines += [f"  in module {module}"] if module else []
        lines += [f"  {shown}", *(f"  operand {found}" for found in ranges)]
        return NonFiniteError("\n".join(lines), place, module, shown, ranges)

    def _creates(self, frame: types.FrameType, name: str, value: Any, operands: tuple[str, ...]) -> bool:
        if not self._has(value):
            return False
        scope = frame.f_locals
        return not any(self._has(scope[operand]) for operand in operands if operand in scope and operand != name)

    def _has(self, value: Any) -> bool:
        import torch

        with torch.no_grad():
            test: Callable[[Any], Any] = torch.isnan if self.kind == "nan" else torch.isinf
            return any(bool(test(found.detach()).any()) for _, found in _values("", value) if _rounded(found))


def _values(name: str, value: Any) -> list[tuple[str, Any]]:
    """The tensors in a value of a graph, each with what to call it."""
    import torch

    if isinstance(value, (tuple, list)):
        return [found for position, item in enumerate(value) for found in _values(f"{name}[{position}]", item)]
    return [(name, value)] if isinstance(value, torch.Tensor) else []


def _rounded(value: Any) -> bool:
    """Whether a tensor can hold a value that is not finite."""
    return bool(value.is_floating_point() or value.is_complex())


def _watched_value(name: str, value: Any) -> WatchedValue:
    import torch

    found = statistics(value)
    first = None
    if found.nans or found.infs:
        with torch.no_grad():
            position = int((~torch.isfinite(value.detach())).flatten().to(torch.uint8).argmax())
            first = tuple(int(i) for i in torch.unravel_index(torch.tensor(position), value.shape))
    return WatchedValue(name, found.dtype, found.shape, found.low, found.high, found.nans, found.infs, first)


def modules_of(graph: Any) -> dict[str, str]:
    """Names of a graph's nodes -> the path of the module that computes it, or, in a backward, whose forward it is
    for."""
    return {node.name: path for node in graph.nodes if (path := node_module(node))}


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
    if isinstance(value, ast.Call) and _NOT_WRITTEN.intersection(ast.unparse(value.func).split(".")[-2:]):
        return [statement]  # what is in its memory says nothing, nor does the program read it
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
