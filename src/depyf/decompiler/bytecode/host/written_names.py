"""Qualified names of live functions before 3.11, when code objects did not carry them: read from the source file.

Input: a code object of the running interpreter.  Output: its ``__qualname__``.  The file is parsed, never executed.
"""

from __future__ import annotations

import ast
import functools
import types
from collections.abc import Iterator

from depyf.safety.source_lines import source_text
from depyf.safety.unheard import parse

_LONGEST = 4_000_000
"""Of how many characters a text may have."""


def qualified_name(code: types.CodeType, continues: types.CodeType | None = None) -> str:
    """Its name alone where neither it nor its file tells more; a rest is named beside the function that it
    ``continues``."""
    known = own_name(code)
    if known or continues is None:
        return known or written_name(code.co_filename, code.co_firstlineno, code.co_name)
    around, dot, _ = qualified_name(continues).rpartition(".")
    return f"{around}{dot}{code.co_name}"


def own_name(code: types.CodeType) -> str:
    """What the code object itself says; "" before 3.11."""
    return getattr(code, "co_qualname", "")


def written_name(filename: str, first: int, name: str) -> str:
    """The same, of the function that begins in line ``first`` of a file, its decorators included."""
    text = source_text(filename, _LONGEST) if first > 0 else ""
    return _names(text).get((first, name)) or name


@functools.lru_cache(maxsize=128)
def _names(text: str) -> dict[tuple[int, str], str]:
    """(first line, name) -> qualified name of whatever has code of its own; "" where two of one line differ in it."""
    found: dict[tuple[int, str], str] = {}
    try:
        tree = parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return found
    pending: list[tuple[ast.AST, str, frozenset[str]]] = [(tree, "", frozenset())]
    while pending:
        node, around, of_module = pending.pop()
        name = _name(node)
        if not name:
            pending.extend((child, around, of_module) for child in ast.iter_child_nodes(node))
            continue
        inside = _inside(node)
        own = {id(child) for child in inside}
        whole = name if name in of_module else around + name
        key = _first_line(node), name
        found[key] = whole if found.get(key, whole) == whole else ""
        below = whole + (".<locals>." if isinstance(node, _FUNCTIONS) else ".")
        declared = frozenset(_declared(inside))
        pending.extend((child, below, declared) for child in inside)
        pending.extend((child, around, of_module) for child in _parts(node) if id(child) not in own)
    return found


_EXPRESSIONS = {
    ast.Lambda: "<lambda>", ast.ListComp: "<listcomp>", ast.SetComp: "<setcomp>", ast.DictComp: "<dictcomp>",
    ast.GeneratorExp: "<genexpr>",
}  # fmt: skip
_STATEMENTS = ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef
_FUNCTIONS = ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda  # not comprehensions: so the compiler names them


def _name(node: ast.AST) -> str:
    """The name of its code object; "" for what has none."""
    return node.name if isinstance(node, _STATEMENTS) else _EXPRESSIONS.get(type(node), "")


def _first_line(node: ast.AST) -> int:
    decorators = getattr(node, "decorator_list", ())
    return int(getattr(decorators[0] if decorators else node, "lineno", 0))


def _inside(node: ast.AST) -> list[ast.AST]:
    """What runs in its own code: not defaults, decorators, bases, nor what a comprehension iterates over first."""
    if isinstance(node, _STATEMENTS):
        return list(node.body)
    if isinstance(node, ast.Lambda):
        return [node.body]
    first = node.generators[0].iter  # type: ignore[attr-defined]
    return [part for part in _parts(node) if part is not first]


def _parts(node: ast.AST) -> Iterator[ast.AST]:
    """Its children; for a comprehension those of its clauses."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.comprehension):
            yield from ast.iter_child_nodes(child)
        else:
            yield child


def _declared(body: list[ast.AST]) -> Iterator[str]:
    """The names that ``global`` says are of the module, in this scope alone."""
    pending = list(body)
    while pending:
        node = pending.pop()
        if isinstance(node, ast.Global):
            yield from node.names
        elif not _name(node) and isinstance(node, (ast.stmt, ast.excepthandler, *_CASES)):
            pending.extend(ast.iter_child_nodes(node))


_CASES: tuple[type[ast.AST], ...] = (ast.match_case,) if hasattr(ast, "match_case") else ()
