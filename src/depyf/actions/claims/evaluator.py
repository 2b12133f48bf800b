"""Evaluates a Python function on terms: all but tensors is known, and nothing of the program runs.

Input: functions as live objects, their arguments, and a ``TermTrace`` that the operations on tensors are added to.
Output: what the function returns.  ``NotTriedError`` at the first thing that is not understood, a branch on a tensor
among them.  What the evaluation made itself it may write; what it read of the program is noted (``reads``), for the
guards have to look at it.

The text of each function is decompiled and proven; its statements are evaluated here one by one.
"""

from __future__ import annotations

import ast
import builtins
import types
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from depyf.actions.claims.bound_arguments import bound
from depyf.actions.claims.call_rules import CallRules
from depyf.actions.claims.function_text import FunctionText, function_text
from depyf.actions.claims.imports import imported
from depyf.actions.claims.live_attributes import SuperView
from depyf.actions.claims.object_model import ObjectModel
from depyf.actions.claims.scope import CallScope, Closure
from depyf.actions.claims.terms import NoAttributeError, NotTriedError
from depyf.sources.live.pure_access import cell_contents
from depyf.sources.live.unguarded.class_members import MISSING

_DEEPEST = 80
_MOST_STATEMENTS = 50_000


class _ReturnSignal(Exception):
    def __init__(self, value: Any) -> None:
        self.value = value


class _LoopSignal(Exception):
    pass


class _BreakSignal(_LoopSignal):
    pass


class _ContinueSignal(_LoopSignal):
    pass


