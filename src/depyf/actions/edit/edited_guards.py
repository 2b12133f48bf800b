"""The guards of a ``full_code_for_*`` page as they are now, an operand of its ``and`` at a time.

Input: the text of an edited page.  Output: each ``guards_*`` function with changed lines as a separate ``EditedFile``,
and its operands.  Nothing is executed.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from depyf.actions.edit.edit_error import EditError
from depyf.actions.edit.edited_file import EditedFile, python
from depyf.run.guards.guard_kind import called
from depyf.run.guards.kinds.opaque_guard import KIND
from depyf.run.records import CompileKey
from depyf.safety.unheard import parse

GUARDS = "guards"
"""The kind of the files below."""
_HANDLE = re.compile(r"guard_\w+")


@dataclass(frozen=True, slots=True)
class GuardOperand:
    """One guard in an edited guard function."""

    meaning: str
    """Equal for two operands that say the same, whichever of torch's guards they ask."""
    node: ast.expr
    line: int


def edited_guards(page: EditedFile, keys: list[CompileKey]) -> Iterator[EditedFile]:
    """The functions of ``page`` that were edited; ``keys``: the compilations that it may be of.  EditError, at its
    line, where something else on the page was edited."""
    known = {f"guards_{key.slug}": key for key in keys}
    left = list(page.lines)
    for node in python(page).body:
        if not isinstance(node, ast.FunctionDef) or node.name not in known:
            continue
        own = tuple(line for line in left if node.lineno < line <= (node.end_lineno or 0))
        if own:
            left = [line for line in left if line not in own]
            found = replace(page, name=f"{page.name} {node.name}()", kind=GUARDS, keys=(known[node.name],), lines=own)
            guard_operands(found)
            yield found
    if left or not page.lines:
        raise EditError(
            page.path, next(iter(left), 1),
            (
                "this page is for reading, but for what its functions guards_*() return: "
                "edit the file of the transformed code"
            ),
        )  # fmt: skip


def guard_operands(file: EditedFile) -> list[GuardOperand]:
    """The guards in ``file``, one that ``edited_guards`` returned.  EditError where the function is more than one
    ``return``."""
    name = f"guards_{file.keys[0].slug}"
    node = next(part for part in python(file).body if isinstance(part, ast.FunctionDef) and part.name == name)
    body = node.body[int(ast.get_docstring(node) is not None) :]
    if len(body) != 1 or not isinstance(body[0], ast.Return) or body[0].value is None:
        raise EditError(file.path, file.lines[0], f"{name}() has to be one return of an expression")
    if [argument.arg for argument in node.args.args] != ["L", "G"]:
        raise EditError(file.path, node.lineno, f"the parameters of {name}() have to stay L and G")
    return operands(body[0].value)


def operands(value: ast.expr) -> list[GuardOperand]:
    """The operands of ``a and b and c``, without the handles of torch's own guards (``guard_0_0[4]``)."""
    parts = value.values if isinstance(value, ast.BoolOp) and isinstance(value.op, ast.And) else [value]
    bare = [_WithoutHandles().visit(part) for part in parts]
    return [GuardOperand(ast.dump(part), part, part.lineno) for part in bare]


def meaning_of(expression: str) -> str:
    """The ``GuardOperand.meaning`` of a guard's expression, without a handle."""
    return ast.dump(_WithoutHandles().visit(parse(expression.strip(), mode="eval").body))


class _WithoutHandles(ast.NodeTransformer):
    """Calls without ``guard_0_0[4]`` among their arguments."""

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        if called(node) in KIND.with_frame:
            node.args = node.args[:1]  # with a handle come L and G
        node.args = [part for part in node.args if not _is_handle(part)]
        node.keywords = [part for part in node.keywords if not _is_handle(part.value)]
        return node


def _is_handle(node: ast.expr) -> bool:
    return (
        isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and bool(_HANDLE.fullmatch(node.value.id))
    )
