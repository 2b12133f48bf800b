"""More single edits that change what a program means: scopes, order, signatures, and the shape of compound statements.

As in ``wrong_edits``: each yields functions that edit the node in place, and only where the meaning is sure to change if
the bytecode does.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator

from tools.proof.wrong_edits import Edit, bodies, calls, differ, setter

Change = Iterator[Callable[[], None]]
LOOPS = (ast.For, ast.While, ast.AsyncFor)
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def leaves(body: list[ast.stmt]) -> bool:
    """Whether a body may be left other than by its end."""
    kinds = (ast.Return, ast.Break, ast.Continue, ast.Raise)
    return any(isinstance(node, kinds) for stmt in body for node in ast.walk(stmt))


def splice(body: list[ast.stmt], i: int, new: list[ast.stmt]) -> Callable[[], None]:
    def apply() -> None:
        body[i : i + 1] = new

    return apply


def finally_after(node: ast.AST) -> Change:
    """``finally`` as plain statements after the ``try``: an exception now passes them by."""
    for body in bodies(node):
        for i, stmt in enumerate(body):
            if isinstance(stmt, ast.Try) and stmt.finalbody and calls(stmt.finalbody) and calls(stmt.body):
                plain = copy.copy(stmt)
                plain.finalbody = []
                inner: list[ast.stmt] = [plain] if stmt.handlers else [*stmt.body, *stmt.orelse]
                yield splice(body, i, [*inner, *stmt.finalbody])


def without_with(node: ast.AST) -> Change:
    for body in bodies(node):
        for i, stmt in enumerate(body):
            if isinstance(stmt, (ast.With, ast.AsyncWith)):
                yield splice(body, i, stmt.body)


def swap_managers(node: ast.AST) -> Change:
    if isinstance(node, (ast.With, ast.AsyncWith)) and len(node.items) > 1 and differ(node.items[0], node.items[1]):

        def swap() -> None:
            node.items[:2] = node.items[1], node.items[0]

        yield swap


def drop_bound_manager(node: ast.AST) -> Change:
    if isinstance(node, ast.withitem) and isinstance(node.optional_vars, ast.Name):
        yield setter(node, "optional_vars", None)
        yield setter(node, "optional_vars", ast.Name(node.optional_vars.id + "_", ast.Store()))


def drop_cause(node: ast.AST) -> Change:
    if isinstance(node, ast.Raise) and node.cause is not None:
        yield setter(node, "cause", None)
    elif isinstance(node, ast.Raise) and node.exc is not None:
        yield setter(node, "cause", ast.Name("_cause", ast.Load()))


def not_in_place(node: ast.AST) -> Change:
    """``x += 1`` as ``x = x + 1``: another method is asked."""
    for body in bodies(node):
        for i, stmt in enumerate(body):
            if isinstance(stmt, ast.AugAssign) and isinstance(stmt.target, ast.Name):
                read = ast.Name(stmt.target.id, ast.Load())
                yield splice(body, i, [ast.Assign([stmt.target], ast.BinOp(read, stmt.op, stmt.value), lineno=0)])


def other_variable(node: ast.AST) -> Change:
    """A call with another of the function's parameters."""
    if isinstance(node, FUNCTIONS) and len(node.args.args) > 1:
        names = [arg.arg for arg in node.args.args]
        stored = {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)}
        if stored & set(names):
            return
        for stmt in node.body:
            if not isinstance(stmt, (ast.Expr, ast.Assign, ast.Return)) or isinstance(stmt, LOOPS):
                continue
            for call in ast.walk(stmt):
                if isinstance(call, ast.Call):
                    for k, arg in enumerate(call.args):
                        if isinstance(arg, ast.Name) and arg.id in names[:2]:
                            other = names[1 - names.index(arg.id)]

                            def change(call: ast.Call = call, k: int = k, other: str = other) -> None:
                                call.args[k] = ast.Name(other, ast.Load())

                            yield change


def swap_pairs(node: ast.AST) -> Change:
    """Keys for values, of a dict display or comprehension."""
    if isinstance(node, ast.DictComp) and differ(node.key, node.value):

        def swap() -> None:
            node.key, node.value = node.value, node.key

        yield swap
    if isinstance(node, ast.Dict) and len(node.keys) > 1 and differ(node.values[0], node.values[1]):

        def swap_values() -> None:
            node.values[:2] = node.values[1], node.values[0]

        yield swap_values


