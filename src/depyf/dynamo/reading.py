"""Transformed code as a person would write it, for reading.

Input: the exact source of one transformed function.  Output: the same function with the containers that Dynamo fills
and empties again folded away, values used once put where they are used, and its profiling calls and ``del`` left out;
None where the code has a shape this reader does not know (``while``, ``try``), which is then shown as it is.

    __temp_6 = [[b, x]]                                        graph_out_0 = __compiled_fn_0_0(a, b)
    __temp_7 = __temp_6[-1]; del __temp_6[-1]          ->      return __resume_at_30_2([], [], b, x)
    return __temp_8(*[[], __temp_6, *__temp_7])

What runs is never this text but the proven one in ``__transformed_code_*``.  It is made by symbolic execution: every
operation that may have an effect keeps its place in the order; only names, constants and containers that nobody else
has seen are moved.
"""

from __future__ import annotations

import ast
import copy
import keyword
import re

from depyf.dynamo.reading_loops import carried, exposed, leaves_early, simple_loops
from depyf.dynamo.reading_names import TEMPORARY, WEAK, inline_once, name_values
from depyf.dynamo.reading_print import print_function
from depyf.dynamo.reading_values import Fresh, State, Unknown, Value, constant_index

_BOOKKEEPING = ("record_pregraph_bytecode_enter", "record_pregraph_bytecode_exit")
_PROFILING = "_is_profiler_enabled"  # since torch 2.15 Dynamo asks before it calls them
_COMMENT = re.compile(r"  # (\S+:\d+)$")
_MAX_STATEMENTS = 4000


def readable_function(source: str, name: str) -> str | None:
    """The function ``name`` in ``source``, simplified; None where it is not understood."""
    try:
        tree = ast.parse(source)
        function = next(n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef) and n.name == name)
        reader = _Reader(function, _comments(source))
        body = reader.run()
    except (Unknown, SyntaxError, StopIteration, RecursionError, ValueError):
        return None
    text = print_function(function, body, reader.where, reader.free)
    try:
        ast.parse(text)
    except SyntaxError:  # ``x[:, :f()]``: slices that would need a name stand in an index only
        return None
    return text


def _comments(source: str) -> dict[int, str]:
    found = {}
    for number, line in enumerate(source.splitlines(), 1):
        match = _COMMENT.search(line)
        if match:
            found[number] = match.group(1)
    return found


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


