"""The text of the files in ``carried/``, or of that part of one which a package needs.  They are read, never imported."""

from __future__ import annotations

import ast
import re
from pathlib import Path

CARRIED = Path(__file__).parents[1] / "carried"


def definitions_in(name: str) -> dict[str, ast.FunctionDef]:
    tree = ast.parse((CARRIED / name).read_text(encoding="utf-8"))
    return {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}


def carried_part(name: str, called: set[str]) -> str:
    """The definitions of a carried file that are called, those that these call, and the imports that they need."""
    text = (CARRIED / name).read_text(encoding="utf-8")
    lines, tree, definitions = text.splitlines(), ast.parse(text), definitions_in(name)
    wanted = called & set(definitions)
    queue = list(wanted)
    while queue:
        inner = {n.id for n in ast.walk(definitions[queue.pop()]) if isinstance(n, ast.Name)} & set(
            definitions
        ) - wanted
        wanted |= inner
        queue += inner
    bodies = ["\n".join(lines[node.lineno - 1 : node.end_lineno]) for key, node in definitions.items() if key in wanted]
    body = "\n\n\n".join(bodies)
    imports = []
    for node in tree.body:
        if isinstance(node, ast.Import) and re.search(rf"\b{node.names[0].name}\.", body):
            imports.append(ast.unparse(node))
        elif isinstance(node, ast.ImportFrom):
            used = node.module == "__future__" or any(re.search(rf"\b{alias.name}\b", body) for alias in node.names)
            imports += [ast.unparse(node)] if used else []
    doc = ast.get_docstring(tree) or ""
    return f'"""{doc}"""\n\n' + "\n".join(imports) + (f"\n\n\n{body}\n" if body else "\n")