def other_comprehension(node: ast.AST) -> Change:
    for field, value in ast.iter_fields(node):
        if isinstance(value, ast.ListComp):
            yield setter(node, field, ast.SetComp(value.elt, value.generators))
        elif isinstance(value, ast.SetComp):
            yield setter(node, field, ast.ListComp(value.elt, value.generators))
    if isinstance(node, (ast.ListComp, ast.SetComp, ast.GeneratorExp)):
        yield setter(node, "elt", ast.Tuple([node.elt], ast.Load()))


def decorators(node: ast.AST) -> Change:
    if isinstance(node, (*FUNCTIONS, ast.ClassDef)) and node.decorator_list:
        yield lambda: node.decorator_list.pop() and None
        if len(node.decorator_list) > 1 and differ(node.decorator_list[0], node.decorator_list[1]):
            yield lambda: node.decorator_list.reverse()


def stars(node: ast.AST) -> Change:
    """``f(*a)`` as ``f(a)``, ``f(**k)`` as ``f()``."""
    if isinstance(node, ast.Call):
        for k, arg in enumerate(node.args):
            if isinstance(arg, ast.Starred):

                def change(k: int = k, arg: ast.Starred = arg) -> None:
                    node.args[k] = arg.value

                yield change
        if any(keyword.arg is None for keyword in node.keywords):
            yield lambda: setattr(node, "keywords", [keyword for keyword in node.keywords if keyword.arg is not None])


def drop_scope(node: ast.AST) -> Change:
    """Without ``global`` or ``nonlocal`` a name that is stored becomes a local."""
    if isinstance(node, FUNCTIONS):
        stored = {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)}
        for i, stmt in enumerate(node.body):
            if isinstance(stmt, (ast.Global, ast.Nonlocal)) and set(stmt.names) & stored:
                yield splice(node.body, i, [ast.Pass()])


def signature(node: ast.AST) -> Change:
    if not isinstance(node, ast.arguments):
        return
    if node.defaults:
        yield lambda: node.defaults.__setitem__(0, ast.Name("_default", ast.Load()))
    for k, default in enumerate(node.kw_defaults):
        if default is not None:
            yield lambda k=k: node.kw_defaults.__setitem__(k, ast.Name("_default", ast.Load()))  # type: ignore[misc]
    if node.kwonlyargs and node.vararg is None:

        def positional() -> None:
            arg, default = node.kwonlyargs.pop(0), node.kw_defaults.pop(0)
            node.args.append(arg)
            if default is not None or node.defaults:
                node.defaults.append(default or ast.Constant(None))

        yield positional
    if node.args and not node.posonlyargs:
        yield lambda: node.posonlyargs.append(node.args.pop(0))
    if len(node.args) > 1:
        yield lambda: node.args.__setitem__(slice(0, 2), [node.args[1], node.args[0]])
    if node.vararg is not None:
        yield setter(node, "vararg", None)


def format_specs(node: ast.AST) -> Change:
    if isinstance(node, ast.FormattedValue):
        spec = None if node.format_spec is not None else ast.JoinedStr([ast.Constant(">9")])
        yield setter(node, "format_spec", spec)


def slices(node: ast.AST) -> Change:
    if isinstance(node, ast.Slice):
        for field in ("lower", "upper", "step"):
            value = getattr(node, field)
            if value is None:
                yield setter(node, field, ast.Constant(7))
            elif not (isinstance(value, ast.Constant) and value.value is None):
                yield setter(node, field, None)


def matches(node: ast.AST) -> Change:
    if isinstance(node, ast.match_case) and node.guard is not None:
        yield setter(node, "guard", None)
    if isinstance(node, ast.Match) and len(node.cases) > 2 and differ(node.cases[0].pattern, node.cases[1].pattern):
        yield lambda: node.cases.__setitem__(slice(0, 2), [node.cases[1], node.cases[0]])
    if isinstance(node, ast.MatchAs) and node.name is not None and node.pattern is not None:
        yield setter(node, "name", node.name + "_")
    if isinstance(node, ast.MatchClass) and node.kwd_attrs:
        yield lambda: node.kwd_attrs.__setitem__(0, node.kwd_attrs[0] + "_")


