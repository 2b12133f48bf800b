"""Edits of where a number is kept: in a module, or in an optimizer.

Input: an ``EditCase``.  Output: path -> new text; {} where the number is not kept in one place.
"""

from __future__ import annotations

import ast

import libcst as cst

from depyf.actions.fixing.edit_case import Change, EditCase, Tree, dotted, keyword

Texts = dict[str, str]


def tensor_in_module(case: EditCase) -> Texts:
    """Make a number in a module a non-persistent buffer: the ``state_dict`` stays the same."""
    attribute = case.use.value("name").rpartition(".")[2]
    place = case.cause.place
    tree = case.tree(place.filename) if place is not None else None
    if tree is None or place is None or not attribute.isidentifier():
        return {}
    classes = tree.around(place.line, cst.ClassDef)
    inits = [
        node
        for found in classes[:1]
        for node in found.body.body
        if isinstance(node, cst.FunctionDef) and node.name.value == "__init__"
    ]
    lines = []
    for line in tree.nodes(cst.SimpleStatementLine):
        small = line.body[0]
        if isinstance(small, cst.Assign) and any(dotted(one.target) == f"self.{attribute}" for one in small.targets):
            if inits and inits[0] in tree.parents(line):
                lines.append((line, small))
    if len(lines) != 1 or len(lines[0][1].targets) != 1 or len(lines[0][0].body) != 1:
        return {}
    line, small = lines[0]
    try:
        value = ast.literal_eval(tree.module.code_for_node(small.value))
    except (ValueError, SyntaxError):
        return {}
    if type(value) not in (int, float):
        return {}
    dtype = "" if type(value) is int else ", dtype=torch.float64"
    text = f'self.register_buffer("{attribute}", torch.tensor({value!r}{dtype}), persistent=False)'
    new = cst.parse_statement(text)
    assert isinstance(new, cst.SimpleStatementLine)
    change: Change = lambda updated: new.with_changes(  # noqa: E731
        leading_lines=updated.leading_lines,  # type: ignore[attr-defined]
        trailing_whitespace=updated.trailing_whitespace,  # type: ignore[attr-defined]
    )
    return {place.filename: tree.changed({line: change})}


def tensor_learning_rate(case: EditCase) -> Texts:
    """Pass ``lr=torch.tensor(...)`` to the only optimizer that gets a number, and write later rates into it."""
    found = []
    for path in case.texts:
        tree = case.tree(path)
        for node in tree.nodes(cst.Call) if tree is not None else ():
            name = dotted(node.func)
            given = keyword(node, "lr")
            if given is not None and "optim." in f"{name}." and "lr_scheduler" not in name:
                if isinstance(given.value, (cst.Float, cst.Integer, cst.Name)):
                    found.append((path, given))
    if len(found) != 1:
        return {}
    path, given = found[0]
    tree = case.trees[path]
    new = cst.parse_expression(f"torch.tensor({tree.module.code_for_node(given.value)})")
    changed: dict[str, dict[cst.CSTNode, Change]] = {path: {given: lambda updated: updated.with_changes(value=new)}}
    for other in case.texts:
        known = case.tree(other)
        for assign in known.nodes(cst.Assign) if known is not None else ():
            if known is not None and (target := _rate(known, assign)) is not None:
                changed.setdefault(other, {})[assign] = _filled(target)
    return {path: case.trees[path].changed(made) for path, made in changed.items()}


def _rate(tree: Tree, node: cst.Assign) -> cst.Subscript | None:
    """``group["lr"]`` of ``group["lr"] = value``, where ``group`` is one of some ``param_groups``."""
    target = node.targets[0].target
    if len(node.targets) != 1 or not isinstance(target, cst.Subscript) or len(target.slice) != 1:
        return None
    index = target.slice[0].slice
    key = index.value if isinstance(index, cst.Index) else None
    if not isinstance(key, cst.SimpleString) or key.evaluated_value != "lr":
        return None
    owner = target.value
    if isinstance(owner, cst.Subscript):  # optimizer.param_groups[0]
        return target if _is_groups(owner.value) else None
    loops = [loop for loop in tree.parents(node) if isinstance(loop, cst.For)]
    of_groups = [loop for loop in loops if dotted(owner) in _targets(loop) and _is_groups(loop.iter)]
    return target if of_groups else None


def _is_groups(node: cst.BaseExpression) -> bool:
    """Whether it is ``optimizer.param_groups``, or ``enumerate`` of it."""
    if isinstance(node, cst.Call) and dotted(node.func) == "enumerate" and node.args:
        node = node.args[0].value
    return isinstance(node, cst.Attribute) and node.attr.value == "param_groups"


def _targets(loop: cst.For) -> set[str]:
    parts = [one.value for one in loop.target.elements] if isinstance(loop.target, cst.Tuple) else [loop.target]
    return {dotted(part) for part in parts} - {""}


def _filled(target: cst.Subscript) -> Change:
    """``group["lr"].fill_(value)``: the same tensor, so that no guard fails."""

    def change(updated: cst.CSTNode) -> cst.CSTNode:
        assert isinstance(updated, cst.Assign)
        return cst.Expr(cst.Call(cst.Attribute(target, cst.Name("fill_")), [cst.Arg(updated.value)]))

    return change
