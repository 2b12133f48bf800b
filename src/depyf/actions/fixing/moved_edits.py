"""Edits that move something out of a compiled function: to its calls, all of which are known.

Input: an ``EditCase``.  Output: path -> new text; {} where a use of the function may be missed, or where what is moved
needs something that is not there at each call.
"""

from __future__ import annotations

import builtins

import libcst as cst

from depyf.actions.fixing.edit_case import (
    Change,
    EditCase,
    Tree,
    code_of,
    dotted,
    evaluated_first,
    new_name,
    statement_of,
    target_of,
    with_argument,
)
from depyf.actions.fixing.every_call import EveryCall, below, every_call, scope_of

Texts = dict[str, str]
_SUITES = (cst.IndentedBlock, cst.Module)


def read_after(case: EditCase) -> Texts:
    """Return the tensor in place of ``x.item()``, and read the number at each call."""
    known, place = every_call(case), case.cause.place
    returns = known.returns() if known is not None else []
    if known is None or place is None or len(returns) != 1 or known.tree.line(returns[0]) != place.line:
        return {}
    value = returns[0].value
    parts = [one.value for one in value.elements] if isinstance(value, cst.Tuple) else [value]
    read = {number: part for number, part in enumerate(parts) if part is not None and _is_read(part)}
    if not read:
        return {}
    changes: dict[cst.CSTNode, Change] = {}
    for part in read.values():
        assert isinstance(part, cst.Call) and isinstance(part.func, cst.Attribute)
        changes[part] = lambda _, new=part.func.value: new  # type: ignore[misc]
    for call in known.calls:
        if not isinstance(value, cst.Tuple):
            changes[call] = lambda updated: cst.Call(cst.Attribute(updated, cst.Name("item")))  # type: ignore[arg-type]
            continue
        line, targets = _unpacked(known.tree, call, len(parts))
        if line is None:
            return {}
        names = [targets[number] for number in read if number < len(targets)]
        if not all(names):
            return {}
        new = [statement_of(f"{name} = {name}.item()") for name in names if name != "_"]
        changes[line] = lambda updated, new=new: cst.FlattenSentinel([updated, *new])  # type: ignore[misc]
    return {known.path: known.tree.changed(changes)}


def _is_read(node: cst.BaseExpression) -> bool:
    return (
        isinstance(node, cst.Call) and not node.args and isinstance(node.func, cst.Attribute)
        and node.func.attr.value == "item"
    )  # fmt: skip


def _unpacked(tree: Tree, call: cst.Call, count: int) -> tuple[cst.SimpleStatementLine | None, list[str]]:
    """The statement that is ``a, b = CALL`` or ``CALL`` alone, and the targets; None where the call is in another."""
    line = tree.statement(call)
    if line is None or len(line.body) != 1 or not isinstance(next(tree.parents(line)), _SUITES):
        return None, []
    small = line.body[0]
    if isinstance(small, cst.Expr) and small.value is call:
        return line, []
    if not isinstance(small, cst.Assign) or small.value is not call or len(small.targets) != 1:
        return None, []
    target = small.targets[0].target
    parts = [one.value for one in target.elements] if isinstance(target, cst.Tuple) else [target]
    starred = isinstance(target, cst.Tuple) and any(isinstance(one, cst.StarredElement) for one in target.elements)
    names = [] if starred else [dotted(part) for part in parts]
    return (line, names) if len(names) == len(set(names)) == count else (None, [])


def report_after(case: EditCase) -> Texts:
    """Move a statement that only prints, logs or appends after each call.  Its message then follows the rest of the
    function, and is missing where that raises an error."""
    known, place = every_call(case), case.cause.place
    if known is None or place is None:
        return {}
    moved = _reports(known, place.line)
    if case.use.id == "store-tensor" and not all(_appends(known.tree, one) for one in moved[-1:]):
        return {}
    returned = _returned(known, moved) if moved else None
    if returned is None or len(moved) == len(known.body):
        return {}
    extra = _needed(known, moved, returned)
    if extra is None:
        return {}
    changes: dict[cst.CSTNode, Change] = dict.fromkeys(moved, lambda _: cst.RemoveFromParent())
    if extra:
        changes[known.returns()[0]] = lambda updated: _with_values(updated, extra)
    for call in known.calls:
        new = _reported_after(known, moved, call, returned, extra)
        if new is None:
            return {}
        line, lines = new
        changes[line] = lambda _, lines=lines: cst.FlattenSentinel(lines)  # type: ignore[misc]
    return {known.path: known.tree.changed(changes)}


