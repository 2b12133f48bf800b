"""An edited graph runs at the lines of its file, so that breakpoints there stop.

torch.fx writes the ``forward`` that runs a graph, a line a node.  Here that text is compiled once more, with the place
of each node in the edited file: the same bytecode, with another line table.  Names of values are those of the file.
"""

from __future__ import annotations

import ast
import types
from typing import Any

from depyf.actions.edit.edited_file import EditedFile
from depyf.safety.guarded import Door, say
from depyf.safety.unheard import parse


def keep_at_lines(file: EditedFile, module: Any, lines: dict[str, int], returns: int) -> None:
    """``module.forward`` is at the lines of ``file`` from now on, also where torch writes it again; ``lines``: name of
    a node -> line; ``returns``: the line of the ``return``."""
    made_for_it = type(module)  # torch.fx makes a class for each module
    name = (
        "_real_recompile" if hasattr(made_for_it, "_real_recompile") else "recompile"
    )  # it may write only when called
    before = getattr(made_for_it, name)

    def recompile(self: Any) -> Any:
        written = before(self)
        with Door(f"depyf: breakpoints in {file.path} do not stop", say):
            if self is module:
                _run_at_lines(file, module, lines, returns)
        return written

    setattr(made_for_it, name, recompile)
    module.recompile()


def _run_at_lines(file: EditedFile, module: Any, lines: dict[str, int], returns: int) -> None:
    written = module.graph.python_code("self")
    tree = parse(written.src)
    function = next(node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.name == "forward")
    first = min(lines.values(), default=returns)
    places: dict[int, int] = {}
    for statement in function.body:
        name = _assigned(statement)
        if name in lines:
            places.setdefault(statement.lineno, lines[name])
        elif isinstance(statement, ast.Return):
            places[statement.lineno] = returns
    _move(tree, dict.fromkeys(range(1, 1 + len(written.src.split("\n"))), first) | places)
    scope: dict[str, Any] = dict(written.globals)
    exec(compile(tree, str(file.path), "exec", dont_inherit=True), scope)
    forward = scope["forward"]
    assert isinstance(forward, types.FunctionType)
    type(module).forward = forward


def _assigned(statement: ast.stmt) -> str:
    """The name that a statement assigns a value to; "" for ``x = None``, with which torch.fx lets go of values."""
    if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
        return statement.target.id
    if not isinstance(statement, ast.Assign) or not isinstance(statement.targets[0], ast.Name):
        return ""
    nothing = isinstance(statement.value, ast.Constant) and statement.value.value is None
    return "" if nothing else statement.targets[0].id


def _move(tree: ast.Module, places: dict[int, int]) -> None:
    for node in ast.walk(tree):
        if isinstance(node, (ast.stmt, ast.expr, ast.arg, ast.keyword)):
            node.lineno = node.end_lineno = places.get(node.lineno, 1)
            node.col_offset = node.end_col_offset = 0
