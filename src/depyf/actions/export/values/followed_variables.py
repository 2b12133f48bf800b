"""Where the variables of resume functions come from, as far as transformed code hands them on unchanged.

Input: a function of a dump.  Output: for each resume function, local variable -> path in the terms of the function that
was called first.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping

from depyf.actions.export.dumped_function import CompiledFunction, DumpedCode, DumpedEntry
from depyf.run.guards.guarded_path import Path
from depyf.safety.unheard import parse


def followed(function: CompiledFunction, free: Mapping[str, tuple[str, ...]]) -> dict[str, dict[str, Path]]:
    """Name of a code on the page -> its renamed variables.  ``free``: the free variables of each code, which all
    share."""
    root = function.codes[0]
    start = {name: Path("L", name) for name in (*root.locals, *free.get(root.name, ()))}
    found = {root.name: start}
    by_name = {alias: code for code in function.codes[1:] for alias in (code.name, *code.aliases)}
    queue = [root]
    while queue:
        code = queue.pop(0)
        for entry in code.entries:
            for target, renamed in _handed_on(entry, code, found[code.name], by_name):
                if target.name not in found:
                    shared = {name: Path("L", name) for name in free.get(target.name, ()) if name in start}
                    found[target.name] = {**renamed, **shared}
                    queue.append(target)
    return found


def _handed_on(
    entry: DumpedEntry, code: DumpedCode, known: Mapping[str, Path], by_name: Mapping[str, DumpedCode]
) -> list[tuple[DumpedCode, dict[str, Path]]]:
    tree = parse(entry.source)
    stored = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)}
    holders = {
        n.targets[0].id: n.value.func.id
        for n in ast.walk(tree)
        if isinstance(n, ast.Assign) and isinstance(n.targets[0], ast.Name)
        and isinstance(n.value, ast.Call) and isinstance(n.value.func, ast.Name)
    }  # fmt: skip
    found = []
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        called = node.func.func if isinstance(node.func, ast.Call) else node.func
        name = called.id if isinstance(called, ast.Name) else ""
        target = by_name.get(name) or by_name.get(holders.get(name, ""))
        if target is None:
            continue
        parameters = [a.arg for a in (*target.signature.posonlyargs, *target.signature.args)]
        if len(node.args) != len(parameters):
            continue
        renamed = {
            parameter: known[value.id]
            for parameter, value in zip(parameters, node.args)
            if isinstance(value, ast.Name) and value.id in known and value.id not in stored
        }
        found.append((target, renamed))
    return found