def _needed(known: EveryCall, moved: list[cst.SimpleStatementLine], returned: list[str]) -> list[str] | None:
    """The variables of the function that the moved statements read and that it does not return; None where it cannot
    return them."""
    tree = known.tree
    own = {node.value for one in moved for node in tree.stores(one)}
    inner = {node.value for node in tree.stores(known.function.body)} - own - set(returned)
    read = {node.value for one in moved for node in below(one) if isinstance(node, cst.Name)}
    extra = sorted(read & inner)
    after = [one for one in known.body[known.body.index(moved[0]) + 1 :] if one not in moved]
    if extra and (not returned or set(extra) & _may_change(known, after)):
        return None
    return extra


def _with_values(updated: cst.CSTNode, names: list[str]) -> cst.Return:
    """A return statement that returns variables, too."""
    assert isinstance(updated, cst.Return) and updated.value is not None
    whole = updated.value if isinstance(updated.value, cst.Tuple) else None
    old: list[cst.BaseElement] = list(whole.elements) if whole is not None else [cst.Element(updated.value)]
    comma = cst.Comma(whitespace_after=cst.SimpleWhitespace(" "))
    old[-1] = old[-1].with_changes(comma=comma)
    new = [cst.Element(cst.Name(name), comma=comma) for name in names]
    new[-1] = new[-1].with_changes(comma=cst.MaybeSentinel.DEFAULT)
    if whole is not None:
        return updated.with_changes(value=whole.with_changes(elements=[*old, *new]))
    return updated.with_changes(value=cst.Tuple([*old, *new], lpar=[], rpar=[]))


def _reported_after(
    known: EveryCall, moved: list[cst.SimpleStatementLine], call: cst.Call, returned: list[str], extra: list[str]
) -> tuple[cst.SimpleStatementLine, list[cst.BaseStatement]] | None:
    """The statement with a call, and what comes in its place: the call, and the moved statements after it."""
    tree, count = known.tree, max(1, len(returned))
    line = tree.statement(call)
    small = line.body[0] if line is not None and len(line.body) == 1 else None
    last: list[cst.BaseStatement] = []
    if line is None or small is None or not isinstance(next(tree.parents(line)), _SUITES):
        return None
    named = [name if _only_in(known, name) else new_name(tree, name) for name in extra]
    if isinstance(small, cst.Return) and small.value is call:
        if count > 1 and extra:
            return None
        name = new_name(tree, "result")
        targets = [name] if count == 1 else []
        target = ", ".join([name, *named])
        last = [statement_of(f"return {name}")]
    else:
        _, targets = _unpacked(tree, call, count)
        if isinstance(small, cst.Expr) and small.value is call:
            unused = "_" if "_" not in tree.names() else new_name(tree, "unused")
            target = ", ".join([unused if count == 1 else f"*{unused}", *named]) if extra else ""
        elif isinstance(small, cst.Assign) and targets:
            target = ", ".join([*targets, *named]) if extra else ""
        else:
            return None
    names = {name: cst.parse_expression(one) for name, one in zip(returned, targets) if name and one}
    names |= {name: cst.Name(one) for name, one in zip(extra, named)}
    new = _at_the_call(known, moved, call, names, [*targets, *named])
    if new is None:
        return None
    first = line
    if target:
        assign = cst.Assign([cst.AssignTarget(target_of(target))], call)
        first = line.with_changes(body=[assign])
    return line, [first, *new, *last]


def _only_in(known: EveryCall, name: str) -> bool:
    """Whether the file uses a name in the function only."""
    return all(known.function in known.tree.parents(one) for one in known.tree.nodes(cst.Name) if one.value == name)


