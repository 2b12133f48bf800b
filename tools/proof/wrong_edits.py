"""Single edits of a syntax tree that change what a program means.

``wrong_edits(tree)`` yields ``(name, line, edited tree)`` for every place every edit applies to.  Edits are chosen so that
an unchanged meaning is not possible where the bytecode changes: statements that only jump, tests whose arms do the same,
and unobservable stores are left alone.
"""

from __future__ import annotations

import ast
import copy
import itertools
from collections.abc import Callable, Iterator

Edit = Callable[[ast.AST], Iterator[Callable[[], None]]]


def wrong_edits(tree: ast.Module, stride: int = 1, first: int = 0) -> Iterator[tuple[str, int, ast.Module]]:
    """Every single edit, each on a fresh copy of ``tree``; with a stride only every so many, from ``first`` on."""
    count = 0
    dead = {id(n) for node in ast.walk(tree) if never_true(node) for n in ast.walk(node)}
    for position, node in enumerate(ast.walk(tree)):
        if id(node) in dead:
            continue
        for name, edit in EDITS.items():
            for choice in range(sum(1 for _ in edit(node))):
                count += 1
                if (count - 1) % stride != first:
                    continue
                edited = copy.deepcopy(tree)
                target = next(n for i, n in enumerate(ast.walk(edited)) if i == position)
                apply = next(a for i, a in enumerate(edit(target)) if i == choice)
                apply()
                ast.fix_missing_locations(edited)
                yield name, getattr(node, "lineno", 0), edited


def never_true(node: ast.AST) -> bool:
    """``if 0: ...`` and ``if 0 and x: ...``: the compiler drops what is in there."""
    if not isinstance(node, ast.If):
        return False
    test = node.test
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
        test = test.values[0]
    return isinstance(test, ast.Constant) and not test.value


def calls(node: ast.AST | list[ast.stmt]) -> bool:
    """Whether the node itself (not a function defined in it) calls something."""
    todo: list[ast.AST] = list(node) if isinstance(node, list) else [node]
    while todo:
        item = todo.pop()
        if isinstance(item, (ast.Call, ast.Await, ast.Yield)):
            return True
        if not isinstance(item, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)):
            todo.extend(ast.iter_child_nodes(item))
    return False


def jumps_only(body: list[ast.stmt]) -> bool:
    """Whether an arm may lead where the other arm leads too."""
    return all(
        isinstance(stmt, (ast.Pass, ast.Continue, ast.Break))
        or (isinstance(stmt, ast.Return) and (stmt.value is None or isinstance(stmt.value, (ast.Constant, ast.Name))))
        for stmt in body
    )


def differ(left: ast.AST, right: ast.AST) -> bool:
    return ast.dump(left) != ast.dump(right)


def setter(node: ast.AST, field: str, value: object) -> Callable[[], None]:
    return lambda: setattr(node, field, value)


def swap_operands(node: ast.AST) -> Iterator[Callable[[], None]]:
    if isinstance(node, ast.BinOp) and differ(node.left, node.right):
        if not (isinstance(node.left, ast.Constant) and isinstance(node.right, ast.Constant)):

            def swap() -> None:
                node.left, node.right = node.right, node.left

            yield swap


def swap_comparison(node: ast.AST) -> Iterator[Callable[[], None]]:
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and differ(node.left, node.comparators[0]):
        # `is` is symmetric
        if not isinstance(node.ops[0], (ast.Is, ast.IsNot)):

            def swap() -> None:
                node.left, node.comparators[0] = node.comparators[0], node.left

            yield swap


OTHER_OPERATOR: dict[type, type] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.MatMult, ast.Div: ast.FloorDiv, ast.FloorDiv: ast.Div,
    ast.Mod: ast.Div, ast.Pow: ast.Mult, ast.LShift: ast.RShift, ast.RShift: ast.LShift, ast.BitOr: ast.BitAnd,
    ast.BitAnd: ast.BitXor, ast.BitXor: ast.BitOr, ast.MatMult: ast.Mult, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Is: ast.Eq, ast.IsNot: ast.NotEq,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.USub: ast.UAdd, ast.UAdd: ast.USub, ast.Invert: ast.USub,
}  # fmt: skip


