"""Edits of the line at which a graph breaks.

Input: an ``EditCase``.  Output: path -> new text; {} where the line is not of the form that has one meaning.
"""

from __future__ import annotations

import libcst as cst

from depyf.actions.fixing.edit_case import EditCase, Tree, code_of, dotted

Texts = dict[str, str]
_FLOATING = frozenset("sin cos tanh sigmoid".split())
_ELEMENTWISE = _FLOATING | frozenset("abs neg relu square clamp add sub mul".split())
"""Methods of tensors with a result that is new, has the shape of what they are given, and a derivative that is finite
everywhere: of the way that is not taken torch.where multiplies it by 0."""
_REDUCING = frozenset("sum mean std var prod norm any all argmax".split())
"""Methods of tensors with a result that is new, and is not a view."""
_PURE_METHODS = _ELEMENTWISE | frozenset("tan exp log sqrt rsqrt max min float double unsqueeze squeeze".split()).union(
    _REDUCING
)
"""Methods of tensors that only compute: a condition may call them."""
_PURE_FUNCTIONS = frozenset(f"torch.{name}" for name in _PURE_METHODS)


def _tree_at(case: EditCase) -> Tree | None:
    place = case.cause.place
    return case.tree(place.filename) if place is not None else None


def unused_number(case: EditCase) -> Texts:
    """Remove a statement that reads a number and does not use it."""
    tree, place = _tree_at(case), case.cause.place
    if tree is None or place is None:
        return {}
    for line in tree.nodes(cst.SimpleStatementLine, place.line):
        if len(line.body) != 1 or not isinstance(line.body[0], cst.Expr) or not _read_of(line.body[0].value):
            continue
        return _removed(case, tree, line)
    return {}


def no_graph_break(case: EditCase) -> Texts:
    """Remove the call of ``torch._dynamo.graph_break()``."""
    tree, place = _tree_at(case), case.cause.place
    if tree is None or place is None:
        return {}
    for line in tree.nodes(cst.SimpleStatementLine, place.line):
        first = line.body[0]
        if len(line.body) == 1 and isinstance(first, cst.Expr) and isinstance(first.value, cst.Call):
            if dotted(first.value.func).endswith("_dynamo.graph_break"):
                return _removed(case, tree, line)
    return {}


def _removed(case: EditCase, tree: Tree, line: cst.SimpleStatementLine) -> Texts:
    place = case.cause.place
    parent = next(tree.parents(line), None)
    if place is None or not isinstance(parent, (cst.IndentedBlock, cst.Module)):
        return {}
    if len(parent.body) == 1:
        return {place.filename: tree.changed({line: lambda updated: updated.with_changes(body=[cst.Pass()])})}
    return {place.filename: tree.changed({line: lambda _: cst.RemoveFromParent()})}


def _read_of(node: cst.BaseExpression) -> cst.BaseExpression | None:
    """The tensor of which ``x.item()``, ``x.tolist()`` read a number, where ``x`` only computes."""
    if isinstance(node, cst.Call) and not node.args and isinstance(node.func, cst.Attribute):
        if node.func.attr.value in ("item", "tolist") and _pure(node.func.value):
            return node.func.value
    return None


def keep_tensor(case: EditCase) -> Texts:
    """Replace ``x.item()`` by ``x.detach().clone()``: the same value as a tensor without a gradient.  A fresh result is
    not cloned, because nothing else can write to it."""
    tree, place = _tree_at(case), case.cause.place
    if tree is None or place is None:
        return {}
    reads = [
        node
        for node in tree.around(place.line, cst.Call)
        if not node.args and isinstance(node.func, cst.Attribute) and node.func.attr.value == "item"
        and tree.line(node) == place.line
    ]  # fmt: skip
    if len(reads) != 1 or tree.inside(reads[0], cst.FormattedString, cst.Assert, cst.Comparison, cst.If, cst.While):
        return {}
    owner = reads[0].func
    assert isinstance(owner, cst.Attribute)
    copied = "" if _just_computed(owner.value) else ".clone()"
    new = cst.parse_expression(f"{code_of(owner.value)}.detach(){copied}")
    return {place.filename: tree.changed({reads[0]: lambda _: new})}


def _just_computed(node: cst.BaseExpression) -> bool:
    """Whether it is the result of a method, or a function of torch, that makes a new tensor.

    What a name stands for may be no tensor, and have methods of these names: reductions without tensors as arguments
    are taken for what they say."""
    if not isinstance(node, cst.Call) or not isinstance(node.func, cst.Attribute):
        return False
    name, owner = node.func.attr.value, node.func.value
    if dotted(owner) == "torch" or isinstance(owner, (cst.Comparison, cst.BinaryOperation)):
        return name in _REDUCING | _ELEMENTWISE
    return name in _REDUCING - {"norm"} and dotted(owner) not in ("self", "cls")


