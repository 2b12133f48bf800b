"""A function of the script that is compiled, and all of its calls: an edit of both sides must miss none.

Input: an ``EditCase``.  Output: ``EveryCall``; None where the text does not show every use of the function.  Only the
script itself is looked at, as other files cannot import what is in it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import libcst as cst

from depyf.actions.fixing.edit_case import EditCase, Tree, keyword
from depyf.actions.fixing.what_compiles import compiled_by, compiles_below

_SCOPES = (cst.FunctionDef, cst.ClassDef, cst.Lambda)


@dataclass(frozen=True, slots=True)
class EveryCall:
    """A function and all its calls in the file."""

    path: str
    tree: Tree
    function: cst.FunctionDef | cst.Lambda
    calls: tuple[cst.Call, ...]

    @property
    def body(self) -> tuple[cst.BaseStatement, ...]:
        """Its statements; none in a lambda."""
        body = self.function.body
        return tuple(body.body) if isinstance(body, cst.IndentedBlock) else ()

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names of the positional parameters, in order."""
        params = self.function.params
        return tuple(one.name.value for one in (*params.posonly_params, *params.params))

    def returns(self) -> list[cst.Return]:
        return [node for node in self.within(cst.Return) if isinstance(node, cst.Return)]

    def within(self, *kinds: type[cst.CSTNode]) -> list[cst.CSTNode]:
        """The nodes of the function's own body, without those of functions in it."""
        found: list[cst.CSTNode] = []

        def walk(node: cst.CSTNode) -> None:
            for child in node.children:
                if isinstance(child, kinds):
                    found.append(child)
                if not isinstance(child, _SCOPES):
                    walk(child)

        if isinstance(self.function.body, kinds):  # of a lambda
            found.append(self.function.body)
        walk(self.function.body)
        return found

    def argument(self, call: cst.Call, parameter: str) -> cst.BaseExpression | None:
        """The expression that a call passes for ``parameter``; None where it passes none."""
        given = keyword(call, parameter)
        if given is not None:
            return given.value
        plain = [arg for arg in call.args if arg.keyword is None]
        index = self.parameters.index(parameter) if parameter in self.parameters else len(plain)
        if any(arg.star for arg in call.args) or index >= len(plain):
            return None
        return plain[index].value


def every_call(case: EditCase) -> EveryCall | None:
    """The function that the cause is about, with all its calls.  None where it is not one function in the main file, or
    where it may be called in another way."""
    codes = {function.code for function in case.whole_functions}
    tree = case.tree(case.main)
    if len(codes) != 1 or tree is None:
        return None
    code = codes.pop()
    if code.filename != case.main:
        return None
    if code.name == "<lambda>":
        lambdas = tree.nodes(cst.Lambda, code.line)
        calls = _calls_of_use(tree, lambdas[0]) if len(lambdas) == 1 else None
        return EveryCall(case.main, tree, lambdas[0], tuple(calls)) if calls else None
    defined = [node for node in tree.nodes(cst.FunctionDef) if node.name.value == code.name]
    if len(defined) != 1:
        return None
    (function,) = defined
    first = tree.line(function.decorators[0]) if function.decorators else tree.line(function)
    if code.line not in (first, tree.line(function)) or not _plain(tree, function):
        return None
    calls = _all_calls(tree, function)
    if not calls or any(function in tree.parents(call) for call in calls):
        return None
    return EveryCall(case.main, tree, function, tuple(calls))


def _plain(tree: Tree, function: cst.FunctionDef) -> bool:
    """No method, no generator, nothing asynchronous, and no decorator but torch.compile."""
    if function.asynchronous is not None or not isinstance(function.body, cst.IndentedBlock):
        return False
    if isinstance(next(iter(list(tree.parents(function))[1:]), None), cst.ClassDef):
        return False
    if any(isinstance(node, (cst.Yield, cst.Await)) for node in below(function.body)):
        return False
    return len(function.decorators) <= 1 and all(compiles_below(tree, one) for one in function.decorators)


def _all_calls(tree: Tree, function: cst.FunctionDef) -> list[cst.Call]:
    """[] where the function, or what is compiled of it, is used in another way."""
    name = function.name.value
    compiled = bool(function.decorators)
    if _bindings(tree, name) != 1:
        return []
    calls: list[cst.Call] = []
    for node in tree.loads(name):
        parent = next(tree.parents(node))
        if compiled and isinstance(parent, cst.Call) and parent.func is node:
            calls.append(parent)
            continue
        found = None if compiled else _calls_of_use(tree, node)
        if found is None:
            return []
        calls += found
    return calls


def _calls_of_use(tree: Tree, node: cst.CSTNode) -> list[cst.Call] | None:
    """The calls of what is compiled of a function, where ``node`` is the function; None where it is used otherwise."""
    parents = list(tree.parents(node))
    made = parents[1] if len(parents) > 1 else None
    if not isinstance(made, cst.Call) or compiled_by(tree, made) is not node:
        return None
    around = parents[2]
    if isinstance(around, cst.Call) and around.func is made:  # torch.compile(f)(x)
        return [around]
    return (_calls_of_name(tree, around) or None) if isinstance(around, cst.Assign) else None


def _calls_of_name(tree: Tree, assign: cst.Assign) -> list[cst.Call]:
    """The calls of what is assigned, where it is only called."""
    if len(assign.targets) != 1 or not isinstance(assign.targets[0].target, cst.Name):
        return []
    name = assign.targets[0].target.value
    if _bindings(tree, name) != 1:
        return []
    parents = [(node, next(tree.parents(node))) for node in tree.loads(name)]
    calls = [parent for node, parent in parents if isinstance(parent, cst.Call) and parent.func is node]
    return calls if len(calls) == len(parents) else []


def _bindings(tree: Tree, name: str) -> int:
    """How often a name is bound, in any scope."""
    return sum(node.value == name for node in tree.stores())


def below(top: cst.CSTNode) -> Iterator[cst.CSTNode]:
    for child in top.children:
        yield child
        yield from below(child)


def scope_of(tree: Tree, node: cst.CSTNode) -> cst.CSTNode:
    """The function, class or module to which a variable at a node belongs; the name of a function is outside of it."""
    around = list(tree.parents(node))
    for parent in around:
        if isinstance(parent, (*_SCOPES, cst.CompFor, cst.BaseComp)):
            named = isinstance(parent, (cst.FunctionDef, cst.ClassDef)) and parent.name is node
            if not named:
                return parent
    return around[-1] if around else node
