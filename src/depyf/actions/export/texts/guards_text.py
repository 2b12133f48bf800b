"""``guards.py`` of a package: for each entry what must hold, as one expression that can be read and evaluated.

Input: sorted guards.  Output: the text of the module, which imports what it calls from ``checks``.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable

from depyf.actions.export.dumped_function import CompiledFunction, DumpedEntry
from depyf.actions.export.texts.functions_text import CodeNames
from depyf.actions.export.values.guard_sorting import FROZEN, SortedGuard
from depyf.decompiler.emit.comments import comment, in_docstring
from depyf.run.graphs.graph_text import short_path
from depyf.safety.escape import one_line, printable
from depyf.safety.unheard import parse
from depyf.views.pages.wrap import WIDTH, split_call, wrap


def guards_text(
    function: CompiledFunction, names: CodeNames, guards: dict[str, tuple[SortedGuard, ...]], checks: frozenset[str]
) -> str:
    """The text of the module ``guards``.  ``checks``: the names of the functions in ``checks.py``."""
    bodies = [
        _entry(entry, names.entries[entry.name], guards[entry.name])
        for code in function.codes
        for entry in code.entries
    ]
    text = "\n\n\n".join(bodies)
    used = sorted(called_in(text) & checks)
    lines = [
        f'"""The guards of ``{in_docstring(printable(function.qualname))}``: when each compiled entry may run."""',
        "",
    ]
    lines += [f"import {module}" for module in ("math", "torch") if f"{module}." in text]
    lines += [""] if lines[-1] else []
    if "hooks." in text:
        lines.append("from . import hooks")
    if used:
        lines += ["from .checks import (", *(f"    {name}," for name in used), ")"]
    return "\n".join(lines).strip("\n") + f"\n\n\n{text}\n"


def called_in(text: str) -> set[str]:
    """The names of the functions that ``text`` calls."""
    return {n.func.id for n in ast.walk(parse(text)) if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)}


def _entry(entry: DumpedEntry, called: str, guards: Iterable[SortedGuard]) -> str:
    lines = [f"def guards_{entry.slug}(L):", f'    """What must hold for {called}() to run (L: its variables)."""']
    asked = [guard for guard in guards if guard.fate != FROZEN]
    if not asked:
        return "\n".join([*lines, "    return True"])
    lines.append("    return (")
    place = ""
    for position, guard in enumerate(asked):
        if guard.place and guard.place != place:
            place = guard.place
            lines.append(comment(_short(place), " " * 8))
        lines += _operand(_with_hooks(guard.expression), "and " if position else "")
    return "\n".join([*lines, "    )"])


def _short(place: str) -> str:
    path, colon, rest = place.partition(":")
    return one_line(f"{short_path(path, '')}{colon}{rest}")


def _with_hooks(expression: str) -> str:
    """``G['scale']`` is ``hooks.scale``."""
    if "G[" not in expression:
        return expression
    return ast.unparse(_Globals().visit(parse(expression, mode="eval")))


class _Globals(ast.NodeTransformer):
    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        if isinstance(node.value, ast.Name) and node.value.id == "G" and isinstance(node.slice, ast.Constant):
            return ast.Attribute(ast.Name("hooks", ast.Load()), str(node.slice.value), node.ctx)
        return self.generic_visit(node)


def _operand(expression: str, joint: str) -> list[str]:
    body = parse(expression, mode="eval").body
    if isinstance(body, (ast.BoolOp, ast.IfExp, ast.Lambda, ast.NamedExpr)):
        return [f"        {joint}({expression})"]
    call = split_call(expression) if len(expression) + len(joint) + 8 > WIDTH else None
    if call is None:
        return [f"        {joint}{expression}"]
    return wrap(f"{joint}{call[0]}(", call[1], ")", " " * 8)