def _appends(tree: Tree, line: cst.SimpleStatementLine) -> bool:
    """Whether it appends to a list of the script, which has that name for nothing else."""
    small = line.body[0]
    called = dotted(small.value.func) if isinstance(small, cst.Expr) and isinstance(small.value, cst.Call) else ""
    name, _, method = called.rpartition(".")
    made = [node for node in tree.nodes(cst.Assign) if any(dotted(one.target) == name for one in node.targets)]
    bound = [node for node in tree.stores() if node.value == name]
    return method == "append" and len(made) == len(bound) == 1 and isinstance(made[0].value, cst.List)


def check_before(case: EditCase) -> Texts:
    """Move an assertion at the beginning of a function before each call."""
    known, place = every_call(case), case.cause.place
    if known is None or place is None or not known.body:
        return {}
    first = known.body[1:] if _is_docstring(known.body[0]) else known.body
    line = first[0] if first else None
    if len(first) < 2 or not isinstance(line, cst.SimpleStatementLine) or known.tree.line(line) != place.line:
        return {}
    if len(line.body) != 1 or not isinstance(line.body[0], cst.Assert):
        return {}
    changes: dict[cst.CSTNode, Change] = {line: lambda _: cst.RemoveFromParent()}
    for call in known.calls:
        there = known.tree.statement(call)
        if there is None or there in changes or not isinstance(next(known.tree.parents(there)), _SUITES):
            return {}
        made = [arg for arg in call.args if not _stays(arg.value)]
        if len(made) > 1 or not evaluated_first(known.tree, call, there):
            return {}
        names: dict[cst.CSTNode, cst.BaseExpression] = {}
        new = []
        for arg in made:  # a name for it
            if arg.star:
                return {}
            name = new_name(known.tree, "checked")
            new.append(statement_of(f"{name} = {code_of(arg.value)}"))
            names[arg.value] = cst.Name(name)
            changes[arg.value] = lambda _, name=name: cst.Name(name)  # type: ignore[misc]
        check = _at_the_call(known, [line], call, {}, [], names)
        if check is None:
            return {}
        new += check
        changes[there] = (
            lambda updated, new=new: cst.FlattenSentinel(  # type: ignore[misc]
                [
                    new[0].with_changes(leading_lines=updated.leading_lines),
                    *new[1:],
                    updated.with_changes(leading_lines=()),
                ]
            )
        )
    return {known.path: known.tree.changed(changes)}


def global_as_argument(case: EditCase) -> Texts:
    """Make a global number a parameter, and pass it in each call."""
    known, name = every_call(case), case.use.value("name").rpartition(" ")[2]
    if known is None or not name.isidentifier():
        return {}
    tree, params = known.tree, known.function.params
    loads = [node for node in tree.loads(name) if known.function in tree.parents(node)]
    taken = {node.value for node in tree.stores(known.function)} | _declared(known.function)
    if not loads or name in taken or params.star_kwarg is not None or isinstance(params.star_arg, cst.Param):
        return {}
    if any(scope_of(tree, node) is not known.function for node in loads) or not _is_global(tree, name):
        return {}
    called = {dotted(node.func) for node in known.within(cst.Call) if isinstance(node, cst.Call)}
    writing = [node for node in tree.nodes(cst.FunctionDef) if name in _declared(node)]
    if called & {node.name.value for node in writing}:
        return {}  # the value may be another one in the middle of the function
    changes: dict[cst.CSTNode, Change] = {}
    plain = not params.kwonly_params and not any(param.default for param in params.params)
    new = cst.Param(cst.Name(name))
    if plain and all(arg.keyword is None and not arg.star for call in known.calls for arg in call.args):
        changes[params] = lambda updated: updated.with_changes(params=[*updated.params, new])  # type: ignore[attr-defined]
        argument = cst.Arg(cst.Name(name))
    else:
        changes[params] = lambda updated: updated.with_changes(
            star_arg=cst.ParamStar(),
            kwonly_params=[*updated.kwonly_params, new],  # type: ignore[attr-defined]
        )
        equal = cst.AssignEqual(cst.SimpleWhitespace(""), cst.SimpleWhitespace(""))
        argument = cst.Arg(cst.Name(name), cst.Name(name), equal=equal)
    for call in known.calls:
        scope = scope_of(tree, call)
        if isinstance(scope, cst.FunctionDef):
            if name in {node.value for node in tree.stores(scope)} - _declared(scope):
                return {}
        elif not isinstance(scope, cst.Module):
            return {}
        changes[call] = lambda updated: with_argument(updated, argument)  # type: ignore[arg-type]
    return {known.path: tree.changed(changes)}