def change_operator(node: ast.AST) -> Iterator[Callable[[], None]]:
    if isinstance(node, (ast.BinOp, ast.AugAssign, ast.UnaryOp)):
        other = OTHER_OPERATOR.get(type(node.op))
        if other is not None:
            operands = [n for n in ast.iter_child_nodes(node) if isinstance(n, ast.expr)]
            if not all(isinstance(n, ast.Constant) for n in operands):
                yield setter(node, "op", other())
    elif isinstance(node, ast.Compare):
        for i, op in enumerate(node.ops):
            other = OTHER_OPERATOR.get(type(op))
            if other is not None:

                def change(i: int = i, other: type = other) -> None:
                    node.ops[i] = other()

                yield change


def change_constant(node: ast.AST) -> Iterator[Callable[[], None]]:
    if not isinstance(node, ast.Constant):
        return
    value = node.value
    others: list[object] = []
    if value is None:
        others = [0]
    elif isinstance(value, bool):
        others = [not value, int(value)]
    elif isinstance(value, int):
        others = [value + 1, float(value)] if abs(value) < 1 << 50 else [value + 1]
    elif isinstance(value, float):
        others = [-value, value + 1]
    elif isinstance(value, complex):
        others = [value + 1]
    elif isinstance(value, str):
        others = [value + "x"]
    elif isinstance(value, bytes):
        others = [value + b"x"]
    elif value is Ellipsis:
        others = [None]
    for other in others:
        yield setter(node, "value", other)


def bodies(node: ast.AST) -> Iterator[list[ast.stmt]]:
    for field in ("body", "orelse", "finalbody"):
        body = getattr(node, field, None)
        if isinstance(body, list) and body and isinstance(body[0], ast.stmt):
            yield body


DROPPABLE = (ast.Assign, ast.AugAssign, ast.Expr, ast.Delete, ast.Raise, ast.For, ast.With, ast.Assert, ast.FunctionDef)


def drop_statement(node: ast.AST) -> Iterator[Callable[[], None]]:
    for body in bodies(node):
        for i, stmt in enumerate(body):
            if not isinstance(stmt, DROPPABLE):
                continue
            if isinstance(stmt, ast.Expr) and not calls(stmt):
                continue  # a docstring, or a name

            def drop(body: list[ast.stmt] = body, i: int = i) -> None:
                body[i] = ast.copy_location(ast.Pass(), body[i])

            yield drop


def swap_statements(node: ast.AST) -> Iterator[Callable[[], None]]:
    for body in bodies(node):
        for i, (first, second) in enumerate(itertools.pairwise(body)):
            if (
                isinstance(first, (ast.Assign, ast.Expr, ast.AugAssign))
                and isinstance(second, (ast.Assign, ast.Expr, ast.AugAssign))
                and calls(first)
                and calls(second)
                and differ(first, second)
            ):

                def swap(body: list[ast.stmt] = body, i: int = i) -> None:
                    body[i], body[i + 1] = body[i + 1], body[i]

                yield swap


def invert_condition(node: ast.AST) -> Iterator[Callable[[], None]]:
    if isinstance(node, ast.If):
        if jumps_only(node.body) and jumps_only(node.orelse):
            return
        if [ast.dump(s) for s in node.body] == [ast.dump(s) for s in node.orelse]:
            return
    elif isinstance(node, ast.IfExp):
        if not differ(node.body, node.orelse):
            return
    elif not isinstance(node, (ast.While, ast.Assert)):
        return
    if isinstance(node.test, ast.Constant):
        return
    yield lambda: setattr(node, "test", ast.UnaryOp(ast.Not(), node.test))


def swap_and_or(node: ast.AST) -> Iterator[Callable[[], None]]:
    if isinstance(node, ast.BoolOp) and len({ast.dump(v) for v in node.values}) == len(node.values):
        if not any(isinstance(v, ast.Constant) for v in node.values):
            yield setter(node, "op", ast.Or() if isinstance(node.op, ast.And) else ast.And())


