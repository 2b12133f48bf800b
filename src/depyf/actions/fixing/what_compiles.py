"""Which expression of a file compiles a function: ``torch.compile``, or a short name that the file gives it.

Input: a ``Tree``.  Output: nodes.  A short name is a function that does nothing but return what it compiles, or a
``functools.partial``; anything longer may do more, and is none.
"""

from __future__ import annotations

import functools

import libcst as cst

from depyf.actions.fixing.edit_case import Tree, dotted, keyword

_COMPILE = "torch.compile"


def compiled_by(tree: Tree, call: cst.Call) -> cst.BaseExpression | None:
    """The function that a call compiles: ``f`` of ``torch.compile(f)`` and of ``torch.compile(mode=m)(f)``; None where
    it is no such call."""
    if isinstance(call.func, cst.Call) and is_compile(tree, call.func.func) and not _first(call.func):
        return _first(call)
    return _first(call) if is_compile(tree, call.func) else None


def is_compile(tree: Tree, node: cst.BaseExpression) -> bool:
    """Whether what is called is ``torch.compile``, or a short name for it."""
    name = dotted(node)
    return name == _COMPILE or (name != "" and name in short_names(tree))


def compiles_below(tree: Tree, decorator: cst.Decorator) -> bool:
    """Whether a decorator compiles the function below it."""
    made = decorator.decorator
    if isinstance(made, cst.Call):
        return is_compile(tree, made.func) and not _first(made)
    return is_compile(tree, made)


@functools.lru_cache(maxsize=8)
def short_names(tree: Tree) -> frozenset[str]:
    """The names that the file gives ``torch.compile``."""
    found: set[str] = set()
    bound = [node.value for node in tree.stores()]
    for function in tree.nodes(cst.FunctionDef):
        made = _only_value(function)
        params = [*function.params.posonly_params, *function.params.params]
        if made is not None and params and dotted(made.func) == _COMPILE:
            given = _first(made)
            if isinstance(given, cst.Name) and given.value == params[0].name.value and not function.decorators:
                found.add(function.name.value)
    for assign in tree.nodes(cst.Assign):
        made = assign.value if isinstance(assign.value, cst.Call) else None
        if made is not None and dotted(made.func).rpartition(".")[2] == "partial" and len(assign.targets) == 1:
            plain = [arg for arg in made.args if arg.keyword is None]
            if len(plain) == 1 and not plain[0].star and dotted(plain[0].value) == _COMPILE:
                found.add(dotted(assign.targets[0].target))
    for alias in tree.nodes(cst.ImportFrom):
        if alias.module is not None and dotted(alias.module) == "torch" and not isinstance(alias.names, cst.ImportStar):
            found |= {_bound(one) for one in alias.names if dotted(one.name) == "compile"}
    return frozenset(name for name in found if bound.count(name) == 1)


def _bound(alias: cst.ImportAlias) -> str:
    return dotted(alias.asname.name) if alias.asname is not None else dotted(alias.name)


def _only_value(function: cst.FunctionDef) -> cst.Call | None:
    """The call that is all a function does."""
    lines = function.body.body
    if isinstance(lines[0], cst.SimpleStatementLine) and isinstance(lines[0].body[0], cst.Expr):
        if isinstance(lines[0].body[0].value, cst.SimpleString):  # its docstring
            lines = lines[1:]
    if len(lines) != 1:
        return None
    small = lines[0].body[0] if isinstance(lines[0], cst.SimpleStatementLine) and len(lines[0].body) == 1 else lines[0]
    return small.value if isinstance(small, cst.Return) and isinstance(small.value, cst.Call) else None


def _first(call: cst.Call) -> cst.BaseExpression | None:
    """The first argument, or the one called ``model``."""
    plain = [arg for arg in call.args if arg.keyword is None and not arg.star]
    given = plain[0] if plain else keyword(call, "model")
    return given.value if given is not None else None