def no_disable(case: EditCase) -> Texts:
    """Remove the decorator ``torch.compiler.disable``."""
    name = case.use.value("function").rpartition(".")[2]
    for path in case.texts:
        tree = case.tree(path)
        defs = [node for node in tree.nodes(cst.FunctionDef) if node.name.value == name] if tree is not None else []
        marks = [
            mark
            for node in defs
            for mark in node.decorators
            if dotted(mark.decorator) in ("torch.compiler.disable", "torch._dynamo.disable")
        ]
        if tree is not None and len(defs) == len(marks) == 1:
            return {path: tree.changed({marks[0]: lambda _: cst.RemoveFromParent()})}
    return {}


def branchless(case: EditCase) -> Texts:
    """Replace a branch that only computes one value in both ways by ``torch.where``."""
    tree, place = _tree_at(case), case.cause.place
    if tree is None or place is None or "torch" not in tree.names():
        return {}
    for node in tree.nodes(cst.If, place.line):
        test = node.test
        read = _read_of(test) if isinstance(test, cst.Call) else None
        if isinstance(test, cst.Comparison) and (of := _read_of(test.left)) is not None:
            test = test.with_changes(left=of)
        condition = read if read is not None else test
        made = _assigned_both_ways(tree, node, condition) if _pure(condition) else None
        if made is not None:
            return {place.filename: made}
    return {}


def _assigned_both_ways(tree: Tree, node: cst.If, condition: cst.BaseExpression) -> str | None:
    first = _one_value(node.body)
    parent = next(tree.parents(node), None)
    if first is None or isinstance(parent, cst.If) or not isinstance(parent, (cst.IndentedBlock, cst.Module)):
        return None
    follow, stays = None, False
    if isinstance(node.orelse, cst.Else):
        second = _one_value(node.orelse.body)
    elif node.orelse is None and first[0] == "return":
        after = parent.body[parent.body.index(node) + 1 :]
        follow = after[0] if len(after) == 1 and isinstance(after[0], cst.SimpleStatementLine) else None
        second = _value_of(follow) if follow is not None else None
    elif node.orelse is None and first[0]:
        second, stays = (first[0], cst.Name(first[0])), True
        if not _assigned_before(parent, node, first[0]):
            return None
    else:
        second = None
    if second is None or first[0] != second[0] or not _alike(first[1], second[1], stays):
        return None
    chosen = f"torch.where({code_of(condition)}, {code_of(first[1])}, {code_of(second[1])})"
    line = cst.parse_statement(f"return {chosen}" if first[0] == "return" else f"{first[0]} = {chosen}")
    assert isinstance(line, cst.SimpleStatementLine)
    comments = [
        cst.EmptyLine(comment=one) for one in _comments(node) + (_comments(follow) if follow is not None else [])
    ]
    changes = {node: lambda updated: line.with_changes(leading_lines=[*updated.leading_lines, *comments])}
    if follow is not None:
        changes[follow] = lambda _: cst.RemoveFromParent()  # type: ignore[index,assignment,return-value]
    return tree.changed(changes)  # type: ignore[arg-type]


def _comments(node: cst.CSTNode) -> list[cst.Comment]:
    """The comments inside a statement, without the lines above it."""
    above = {id(line.comment) for line in getattr(node, "leading_lines", ())}
    found: list[cst.Comment] = []

    def walk(at: cst.CSTNode) -> None:
        if isinstance(at, cst.Comment) and id(at) not in above:
            found.append(at)
        for child in at.children:
            walk(child)

    walk(node)
    return found


def _assigned_before(parent: cst.CSTNode, node: cst.If, name: str) -> bool:
    """Whether the name has a value that is only there: a statement of the same body computes it."""
    assert isinstance(parent, (cst.IndentedBlock, cst.Module))
    new = False
    for line in parent.body[: list(parent.body).index(node)]:
        found = _value_of(line) if isinstance(line, cst.SimpleStatementLine) else None
        if found is not None and found[0] == name:
            new = _new(found[1])
        elif name in map(dotted, _below(line, cst.Name)):  # it may have another name now
            new = new and found is not None and _new(found[1])
    return new


def _one_value(body: cst.BaseSuite) -> tuple[str, cst.BaseExpression] | None:
    if isinstance(body, cst.IndentedBlock) and len(body.body) == 1:
        line = body.body[0]
        return _value_of(line) if isinstance(line, cst.SimpleStatementLine) else None
    return None


