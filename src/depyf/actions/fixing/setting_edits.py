"""Edits that set an option: at the top of the file that calls ``torch.compile``, or in that call.

Input: an ``EditCase``.  Output: path -> new text; {} where the edit cannot be made here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import libcst as cst

from depyf.actions.fixing.edit_case import Change, EditCase, Tree, code_of, dotted, keyword, statement_of, with_argument
from depyf.actions.fixing.what_compiles import short_names
from depyf.run.advice.advice import SwitchKind
from depyf.run.advice.registry import ADVICE

Texts = dict[str, str]


def setting(case: EditCase) -> Texts:
    """Set an option of ``torch._dynamo.config`` at the top of the program."""
    switch = ADVICE[case.use.id].switch
    if switch is None:
        return {}
    option = f"torch._dynamo.config.{switch.name}"
    if switch.kind is SwitchKind.CONFIG:
        return _at_the_top(case, [f"{option} = {switch.value}"])
    if switch.kind is SwitchKind.LIMIT:
        return _at_the_top(case, [f"{option} = {case.use.value(switch.value)}"])
    if switch.kind is SwitchKind.ADD and case.use.value(switch.value) == "print":
        return _at_the_top(case, [f"{option}.add(print)"])
    return {}


def no_duck_shape(case: EditCase) -> Texts:
    lines = ["import torch.fx.experimental._config", "torch.fx.experimental._config.use_duck_shape = False"]
    return _at_the_top(case, lines)


def _at_the_top(case: EditCase, lines: Sequence[str]) -> Texts:
    """After the imports of the script, or of the first file with a ``torch.compile`` in it, that imports torch by this
    name."""
    for path in dict.fromkeys([case.main, *(call.place.filename for call in case.run.compile_calls)]):
        tree = case.tree(path)
        if tree is None or not _imports_torch(tree.module):
            continue
        body = list(tree.module.body)
        if any(cst.Module([line]).code.strip() == lines[-1] for line in body):
            return {}
        last = _end_of_imports(body)
        new = [statement_of(line) for line in lines]
        if last:
            new[0] = _below_an_empty_line(new[0])
        following = body[last:]
        if following and not following[0].leading_lines:
            following[0] = _below_an_empty_line(following[0])
        return {path: tree.module.with_changes(body=[*body[:last], *new, *following]).code}
    return {}


_Line = TypeVar("_Line", bound=cst.BaseStatement)


def _below_an_empty_line(line: _Line) -> _Line:
    return line.with_changes(leading_lines=[cst.EmptyLine(indent=False)])


def _imports_torch(module: cst.Module) -> bool:
    return any(
        isinstance(small, cst.Import)
        and any(dotted(alias.name).partition(".")[0] == "torch" and alias.asname is None for alias in small.names)
        for line in module.body
        if isinstance(line, cst.SimpleStatementLine)
        for small in line.body
    )


def _end_of_imports(body: Sequence[cst.CSTNode]) -> int:
    """The place after the last import that stands before everything else, but a docstring."""
    end = 0
    for number, line in enumerate(body):
        small = line.body if isinstance(line, cst.SimpleStatementLine) else ()
        if small and all(isinstance(one, (cst.Import, cst.ImportFrom)) for one in small):
            end = number + 1
        elif not (number == 0 and len(small) == 1 and isinstance(small[0], cst.Expr)):
            break
    return end


def compile_dynamic(case: EditCase) -> Texts:
    """Add ``dynamic=True`` to the call of ``torch.compile``."""
    return _in_compile_calls(case, "True")


def no_static(case: EditCase) -> Texts:
    """Remove ``dynamic=False`` from the call of ``torch.compile``."""
    return _in_compile_calls(case, None)


def _in_compile_calls(case: EditCase, value: str | None) -> Texts:
    """The calls that compiled what the cause is about get ``dynamic=value``; all must be found."""
    changes: dict[str, dict[cst.CSTNode, Change]] = {}
    for path, line in _compile_places(case):
        tree = case.tree(path)
        found = _compile_nodes(tree, line) if tree is not None else []
        if len(found) != 1:
            return {}
        node = found[0]
        if isinstance(node, cst.Decorator):
            if value is None:
                return {}
            new = cst.parse_expression(f"{dotted(node.decorator)}(dynamic={value})")
            changes.setdefault(path, {})[node] = lambda updated, new=new: updated.with_changes(decorator=new)  # type: ignore[misc]
            continue
        given = keyword(node, "dynamic")
        options = [arg for arg in node.args if arg.star == "**"]
        if value is None and given is None and options and tree is not None:  # it is given to a short name
            short = [call for call in tree.nodes(cst.Call) if dotted(call.func) in short_names(tree)]
            node = next((call for call in short if keyword(call, "dynamic") is not None), node)
            given, options = keyword(node, "dynamic"), []
            if sum(keyword(call, "dynamic") is not None for call in short) > 1:
                return {}
        if (value is None) != (given is not None) or len(options) > 1:
            return {}
        if options and value is not None:  # what it passes on may have dynamic=, which stays
            both = cst.parse_expression(f'{{"dynamic": {value}, **{code_of(options[0].value)}}}')
            changes.setdefault(path, {})[options[0]] = lambda updated, both=both: updated.with_changes(value=both)  # type: ignore[misc]
            continue
        if value is None:
            changes.setdefault(path, {})[node] = _without_dynamic
        else:
            changes.setdefault(path, {})[node] = lambda updated, value=value: _with_dynamic(updated, value)  # type: ignore[misc]
    return {path: case.trees[path].changed(made) for path, made in changes.items()}


def _compile_places(case: EditCase) -> list[tuple[str, int]]:
    """The lines that compiled a function of the cause; the only line that compiled anything, where it is one."""
    calls = case.run.compile_calls
    codes = [function.code for function in case.functions if function.resume_of is None]
    starts = {(code.filename, line) for code in codes for line in (code.line, code.line + 1)}
    named = {code.qualname.rpartition(".")[2] for code in codes} | {case.cause.function.rpartition(".")[2]}
    mine = [
        call
        for call in calls
        if (call.body is not None and (call.body.filename, call.body.line) in starts)
        or call.wrapped.rpartition(".")[2] in named
    ]
    places = list(dict.fromkeys((call.place.filename, call.place.line) for call in mine or calls))
    return places if mine or len(places) == 1 else []


def _compile_nodes(tree: Tree, line: int) -> list[cst.Call | cst.Decorator]:
    bare = [node for node in tree.nodes(cst.Decorator) if dotted(node.decorator).endswith("torch.compile")]
    found: list[cst.Call | cst.Decorator] = [node for node in bare if line in (tree.line(node), tree.line(node) + 1)]
    if not found:
        calls = [node for node in tree.around(line, cst.Call) if dotted(node.func) in ("torch.compile", "compile")]
        calls = calls or [
            node
            for node in tree.nodes(cst.Call)
            if dotted(node.func) == "torch.compile"
            and tree.line(node) in (line - 1, line + 1)
            and _decorates(tree, node)
        ]
        found += calls
    return found


def _decorates(tree: Tree, node: cst.Call) -> bool:
    return isinstance(next(tree.parents(node), None), cst.Decorator)


def _with_dynamic(updated: cst.CSTNode, value: str) -> cst.Call:
    assert isinstance(updated, cst.Call)
    equal = cst.AssignEqual(cst.SimpleWhitespace(""), cst.SimpleWhitespace(""))
    return with_argument(updated, cst.Arg(cst.parse_expression(value), cst.Name("dynamic"), equal=equal))


def _without_dynamic(updated: cst.CSTNode) -> cst.Call:
    assert isinstance(updated, cst.Call)
    args = [arg for arg in updated.args if arg.keyword is None or arg.keyword.value != "dynamic"]
    if args and not isinstance(updated.args[-1].comma, cst.Comma):
        args[-1] = args[-1].with_changes(comma=cst.MaybeSentinel.DEFAULT)
    return updated.with_changes(args=args)
