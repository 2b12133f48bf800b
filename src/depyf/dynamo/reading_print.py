"""Statements of ``reading`` as text: the user's file and line behind the first statement of each line, long calls broken.

Input: statements without placeholders.  Output invariant: one function definition, legal Python.
"""

from __future__ import annotations

import ast

from depyf.report.wrap import WIDTH, wrap


def print_function(function: ast.FunctionDef, body: list[ast.stmt], where: dict[int, str], free: list[str]) -> str:
    """The text of ``function`` with ``body``; ``where`` maps the id of a statement to the user's line."""
    lines = wrap(f"def {function.name}(", ast.unparse(function.args).split(", "), "):")
    if free:
        lines.append(f"    # free variables: {', '.join(free)}")
    last = ""

    def block(statements: list[ast.stmt], indent: str) -> None:
        nonlocal last
        for statement in statements or [ast.Pass()]:
            place = where.get(id(statement), "")
            note = f"  # {place}" if place and place != last else ""
            last = place or last
            if isinstance(statement, ast.If):
                lines.append(f"{indent}if {ast.unparse(statement.test)}:{note}")
                block(statement.body, indent + "    ")
                if statement.orelse:
                    lines.append(f"{indent}else:")
                    block(statement.orelse, indent + "    ")
            elif isinstance(statement, ast.For):
                lines.append(f"{indent}for {ast.unparse(statement.target)} in {ast.unparse(statement.iter)}:{note}")
                block(statement.body, indent + "    ")
            elif isinstance(statement, ast.With):
                items = ", ".join(ast.unparse(item) for item in statement.items)
                lines.append(f"{indent}with {items}:{note}")
                block(statement.body, indent + "    ")
            else:
                text = _statement(statement, indent)
                text[0] += note if len(text) == 1 or text[0].endswith("(") else ""
                lines.extend(text)

    block(body, "    ")
    return "\n".join(lines) + "\n"


def _statement(statement: ast.stmt, indent: str) -> list[str]:
    """A simple statement; a long call is broken between its arguments."""
    text = [indent + line for line in ast.unparse(statement).splitlines()]
    call = getattr(statement, "value", None)
    if len(text) > 1 or len(text[0]) <= WIDTH or not isinstance(call, ast.Call):
        return text
    whole = ast.unparse(call)
    before = text[0][len(indent) : -len(whole)]
    items = [ast.unparse(argument) for argument in call.args]
    items += [ast.unparse(keyword) for keyword in call.keywords]
    return wrap(f"{before}{ast.unparse(call.func)}(", items, ")", indent)
