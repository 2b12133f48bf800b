"""Edits of where a number is kept: in a module, or in an optimizer.

Input: an ``EditCase``.  Output: path -> new text; {} where the number is not kept in one place.
"""

from __future__ import annotations

import ast

import libcst as cst

from depyf.actions.fixing.edit_case import Change, EditCase, dotted, keyword

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
    """Pass ``lr=torch.tensor(...)`` to the only optimizer that gets a number."""
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
    return {path: tree.changed({given: lambda updated: updated.with_changes(value=new)})}