def out_of_try(node: ast.AST) -> Iterator[Callable[[], None]]:
    """Move the first statement in front of the try."""
    for body in bodies(node):
        for i, stmt in enumerate(body):
            if not isinstance(stmt, ast.Try) or len(stmt.body) < 2 or not calls(stmt.body[0]):
                continue
            if not isinstance(stmt.body[0], (ast.Assign, ast.Expr)):
                continue
            if stmt.handlers and all(isinstance(h.body[0], ast.Raise) and not h.body[0].exc for h in stmt.handlers):
                continue

            def move(body: list[ast.stmt] = body, i: int = i, stmt: ast.Try = stmt) -> None:
                body.insert(i, stmt.body.pop(0))

            yield move


def into_try(node: ast.AST) -> Iterator[Callable[[], None]]:
    """Move the else clause into the protected body."""
    if isinstance(node, ast.Try) and node.orelse and node.handlers and calls(node.orelse):
        if all(isinstance(s, (ast.Assign, ast.Expr)) for s in node.orelse):

            def move() -> None:
                node.body = node.body + node.orelse
                node.orelse = []

            yield move


def change_exception(node: ast.AST) -> Iterator[Callable[[], None]]:
    if isinstance(node, ast.ExceptHandler) and node.type is not None:
        yield setter(node, "type", ast.Name("_Other", ast.Load()))


def swap_handlers(node: ast.AST) -> Iterator[Callable[[], None]]:
    if isinstance(node, ast.Try) and len(node.handlers) > 1:
        for i, (first, second) in enumerate(itertools.pairwise(node.handlers)):
            if first.type is not None and second.type is not None and differ(first.type, second.type):

                def swap(i: int = i) -> None:
                    node.handlers[i], node.handlers[i + 1] = node.handlers[i + 1], node.handlers[i]

                yield swap


def drop_handler(node: ast.AST) -> Iterator[Callable[[], None]]:
    if isinstance(node, ast.Try) and len(node.handlers) > 1:
        yield lambda: node.handlers.pop() and None


def drop_finally(node: ast.AST) -> Iterator[Callable[[], None]]:
    if isinstance(node, ast.Try) and node.finalbody and node.handlers and calls(node.finalbody):
        yield setter(node, "finalbody", [])


def rename(node: ast.AST) -> Iterator[Callable[[], None]]:
    if isinstance(node, ast.Attribute):
        yield setter(node, "attr", node.attr + "_")
    elif isinstance(node, ast.keyword) and node.arg is not None:
        yield setter(node, "arg", node.arg + "_")
    elif isinstance(node, ast.alias) and node.name != "*":
        yield setter(node, "name", node.name + "_")
    elif isinstance(node, ast.arg):
        yield setter(node, "arg", node.arg + "_")


def rename_called(node: ast.AST) -> Iterator[Callable[[], None]]:
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        yield setter(node, "func", ast.Name(node.func.id + "_", ast.Load()))


def swap_arguments(node: ast.AST) -> Iterator[Callable[[], None]]:
    if isinstance(node, ast.Call) and len(node.args) > 1 and differ(node.args[0], node.args[1]):

        def swap() -> None:
            node.args[0], node.args[1] = node.args[1], node.args[0]

        yield swap


def drop_argument(node: ast.AST) -> Iterator[Callable[[], None]]:
    if isinstance(node, ast.Call) and node.args:
        yield lambda: node.args.pop() and None
    if isinstance(node, ast.Call) and node.keywords:
        yield lambda: node.keywords.pop() and None


def change_defaults(node: ast.AST) -> Iterator[Callable[[], None]]:
    if isinstance(node, ast.arguments) and node.defaults:
        yield lambda: node.defaults.pop(0) and None


def break_continue(node: ast.AST) -> Iterator[Callable[[], None]]:
    for body in bodies(node):
        for i, stmt in enumerate(body):
            if isinstance(stmt, (ast.Break, ast.Continue)):
                other = ast.Continue() if isinstance(stmt, ast.Break) else ast.Break()

                def change(body: list[ast.stmt] = body, i: int = i, other: ast.stmt = other) -> None:
                    body[i] = ast.copy_location(other, body[i])

                yield change


def remove_else(node: ast.AST) -> Iterator[Callable[[], None]]:
    if isinstance(node, (ast.If, ast.For, ast.While, ast.Try)) and node.orelse and calls(node.orelse):
        yield setter(node, "orelse", [])