def _value_of(line: cst.SimpleStatementLine) -> tuple[str, cst.BaseExpression] | None:
    """``return`` or the name that is assigned, and the value."""
    if len(line.body) != 1:
        return None
    small = line.body[0]
    if isinstance(small, cst.Return) and small.value is not None:
        return "return", small.value
    if isinstance(small, cst.Assign) and len(small.targets) == 1 and isinstance(small.targets[0].target, cst.Name):
        return small.targets[0].target.value, small.value
    return None


def _alike(one: cst.BaseExpression, other: cst.BaseExpression, stays: bool) -> bool:
    """Whether both ways compute new tensors of one shape and dtype, whichever is taken: element by element, of the same
    names.  ``stays``: the second is the value before, which is new, too."""
    if not _new(one) or not (stays or _new(other)):
        return False
    return _names(one) == _names(other) and (stays or _floating(one) == _floating(other))


def _names(way: cst.BaseExpression) -> set[str]:
    """The names, and dotted names, of values."""
    return {dotted(node) for node in _below(way, cst.Name, cst.Attribute) if _is_value(way, node)}


def _is_value(way: cst.CSTNode, node: cst.CSTNode) -> bool:
    """Whether a name, or a dotted name, is a value: not a part of a longer one, and no method."""
    for parent in _below(way, cst.Attribute):
        if isinstance(parent, cst.Attribute) and node in (parent.value, parent.attr) and dotted(parent):
            return isinstance(node, cst.Name) and node is parent.value and _called(way, parent)
    return not _called(way, node)


def _called(way: cst.CSTNode, node: cst.CSTNode) -> bool:
    return any(isinstance(call, cst.Call) and call.func is node for call in _below(way, cst.Call))


def _below(top: cst.CSTNode, *kinds: type[cst.CSTNode]) -> list[cst.CSTNode]:
    found = [top] if isinstance(top, kinds) else []
    for child in top.children:
        found += _below(child, *kinds)
    return found


def _floating(node: cst.BaseExpression) -> bool:
    calls = (one.func for one in _below(node, cst.Call) if isinstance(one, cst.Call))
    methods = any(isinstance(func, cst.Attribute) and func.attr.value in _FLOATING for func in calls)
    return methods or bool(_below(node, cst.Float))


def _new(node: cst.BaseExpression) -> bool:
    """Whether an expression computes a new tensor element by element, so far as it has tensors."""
    if isinstance(node, cst.UnaryOperation):
        return isinstance(node.operator, cst.Minus) and (_new(node.expression) or bool(dotted(node.expression)))
    if isinstance(node, cst.BinaryOperation):
        parts = (node.left, node.right)
        plain = isinstance(node.operator, (cst.Add, cst.Subtract, cst.Multiply))
        return (
            plain
            and all(_new(one) or bool(dotted(one)) or _number(one) for one in parts)
            and not all(map(_number, parts))
        )
    if isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute) and node.func.attr.value in _ELEMENTWISE:
        owner = node.func.value
        given = [arg.value for arg in node.args if not arg.star]
        values = given if dotted(owner) == "torch" else [owner, *given]
        return len(given) == len(node.args) and all(_new(one) or bool(dotted(one)) or _number(one) for one in values)
    return False


def _number(node: cst.BaseExpression) -> bool:
    return isinstance(node, (cst.Integer, cst.Float))


def _pure(node: cst.BaseExpression) -> bool:
    """Whether an expression only computes, with tensors and numbers."""
    if isinstance(node, (cst.Name, cst.Integer, cst.Float)):
        return True
    if isinstance(node, cst.Attribute):
        return bool(dotted(node))
    if isinstance(node, cst.UnaryOperation):
        return not isinstance(node.operator, cst.Not) and _pure(node.expression)
    if isinstance(node, cst.BinaryOperation):
        return _pure(node.left) and _pure(node.right)
    if isinstance(node, cst.Comparison):
        if len(node.comparisons) != 1 or not _pure(node.left):
            return False
        second = node.comparisons[0]
        return _pure(second.comparator) and not isinstance(second.operator, (cst.Is, cst.IsNot, cst.In, cst.NotIn))
    if isinstance(node, cst.Call):
        known = dotted(node.func) in _PURE_FUNCTIONS or (
            isinstance(node.func, cst.Attribute) and node.func.attr.value in _PURE_METHODS and _pure(node.func.value)
        )
        return known and all(not arg.star and _pure(arg.value) for arg in node.args)
    return False
