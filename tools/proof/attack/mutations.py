"""Edits of a syntax tree, whether they change its meaning or not.

``mutated(tree, pick)`` returns a name and an edited copy of one function.  Unlike ``wrong_edits``, which must change what a
program does, these may do anything: the verifier decides, and what it accepts is run.  Many are close to what keeps a
meaning (temporaries, deletions, statements moved by one place), because there a wrong proof is most likely.
"""

from __future__ import annotations

import ast
import copy
import random
from collections.abc import Callable, Iterator

from tools.proof.wrong_edits import EDITS
from tools.proof.wrong_structure import STRUCTURE_EDITS

Body = list[ast.stmt]
Mutation = Callable[["Function", random.Random], bool]
OPAQUE = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef, ast.GeneratorExp, ast.ListComp, ast.SetComp,
          ast.DictComp)  # fmt: skip


class Function:
    """A function that is edited in place, and where its statements and expressions are."""

    def __init__(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        self.node = node
        self.bodies: list[Body] = [body for body in _bodies(node) if body]
        self.fresh = 0

    def temporary(self, pick: random.Random) -> str:
        """A new variable, most often one that the verifier knows as a temporary."""
        self.fresh += 1
        return f"__temp_9{self.fresh}" if pick.random() < 0.8 else f"extra_{self.fresh}"

    def place(self, pick: random.Random) -> tuple[Body, int]:
        body = pick.choice(self.bodies)
        return body, pick.randrange(len(body))

    def names(self) -> list[str]:
        found = {n.id for n in ast.walk(self.node) if isinstance(n, ast.Name)}
        found |= {a.arg for a in ast.walk(self.node) if isinstance(a, ast.arg)}
        return sorted(found)

    def expressions(self) -> list[tuple[ast.AST, str, int | None, ast.expr]]:
        """Parent, field, index and node of every expression that is evaluated in the function itself."""
        return [entry for statement in self.node.body for entry in _expressions(statement)]


def _bodies(node: ast.AST) -> Iterator[Body]:
    for field in ("body", "orelse", "finalbody"):
        body = getattr(node, field, None)
        if isinstance(body, list) and (not body or isinstance(body[0], ast.stmt)):
            yield body
            for statement in body:
                if not isinstance(statement, OPAQUE):
                    yield from _bodies(statement)
    for handler in getattr(node, "handlers", ()):
        yield from _bodies(handler)
    for case in getattr(node, "cases", ()):
        yield from _bodies(case)


def _expressions(node: ast.AST) -> Iterator[tuple[ast.AST, str, int | None, ast.expr]]:
    if isinstance(node, OPAQUE):
        return
    for field, value in ast.iter_fields(node):
        for index, item in enumerate(value) if isinstance(value, list) else ((None, value),):
            if isinstance(item, ast.expr) and not isinstance(getattr(item, "ctx", None), (ast.Store, ast.Del)):
                if not isinstance(item, (ast.Starred, ast.Slice, ast.FormattedValue)) and field not in (
                    "format_spec",
                    "annotation",
                ):
                    if not isinstance(node, (ast.JoinedStr, ast.match_case, ast.pattern)):
                        yield node, field, index, item
            if isinstance(item, ast.AST) and not isinstance(item, ast.pattern):
                yield from _expressions(item)


def _put(parent: ast.AST, field: str, index: int | None, new: ast.expr) -> None:
    if index is None:
        setattr(parent, field, new)
    else:
        getattr(parent, field)[index] = new


def _load(name: str) -> ast.Name:
    return ast.Name(name, ast.Load())


def _store(name: str, value: ast.expr) -> ast.Assign:
    return ast.Assign([ast.Name(name, ast.Store())], value)


def _delete(name: str) -> ast.Delete:
    return ast.Delete([ast.Name(name, ast.Del())])


def hoist(function: Function, pick: random.Random) -> bool:
    """``a = f(g())`` to ``t = g(); a = f(t)``, with a deletion at one of several places or without."""
    body, at = function.place(pick)
    entries = [e for e in _expressions(body[at]) if _in_head(body[at], e[3])]
    if not entries:
        return False
    parent, field, index, value = pick.choice(entries)
    name = function.temporary(pick)
    _put(parent, field, index, _load(name))
    new: Body = [_store(name, value), body[at]]
    roll = pick.random()
    if roll < 0.5:
        new.append(_delete(name))
    elif roll < 0.6:
        new.append(_store(name, ast.Constant(None)))
    body[at : at + 1] = new
    return True


def _in_head(statement: ast.stmt, node: ast.expr) -> bool:
    """Whether an expression lies in a statement itself, not in a statement in it."""
    inner = {id(n) for body in _bodies(statement) for child in body for n in ast.walk(child)}
    return id(node) not in inner


def hoist_two(function: Function, pick: random.Random) -> bool:
    """Both operands into temporaries, in any order."""
    body, at = function.place(pick)
    calls = [
        e[3] for e in _expressions(body[at]) if isinstance(e[3], (ast.BinOp, ast.Call, ast.Tuple, ast.List)) and _in_head(body[at], e[3])
    ]  # fmt: skip
    if not calls:
        return False
    node = pick.choice(calls)
    if isinstance(node, ast.BinOp):
        slots: list[tuple[ast.AST, str, int | None, ast.expr]] = [
            (node, "left", None, node.left),
            (node, "right", None, node.right),
        ]
    else:
        field = "args" if isinstance(node, ast.Call) else "elts"
        slots = [
            (node, field, i, item) for i, item in enumerate(getattr(node, field)) if not isinstance(item, ast.Starred)
        ]
    if len(slots) < 2:
        return False
    chosen = slots[:2]
    names = [function.temporary(pick) for _ in chosen]
    new: Body = [_store(name, slot[3]) for name, slot in zip(names, chosen)]
    for name, slot in zip(names, chosen):
        _put(slot[0], slot[1], slot[2], _load(name))
    if pick.random() < 0.3:
        new.reverse()
    deletions: Body = [_delete(name) for name in names]
    if pick.random() < 0.5:
        deletions.reverse()
    body[at : at + 1] = [*new, body[at], *(deletions if pick.random() < 0.7 else [])]
    return True


def inline(function: Function, pick: random.Random) -> bool:
    """``x = e`` and the next reading of ``x`` to that reading with ``e`` in it."""
    body, at = function.place(pick)
    statement = body[at]
    if not isinstance(statement, ast.Assign) or not isinstance(statement.targets[0], ast.Name) or at + 1 == len(body):
        return False
    name = statement.targets[0].id
    found = [e for e in _expressions(body[at + 1]) if isinstance(e[3], ast.Name) and e[3].id == name]
    if not found:
        return False
    _put(*found[0][:3], statement.value)
    if pick.random() < 0.6:
        del body[at]
    return True


def swap_statements(function: Function, pick: random.Random) -> bool:
    body, at = function.place(pick)
    if at + 1 == len(body):
        return False
    body[at], body[at + 1] = body[at + 1], body[at]
    return True


def drop_statement(function: Function, pick: random.Random) -> bool:
    body, at = function.place(pick)
    body[at] = ast.Pass() if len(body) == 1 else body[at]
    if len(body) > 1:
        del body[at]
    return True


def twice(function: Function, pick: random.Random) -> bool:
    body, at = function.place(pick)
    body.insert(at, copy.deepcopy(body[at]))
    return True


def move_in(function: Function, pick: random.Random) -> bool:
    """What follows a compound statement goes to the end of one of its bodies."""
    body, at = function.place(pick)
    inner = list(_bodies(body[at]))
    if at + 1 == len(body) or not inner:
        return False
    target = pick.choice(inner)
    target.append(body.pop(at + 1))
    if pick.random() < 0.3 and len(inner) > 1:
        pick.choice(inner).append(copy.deepcopy(target[-1]))
    return True


def move_out(function: Function, pick: random.Random) -> bool:
    """The last or first statement of a body goes after or before the compound statement."""
    body, at = function.place(pick)
    inner = [b for b in _bodies(body[at]) if len(b) > 1]
    if not inner:
        return False
    source = pick.choice(inner)
    if pick.random() < 0.5:
        body.insert(at + 1, source.pop())
    else:
        body.insert(at, source.pop(0))
    return True


def delete_name(function: Function, pick: random.Random) -> bool:
    body, at = function.place(pick)
    body.insert(at + pick.randrange(2), _delete(pick.choice(function.names() or ["x"])))
    return True


def copy_name(function: Function, pick: random.Random) -> bool:
    """``x = y`` somewhere; ``t = y`` keeps an object alive."""
    body, at = function.place(pick)
    names = function.names() or ["x"]
    target = function.temporary(pick) if pick.random() < 0.6 else pick.choice(names)
    body.insert(at + pick.randrange(2), _store(target, _load(pick.choice(names))))
    return True


def read_name(function: Function, pick: random.Random) -> bool:
    body, at = function.place(pick)
    body.insert(at + pick.randrange(2), ast.Expr(_load(pick.choice(function.names() or ["x"]))))
    return True


def other_name(function: Function, pick: random.Random) -> bool:
    reads = [n for n in ast.walk(function.node) if isinstance(n, ast.Name)]
    if not reads:
        return False
    pick.choice(reads).id = pick.choice(function.names())
    return True


def wrap_statement(function: Function, pick: random.Random) -> bool:
    body, at = function.place(pick)
    old = body[at]
    reraise = ast.ExceptHandler(_load("BaseException"), None, [ast.Raise()])
    swallow = ast.ExceptHandler(_load("AttributeError"), "e" if pick.random() < 0.5 else None, [ast.Pass()])
    body[at] = pick.choice(
        (
            lambda: ast.If(ast.Constant(True), [old], []),
            lambda: ast.While(ast.Constant(True), [old, ast.Break()], []),
            lambda: ast.Try([old], [], [], [ast.Pass()]),
            lambda: ast.Try([old], [reraise], [], []),
            lambda: ast.Try([old], [swallow], [], []),
            lambda: ast.Try([ast.Pass()], [swallow], [old], []),
            lambda: ast.Try([ast.Pass()], [], [], [old]),
            lambda: ast.For(ast.Name("__temp_9", ast.Store()), ast.Tuple([ast.Constant(0)], ast.Load()), [old], []),
        )
    )()
    return True


def else_or_after(function: Function, pick: random.Random) -> bool:
    """What stands in an ``else`` goes after the statement, or what is there goes into an ``else``."""
    body, at = function.place(pick)
    statement = body[at]
    orelse = getattr(statement, "orelse", None)
    if not isinstance(orelse, list):
        return False
    if orelse:
        body[at + 1 : at + 1] = orelse
        statement.orelse = []  # type: ignore[attr-defined]
        return True
    if at + 1 == len(body):
        return False
    if isinstance(statement, ast.Try) and not statement.handlers:
        return False
    statement.orelse = [body.pop(at + 1)]  # type: ignore[attr-defined]
    return True


def negate(function: Function, pick: random.Random) -> bool:
    tests = [n for n in ast.walk(function.node) if isinstance(n, (ast.If, ast.While, ast.IfExp))]
    if not tests:
        return False
    node = pick.choice(tests)
    node.test = ast.UnaryOp(ast.Not(), node.test)
    if pick.random() < 0.7 and not isinstance(node, ast.While):
        if isinstance(node, ast.IfExp):
            node.body, node.orelse = node.orelse, node.body
        else:
            node.body, node.orelse = node.orelse or [ast.Pass()], node.body
    return True


def wrap_expression(function: Function, pick: random.Random) -> bool:
    entries = function.expressions()
    if not entries:
        return False
    parent, field, index, node = pick.choice(entries)
    other = copy.deepcopy(pick.choice(entries)[3])
    wrapped: ast.expr = pick.choice(
        (
            lambda: ast.UnaryOp(ast.Not(), ast.UnaryOp(ast.Not(), node)),
            lambda: ast.Subscript(ast.Tuple([node], ast.Load()), ast.Constant(0), ast.Load()),
            lambda: ast.Subscript(ast.List([node], ast.Load()), ast.Constant(0), ast.Load()),
            lambda: ast.IfExp(ast.Constant(True), node, other),
            lambda: ast.IfExp(other, node, copy.deepcopy(node)),
            lambda: ast.BoolOp(ast.Or(), [node, copy.deepcopy(node)]),
            lambda: ast.BoolOp(ast.And(), [node, node]),
            lambda: ast.BoolOp(ast.Or(), [node, other]),
            lambda: ast.NamedExpr(ast.Name(function.temporary(pick), ast.Store()), node),
            lambda: ast.Call(_load("bool"), [node], []),
            lambda: ast.BinOp(node, ast.Add(), ast.Constant(0)),
        )
    )()
    _put(parent, field, index, wrapped)
    return True


def other_expression(function: Function, pick: random.Random) -> bool:
    entries = function.expressions()
    if len(entries) < 2:
        return False
    first, second = pick.sample(entries, 2)
    _put(*first[:3], copy.deepcopy(second[3]))
    return True


def other_constant(function: Function, pick: random.Random) -> bool:
    """A constant that is equal, or nearly."""
    constants = [n for n in ast.walk(function.node) if isinstance(n, ast.Constant)]
    if not constants:
        return False
    node = pick.choice(constants)
    value = node.value
    if isinstance(value, bool):
        node.value = int(value)
    elif isinstance(value, int):
        node.value = pick.choice(
            (float(value) if abs(value) < 1 << 50 else value + 1, value + 1, bool(value), -value, complex(value % 97))
        )
    elif isinstance(value, float):
        node.value = pick.choice((-value, complex(value), value + 1))
    elif isinstance(value, str):
        node.value = pick.choice((value + " ", value.encode(), value[:-1], None))
    else:
        node.value = pick.choice((None, False, 0, "", ...))
    return True


def leave(function: Function, pick: random.Random) -> bool:
    """Another way out at some place."""
    body, at = function.place(pick)
    new: ast.stmt = pick.choice(
        (
            lambda: ast.Return(None),
            lambda: ast.Return(ast.Constant(None)),
            lambda: ast.Break(),
            lambda: ast.Continue(),
            lambda: ast.Raise(),
            lambda: ast.Pass(),
            lambda: ast.Return(_load(pick.choice(function.names() or ["x"]))),
        )
    )()
    if isinstance(body[at], (ast.Return, ast.Break, ast.Continue, ast.Raise)) and pick.random() < 0.7:
        body[at] = new
    else:
        body.insert(at + pick.randrange(2), new)
    return True


def handler_details(function: Function, pick: random.Random) -> bool:
    tries = [n for n in ast.walk(function.node) if isinstance(n, ast.Try) and n.handlers]
    if not tries:
        return False
    node = pick.choice(tries)
    at = pick.randrange(len(node.handlers))
    roll = pick.random()
    if roll < 0.25 and len(node.handlers) > 1:
        node.handlers.insert(0, node.handlers.pop())
    elif roll < 0.5:
        node.handlers[at].name = None if node.handlers[at].name else "e"
    elif roll < 0.75:
        node.handlers[at].body.append(ast.Raise())
    else:
        node.finalbody.append(copy.deepcopy(node.handlers[at].body[0]))
    return True


def with_details(function: Function, pick: random.Random) -> bool:
    withs = [n for n in ast.walk(function.node) if isinstance(n, ast.With)]
    if not withs:
        return False
    node = pick.choice(withs)
    if len(node.items) > 1:
        inner = ast.With(node.items[1:], node.body)
        node.items, node.body = node.items[:1], [inner]
    elif node.items[0].optional_vars is None:
        node.items[0].optional_vars = ast.Name(function.temporary(pick), ast.Store())
    else:
        target = node.items[0].optional_vars
        if not isinstance(target, ast.Name):
            return False
        name = function.temporary(pick)
        node.items[0].optional_vars = ast.Name(name, ast.Store())
        node.body.insert(0, ast.Assign([target], _load(name)))
    return True


def assignment(function: Function, pick: random.Random) -> bool:
    """``a = b = c`` apart, ``a, b = c, d`` apart, augmented assignments spelled out."""
    body, at = function.place(pick)
    statement = body[at]
    if isinstance(statement, ast.AugAssign):
        target = copy.deepcopy(statement.target)
        target.ctx = ast.Load()
        body[at] = ast.Assign([statement.target], ast.BinOp(target, statement.op, statement.value))
        return True
    if not isinstance(statement, ast.Assign):
        return False
    if len(statement.targets) > 1:
        if pick.random() < 0.5:
            statement.targets.reverse()
        else:
            body.insert(at + 1, ast.Assign(statement.targets[1:], copy.deepcopy(statement.value)))
            del statement.targets[1:]
        return True
    target, value = statement.targets[0], statement.value
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
        body[at : at + 1] = [ast.Assign([t], v) for t, v in zip(target.elts, value.elts)]
        return True
    name = function.temporary(pick)
    body[at : at + 1] = [
        _store(name, value),
        ast.Assign([target], _load(name)),
        *([_delete(name)] * (pick.random() < 0.6)),
    ]
    return True


def listed_edit(function: Function, pick: random.Random) -> bool:
    """One of the edits that are known to change the meaning."""
    kinds = {**EDITS, **STRUCTURE_EDITS}
    nodes = list(ast.walk(function.node))
    for _ in range(30):
        possible = list(kinds[pick.choice(sorted(kinds))](pick.choice(nodes)))
        if possible:
            pick.choice(possible)()
            return True
    return False


MUTATIONS: tuple[Mutation, ...] = (
    hoist, hoist, hoist, hoist_two, hoist_two, inline, inline, swap_statements, drop_statement, twice, move_in, move_in, move_out, move_out,
    delete_name, copy_name, read_name, other_name, wrap_statement, wrap_statement, else_or_after, else_or_after, negate, wrap_expression,
    wrap_expression, other_expression, other_constant, leave, handler_details, with_details, assignment, assignment, listed_edit,
)  # fmt: skip


def mutated(tree: ast.Module, pick: random.Random) -> tuple[str, ast.Module]:
    """The names of one or two mutations, and a copy of ``tree``, the last statement of which is edited so."""
    edited = copy.deepcopy(tree)
    node = edited.body[-1]
    assert isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
    wanted = 2 if pick.random() < 0.15 else 1
    names: list[str] = []
    for _ in range(60):
        mutation = pick.choice(MUTATIONS)
        if mutation(Function(node), pick):
            names.append(mutation.__name__)
            if len(names) == wanted:
                break
    return "+".join(names), edited
