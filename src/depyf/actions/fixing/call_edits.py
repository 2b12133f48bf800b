"""Edits of the line that calls a compiled function: an argument is marked, or passed in another form.

Input: an ``EditCase``.  Output: path -> new text; {} where the edit cannot be made here: the call is not found, or is
not the only one of its line, or the argument is made in a comprehension.
"""

from __future__ import annotations

import builtins

import libcst as cst

from depyf.actions.fixing.edit_case import Change, EditCase, Tree, code_of, dotted, evaluated_first, keyword, new_name
from depyf.actions.fixing.what_compiles import compiled_by, compiles_below
from depyf.run.advice.source_names import root
from depyf.run.places.place import Place

Texts = dict[str, str]
_COMPREHENSIONS = (cst.GeneratorExp, cst.ListComp, cst.SetComp, cst.DictComp, cst.Lambda)


def mark_dynamic(case: EditCase) -> Texts:
    return _marked(case, "torch._dynamo.mark_dynamic")


def mark_unbacked(case: EditCase) -> Texts:
    return _marked(case, "torch._dynamo.decorators.mark_unbacked")


def contiguous(case: EditCase) -> Texts:
    return _passed(case, case.use.value("tensor"), "{}.contiguous()")


def number_as_tensor(case: EditCase) -> Texts:
    return _passed(case, case.use.value("name"), "torch.tensor({})")


def is_causal(case: EditCase) -> Texts:
    """Add ``is_causal=False`` beside a mask: torch then does not read the mask to find out."""
    place = case.cause.place
    tree = case.tree(place.filename) if place is not None else None
    calls = tree.nodes(cst.Call, place.line) if tree is not None and place is not None else []
    masks = {"mask": "is_causal", "tgt_mask": "tgt_is_causal", "src_mask": "src_is_causal"}
    found = [(call, [new for old, new in masks.items() if keyword(call, old) is not None]) for call in calls]
    found = [(call, new) for call, new in found if new and not any(keyword(call, one) for one in new)]
    if tree is None or place is None or len(found) != 1:
        return {}
    call, names = found[0]
    equal = cst.AssignEqual(cst.SimpleWhitespace(""), cst.SimpleWhitespace(""))
    new = [cst.Arg(cst.Name("False"), cst.Name(name), equal=equal) for name in names]
    last = max(number for number, arg in enumerate(call.args) if arg.star != "**")
    comma = call.args[last].comma
    if not isinstance(comma, cst.Comma):
        comma = cst.Comma(whitespace_after=cst.SimpleWhitespace(" "))
    args = [
        *call.args[:last],
        call.args[last].with_changes(comma=comma),
        *(one.with_changes(comma=comma) for one in new),
    ]
    args += call.args[last + 1 :]
    if last + 1 == len(call.args):
        args[-1] = args[-1].with_changes(comma=call.args[last].comma)
    return {place.filename: tree.changed({call: lambda updated: updated.with_changes(args=args)})}


def no_inference_mode(case: EditCase) -> Texts:
    """Replace ``torch.inference_mode`` by ``torch.no_grad``: the same values, in ordinary tensors."""
    found = {}
    for path in case.texts:
        tree = case.tree(path)
        modes = [node for node in tree.nodes(cst.Attribute) if dotted(node) == "torch.inference_mode"] if tree else []
        if tree is None or not modes:
            continue
        calls = [parent for node in modes if isinstance(parent := next(tree.parents(node)), cst.Call)]
        if any(call.args for call in calls):  # it may be off
            return {}
        found[path] = tree.changed(dict.fromkeys(modes, lambda updated: updated.with_changes(attr=cst.Name("no_grad"))))
    return found


def compile_once(case: EditCase) -> Texts:
    """Move ``g = torch.compile(f)`` before its loop, where the loop assigns none of its names."""
    for call in case.run.compile_calls:
        tree = case.tree(call.place.filename)
        if tree is None or call.made < 2:
            continue
        for node in tree.nodes(cst.Call):
            line = tree.statement(node) if compiled_by(tree, node) is not None else None
            made = _before_the_loop(tree, line) if line is not None else None
            if made is not None:
                return {call.place.filename: made}
    return {}