def else_to_body(node: ast.AST) -> Iterator[Callable[[], None]]:
    """``for ... else`` with a break: run the else clause always."""
    for body in bodies(node):
        for i, stmt in enumerate(body):
            if isinstance(stmt, (ast.For, ast.While)) and stmt.orelse and calls(stmt.orelse):
                if any(isinstance(n, ast.Break) for s in stmt.body for n in ast.walk(s)):

                    def move(body: list[ast.stmt] = body, i: int = i, stmt: ast.For | ast.While = stmt) -> None:
                        body[i + 1 : i + 1] = stmt.orelse
                        stmt.orelse = []

                    yield move


def swap_targets(node: ast.AST) -> Iterator[Callable[[], None]]:
    if isinstance(node, ast.Tuple) and isinstance(node.ctx, ast.Store) and len(node.elts) > 1:
        if differ(node.elts[0], node.elts[1]):

            def swap() -> None:
                node.elts[0], node.elts[1] = node.elts[1], node.elts[0]

            yield swap


def change_return(node: ast.AST) -> Iterator[Callable[[], None]]:
    if isinstance(node, ast.Return) and node.value is not None and not isinstance(node.value, ast.Constant):
        yield setter(node, "value", ast.Tuple([node.value], ast.Load()))


def change_container(node: ast.AST) -> Iterator[Callable[[], None]]:
    if isinstance(node, ast.List) and isinstance(node.ctx, ast.Load) and node.elts:
        if not all(isinstance(item, ast.Constant) for item in node.elts):
            yield lambda: node.elts.reverse() if len({ast.dump(e) for e in node.elts}) > 1 else node.elts.pop() and None
    if isinstance(node, ast.Dict) and node.keys:

        def drop() -> None:
            node.keys.pop()
            node.values.pop()

        yield drop


def drop_await(node: ast.AST) -> Iterator[Callable[[], None]]:
    if isinstance(node, ast.Return) and isinstance(node.value, ast.Await):
        yield setter(node, "value", node.value.value)
    if isinstance(node, ast.YieldFrom):

        def change() -> None:
            node.value = ast.Call(ast.Name("_iter", ast.Load()), [node.value], [])

        yield change


def change_format(node: ast.AST) -> Iterator[Callable[[], None]]:
    if isinstance(node, ast.FormattedValue):
        yield setter(node, "conversion", ord("r") if node.conversion != ord("r") else ord("a"))


def change_comprehension(node: ast.AST) -> Iterator[Callable[[], None]]:
    if isinstance(node, ast.comprehension) and node.ifs:
        yield lambda: node.ifs.pop() and None


def change_raise(node: ast.AST) -> Iterator[Callable[[], None]]:
    """``raise`` to ``raise e`` in a handler of ``e``, and back: the one adds an entry to the traceback."""
    if isinstance(node, ast.ExceptHandler) and node.name:
        for statement in node.body:
            if isinstance(statement, ast.Raise) and statement.exc is None:
                yield setter(statement, "exc", ast.Name(node.name, ast.Load()))
            elif isinstance(statement, ast.Raise) and statement.cause is None:
                if isinstance(statement.exc, ast.Name) and statement.exc.id == node.name:
                    yield setter(statement, "exc", None)


def format_again(node: ast.AST) -> Iterator[Callable[[], None]]:
    """``f"{x}"`` to ``f"{f'{x}'}"``: ``__format__`` may give a string of a subclass, which is formatted otherwise."""
    if isinstance(node, ast.FormattedValue) and not isinstance(node.value, (ast.Constant, ast.JoinedStr)):
        yield setter(node, "value", ast.JoinedStr([ast.FormattedValue(node.value, -1, None)]))


EDITS: dict[str, Edit] = {
    function.__name__: function
    for function in (
        swap_operands, swap_comparison, change_operator, change_constant, drop_statement, swap_statements,
        invert_condition, swap_and_or, out_of_try, into_try, change_exception, swap_handlers, drop_handler, drop_finally,
        rename, rename_called, swap_arguments, drop_argument, change_defaults, break_continue, remove_else,
        else_to_body, swap_targets, change_return, change_container, drop_await, change_format, change_comprehension,
        change_raise, format_again,
    )
}  # fmt: skip