class _Reader:
    """Symbolic execution of one function body."""

    def __init__(self, function: ast.FunctionDef, comments: dict[int, str]) -> None:
        self.function = function
        self.comments = comments
        self.where: dict[int, str] = {}
        self.place = ""
        self.hints: dict[str, str] = {}
        self.graphs: set[str] = set()
        self.free = sorted({n for s in function.body if isinstance(s, ast.Nonlocal) for n in s.names})
        self.shared = self._shared()
        arguments = [n.arg for n in ast.walk(function.args) if isinstance(n, ast.arg)]
        self.parameters = arguments
        stored = {n.id for n in ast.walk(function) if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)}
        self.local = (stored | set(arguments)) - self.shared
        self.count = 0
        self.steps = 0

    def _shared(self) -> set[str]:
        """Variables that nested functions or the surroundings also see: their loads and stores are effects."""
        shared = set(self.free)
        for node in ast.walk(self.function):
            if node is not self.function and isinstance(node, (ast.FunctionDef, ast.Lambda, ast.GeneratorExp)):
                shared |= {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
            if isinstance(node, (ast.ListComp, ast.SetComp, ast.DictComp)):
                shared |= {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
            if node is not self.function and isinstance(node, ast.FunctionDef):
                shared.add(node.name)
        return shared

    def run(self) -> list[ast.stmt]:
        state = State({name: ast.Name(name, ast.Load()) for name in self.parameters if name not in self.shared})
        self.block(simple_loops(self.function.body), state)
        body = inline_once(state.out, self.where, self.graphs)
        name_values(body, self.hints, {*self.parameters, *self.free, *self.shared, *self._globals()})
        return body

    def _globals(self) -> set[str]:
        return {n.id for n in ast.walk(self.function) if isinstance(n, ast.Name)} - self.local

    # ---- statements

    def block(self, statements: list[ast.stmt], state: State) -> bool:
        """Execute; True where the block always leaves the function."""
        for position, statement in enumerate(statements):
            self.steps += 1
            if self.steps > _MAX_STATEMENTS:
                raise Unknown
            self.place = self.comments.get(statement.lineno, self.place)
            if isinstance(statement, ast.If):
                return self.branch(statement, statements[position + 1 :], state)
            if isinstance(statement, ast.For):
                self.loop(statement, statements[position + 1 :], state)
            elif self.statement(statement, state):
                return True
        return False

    def loop(self, statement: ast.For, rest: list[ast.stmt], state: State) -> None:
        """A ``for`` without ``break``: what it carries over are variables from here on, not values."""
        if statement.orelse or leaves_early(statement.body):
            raise Unknown
        items = self.expr(self.value(statement.iter, state), state)
        read = {n.id for n in ast.walk(statement) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
        for name in sorted(read & set(state.names)):
            self.expr(state.names[name], state)  # a turn may change a container: it is no longer only ours
        kept = carried(statement, exposed(rest), set(state.names)) & self.local
        for name in sorted(kept & set(state.names)):
            self.emit(
                ast.Assign([ast.Name(name, ast.Store())], self.expr(state.names.pop(name), state), lineno=0), state
            )
        self.local -= kept
        self.shared |= kept
        inner = State(dict(state.names))
        place = self.place
        target = self.loop_target(statement.target, inner)
        self.block(statement.body, inner)
        self.place = place
        self.emit(ast.For(target, items, inner.out, [], lineno=0), state)

    def loop_target(self, target: ast.expr, state: State) -> ast.expr:
        if isinstance(target, ast.Tuple):
            return ast.Tuple([self.loop_target(part, state) for part in target.elts], ast.Store())
        if not isinstance(target, ast.Name):
            raise Unknown
        if target.id not in self.local:
            return target
        name = self.placeholder()
        self.store(target, ast.Name(name, ast.Load()), state)
        return ast.Name(name, ast.Store())

    def statement(self, statement: ast.stmt, state: State) -> bool:
        match statement:
            case ast.Expr(value=value):
                self.value(value, state)  # an effect has been emitted; the rest is nothing
            case ast.Assign(targets=targets, value=value):
                found = self.value(value, state)
                for target in targets:
                    self.store(target, found, state)
            case ast.Delete(targets=targets):
                for target in targets:
                    self.delete(target, state)
            case ast.Return(value=value):
                result = None if value is None else self.expr(self.value(value, state), state)
                self.emit(ast.Return(result), state)
                return True
            case ast.Raise(exc=exc, cause=cause):
                new = [None if part is None else self.expr(self.value(part, state), state) for part in (exc, cause)]
                self.emit(ast.Raise(*new), state)
                return True
            case ast.With(items=items, body=body):
                return self.with_block(items, body, state)
            case ast.FunctionDef():
                self.emit(statement, state)
            case ast.Pass() | ast.Nonlocal():
                pass
            case _:
                raise Unknown
        return False

    def branch(self, statement: ast.If, rest: list[ast.stmt], state: State) -> bool:
        found = self.value(statement.test, state)
        if isinstance(found, ast.Attribute) and found.attr == _PROFILING:
            found = ast.Constant(False)  # the profiler's calls are left out
        if isinstance(found, ast.Constant):  # `if 0:` only makes a name local
            taken = statement.body if found.value else statement.orelse
            return self.block([*taken, *rest], state)
        test = self.expr(found, state)
        place = self.place
        arms = []
        for body in (statement.body, statement.orelse):
            arm = State(copy.deepcopy(state.names))
            self.place = place
            if self.block(body, arm):
                arms.append((arm.out, True))
            else:
                arms.append((arm.out, self.block(rest, arm)))
        (yes, left), (no, right) = arms
        self.place = place
        if left:  # no need to indent what follows
            self.emit(ast.If(test, yes, []), state)
            state.out += no
        else:
            self.emit(ast.If(test, yes, no), state)
        return left and right

    def with_block(self, items: list[ast.withitem], body: list[ast.stmt], state: State) -> bool:
        if len(items) != 1 or items[0].optional_vars is not None:
            raise Unknown
        manager = self.expr(self.value(items[0].context_expr, state), state)
        inner = State(state.names)
        place = self.place
        done = self.block(body, inner)
        self.place = place
        self.emit(ast.With([ast.withitem(manager)], inner.out), state)
        return done

    def store(self, target: ast.expr, value: Value, state: State) -> None:
        match target:
            case ast.Name(id=name) if name in self.local:
                if isinstance(value, ast.Name) and value.id.startswith("%"):
                    known = self.hints.get(value.id, "")
                    if not known or (TEMPORARY.match(known) and not TEMPORARY.match(name)):
                        self.hints[value.id] = name
                state.names[name] = value
            case ast.Name():
                self.emit(ast.Assign([target], self.expr(value, state), lineno=0), state)
            case ast.Subscript(value=container, slice=index):
                where = self.value(container, state)
                if isinstance(where, Fresh) and where.name is None and where.kind is ast.List:
                    self.fill(where, constant_index(index), value)
                    return
                new = ast.Subscript(self.expr(where, state), self.expr(self.value(index, state), state), ast.Store())
                self.emit(ast.Assign([new], self.expr(value, state), lineno=0), state)
            case ast.Attribute(value=owner, attr=attr):
                new_attr = ast.Attribute(self.expr(self.value(owner, state), state), attr, ast.Store())
                self.emit(ast.Assign([new_attr], self.expr(value, state), lineno=0), state)
            case ast.Tuple(elts=elts) | ast.List(elts=elts):
                if not isinstance(value, Fresh) or value.name is not None:
                    new_target = self.loop_target(ast.Tuple(elts, ast.Store()), state)
                    self.emit(ast.Assign([new_target], self.expr(value, state), lineno=0), state)
                    return
                if len(value.items) != len(elts):
                    raise Unknown
                for element, item in zip(elts, list(value.items)):
                    self.store(element, item, state)
            case _:
                raise Unknown

    def fill(self, container: Fresh, key: int | slice | None, value: Value) -> None:
        if isinstance(key, int):
            container.items[key] = value
        elif isinstance(key, slice) and isinstance(value, Fresh) and value.name is None:
            container.items[key] = list(value.items)
        else:
            raise Unknown

    def delete(self, target: ast.expr, state: State) -> None:
        match target:
            case ast.Name(id=name) if name in self.local:
                state.names.pop(name, None)  # a matter of lifetime: not shown
            case ast.Name():
                self.emit(ast.Delete([target]), state)
            case ast.Subscript(value=container, slice=index):
                where = self.value(container, state)
                if isinstance(where, Fresh) and where.name is None:
                    key = constant_index(index)
                    if key is None:
                        raise Unknown
                    del where.items[key]
                    return
                new = ast.Subscript(self.expr(where, state), self.expr(self.value(index, state), state), ast.Del())
                self.emit(ast.Delete([new]), state)
            case _:
                raise Unknown

    # ---- expressions

    def value(self, node: ast.expr, state: State) -> Value:
        """What ``node`` evaluates to; its effects are emitted."""
        match node:
            case ast.Constant():
                return node
            case ast.Name(id=name) if name in self.local:
                if name not in state.names:
                    raise Unknown  # would raise UnboundLocalError
                return state.names[name]
            case ast.Name(id=name):
                return self.bind(node, state) if name in self.shared and name not in self._plain else node
            case ast.NamedExpr(target=target, value=inner):
                found = self.value(inner, state)
                self.store(target, found, state)
                return found
            case ast.List(elts=elts) | ast.Tuple(elts=elts):
                items = self.items(elts, state)
                kind = type(node)
                if items is not None:
                    return Fresh(ast.List if kind is ast.List else ast.Tuple, items)
                return self.bind(type(node)([self.part(e, state) for e in elts], ast.Load()), state)
            case ast.Subscript(value=container, slice=index):
                return self.subscript(container, index, state)
            case ast.Call():
                return self.call(node, state)
            case ast.Attribute(value=owner, attr=attr):
                if isinstance(owner, ast.Lambda):
                    return node  # a cell: (lambda: x).__closure__
                new = ast.Attribute(self.expr(self.value(owner, state), state), attr, ast.Load())
                if isinstance(new.value, ast.Name) and new.value.id.startswith("__import_"):
                    return new  # Dynamo's alias of a module
                return self.bind(new, state, attr)
            case ast.BinOp(left=left, op=op, right=right):
                first = self.expr(self.value(left, state), state)
                return self.bind(ast.BinOp(first, op, self.expr(self.value(right, state), state)), state)
            case ast.UnaryOp(op=op, operand=operand):
                found = self.expr(self.value(operand, state), state)
                new_unary = ast.UnaryOp(op, found)
                return new_unary if isinstance(found, ast.Constant) else self.bind(new_unary, state)
            case ast.Compare(left=left, ops=[op], comparators=[right]):
                first = self.expr(self.value(left, state), state)
                second = self.expr(self.value(right, state), state)
                if isinstance(op, (ast.Is, ast.IsNot)) and _is_none(first) and _is_none(second):
                    return ast.Constant(isinstance(op, ast.Is))
                return self.bind(ast.Compare(first, [op], [second]), state)
            case ast.Dict(keys=keys, values=values):
                pairs = [
                    (
                        None if k is None else self.expr(self.value(k, state), state),
                        self.expr(self.value(v, state), state),
                    )
                    for k, v in zip(keys, values)
                ]
                return self.bind(ast.Dict([k for k, _ in pairs], [v for _, v in pairs]), state)
            case ast.Set(elts=elts):
                return self.bind(ast.Set([self.part(e, state) for e in elts]), state)
            case ast.Lambda() | ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
                return self.bind(node, state)
            case ast.Slice(lower=lower, upper=upper, step=step):
                parts = [None if p is None else self.expr(self.value(p, state), state) for p in (lower, upper, step)]
                return ast.Slice(*parts)
            case ast.JoinedStr(values=values):
                return self.bind(ast.JoinedStr([self.formatted(v, state) for v in values]), state)
            case _:
                raise Unknown

    @property
    def _plain(self) -> set[str]:
        """Shared names that are globals after all: no statement of this function or a nested one binds them."""
        if not hasattr(self, "_plain_names"):
            bound = {
                n.id for n in ast.walk(self.function) if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)
            }
            bound |= {n.name for n in ast.walk(self.function) if isinstance(n, ast.FunctionDef)} | set(self.free)
            bound |= {n.arg for n in ast.walk(self.function) if isinstance(n, ast.arg)}
            self._plain_names = self.shared - bound
        return self._plain_names

    def formatted(self, node: ast.expr, state: State) -> ast.expr:
        if isinstance(node, ast.FormattedValue) and node.format_spec is None:
            return ast.FormattedValue(self.expr(self.value(node.value, state), state), node.conversion, None)
        if isinstance(node, ast.Constant):
            return node
        raise Unknown

    def items(self, elts: list[ast.expr], state: State) -> list[Value] | None:
        """The items of a display; None where a starred operand has unknown items."""
        items: list[Value] = []
        for element in elts:
            if isinstance(element, ast.Starred):
                inner = self.value(element.value, state)
                if not isinstance(inner, Fresh) or inner.name is not None:
                    if len(elts) == 1 or len(items) == 0:
                        return None
                    raise Unknown
                items += inner.items
            else:
                items.append(self.value(element, state))
        return items

    def part(self, element: ast.expr, state: State) -> ast.expr:
        """One operand of a display or call that may be starred."""
        if isinstance(element, ast.Starred):
            return ast.Starred(self.expr(self.value(element.value, state), state), ast.Load())
        return self.expr(self.value(element, state), state)

    def subscript(self, container: ast.expr, index: ast.expr, state: State) -> Value:
        if isinstance(container, ast.Attribute) and isinstance(container.value, ast.Lambda):
            return ast.Subscript(container, index, ast.Load())
        where = self.value(container, state)
        if isinstance(where, Fresh) and where.name is None:
            key = constant_index(index)
            try:
                if isinstance(key, int):
                    return where.items[key]
                if isinstance(key, slice):
                    return Fresh(where.kind, list(where.items[key]))
            except IndexError as error:
                raise Unknown from error
        base = self.expr(where, state)
        new = ast.Subscript(base, self.expr(self.value(index, state), state), ast.Load())
        if isinstance(base, ast.Name) and base.id in self.graphs and isinstance(new.slice, ast.Constant):
            return new  # one output of a compiled graph: reading it twice is the same
        key_text = new.slice.value if isinstance(new.slice, ast.Constant) else None
        if not isinstance(key_text, str) or not key_text.isidentifier():
            return self.bind(new, state)
        if isinstance(base, ast.Name) and base.id.startswith("__builtins_dict_") and key_text not in self.local:
            return ast.Name(key_text, ast.Load())
        return self.bind(new, state, key_text)

    def call(self, node: ast.Call, state: State) -> Value:
        if self.grown(node, state):
            return ast.Constant(None)
        function = self.expr(self.value(node.func, state), state)
        args: list[ast.expr] = []
        for argument in node.args:
            if isinstance(argument, ast.Starred):
                inner = self.value(argument.value, state)
                if isinstance(inner, Fresh) and inner.name is None:
                    args += [self.expr(item, state) for item in inner.items]
                    continue
                args.append(ast.Starred(self.expr(inner, state), ast.Load()))
            else:
                args.append(self.expr(self.value(argument, state), state))
        keywords = [ast.keyword(k.arg, self.expr(self.value(k.value, state), state)) for k in node.keywords]
        if isinstance(function, ast.Attribute) and function.attr in _BOOKKEEPING:
            return ast.Constant(None)  # what brackets a graph call for the profiler
        return self.bind(ast.Call(function, args, keywords), state)

    def grown(self, node: ast.Call, state: State) -> bool:
        """``fresh.append(x)`` or ``fresh.extend([...])``: done here and now."""
        if not isinstance(node.func, ast.Attribute) or len(node.args) != 1 or node.keywords:
            return False
        owner = state.names.get(node.func.value.id) if isinstance(node.func.value, ast.Name) else None
        if not isinstance(owner, Fresh) or owner.name is not None or owner.kind is not ast.List:
            return False
        if node.func.attr not in ("append", "extend") or isinstance(node.args[0], ast.Starred):
            return False
        added = self.value(node.args[0], state)
        if node.func.attr == "append":
            owner.items.append(added)
            return True
        if not isinstance(added, Fresh) or added.name is not None:
            raise Unknown
        owner.items += added.items
        return True

    def placeholder(self) -> str:
        self.count += 1
        return f"%{self.count}"

    def bind(self, node: ast.expr, state: State, hint: str = "") -> ast.expr:
        """Evaluate ``node`` here and now; the name that stands for its value."""
        name = self.placeholder()
        if hint and not keyword.iskeyword(hint) and not hint.startswith("__"):
            self.hints[name] = WEAK + hint
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id.startswith("__compiled_fn_"):
            self.graphs.add(name)
        self.emit(ast.Assign([ast.Name(name, ast.Store())], node, lineno=0), state)
        return ast.Name(name, ast.Load())

    def expr(self, value: Value, state: State) -> ast.expr:
        """``value`` where somebody else gets to see it."""
        if not isinstance(value, Fresh):
            return value
        if value.name is None:
            items = [self.expr(item, state) for item in value.items]
            value.name = self.bind(value.kind(items, ast.Load()), state)
        return value.name

    def emit(self, statement: ast.stmt, state: State) -> None:
        self.where[id(statement)] = self.place
        state.out.append(statement)
