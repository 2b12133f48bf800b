"""``original.py`` of a package: the program's own function, for a comparison in eager mode.

Input: the copy of the program's file that the dump has, read as a tree.  Output: text with the function, and the
classes, functions, imports and literals at the top of that file which it needs; a library's function is imported by
name.
"""

from __future__ import annotations

import ast
import builtins
import re
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from pathlib import PurePath

from depyf.actions.export.dumped_function import CompiledFunction
from depyf.actions.export.texts.transformed_text import ORIGINAL
from depyf.safety.escape import printable
from depyf.safety.unheard import parse

_LIBRARY = re.compile(r"/(?:site-packages|dist-packages)/(.+?)(?:/__init__)?\.py$")
_HEAD = '"""The program\'s own code, for a comparison in eager mode."""'
_ERRORS = (SyntaxError, ValueError, RecursionError, MemoryError)
Def = ast.FunctionDef | ast.AsyncFunctionDef


def names_in_source(function: CompiledFunction) -> dict[str, str]:
    """Globals of the program's file -> where a package finds them: ``module``, ``module:name``, or ``original:name``
    for what the file itself defines."""
    module = _library(function)
    try:
        tree = parse(_source(function))
    except _ERRORS:
        return {}
    found: dict[str, str] = {}
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and module:
            found |= {alias.asname or alias.name: f"{module}:{alias.asname or alias.name}" for alias in node.names}
    for name, definition in _definitions(tree).items():
        if module:
            found[name] = f"{module}:{name}"
        elif isinstance(definition, ast.Import):
            alias = definition.names[0]
            if alias.asname or "." not in alias.name:
                found[name] = alias.name
        elif isinstance(definition, ast.ImportFrom):
            found[name] = f"{definition.module}:{definition.names[0].name}"
        elif isinstance(definition, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            found[name] = f"{ORIGINAL}:{name}"
    return found


def _library(function: CompiledFunction) -> str:
    """The module of a library that the function is in; "" for a file of the program."""
    match = _LIBRARY.search(function.place.rpartition(":")[0])
    module = match[1].replace("/", ".") if match is not None else ""
    return module if all(part.isidentifier() for part in module.split(".")) else ""


def _source(function: CompiledFunction) -> str:
    return function.sources.get(function.place.rpartition(":")[0], "")


def original_text(
    function: CompiledFunction,
    kinds: Iterable[str],
    hooks: Mapping[str, str],
    free: Sequence[str],
    wanted: Iterable[str],
) -> str:
    """The module.  ``kinds``: the classes of the program that arguments have.  ``hooks``: what ``hooks.py`` offers.
    ``free``: the free variables.  ``wanted``: what else other modules take from here."""
    path = function.place.rpartition(":")[0]
    kinds = sorted(set(kinds))
    module = _library(function)
    if module and "<locals>" not in function.qualname:
        classes = [kind for kind in kinds if not kind.startswith("__main__.")]
        return _module([], classes, {}, f"named({module!r}, {function.qualname!r})", ())
    try:
        tree = parse(_source(function))
    except _ERRORS:
        tree = ast.Module([], [])
    defined = _definitions(tree)
    top = function.qualname.partition(".")[0]
    inner = _nested(tree, function.qualname, function.place) if "<locals>" in function.qualname else None
    start = {name for name in wanted if name in defined}
    why = ""
    if inner is None and "<locals>" in function.qualname:
        inner = _on_the_page(function)
    if inner is None and top not in defined:
        why = f"the dump has no copy of {function.qualname} in {path}"
    elif inner is None:
        start.add(top)
    stem = PurePath(path).stem
    local = {
        kind: name
        for kind in kinds
        if (name := kind.rpartition(".")[2]) in defined
        and (kind.startswith("__main__.") or kind.rpartition(".")[0].rpartition(".")[2] == stem)
    }
    others = [kind for kind in kinds if kind not in local and not kind.startswith("__main__.")]
    extra = _plain(inner) if inner is not None else None
    chosen, missing = _needed(defined, {*start, *local.values()}, extra)
    texts = [ast.unparse(_plain(node)) for name, node in defined.items() if name in chosen]
    value = function.qualname
    if extra is not None:
        body = textwrap.indent(f"{ast.unparse(extra)}\nreturn {inner.name if inner is not None else ''}", "    ")
        texts.append(f"def with_variables({', '.join(free)}):\n{body}")
        value = f"with_variables({', '.join(f'hooks.{name}' for name in free)})"
    bound = tuple(sorted(name for name in missing - set(free) if name in hooks))
    return _module(texts, others, local, "" if why else value, bound, why)


def _on_the_page(function: CompiledFunction) -> Def | None:
    """The original that the page of the function shows, under its own name."""
    body = parse(function.codes[0].original).body
    node = body[0] if body else None
    if not isinstance(node, ast.FunctionDef):
        return None
    node.decorator_list = []
    node.name = function.slug
    return node


def _nested(tree: ast.Module, qualname: str, place: str) -> Def | None:
    """The ``def`` at this place within other functions."""
    line, name = place.rpartition(":")[2], qualname.rpartition(".")[2]
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name == name:
            starts = {node.lineno, *(d.lineno for d in node.decorator_list)}
            body = range(min(starts), node.body[0].lineno + 1)
            if line.isdigit() and int(line) in body:
                return node
    return None


def _definitions(tree: ast.Module) -> dict[str, ast.stmt]:
    """What the top of a file defines without doing anything: classes, functions, imports, literals."""
    found: dict[str, ast.stmt] = {}
    for node in tree.body:
        if isinstance(node, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            found[node.name] = node
        elif isinstance(node, ast.Import):
            for alias in node.names:
                found[(alias.asname or alias.name).partition(".")[0]] = ast.Import([alias])
        elif isinstance(node, ast.ImportFrom) and not node.level and node.module not in (None, "__future__"):
            for alias in node.names:
                if alias.name != "*":
                    found[alias.asname or alias.name] = ast.ImportFrom(node.module, [alias], 0)
        elif isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            try:
                ast.literal_eval(node.value)
            except (ValueError, TypeError, RecursionError, MemoryError):
                found.pop(node.targets[0].id, None)
            else:
                found[node.targets[0].id] = node
    return found


def _needed(defined: Mapping[str, ast.stmt], start: Iterable[str], extra: ast.stmt | None) -> tuple[set[str], set[str]]:
    """The definitions that ``start`` and ``extra`` need, and the names that are none."""
    chosen: set[str] = set()
    missing: set[str] = set()
    queue: list[ast.stmt] = [extra] if extra is not None else []
    for name in sorted(start):
        chosen.add(name)
        queue.append(defined[name])
    while queue:
        for part in ast.walk(queue.pop()):
            if not isinstance(part, ast.Name) or not isinstance(part.ctx, ast.Load) or part.id in chosen:
                continue
            if part.id in defined:
                chosen.add(part.id)
                queue.append(defined[part.id])
            elif not hasattr(builtins, part.id):
                missing.add(part.id)
    return chosen, missing


def _plain(node: ast.stmt) -> ast.stmt:
    """Without the decorators that compile."""
    for part in ast.walk(node):
        if isinstance(part, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            part.decorator_list = [d for d in part.decorator_list if "compile" not in ast.unparse(d)]
    return node


def _module(
    texts: list[str], imported: list[str], local: Mapping[str, str], value: str, bound: tuple[str, ...], why: str = ""
) -> str:
    imports = [text for text in texts if text.startswith(("import ", "from "))]
    others = [text for text in texts if not text.startswith(("import ", "from "))]
    by_name = bool(imported) or value.startswith("named(")
    lines = [_HEAD, ""]
    lines += ["from __future__ import annotations", ""] if texts else []
    lines += ["import importlib", "import operator"] if by_name else []
    lines += imports
    lines += ["", "from . import hooks"] if bound or "hooks." in value else []
    for text in others:
        lines += ["", "", text]
    if by_name:
        lines += ["", "", "def named(module, name):", '    """``name`` of an imported module."""',
                  "    return operator.attrgetter(name)(importlib.import_module(module))"]  # fmt: skip
    lines += ["", "", "def load(classes):"]
    if not value:
        return "\n".join([*lines, f"    raise LookupError({printable(why)!r})"]) + "\n"
    lines.append('    """The function; ``classes`` gets the classes of the program by name."""')
    lines += [f"    globals()[{name!r}] = hooks.{name}" for name in bound]
    lines += [f"    classes[{kind!r}] = {name}" for kind, name in local.items()]
    if imported:
        names = [f"        {kind!r}," for kind in imported]
        lines += ["    for kind in (", *names, "    ):", "        try:",
                  '            classes[kind] = named(*kind.rsplit(".", 1))',
                  "        except (ImportError, AttributeError):",
                  "            pass"]  # fmt: skip
    lines.append(f"    return {value}")
    return "\n".join(lines) + "\n"