def once(node: ast.AST) -> Change:
    """A loop that runs at most once."""
    for body in bodies(node):
        for i, stmt in enumerate(body):
            if isinstance(stmt, ast.While) and not leaves(stmt.body) and not stmt.orelse and calls(stmt.body):
                yield splice(body, i, [ast.If(stmt.test, stmt.body, [])])
            if isinstance(stmt, LOOPS) and not leaves(stmt.body) and calls(stmt.body):
                yield lambda stmt=stmt: stmt.body.append(ast.Break())  # type: ignore[misc]


def swap_arms(node: ast.AST) -> Change:
    if isinstance(node, ast.If) and node.orelse and calls(node.body) and calls(node.orelse):
        if [ast.dump(s) for s in node.body] != [ast.dump(s) for s in node.orelse]:

            def swap() -> None:
                node.body, node.orelse = node.orelse, node.body

            yield swap
    if isinstance(node, ast.IfExp) and differ(node.body, node.orelse):

        def swap_values() -> None:
            node.body, node.orelse = node.orelse, node.body

        yield swap_values


def out_of_branch(node: ast.AST) -> Change:
    """What an ``if`` guards happens in any case."""
    for body in bodies(node):
        for i, stmt in enumerate(body):
            if isinstance(stmt, ast.If) and not stmt.orelse and calls(stmt.body[-1]) and not leaves(stmt.body):
                if not isinstance(stmt.test, ast.Constant):
                    yield splice(body, i, [stmt, stmt.body[-1]] if len(stmt.body) == 1 else [stmt, *stmt.body[-1:]])


def yields(node: ast.AST) -> Change:
    if isinstance(node, ast.Yield) and node.value is not None and not isinstance(node.value, ast.Constant):
        yield setter(node, "value", None)
    for field, value in ast.iter_fields(node):
        if isinstance(value, ast.Await):
            yield setter(node, field, value.value)
        elif isinstance(value, ast.Yield) and value.value is not None:
            yield setter(node, field, ast.YieldFrom(value.value))


def swap_keywords(node: ast.AST) -> Change:
    """The values of two keywords: another order of evaluation, other arguments."""
    if isinstance(node, ast.Call) and len(node.keywords) > 1:
        first, second = node.keywords[:2]
        if first.arg and second.arg and differ(first.value, second.value):

            def swap() -> None:
                first.value, second.value = second.value, first.value

            yield swap


def bases(node: ast.AST) -> Change:
    if isinstance(node, ast.ClassDef) and node.bases:
        yield lambda: node.bases.pop() and None
    if isinstance(node, ast.ClassDef) and not any(keyword.arg == "metaclass" for keyword in node.keywords):
        yield lambda: node.keywords.append(ast.keyword("metaclass", ast.Name("_Meta", ast.Load())))


def bare_handler(node: ast.AST) -> Change:
    """``except E`` catches everything, or what it caught has another name."""
    if isinstance(node, ast.Try):
        last = node.handlers[-1] if node.handlers else None
        if last is not None and last.type is not None and last.name is None:
            yield setter(last, "type", None)
    if isinstance(node, ast.ExceptHandler) and node.name is not None:
        yield setter(node, "name", node.name + "_")


def empty_handler(node: ast.AST) -> Change:
    if isinstance(node, ast.ExceptHandler) and calls(node.body):
        yield setter(node, "body", [ast.Pass()])


def asserts(node: ast.AST) -> Change:
    if isinstance(node, ast.Assert):
        yield setter(node, "msg", ast.Constant("other") if node.msg is None else None)


def imports(node: ast.AST) -> Change:
    if isinstance(node, ast.ImportFrom):
        yield setter(node, "level", (node.level or 0) + 1)
        if node.module:
            yield setter(node, "module", node.module + "_")
    if isinstance(node, ast.alias) and node.name != "*" and "." not in node.name:
        yield setter(node, "asname", (node.asname or node.name) + "_")


def subscripts(node: ast.AST) -> Change:
    if isinstance(node, ast.Subscript) and not isinstance(node.slice, ast.Slice):
        yield setter(node, "slice", ast.Tuple([node.slice], ast.Load()))


STRUCTURE_EDITS: dict[str, Edit] = {
    function.__name__: function
    for function in (
        finally_after, without_with, swap_managers, drop_bound_manager, drop_cause, not_in_place, other_variable, swap_pairs,
        other_comprehension, decorators, stars, drop_scope, signature, format_specs, slices, matches, once, swap_arms,
        out_of_branch, yields, swap_keywords, bases, bare_handler, empty_handler, asserts, imports, subscripts,
    )
}  # fmt: skip
