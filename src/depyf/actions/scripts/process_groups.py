"""The process groups that the collectives of a graph name, for a process that is alone.

Input: the text of graphs, as torch prints them.  Output: how many processes each group must have for the shapes to be
those of the graph, and what a page with a ``__main__`` block needs to make them.
"""

from __future__ import annotations

import ast
import re

from depyf.actions.scripts.carried_text import carried_text
from depyf.decompiler.emit.comments import remark
from depyf.safety.unheard import parse

NOTE = "Its collectives run in made-up process groups: this process is alone, and nothing is sent."
_COLLECTIVE = re.compile(r"torch\.ops\._c10d_functional(?:_autograd)?\.(?P<name>\w+)(?:\.\w+)?(?P<arguments>\(.*)")
_SMALLEST = 2


def groups_of(text: str) -> dict[str, int]:
    """Name of a group -> how many processes it has, as far as the graph says; sorted by name."""
    found: dict[str, int] = {}
    for line in text.splitlines():
        match = None if line.lstrip().startswith("#") else _COLLECTIVE.search(line)
        arguments = _arguments(match["arguments"].partition(";")[0]) if match is not None else []
        last = arguments[-1] if len(arguments) > 1 else None
        if match is not None and isinstance(last, ast.Constant) and isinstance(last.value, str):
            found[last.value] = max(found.get(last.value, _SMALLEST), _size(match["name"], arguments))
    return dict(sorted(found.items()))


def _arguments(text: str) -> list[ast.expr]:
    try:
        tree = parse(f"f{text}", mode="eval").body
    except SyntaxError:
        return []
    return tree.args if isinstance(tree, ast.Call) else []


def _size(name: str, arguments: list[ast.expr]) -> int:
    """The number of ranks of the group, from how much larger or smaller the operator makes a tensor; 0 where
    unknown."""
    if name.startswith(("all_gather", "reduce_scatter")):
        counts = [arg.value for arg in arguments if isinstance(arg, ast.Constant) and isinstance(arg.value, int)]
        return counts[0] if counts else 0
    if name.startswith("all_to_all") and len(arguments) > 2 and isinstance(arguments[1], ast.List):
        return len(arguments[1].elts)
    return 0


def with_groups(runnable: str, body: str) -> str:
    """The ``__main__`` block of a page with the graph ``body``, which makes the groups first."""
    groups = groups_of(body)
    if not runnable or not groups:
        return runnable
    definition = carried_text(["process_groups"])
    head, opened, rest = runnable.partition(":")
    line, _, block = rest.partition("\n")
    made = remark(f"    process_groups({groups})", "this process is alone: nothing is sent")
    return f"{definition}\n\n\n{head}{opened}{line}\n{made}\n{block}"