class Evaluator:
    """Symbolic evaluation of Python text on one side of the comparison."""

    def __init__(
        self,
        model: ObjectModel,
        first: types.FunctionType,
        graph: Callable[[str], Callable[..., Any] | None] = lambda name: None,
    ) -> None:
        """``first``: the function that is compiled.  ``graph``: the name of a global -> what a call of it gives, for
        captured graphs."""
        self.model = model
        self._first = first
        self.graph = graph
        self.calls = CallRules(model, self.call_function, self.call_closure)
        model.call = self.calls.call
        self._depth = 0
        self._statements = 0

    def call_transformed(self, function: types.FunctionType, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        """Evaluate a call of a function that Dynamo generated, from its decompiled text."""
        return self._by_text(function_text(function.__code__, transformed=True), function, args, kwargs)

    def call_function(self, function: types.FunctionType, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        """Evaluate a call of a Python function, from its decompiled text."""
        return self._by_text(function_text(function.__code__), function, args, kwargs)

    def _by_text(
        self, text: FunctionText, function: types.FunctionType, args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> Any:
        scope = CallScope(text, function)
        defaults = self._defaults(function), function.__kwdefaults__ or {}
        scope.variables.update(bound(text.tree.args, args, kwargs, *defaults, self.model.own))
        return self._run(scope, text.tree)

    def call_closure(self, closure: Closure, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        """Evaluate a call of a function that the evaluated code defined."""
        scope = CallScope(closure.scope.text, closure.scope.function, closure.scope)
        defaults = closure.defaults, closure.keyword_defaults
        scope.variables.update(bound(closure.tree.args, args, kwargs, *defaults, self.model.own))
        return self._run(scope, closure.tree)

    def _defaults(self, function: types.FunctionType) -> tuple[Any, ...]:
        name = function.__qualname__
        given = enumerate(function.__defaults__ or ())
        return tuple(self.model.seen(value, f"{name}.__defaults__[{n}]", noted=False) for n, value in given)

    def _run(self, scope: CallScope, tree: ast.FunctionDef | ast.Lambda) -> Any:
        if self._depth > _DEEPEST:
            raise NotTriedError("calls that are nested too deep")
        line, self._depth = self.model.line, self._depth + 1
        try:
            if isinstance(tree, ast.Lambda):
                return self.value(tree.body, scope)
            self.block(tree.body, scope)
        except _ReturnSignal as returned:
            return returned.value
        finally:
            self.model.line, self._depth = line, self._depth - 1
        return None

    # Statements

    def block(self, body: list[ast.stmt], scope: CallScope) -> None:
        for statement in body:
            self._statements += 1
            if self._statements > _MOST_STATEMENTS:
                raise NotTriedError("too many statements")
            self.model.line = self._place(statement, scope.text)
            method = getattr(self, f"do_{type(statement).__name__}", None)
            if method is None:
                raise NotTriedError(f"a statement {type(statement).__name__}")
            try:
                method(statement, scope)
            except NotTriedError as error:
                error.line = error.line or self.model.line
                raise

    def _place(self, node: ast.AST, text: FunctionText) -> str:
        line = text.lines.get(getattr(node, "lineno", 0))
        return f"{text.filename}:{line}" if line else self.model.line

    def do_Expr(self, node: ast.Expr, scope: CallScope) -> None:
        self.value(node.value, scope)

    def do_Pass(self, node: ast.Pass, scope: CallScope) -> None:
        pass

    def do_Import(self, node: ast.Import | ast.ImportFrom, scope: CallScope) -> None:
        for name, value, path in imported(node, scope.function.__globals__.get("__package__")):
            self.assign(ast.Name(name, ast.Store()), self.model.seen(value, path), scope)

    do_ImportFrom = do_Import

    def do_Global(self, node: ast.Global, scope: CallScope) -> None:
        scope.globals.update(node.names)

    def do_Nonlocal(self, node: ast.Nonlocal, scope: CallScope) -> None:
        scope.globals.update(node.names)

    def do_Return(self, node: ast.Return, scope: CallScope) -> None:
        raise _ReturnSignal(None if node.value is None else self.value(node.value, scope))

    def do_Break(self, node: ast.Break, scope: CallScope) -> None:
        raise _BreakSignal

    def do_Continue(self, node: ast.Continue, scope: CallScope) -> None:
        raise _ContinueSignal

    def do_If(self, node: ast.If, scope: CallScope) -> None:
        self.block(node.body if self.model.truth(self.value(node.test, scope)) else node.orelse, scope)

    def do_Assert(self, node: ast.Assert, scope: CallScope) -> None:
        if not self.model.truth(self.value(node.test, scope)):
            raise NotTriedError("an assertion that fails")

    def do_Try(self, node: ast.Try, scope: CallScope) -> None:
        try:
            self._guarded(node, scope)
        except (_ReturnSignal, _LoopSignal):
            self.block(node.finalbody, scope)
            raise
        self.block(node.finalbody, scope)

    def _guarded(self, node: ast.Try, scope: CallScope) -> None:
        """No handler runs, for nothing that is evaluated raises; an operation on tensors may do so in another call."""
        before = self.model.made_operations
        try:
            self.block(node.body, scope)
        except NoAttributeError as error:
            raise NotTriedError(f"a try in which {error}") from None
        finally:
            if node.handlers and self.model.made_operations != before:
                raise NotTriedError("an operation on tensors in a try")
        self.block(node.orelse, scope)

    def do_While(self, node: ast.While, scope: CallScope) -> None:
        while self.model.truth(self.value(node.test, scope)):
            self._statements += 1
            if self._statements > _MOST_STATEMENTS:
                raise NotTriedError("too many statements")
            try:
                self.block(node.body, scope)
            except _BreakSignal:
                return
            except _ContinueSignal:
                continue
        self.block(node.orelse, scope)

    def do_For(self, node: ast.For, scope: CallScope) -> None:
        for value in self.model.iterate(self.value(node.iter, scope)):
            self.assign(node.target, value, scope)
            try:
                self.block(node.body, scope)
            except _BreakSignal:
                return
            except _ContinueSignal:
                continue
        self.block(node.orelse, scope)

    def do_Assign(self, node: ast.Assign, scope: CallScope) -> None:
        value = self.value(node.value, scope)
        for target in node.targets:
            self.assign(target, value, scope)

    def do_AnnAssign(self, node: ast.AnnAssign, scope: CallScope) -> None:
        if node.value is not None:
            self.assign(node.target, self.value(node.value, scope), scope)

    def do_AugAssign(self, node: ast.AugAssign, scope: CallScope) -> None:
        kind = type(node.op).__name__
        match node.target:
            case ast.Name(name):
                before = self.variable(name, scope)
                self.assign(node.target, self.model.in_place(kind, before, self.value(node.value, scope)), scope)
            case ast.Attribute(owner, name):
                holder = self.value(owner, scope)
                before = self.model.attribute(holder, name)
                self.model.write(holder, name, self.model.in_place(kind, before, self.value(node.value, scope)))
            case ast.Subscript(owner, index):
                holder, key = self.value(owner, scope), self.value(index, scope)
                before = self.model.item(holder, key)
                self.model.put_item(holder, key, self.model.in_place(kind, before, self.value(node.value, scope)))

    def do_Delete(self, node: ast.Delete, scope: CallScope) -> None:
        for target in node.targets:
            if isinstance(target, ast.Tuple):
                self.do_Delete(ast.Delete(target.elts), scope)
            elif isinstance(target, ast.Name) and target.id in scope.variables:
                del scope.variables[target.id]
            else:
                raise NotTriedError("a statement del")

    def do_FunctionDef(self, node: ast.FunctionDef, scope: CallScope) -> None:
        if node.decorator_list:
            raise NotTriedError("a decorated function inside")
        self.assign(ast.Name(node.name, ast.Store()), self.closure(node, scope), scope)

    def closure(self, node: ast.FunctionDef | ast.Lambda, scope: CallScope) -> Closure:
        if any(isinstance(one, (ast.Yield, ast.YieldFrom, ast.Await, ast.Nonlocal)) for one in ast.walk(node)):
            raise NotTriedError("a generator, or a function that rebinds a variable of another one")
        defaults = tuple(self.value(one, scope) for one in node.args.defaults)
        given = zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)
        keywords = {one.arg: self.value(value, scope) for one, value in given if value is not None}
        return Closure(node, scope, defaults, keywords)

    # Variables

    def variable(self, name: str, scope: CallScope) -> Any:
        for one in scope.chain():
            if name in one.variables and name not in one.globals:
                return one.variables[name]
        function = scope.function
        code = function.__code__
        if name in code.co_freevars:
            held = cell_contents((function.__closure__ or ())[code.co_freevars.index(name)], MISSING)
            if held is not MISSING:
                return self.model.seen(held, self._cell(name, function))
        elif name in code.co_varnames or name in code.co_cellvars:
            raise NotTriedError(f"the variable {name} has no value")
        if (graph := self.graph(name)) is not None:
            return graph
        space = function.__globals__
        if name in space:
            return self.model.seen(space[name], self._global(name, space))
        known = vars(builtins)
        if name in known and space.get("__builtins__") in (known, builtins):
            return known[name]
        raise NotTriedError(f"the variable {name} has no value")

    def _cell(self, name: str, function: types.FunctionType) -> str:
        """Free variables of the function that is compiled are among its variables."""
        own = function.__closure__ is self._first.__closure__
        return f"L[{name!r}]" if own else f"{function.__qualname__}.{name}"

    def _global(self, name: str, space: dict[str, Any]) -> str:
        return f"G[{name!r}]" if space is self._first.__globals__ else f"{space.get('__name__', '')}.{name}"

    def assign(self, target: ast.expr, value: Any, scope: CallScope) -> None:
        match target:
            case ast.Name(name):
                if name in scope.globals:
                    raise NotTriedError(f"{name}, a variable of others, is written")
                scope.variables[name] = value
            case ast.Tuple(parts) | ast.List(parts):
                self._unpack(parts, value, scope)
            case ast.Attribute(owner, name):
                self.model.write(self.value(owner, scope), name, value)
            case ast.Subscript(owner, index):
                self.model.put_item(self.value(owner, scope), self.value(index, scope), value)
            case _:
                raise NotTriedError(f"an assignment to {type(target).__name__}")

    def _unpack(self, parts: list[ast.expr], value: Any, scope: CallScope) -> None:
        starred = next((n for n, part in enumerate(parts) if isinstance(part, ast.Starred)), None)
        values = list(self.model.iterate(value, None if starred is not None else len(parts)))
        if starred is None:
            if len(values) != len(parts):
                raise NotTriedError("a number of values that does not fit")
            for part, one in zip(parts, values, strict=True):
                self.assign(part, one, scope)
            return
        after = len(parts) - starred - 1
        middle = values[starred : len(values) - after]
        if len(values) < len(parts) - 1:
            raise NotTriedError("a number of values that does not fit")
        star = parts[starred]
        assert isinstance(star, ast.Starred)
        for part, one in zip(parts[:starred], values[:starred], strict=True):
            self.assign(part, one, scope)
        self.assign(star.value, self.model.own(middle), scope)
        for part, one in zip(parts[starred + 1 :], values[len(values) - after :], strict=True):
            self.assign(part, one, scope)

    # Expressions

    def value(self, node: ast.expr, scope: CallScope) -> Any:
        """The value of an expression.  NotTriedError for a kind of expression that is not supported."""
        method = getattr(self, f"of_{type(node).__name__}", None)
        if method is None:
            raise NotTriedError(f"an expression {type(node).__name__}")
        return method(node, scope)

    def of_Constant(self, node: ast.Constant, scope: CallScope) -> Any:
        return node.value

    def of_Name(self, node: ast.Name, scope: CallScope) -> Any:
        return self.variable(node.id, scope)

    def of_NamedExpr(self, node: ast.NamedExpr, scope: CallScope) -> Any:
        value = self.value(node.value, scope)
        self.assign(node.target, value, scope)
        return value

    def of_Attribute(self, node: ast.Attribute, scope: CallScope) -> Any:
        return self.model.attribute(self.value(node.value, scope), node.attr)

    def of_Subscript(self, node: ast.Subscript, scope: CallScope) -> Any:
        return self.model.item(self.value(node.value, scope), self.value(node.slice, scope))

    def of_Slice(self, node: ast.Slice, scope: CallScope) -> Any:
        return slice(*(None if one is None else self.value(one, scope) for one in (node.lower, node.upper, node.step)))

    def of_Tuple(self, node: ast.Tuple, scope: CallScope) -> Any:
        return tuple(self._each(node.elts, scope))

    def of_List(self, node: ast.List, scope: CallScope) -> Any:
        return self.model.own(list(self._each(node.elts, scope)))

    def of_Dict(self, node: ast.Dict, scope: CallScope) -> Any:
        made: dict[Any, Any] = {}
        for key, one in zip(node.keys, node.values, strict=True):
            if key is None:
                made.update(self.model.mapping(self.value(one, scope)))
            else:
                name = self.model.plain(self.value(key, scope))
                made[name] = self.value(one, scope)
        return self.model.own(made)

    def of_Set(self, node: ast.Set, scope: CallScope) -> Any:
        return self.model.own(set(map(self.model.hashed, self._each(node.elts, scope))))

    def _each(self, nodes: list[ast.expr], scope: CallScope) -> Iterator[Any]:
        for node in nodes:
            if isinstance(node, ast.Starred):
                yield from self.model.iterate(self.value(node.value, scope))
            else:
                yield self.value(node, scope)

    def of_IfExp(self, node: ast.IfExp, scope: CallScope) -> Any:
        return self.value(node.body if self.model.truth(self.value(node.test, scope)) else node.orelse, scope)

    def of_BoolOp(self, node: ast.BoolOp, scope: CallScope) -> Any:
        value = None
        for one in node.values:
            value = self.value(one, scope)
            if one is not node.values[-1] and self.model.truth(value) is isinstance(node.op, ast.Or):
                break
        return value

    def of_UnaryOp(self, node: ast.UnaryOp, scope: CallScope) -> Any:
        value = self.value(node.operand, scope)
        if isinstance(node.op, ast.Not):
            return not self.model.truth(value)
        return self.model.operate(type(node.op).__name__, value)

    def of_BinOp(self, node: ast.BinOp, scope: CallScope) -> Any:
        left = self.value(node.left, scope)
        return self.model.operate(type(node.op).__name__, left, self.value(node.right, scope))

    def of_Compare(self, node: ast.Compare, scope: CallScope) -> Any:
        left = self.value(node.left, scope)
        for number, (op, right_node) in enumerate(zip(node.ops, node.comparators, strict=True), 1):
            right = self.value(right_node, scope)
            found = self.model.compare(type(op).__name__, left, right)
            if number == len(node.ops) or not self.model.truth(found):
                return found
            left = right
        return None

    def of_Call(self, node: ast.Call, scope: CallScope) -> Any:
        if isinstance(node.func, ast.Name) and node.func.id == "super" and not node.args:
            return self._super(scope)
        function = self.value(node.func, scope)
        args = tuple(self._each(node.args, scope))
        kwargs: dict[str, Any] = {}
        for one in node.keywords:
            given = self.value(one.value, scope)
            more = {one.arg: given} if one.arg is not None else self.model.mapping(given)
            if more.keys() & kwargs.keys():
                raise NotTriedError("a call with wrong arguments")
            kwargs.update(more)
        return self.calls.call(function, args, kwargs)

    def _super(self, scope: CallScope) -> SuperView:
        if self.variable("super", scope) is not super:
            raise NotTriedError("another super")
        cls = self.variable("__class__", scope)
        first = next(iter(scope.function.__code__.co_varnames), "")
        return SuperView(cls, self.variable(first, scope))

    def of_Lambda(self, node: ast.Lambda, scope: CallScope) -> Closure:
        return self.closure(node, scope)

    def of_JoinedStr(self, node: ast.JoinedStr, scope: CallScope) -> str:
        parts = []
        for one in node.values:
            if isinstance(one, ast.FormattedValue):
                value = self.model.plain(self.value(one.value, scope))
                if one.format_spec is not None or type(value) not in (str, int):
                    raise NotTriedError("a formatted value")
                parts.append(repr(value) if one.conversion == ord("r") else str(value))
            else:
                assert isinstance(one, ast.Constant)
                parts.append(str(one.value))
        return "".join(parts)

    def of_ListComp(self, node: ast.ListComp, scope: CallScope) -> Any:
        return self.model.own(list(self._generated(node, scope, lambda inner: self.value(node.elt, inner))))

    def of_SetComp(self, node: ast.SetComp, scope: CallScope) -> Any:
        return self.model.own(
            set(self._generated(node, scope, lambda inner: self.model.hashed(self.value(node.elt, inner))))
        )

    def of_GeneratorExp(self, node: ast.GeneratorExp, scope: CallScope) -> Iterator[Any]:
        return self._generated(node, scope, lambda inner: self.value(node.elt, inner))

    def of_DictComp(self, node: ast.DictComp, scope: CallScope) -> Any:
        def pair(inner: CallScope) -> tuple[Any, Any]:
            return self.model.plain(self.value(node.key, inner)), self.value(node.value, inner)

        return self.model.own(dict(self._generated(node, scope, pair)))

    def _generated(
        self,
        node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp,
        scope: CallScope,
        made: Callable[[CallScope], Any],
    ) -> Iterator[Any]:
        """One value after the other, each when it is asked for; the first iterable at once, as Python does."""
        inner = CallScope(scope.text, scope.function, scope)
        first = self.model.iterate(self.value(node.generators[0].iter, scope))

        def walk(number: int, values: Iterator[Any]) -> Iterator[Any]:
            generator = node.generators[number]
            if generator.is_async:
                raise NotTriedError("an asynchronous comprehension")
            for value in values:
                self.assign(generator.target, value, inner)
                if all(self.model.truth(self.value(test, inner)) for test in generator.ifs):
                    if number + 1 < len(node.generators):
                        following = self.value(node.generators[number + 1].iter, inner)
                        yield from walk(number + 1, self.model.iterate(following))
                    else:
                        yield made(inner)

        return walk(0, first)
