"""The text of the files in ``carried/``, or of that part of the checks which a package needs.  They are read, never
imported."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from depyf.run.guards.known_kinds import FUNCTIONS

CARRIED = Path(__file__).parents[1] / "carried"


_CHECKS = (CARRIED / "package_checks.py", CARRIED.parents[2] / "run" / "plain_guard_checks.py")
"""Those of packages, and those that depyf has, too."""
_OF_KINDS = {function.__name__ for function in FUNCTIONS}


def _trees() -> list[tuple[str, ast.Module]]:
    """The text and the tree of each file that has checks; of those of kinds of guards only these."""
    found = []
    for path in (*_CHECKS, *sorted(CARRIED.parents[2].glob("run/guards/kinds/*_guard.py"))):
        text = path.read_text(encoding="utf-8")
        tree = ast.parse(text)
        if path not in _CHECKS:
            tree.body = [n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name in _OF_KINDS]
        found.append((text, tree))
    return found


def carried_checks() -> dict[str, ast.FunctionDef]:
    """The functions that guards of a package can call, and what these call."""
    return {node.name: node for _, tree in _trees() for node in tree.body if isinstance(node, ast.FunctionDef)}


def checks_text(called: set[str]) -> str:
    """The definitions that are called, those that these call, and the imports that they need."""
    texts, trees = zip(*_trees())
    definitions = carried_checks()
    wanted = called & set(definitions)
    queue = list(wanted)
    while queue:
        inner = {n.id for n in ast.walk(definitions[queue.pop()]) if isinstance(n, ast.Name)} & set(
            definitions
        ) - wanted
        wanted |= inner
        queue += inner
    bodies = [
        "\n".join(text.splitlines()[node.lineno - 1 : node.end_lineno])
        for text, tree in zip(texts, trees)
        for node in tree.body
        if isinstance(node, ast.FunctionDef) and node.name in wanted
    ]
    body = "\n\n\n".join(bodies)
    found: dict[str, None] = {}
    for node in (node for tree in trees for node in tree.body):
        if isinstance(node, ast.Import) and re.search(rf"\b{node.names[0].name}\.", body):
            found[ast.unparse(node)] = None
        elif isinstance(node, ast.ImportFrom):
            used = node.module == "__future__" or any(re.search(rf"\b{alias.name}\b", body) for alias in node.names)
            found |= {ast.unparse(node): None} if used else {}
    own = "import torch"
    imports = [*sorted((text for text in found if text != own), key=_place), *[text for text in found if text == own]]
    doc = ast.get_docstring(trees[0]) or ""
    return f'"""{doc}"""\n\n' + "\n".join(imports) + (f"\n\n\n{body}\n" if body else "\n")


def _place(text: str) -> tuple[bool, bool, str]:
    """As imports are ordered: ``__future__``, modules, names of modules."""
    return "__future__" not in text, text.startswith("from "), text
