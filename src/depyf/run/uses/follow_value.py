"""Follows a value through one function: through assignments to names and attributes, arithmetic, comparisons, texts,
containers and well-known functions, to what it is used for.

Input: the syntax tree of a function, and which of its expressions are the value.  Output: the uses, each with its line.
A forward data-flow analysis on the tree: where two ways meet, what is held on either is held, and loops are walked
until nothing changes.  The value is not followed into other functions, nor through what is only decided by it.
Nothing is raised but RecursionError (a function that nests too deep).
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

from depyf.run.uses import known_calls as known
from depyf.run.uses.call_uses import of_builtin, of_method
from depyf.run.uses.followed import Followed, is_text, path_of
from depyf.run.uses.held_values import Held, Names, joined
from depyf.run.uses.use_kinds import PlacedUse, ValueUse

_PASSES = 12
"""So often the function is walked at most: each time at least one name holds more at the head of a loop."""
Function = ast.FunctionDef | ast.AsyncFunctionDef
Scope = Function | ast.Lambda | ast.Module


def uses_in(scope: Scope, is_value: Callable[[ast.expr], bool], around: Names) -> frozenset[PlacedUse]:
    """What the expressions for which ``is_value`` is true are used for in ``scope``; ``around``: what is held by names
    that it does not bind."""
    walk = _FunctionWalk(is_value, around)
    for _ in range(_PASSES):
        walk.changed = False
        walk.whole(scope)
        if not walk.changed:
            break
    return frozenset(walk.uses)


class _FunctionWalk(Followed):
    """One walk after another over the same function; what is known at the heads of loops stays."""

    def __init__(self, is_value: Callable[[ast.expr], bool], around: Names) -> None:
        super().__init__()
        self.is_value = is_value
        self.around = around
        self.changed = False
        self.heads: dict[ast.stmt, Names | None] = {}
        """What is held whenever a loop begins anew, as far as seen."""
        self.leaving: list[tuple[list[Names | None], list[Names | None]]] = []
        """Of each loop around: what is held at its ``break`` and ``continue`` statements."""

    # statements

    def whole(self, scope: Scope) -> None:
        self.leaving = []
        self.bound, self.outer = _bound(scope)
        own = self.bound - self.outer
        self.names = {name: held for name, held in self.around.items() if name not in own}
        if isinstance(scope, ast.Lambda):
            self.result(self.value(scope.body), scope.body)
        else:
            self.block(scope.body)

    def block(self, body: Iterable[ast.stmt]) -> None:
        for statement in body:
            if self.names is None:
                return
            self.statement(statement)

    def statement(self, node: ast.stmt) -> None:
        match node:
            case ast.Expr():
                self.value(node.value)
            case ast.Assign():
                self.assign(node)
            case ast.AnnAssign() if node.value is not None:
                self.bind(node.target, self.value(node.value))
            case ast.AugAssign():
                held = self.arithmetic(node, self.value(node.target), self.value(node.value))
                self.bind(node.target, held)
            case ast.Return():
                if node.value is not None:
                    self.result(self.value(node.value), node)
                self.names = None
            case ast.Raise():
                for part in (node.exc, node.cause):
                    self.message(part)
                self.names = None
            case ast.Assert():
                self.test(node.test, ValueUse.CHECK)
                self.message(node.msg)
            case ast.If():
                self.branch(node)
            case ast.While() | ast.For() | ast.AsyncFor():
                self.loop(node)
            case ast.Break() | ast.Continue():
                if self.leaving:
                    self.leaving[-1][isinstance(node, ast.Continue)].append(self.names)
                self.names = None
            case ast.With() | ast.AsyncWith():
                for item in node.items:
                    held = self.value(item.context_expr)
                    if item.optional_vars is not None:
                        self.bind(item.optional_vars, held)
                self.block(node.body)
            case ast.Match():
                self.match(node)
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                self.inner(node, node.body)
            case ast.ClassDef():
                self.block(node.body)
            case ast.Delete():
                for target in node.targets:
                    (self.names or {}).pop(path_of(target), None)
                    if isinstance(target, ast.Subscript):
                        self.value(target)
            case _ if hasattr(node, "handlers"):  # Try, TryStar (3.11)
                self.protected(node)
            case _:
                pass

    def assign(self, node: ast.Assign) -> None:
        one = node.targets[0]
        if (
            len(node.targets) == 1
            and isinstance(one, ast.Tuple)
            and isinstance(node.value, ast.Tuple)
            and len(one.elts) == len(node.value.elts)
            and not any(isinstance(part, ast.Starred) for part in (*one.elts, *node.value.elts))
        ):
            for target, held in zip(one.elts, [self.value(part) for part in node.value.elts], strict=True):
                self.bind(target, held)
            return
        held = self.value(node.value)
        for target in node.targets:
            self.bind(target, held)

    def bind(self, target: ast.expr, held: Held) -> None:
        match target:
            case ast.Name() | ast.Attribute() if path := path_of(target):
                if self.names is not None:
                    self.names[path] = held
                outside = isinstance(target, ast.Attribute) or target.id in self.outer
                if outside and held.followed:
                    self.kept(held, target)
            case ast.Attribute():
                self.value(target.value)
                self.kept(held, target)
            case ast.Subscript():
                self.subscript(target)
                if path_of(target.value) and self.names is not None and self.is_tensor(target):
                    if held.followed:
                        self.use(ValueUse.ARITHMETIC, target)
                else:
                    self.collected(target.value, held, target)
            case ast.Tuple() | ast.List():
                one = Held.VALUE if held is Held.INSIDE else held
                for part in target.elts:
                    self.bind(part, one)
            case ast.Starred():
                self.bind(target.value, Held.INSIDE if held is Held.VALUE else held)
            case _:
                pass

    def is_tensor(self, target: ast.Subscript) -> bool:
        """Whether something is put into what may be a tensor: not a list or a dict that is known, nor at a text."""
        if not isinstance(target.value, ast.Name) or target.value.id not in self.bound:
            return False
        return (self.names or {}).get(target.value.id, Held.OTHER) is Held.OTHER and not is_text(target.slice)

    def branch(self, node: ast.If) -> None:
        says = all(isinstance(one, ast.Expr) for one in node.body[:-1])
        only_raises = isinstance(node.body[-1], ast.Raise) and says and not node.orelse
        only_tells = not node.orelse and all(isinstance(one, ast.Expr) and _tells(one.value) for one in node.body)
        kind = ValueUse.CHECK if only_raises else ValueUse.REPORT if only_tells else ValueUse.BRANCH
        self.test(node.test, kind)
        before = dict(self.names or {})
        self.block(node.body)
        after, self.names = self.names, before
        self.block(node.orelse)
        self.names = joined(after, self.names)

    def loop(self, node: ast.While | ast.For | ast.AsyncFor) -> None:
        held = Held.OTHER
        if not isinstance(node, ast.While):
            held = _element(self.value(node.iter))
            if isinstance(node.iter, ast.Call) and path_of(node.iter.func) == "range":
                held = Held.PLAIN
        self.names = joined(self.heads.get(node), self.names)
        if isinstance(node, ast.While):
            self.test(node.test, ValueUse.LOOP)
        ends: tuple[list[Names | None], list[Names | None]] = ([], [])
        done = dict(self.names or {})
        if not isinstance(node, ast.While):
            self.bind(node.target, held)
        self.leaving.append(ends)
        self.block(node.body)
        self.leaving.pop()
        again = self.names
        for names in ends[1]:
            again = joined(again, names)
        if again is not None:
            known_before = self.heads.get(node)
            self.heads[node] = joined(known_before, again)
            self.changed |= self.heads[node] != known_before
        self.names = joined(done, again)
        self.block(node.orelse)
        for names in ends[0]:
            self.names = joined(self.names, names)

    def match(self, node: ast.Match) -> None:
        self.test(node.subject, ValueUse.BRANCH)
        before, after = dict(self.names or {}), None
        for case in node.cases:
            self.names = dict(before)
            if case.guard is not None:
                self.test(case.guard, ValueUse.BRANCH)
            self.block(case.body)
            after = joined(after, self.names)
        self.names = joined(before, after)

    def protected(self, node: ast.stmt) -> None:
        parts: list[list[ast.stmt]] = [getattr(node, name) for name in ("body", "orelse", "finalbody")]
        before = dict(self.names or {})
        self.block(parts[0])
        middle = joined(before, self.names)
        self.block(parts[1])
        after = self.names
        for handler in getattr(node, "handlers", ()):
            self.names = dict(middle or {})
            self.block(handler.body)
            after = joined(after, self.names)
        self.names = after if not parts[2] or after is not None else dict(middle or {})
        self.block(parts[2])
        self.names = None if after is None else self.names

    def inner(self, node: Function | ast.Lambda, body: list[ast.stmt]) -> None:
        """A function in the function: who calls it is not known."""
        with self.inside(node):
            if isinstance(node, ast.Lambda):
                self.result(self.value(node.body), node)
            else:
                self.block(body)

    @contextmanager
    def inside(self, node: Function | ast.Lambda) -> Iterator[None]:
        kept = self.names, self.leaving, self.bound, self.outer, self.nested
        bound, outer = _bound(node)
        self.names = {name: held for name, held in (self.names or {}).items() if name.partition(".")[0] not in bound}
        self.leaving, self.bound, self.outer, self.nested = [], self.bound | bound, outer, True
        yield
        self.names, self.leaving, self.bound, self.outer, self.nested = kept

    # what becomes of what an expression holds

    def test(self, node: ast.expr, use: ValueUse) -> None:
        if self.value(node).followed:
            self.use(use, node)

    def message(self, node: ast.expr | None) -> None:
        """What is said by an error: also by one that is made in place."""
        if node is None:
            return
        parts = [*node.args, *(k.value for k in node.keywords)] if isinstance(node, ast.Call) else [node]
        for part in parts:
            if self.value(part).followed:
                self.use(ValueUse.LOG, part)

    # expressions

    def value(self, node: ast.expr) -> Held:
        """What ``node`` holds; its uses of the value are taken down."""
        held = self.computed(node)
        if self.is_value(node):
            return Held.INSIDE if _reads_many(node) else Held.VALUE
        return held

    def computed(self, node: ast.expr) -> Held:
        match node:
            case ast.Constant():
                return Held.PLAIN if isinstance(node.value, (int, float, complex)) else Held.OTHER
            case ast.Name():
                return (self.names or {}).get(node.id, Held.OTHER)
            case ast.Attribute():
                return self.attribute(node)
            case ast.Subscript():
                return self.subscript(node)
            case ast.Call():
                return self.call(node)
            case ast.BinOp():
                return self.operation(node)
            case ast.UnaryOp():
                return self.value(node.operand)
            case ast.Compare():
                return self.comparison(node)
            case ast.BoolOp():
                return self.one_of(node)
            case ast.IfExp():
                self.test(node.test, ValueUse.BRANCH)
                return max(self.value(node.body), self.value(node.orelse))
            case ast.NamedExpr():
                held = self.value(node.value)
                self.bind(node.target, held)
                return held
            case ast.Lambda():
                self.inner(node, [])
                return Held.OTHER
            case ast.ListComp() | ast.SetComp() | ast.GeneratorExp():
                return self.comprehension(node.generators, [node.elt])
            case ast.DictComp():
                return self.comprehension(node.generators, [node.key, node.value])
            case ast.List() | ast.Tuple() | ast.Set():
                return self.container(node.elts)
            case ast.Dict():
                return self.container([part for part in (*node.keys, *node.values) if part is not None])
            case ast.Slice():
                return max([self.value(p) for p in (node.lower, node.upper, node.step) if p], default=Held.PLAIN)
            case ast.Starred():
                return self.value(node.value)
            case ast.Yield() if node.value is not None:
                self.result(self.value(node.value), node)
                return Held.OTHER
            case ast.YieldFrom():
                self.result(self.value(node.value), node)
                return Held.OTHER
            case ast.Await():
                return self.value(node.value)
            case ast.FormattedValue():
                if node.format_spec is not None:
                    self.value(node.format_spec)
                return self.value(node.value)
            case _ if isinstance(getattr(node, "values", None), list):  # JoinedStr, TemplateStr (3.14)
                followed = [self.value(part).followed for part in getattr(node, "values", ())]
                return Held.TEXT if any(followed) else Held.OTHER
            case _:
                parts = [self.value(part) for part in ast.iter_child_nodes(node) if isinstance(part, ast.expr)]
                return max(parts, default=Held.OTHER)

    def attribute(self, node: ast.Attribute) -> Held:
        base = self.value(node.value)
        path = path_of(node)
        if path and self.names is not None and path in self.names:
            return self.names[path]
        if node.attr in known.NUMBER_ATTRIBUTES:
            return Held.PLAIN
        return Held.VALUE if base is Held.VALUE and node.attr in ("real", "imag") else Held.OTHER

    def subscript(self, node: ast.Subscript, called: bool = False) -> Held:
        """``called``: what is picked is called, so that the index decides what runs."""
        base, index = self.value(node.value), self.value(node.slice)
        if index is Held.MASK:
            self.use(ValueUse.ARITHMETIC, node)
        elif index.followed:
            picks = ValueUse.KEY if base in (Held.FRESH, Held.INSIDE) else ValueUse.INDEX
            self.use(ValueUse.BRANCH if called or base is Held.CODES else picks, node)
        if base is Held.INSIDE:
            return Held.INSIDE if isinstance(node.slice, ast.Slice) else Held.VALUE
        return Held.PLAIN if base is Held.PLAIN else Held.OTHER

    def operation(self, node: ast.BinOp) -> Held:
        left, right = self.value(node.left), self.value(node.right)
        if isinstance(node.op, ast.Mod) and is_text(node.left):
            return Held.TEXT if right.followed else Held.OTHER
        for list_, times in ((left, right), (right, left)):
            if isinstance(node.op, ast.Mult) and list_ is Held.FRESH and times.followed:
                self.use(ValueUse.SIZE, node)
                return Held.FRESH
        return self.arithmetic(node, left, right)

    def arithmetic(self, node: ast.AST, left: Held, right: Held) -> Held:
        if Held.TEXT in (left, right):
            return Held.TEXT
        if Held.INSIDE in (left, right):
            return Held.INSIDE
        low, high = sorted((left, right))
        if not high.followed:
            return high if high is not Held.FRESH or low is Held.FRESH else Held.OTHER
        if high is Held.VALUE and low in (Held.VALUE, Held.PLAIN):
            return Held.VALUE
        if high is not Held.MIXED or low is Held.VALUE:
            self.use(ValueUse.ARITHMETIC, node)
        return Held.MIXED

    def comparison(self, node: ast.Compare) -> Held:
        held = [self.value(part) for part in (node.left, *node.comparators)]
        if not any(one.followed for one in held):
            return Held.PLAIN if all(one is Held.PLAIN for one in held) else Held.OTHER
        literal = (ast.Tuple, ast.List, ast.Set)
        if (
            held[0].followed
            and isinstance(node.ops[0], (ast.In, ast.NotIn))
            and not isinstance(node.comparators[0], literal)
        ):
            self.use(ValueUse.INDEX, node)
        if all(isinstance(op, (ast.In, ast.NotIn, ast.Is, ast.IsNot)) for op in node.ops):
            return Held.VALUE
        if all(one in (Held.VALUE, Held.PLAIN) for one in held):
            return Held.VALUE
        return Held.TEXT if Held.TEXT in held else Held.MASK

    def one_of(self, node: ast.BoolOp) -> Held:
        held = [self.value(part) for part in node.values]
        for one, part in zip(held[:-1], node.values, strict=False):
            if one.followed:
                self.use(ValueUse.BRANCH, part)
        return max(held)

    def comprehension(self, generators: list[ast.comprehension], parts: list[ast.expr]) -> Held:
        kept = dict(self.names or {})
        for generator in generators:
            self.bind(generator.target, _element(self.value(generator.iter)))
            for condition in generator.ifs:
                self.test(condition, ValueUse.BRANCH)
        held = self.container(parts)
        self.names = kept
        return held

    def container(self, parts: list[ast.expr]) -> Held:
        held = [self.value(part) for part in parts]
        followed = [one for one in held if one.followed]
        if Held.MASK in followed and len(set(followed)) == 1:
            return Held.MASK
        return Held.INSIDE if followed else Held.FRESH

    def call(self, node: ast.Call) -> Held:
        name = path_of(node.func)
        base = self.value(node.func.value) if isinstance(node.func, ast.Attribute) else Held.OTHER
        if isinstance(node.func, ast.Subscript):
            self.subscript(node.func, called=True)
        elif not isinstance(node.func, (ast.Attribute, ast.Name)):
            self.value(node.func)
        arguments = [(None, part, self.value(part)) for part in node.args]
        named = [(keyword.arg, keyword.value, self.value(keyword.value)) for keyword in node.keywords]
        held = [one for _, _, one in (*arguments, *named)]
        if isinstance(node.func, ast.Name) and name not in self.bound:
            return of_builtin(self, node, name, [*arguments, *named])
        if isinstance(node.func, ast.Attribute):
            return of_method(self, node, node.func, base, [*arguments, *named])
        return self.passed(node, held)


def _element(container: Held) -> Held:
    """What a loop over ``container`` gets."""
    return Held.VALUE if container is Held.INSIDE else Held.PLAIN if container is Held.PLAIN else Held.OTHER


def _reads_many(node: ast.expr) -> bool:
    """Whether it reads a list of numbers out of a tensor."""
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in known.MANY_READ


def _tells(node: ast.expr) -> bool:
    """Whether it is a call that only prints or logs."""
    match node:
        case ast.Call(func=ast.Name(id="print")):
            return True
        case ast.Call(func=ast.Attribute(attr=name)):
            return name in known.LOGS
        case _:
            return False


def _bound(scope: Scope) -> tuple[set[str], set[str]]:
    """The names that a function binds itself, and those that it takes from outside to bind them."""
    bound: set[str] = set()
    outer: set[str] = set()
    if not isinstance(scope, ast.Module):
        given = scope.args
        parts = [*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg]
        bound |= {one.arg for one in parts if one is not None}
    todo: list[ast.AST] = [scope.body] if isinstance(scope, ast.Lambda) else list(scope.body)
    while todo:
        node = todo.pop()
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                bound.add(node.name)
                continue
            case ast.Lambda():
                continue
            case ast.Name(ctx=ast.Store()):
                bound.add(node.id)
            case ast.Global() | ast.Nonlocal():
                outer |= set(node.names)
            case _:
                pass
        todo += ast.iter_child_nodes(node)
    return (set() if isinstance(scope, ast.Module) else bound), outer