def _declared(function: cst.FunctionDef | cst.Lambda) -> set[str]:
    """The names that a function declares as global."""
    return {item.name.value for node in below(function) if isinstance(node, cst.Global) for item in node.names}


def _is_docstring(line: cst.BaseStatement) -> bool:
    return (
        isinstance(line, cst.SimpleStatementLine) and isinstance(line.body[0], cst.Expr)
        and isinstance(line.body[0].value, (cst.SimpleString, cst.ConcatenatedString))
    )  # fmt: skip


def _reports(known: EveryCall, line: int) -> list[cst.SimpleStatementLine]:
    """The statement of a line, and those that use the number which it reads; [] where one does something else."""
    at = [one for one in known.body if isinstance(one, cst.SimpleStatementLine) and known.tree.line(one) == line]
    if len(at) != 1 or len(at[0].body) != 1:
        return []
    small = at[0].body[0]
    if isinstance(small, cst.Expr) and isinstance(small.value, cst.Call):
        return at
    if not isinstance(small, cst.Assign) or len(small.targets) != 1 or not _is_read(small.value):
        return []
    target = small.targets[0].target
    if not isinstance(target, cst.Name):
        return []
    using = [one for one in known.body if one is not at[0] and _reads(one, target.value)]
    plain = [one for one in using if isinstance(one, cst.SimpleStatementLine) and len(one.body) == 1]
    reports = [one for one in plain if isinstance(one.body[0], cst.Expr) and isinstance(one.body[0].value, cst.Call)]
    return [*at, *reports] if reports and len(reports) == len(using) else []


def _reads(top: cst.CSTNode, name: str) -> bool:
    return any(isinstance(node, cst.Name) and node.value == name for node in below(top))


def _says(line: cst.SimpleStatementLine) -> str:
    """The first name of what a statement calls: ``print``, ``log`` of ``log.info``; "" where it is none."""
    small = line.body[0]
    called = small.value if isinstance(small, cst.Expr) else None
    return dotted(called.func).partition(".")[0] if isinstance(called, cst.Call) else ""


def _returned(known: EveryCall, moved: list[cst.SimpleStatementLine]) -> list[str] | None:
    """The variables that the function returns, "" where that is none, or another by then; None where it may end
    elsewhere, or says something else in between."""
    returns = known.returns()
    last = known.body[-1]
    if returns and (not isinstance(last, cst.SimpleStatementLine) or returns != [last.body[-1]] or len(last.body) != 1):
        return None
    after = [one for one in known.body[known.body.index(moved[0]) + 1 :] if one not in moved]
    says = {_says(one) for one in moved} - {""}
    if known.within(cst.Raise) or any(says & {n.value for n in below(one) if isinstance(n, cst.Name)} for one in after):
        return None
    if not returns:
        return []
    value = returns[0].value
    if isinstance(value, cst.Tuple) and any(isinstance(one, cst.StarredElement) for one in value.elements):
        return None
    parts = [one.value for one in value.elements] if isinstance(value, cst.Tuple) else [value]
    changed = _may_change(known, after[:-1])
    return [part.value if isinstance(part, cst.Name) and part.value not in changed else "" for part in parts]


def _may_change(known: EveryCall, lines: list[cst.BaseStatement]) -> set[str]:
    """The variables that get another value there, or that something may write to."""
    found = {node.value for one in lines for node in known.tree.stores(one)}
    for one in lines:
        for node in below(one):
            if isinstance(node, cst.Expr):  # it is there for what it does
                found |= {name.value for name in below(node) if isinstance(name, cst.Name)}
            elif isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute):
                name = node.func.attr.value
                if name.endswith("_") and not name.endswith("__"):
                    found.add(dotted(node.func.value).partition(".")[0])
            elif isinstance(node, (cst.AssignTarget, cst.AugAssign)):
                found |= {name.value for name in below(node.target) if isinstance(name, cst.Name)}
    return found


