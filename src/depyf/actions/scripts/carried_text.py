"""The parts of ``carried/`` that a script or a file of a package needs, as text.

Input: names that are used.  Output: their definitions with those that these use, in the order of the files; and the
lines that import what text reads.  The files are read, not imported: they need torch.
"""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterable
from pathlib import Path

from depyf.run.guards.known_kinds import FUNCTIONS
from depyf.safety.unheard import parse

CARRIED = Path(__file__).with_name("carried")
_RUN = Path(__file__).parents[2] / "run"
SCRIPT = ("making", "running", "comparing", "modes", "stored_tensors", "repro_parts")
"""What scripts of one graph carry, and of what packages take what they need."""
CHECKS = ("package_checks", "plain_guard_checks", *sorted(p.stem for p in (_RUN / "guards/kinds").glob("*_guard.py")))
"""What guards of packages call: what packages alone have, what depyf has, too, and what a kind of guard has."""
_OF_KINDS = {function.__name__ for function in FUNCTIONS}
_STANDARD = re.compile(r"(?:import|from) (?!torch\b)")


@functools.cache
def _file(name: str) -> tuple[list[str], list[ast.stmt]]:
    """The lines and the statements of a file."""
    places = (CARRIED, _RUN, _RUN / "guards" / "kinds")
    text = next(path for place in places if (path := place / f"{name}.py").exists()).read_text(encoding="utf-8")
    return text.splitlines(), parse(text).body


@functools.cache
def definitions(*files: str) -> dict[str, tuple[str, frozenset[str]]]:
    """Name of a function, class or variable of ``files`` -> its text, and the names in it."""
    found = {}
    for name in files:
        lines, body = _file(name)
        for node, after in zip(body, [*body[1:], body[-1]]):
            known = _defined(node)
            if known and (not name.endswith("_guard") or known in _OF_KINDS):
                first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", ()))])
                last = after if isinstance(after, ast.Expr) else node  # what a variable is
                found[known] = "\n".join(lines[first - 1 : last.end_lineno]), _read(node)
    return found


def _defined(node: ast.stmt) -> str:
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        return node.name
    target = (
        node.targets[0] if isinstance(node, ast.Assign) else node.target if isinstance(node, ast.AnnAssign) else None
    )
    return target.id if isinstance(target, ast.Name) else ""


def names_in(text: str) -> frozenset[str]:
    """The names that a text reads from outside of its functions.  SyntaxError where it is no Python."""
    return _read(parse(text))


def _read(tree: ast.AST) -> frozenset[str]:
    """Without the variables of functions."""
    if isinstance(tree, (ast.Module, ast.ClassDef)):
        return frozenset().union(*map(_read, ast.iter_child_nodes(tree)))
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    return frozenset(names - bound_names(tree) if isinstance(tree, ast.FunctionDef) else names)


def bound_names(*nodes: ast.stmt) -> frozenset[str]:
    """The names that the statements bind and do not declare global."""
    found: set[str] = set()
    declared: set[str] = set()
    for node in (part for outer in nodes for part in ast.walk(outer)):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            found.add(node.id)
        elif isinstance(node, ast.arg):
            found.add(node.arg)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            found.add(node.name)
        elif isinstance(node, ast.alias):
            found.add((node.asname or node.name).partition(".")[0])
        elif isinstance(node, ast.ExceptHandler) and node.name:
            found.add(node.name)
        elif isinstance(node, ast.Global):
            declared.update(node.names)
    return frozenset(found - declared)


def carried_text(names: Iterable[str], *files: str) -> str:
    """The definitions that are called ``names``, and those that these use."""
    known = definitions(*(files or SCRIPT))
    wanted = set(names) & set(known)
    queue = list(wanted)
    while queue:
        more = known[queue.pop()][1] & set(known) - wanted
        wanted |= more
        queue += more
    return "\n\n\n".join(text for name, (text, _) in known.items() if name in wanted)


def carried_for(text: str) -> tuple[str, list[str]]:
    """The definitions that the script ``text`` needs, and the import lines of both.  SyntaxError where it is no
    Python."""
    names = names_in(text)
    carried = carried_text(names)
    return carried, import_lines(names | names_in(carried))


@functools.cache
def _imported() -> dict[str, tuple[str, str]]:
    """Name -> the module that it is or is of, and its name there."""
    found = {name: (name, "") for name in ("argparse", "contextlib", "importlib", "sys")}  # of skeletons
    names = [*(path.stem for path in sorted(CARRIED.glob("[!_]*.py"))), *CHECKS]
    for node in (node for name in names for node in _file(name)[1]):
        if isinstance(node, ast.Import):
            found |= {alias.name: (alias.name, "") for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.module.startswith(("depyf", "__future__")):
            found |= {alias.name: (node.module, alias.name) for alias in node.names}
    return found


def import_lines(names: Iterable[str]) -> list[str]:
    """The import lines for ``names``."""
    modules: dict[str, set[str]] = {}
    for name in set(names) & set(_imported()):
        module, member = _imported()[name]
        modules.setdefault(module, set()).update([member] if member else [])
    lines = [
        f"from {m} import {', '.join(sorted(members))}" if members else f"import {m}" for m, members in modules.items()
    ]
    return sorted(lines, key=import_order)


def import_order(line: str) -> tuple[bool, bool, bool, str]:
    """The sort key of an import line: the standard library before torch, ``import`` before ``from``, and definitions
    last."""
    return " = " in line, not is_standard(line), line.startswith("from "), line


def is_standard(line: str) -> bool:
    """Whether a line imports something of the standard library."""
    return _STANDARD.match(line) is not None and " = " not in line


def package_file(name: str) -> str:
    """The text of ``carried/NAME.py`` for a package, with all definitions it needs."""
    return _module(name, definitions(name), name, *SCRIPT)


def checks_text(called: Iterable[str]) -> str:
    """``checks.py`` of a package, with what is called of it."""
    return _module(CHECKS[0], called, *CHECKS)


def _module(name: str, names: Iterable[str], *files: str) -> str:
    lines, (about, *_) = _file(name)
    docstring = "\n".join(lines[: about.end_lineno])
    body = carried_text(names, *files)
    needed = import_lines(names_in(body))
    groups = [[line for line in needed if is_standard(line)], [line for line in needed if not is_standard(line)]]
    top = [docstring, "from __future__ import annotations", *("\n".join(g) for g in groups if g)]
    return "\n\n".join(top) + (f"\n\n\n{body}\n" if body else "\n")
