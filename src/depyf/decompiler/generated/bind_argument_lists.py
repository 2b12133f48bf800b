"""Binds lists of arguments to a variable, so that nothing but the list holds their items.

    return __resume_at_8_1([], [], [tmp_0, x])     ->     tmp_1 = [tmp_0, x]
                                                          return __resume_at_8_1([], [], tmp_1)

Dynamo passes a list where the rest of the function releases a value: the callee empties it (torch 2.13,
``resume_execution.py``).  In the bytecode the value is on the stack, and then in the list only.  A variable for it
would keep it alive (a tensor: its memory) until the call returns; one for the list holds what the called function
leaves in it.  The ``del`` of the other variables is left to ``release``.

Input and output: the Python dialect, before temporaries are released.
"""

from __future__ import annotations

from dataclasses import replace

from depyf.decompiler.generated.contract import GeneratorContract
from depyf.decompiler.generated.effects import variable
from depyf.decompiler.ir.expr import Const, Display, Expr, Invoke, Name, Purpose, Temp
from depyf.decompiler.ir.stmt import Assign, Body, ExprStmt, Return, Stmt
from depyf.decompiler.ir.transformer import Transformer
from depyf.decompiler.ir.walk_expr import next_number
from depyf.decompiler.ir.walk_stmt import walk
from depyf.safety.depth import any_depth


def bind_argument_lists(body: Body, promises: GeneratorContract) -> Body:
    """``body`` with a temporary for each list of temporaries that is passed to the rest of a function."""
    work = _Binding(body, promises)
    return work.run(body) if any(work.lists(stmt) for stmt in walk(body)) else body


class _Binding(Transformer):
    title = "bind a list of arguments to a variable"

    def __init__(self, body: Body, promises: GeneratorContract) -> None:
        self.closure_factories = promises.closure_factories
        self.stable = promises.stable
        self.made = frozenset(
            variable(stmt.targets[0])
            for stmt in walk(body)
            if isinstance(stmt, Assign) and variable(stmt.targets[0]) is not None and self._is_rest(stmt.value)
        )
        """The variables that hold a function made from cells."""
        self.next = next_number(body, Purpose.GENERATED)

    def leave(self, stmt: Stmt, done: list[Stmt]) -> None:
        found = self.lists(stmt)
        if found and isinstance(stmt, (Return, Assign, ExprStmt)) and isinstance(stmt.value, Invoke):
            args = list(stmt.value.args)
            for at in found:
                held = Temp(self.next, Purpose.GENERATED)
                self.next += 1
                done.append(Assign((held,), args[at], stmt.line))
                args[at] = held
            stmt = replace(stmt, value=replace(stmt.value, args=tuple(args)))
        done.append(stmt)

    def lists(self, stmt: Stmt) -> list[int]:
        """Which arguments of the call that ``stmt`` is are such lists, and may be made before the others."""
        call = stmt.value if isinstance(stmt, (Return, Assign, ExprStmt)) else None
        if not isinstance(call, Invoke) or not self._calls_rest(call):
            return []
        found: list[int] = []
        early = True
        for at, argument in enumerate(call.args):
            silent = self._silent(argument)
            if isinstance(argument, Display) and argument.kind == "list" and _holds(argument) and (silent or early):
                found.append(at)
            else:
                early = early and silent
        return found

    def _calls_rest(self, call: Invoke) -> bool:
        return self._is_rest(call) or self._is_rest(call.func) or variable(call.func) in self.made

    def _is_rest(self, call: Expr) -> bool:
        """Whether a call is one of a resume function, or of the function that makes it from cells."""
        func = call.func if isinstance(call, Invoke) else None
        return (
            isinstance(func, Name)
            and func.scope == "global"
            and bool(self.closure_factories)
            and func.id.startswith(self.closure_factories)
        )

    @any_depth
    def _silent(self, node: Expr) -> bool:
        """Whether evaluating ``node`` does nothing but read variables."""
        if isinstance(node, Display):
            return node.kind in ("list", "tuple") and all(map(self._silent, node.elts))
        if isinstance(node, Name) and node.scope == "global":
            return bool(self.stable) and node.id.startswith(self.stable)
        return isinstance(node, (Temp, Const)) or isinstance(node, Name) and node.scope == "fast"


@any_depth
def _holds(node: Expr) -> bool:
    """Whether a temporary is an item of the list, or of a list in it."""
    return isinstance(node, Temp) or isinstance(node, Display) and any(map(_holds, node.elts))