def _at_the_call(
    known: EveryCall,
    moved: list[cst.SimpleStatementLine],
    call: cst.Call,
    returned: dict[str, cst.BaseExpression],
    targets: list[str],
    names: dict[cst.CSTNode, cst.BaseExpression] | None = None,
) -> list[cst.SimpleStatementLine] | None:
    """The statements with the names of one call in the place of the function's; None where one is not there.

    ``targets``: what the call is assigned to before them; ``names``: the new names of arguments.
    """
    tree = known.tree
    own = {node.value for one in moved for node in tree.stores(one)}
    inner = {node.value for node in tree.stores(known.function.body)}
    outside = {node.value for node in tree.stores() if known.function not in tree.parents(node)}
    after = [one for one in known.body[known.body.index(moved[0]) :] if one not in moved]
    before = names is not None  # nothing of the function has run then
    changed = set() if before else _may_change(known, after)
    scope = scope_of(tree, call)
    there = {node.value for node in tree.stores(scope)} if isinstance(scope, cst.FunctionDef) else set()
    instead: dict[str, cst.BaseExpression] = {}
    loads = {id(node): node for one in moved for node in below(one) if isinstance(node, cst.Name)}
    for node in [node for name in {one.value for one in loads.values()} for node in tree.loads(name)]:
        name = node.value
        if id(node) not in loads or name in instead:
            continue
        if name in own:
            if name in outside:
                return None
        elif name in returned:
            instead[name] = returned[name]
        elif name in known.parameters and (before or (name not in inner and name not in changed)):
            given = known.argument(call, name)
            given = (names or {}).get(given, given) if given is not None else None
            if given is None or not _stays(given) or dotted(given).partition(".")[0] in _roots(targets):
                return None
            instead[name] = given
        elif name in inner or name in known.parameters or name in there or name in _roots(targets):
            return None
        elif not _is_function(tree, node) and not _is_imported(tree, name):
            return None  # a global value may be another one by then
        elif not (hasattr(builtins, name) or _is_global(tree, name)):
            return None
    renamed = [one.visit(_Renamed(tree, instead)) for one in moved]
    return [_with_comments(one) for one in renamed if isinstance(one, cst.SimpleStatementLine)]


def _with_comments(line: cst.SimpleStatementLine) -> cst.SimpleStatementLine:
    """Without the empty lines above it."""
    return line.with_changes(leading_lines=[above for above in line.leading_lines if above.comment is not None])


def _roots(targets: list[str]) -> set[str]:
    return {one.partition(".")[0] for one in targets}


def _is_function(tree: Tree, node: cst.Name) -> bool:
    """Whether it is what a call calls: ``print``, ``log`` in ``log.info(...)``."""
    at: cst.CSTNode = node
    for parent in tree.parents(node):
        if isinstance(parent, cst.Call):
            return parent.func is at
        if not isinstance(parent, cst.Attribute):
            return False
        at = parent
    return False


def _is_imported(tree: Tree, name: str) -> bool:
    """Whether it is a name that imports alone give: ``sys`` in ``sys.stderr``."""
    bound = [node for node in tree.stores() if node.value == name]
    return bool(bound) and all(tree.inside(node, cst.Import) for node in bound)


def _stays(given: cst.BaseExpression) -> bool:
    """Whether it can be written twice: a name, or a number."""
    return bool(dotted(given)) or isinstance(given, (cst.Integer, cst.Float))


def _is_global(tree: Tree, name: str) -> bool:
    found = [node for node in tree.stores() if node.value == name]
    return any(isinstance(scope_of(tree, node), cst.Module) for node in found)


class _Renamed(cst.CSTTransformer):
    """Puts expressions in the place of variables."""

    def __init__(self, tree: Tree, instead: dict[str, cst.BaseExpression]) -> None:
        super().__init__()
        self._instead = instead
        self._loads = {id(node) for name in instead for node in tree.loads(name)}

    def leave_Name(self, original_node: cst.Name, updated_node: cst.Name) -> cst.BaseExpression:
        return self._instead[original_node.value] if id(original_node) in self._loads else updated_node