def _before_the_loop(tree: Tree, line: cst.SimpleStatementLine) -> str | None:
    small = line.body[0]
    around: list[cst.CSTNode] = list(tree.parents(line))
    block, loop = around[0], around[1] if len(around) > 1 else around[0]
    if not isinstance(loop, (cst.For, cst.While)) or block is not loop.body or len(loop.body.body) < 2:
        return None
    if len(line.body) != 1 or not isinstance(small, cst.Assign) or not isinstance(small.value, cst.Call):
        return None
    if len(small.targets) != 1 or not isinstance(small.targets[0].target, cst.Name) or loop.orelse is not None:
        return None
    name = small.targets[0].target.value
    assigned = [*_assigned(loop.body), *(_assigned(loop.target) if isinstance(loop, cst.For) else ())]
    used = {node.value for node in tree.nodes(cst.Name) if small.value in tree.parents(node)}
    if assigned.count(name) != 1 or used & set(assigned) or name in used:
        return None
    calls = [node for node in tree.nodes(cst.Call) if small.value in tree.parents(node)]
    if calls:  # what is called once per round may be another each time
        return None
    moved = line.with_changes(leading_lines=line.leading_lines)

    def change(updated: cst.CSTNode) -> cst.FlattenSentinel[cst.CSTNode]:
        assert isinstance(updated, (cst.For, cst.While))
        first = moved.with_changes(leading_lines=[*updated.leading_lines, *moved.leading_lines])
        return cst.FlattenSentinel([first, updated.with_changes(leading_lines=())])

    return tree.changed({line: lambda _: cst.RemoveFromParent(), loop: change})


def _assigned(top: cst.CSTNode) -> list[str]:
    """The names that are bound below a node, each as often as it is."""
    found: list[str] = []

    def walk(node: cst.CSTNode, stores: bool) -> None:
        if isinstance(node, cst.Name) and stores:
            found.append(node.value)
        elif isinstance(node, (cst.FunctionDef, cst.ClassDef)):
            found.append(node.name.value)
        elif isinstance(node, (cst.Import, cst.ImportFrom)):
            stores = True
        if isinstance(node, (cst.AssignTarget, cst.NamedExpr, cst.AugAssign, cst.AnnAssign, cst.AsName, cst.Del)):
            walk(node.children[0] if not isinstance(node, cst.AsName) else node.name, True)
        if isinstance(node, (cst.For, cst.CompFor)):
            walk(node.target, True)
        for child in node.children:
            walk(child, stores)

    walk(top, not isinstance(top, cst.BaseSuite))
    return found


def maybe_mark_dynamic(case: EditCase) -> Texts:
    """Replace ``mark_dynamic`` by ``maybe_mark_dynamic``, which raises no error where torch specialises the size."""
    found = {}
    for path in case.texts:
        tree = case.tree(path)
        marks = [
            node.func
            for node in (tree.nodes(cst.Call) if tree is not None else ())
            if dotted(node.func).endswith("._dynamo.mark_dynamic")
        ]
        if tree is not None and marks:
            found[path] = tree.changed(dict.fromkeys(marks, _with_maybe))
    return found


def _with_maybe(updated: cst.CSTNode) -> cst.CSTNode:
    return updated.with_changes(attr=cst.Name("maybe_mark_dynamic"))


def _marked(case: EditCase, function: str) -> Texts:
    tensor, dimension = case.use.value("tensor"), case.use.value("dimension")
    changes: dict[str, dict[cst.CSTNode, Change]] = {}
    for place in case.callers:
        tree = case.tree(place.filename)
        known = _arguments(case, tree, place, tensor) if tree is not None else []
        if tree is None or len(known) != 1:
            return {}
        found = known[0]
        statement = tree.statement(found)
        if statement is None or tree.inside(found, *_COMPREHENSIONS):
            return {}
        value = found.value
        lines = []
        name = dotted(value)
        made = changes.setdefault(place.filename, {})
        if not name:  # a name for it
            if not evaluated_first(tree, found, statement):
                return {}
            name = new_name(tree, f"marked_{root(tensor) if root(tensor).isidentifier() else 'x'}")
            lines = [f"{name} = {code_of(value)}"]
            new = cst.parse_expression(name)
            made[found] = lambda updated, new=new: updated.with_changes(value=new)  # type: ignore[misc]
        made[statement] = tree.before(statement, [*lines, f"{function}({name}, {dimension})"])
    return {path: case.trees[path].changed(made) for path, made in changes.items()}


def _passed(case: EditCase, name: str, form: str) -> Texts:
    """The argument in another form, in each of the calls."""
    changes: dict[str, dict[cst.CSTNode, Change]] = {}
    for place in case.callers:
        tree = case.tree(place.filename)
        found = _arguments(case, tree, place, name) if tree is not None else []
        if not found:
            return {}
        for argument in found:
            text = code_of(argument.value)
            simple = isinstance(argument.value, (cst.Name, cst.Attribute, cst.Call, cst.Subscript))
            new = cst.parse_expression(form.format(text if simple or form.endswith("({})") else f"({text})"))
            changes.setdefault(place.filename, {})[argument] = lambda updated, new=new: updated.with_changes(value=new)  # type: ignore[misc]
    return {path: case.trees[path].changed(made) for path, made in changes.items()}


def _arguments(case: EditCase, tree: Tree, place: Place, name: str) -> list[cst.Arg]:
    """The argument that the compiled function knows as ``name``, in each call of the line; [] unless all are calls of
    one thing."""
    functions = [function for function in case.whole_functions if function.resume_of is None]
    if len(functions) != 1 or not name.isidentifier():
        return []
    code = functions[0].code
    positional = [*code.posonly, *code.args]
    calls = [node for node in tree.around(place.line, cst.Call) if _may_be_compiled(tree, node)]
    calls = [call for call in calls if tree.statement(call) is tree.statement(calls[0])]
    compiled = _compiled_names(tree)
    calls = [call for call in calls if dotted(call.func) in compiled] or calls
    found = []
    for call in calls:
        arg = next((arg for arg in call.args if arg.keyword is not None and arg.keyword.value == name), None)
        if arg is None and name in positional:
            index = positional.index(name) - (1 if positional[:1] == ["self"] else 0)
            plain = [arg for arg in call.args if arg.keyword is None]
            if not any(arg.star for arg in call.args[: index + 1]) and 0 <= index < len(plain):
                arg = plain[index]
        if arg is not None:
            found.append((code_of(call.func), arg))
    return [arg for _, arg in found] if len({callee for callee, _ in found}) == 1 else []


def _compiled_names(tree: Tree) -> set[str]:
    """``g`` of ``g = torch.compile(f)``, and functions with the decorator."""
    found = set()
    for node in tree.nodes(cst.Call):
        parent = next(tree.parents(node))
        if isinstance(parent, cst.Assign) and compiled_by(tree, node) is not None:
            found |= {dotted(one.target) for one in parent.targets}
    for decorator in tree.nodes(cst.Decorator):
        function = next(tree.parents(decorator))
        if compiles_below(tree, decorator):
            assert isinstance(function, (cst.FunctionDef, cst.ClassDef))
            found.add(function.name.value)
    return found - {""}


def _may_be_compiled(tree: Tree, call: cst.Call) -> bool:
    """Not a function of torch or of the language: what it is called is no proof, and the trial decides."""
    if isinstance(call.func, cst.Call):
        return compiled_by(tree, call.func) is not None
    name = dotted(call.func)
    first = name.partition(".")[0]
    method = isinstance(call.func, cst.Attribute) and not name
    return bool(name) and first not in ("torch", "nn", "F", "np") and not hasattr(builtins, first) and not method
